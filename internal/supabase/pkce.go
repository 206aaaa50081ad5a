package supabase

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"

	"github.com/chumbo-dev/chumbo/internal/seal"
)

// NewVerifier returns a fresh PKCE code verifier (RFC 7636 section 4.1): 32
// random bytes as 43 characters.
func NewVerifier() seal.Secret {
	b := make([]byte, 32)
	_, _ = rand.Read(b) // never fails (crypto/rand)
	return seal.NewSecret(base64.RawURLEncoding.EncodeToString(b))
}

// Challenge is the S256 code challenge of a verifier (RFC 7636 section 4.2).
// It is public.
func Challenge(verifier seal.Secret) string {
	sum := sha256.Sum256([]byte(verifier.Reveal()))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}
