package apikeys

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// A key is chk_ and 256 random bits in base64url. Only the SHA-256 of the whole
// is stored: a random value of that size needs no slow hash.
const (
	prefix   = "chk_"
	keyBytes = 32
	hintSize = 4
)

// Bounds of what a key may be.
const (
	maxName   = 80 // characters
	maxScopes = 50
	maxScope  = 128 // bytes of one
	maxYears  = 10
)

// NewKey is a key about to be made.
type NewKey struct {
	Name    string    // 1 to 80 characters
	Scopes  []string  // scopes of the surface's capabilities it may use; none: those without scopes
	Expires time.Time // zero: does not expire
}

func newSecret() seal.Secret {
	b := make([]byte, keyBytes)
	_, _ = rand.Read(b) // never fails (crypto/rand)
	return seal.NewSecret(prefix + base64.RawURLEncoding.EncodeToString(b))
}

// keyShaped reports whether text can be a key made here.
func keyShaped(text string) bool {
	rest, ok := strings.CutPrefix(text, prefix)
	raw, err := base64.RawURLEncoding.Strict().DecodeString(rest)
	return ok && err == nil && len(raw) == keyBytes
}

func hintOf(key seal.Secret) string {
	text := key.Reveal()
	return text[len(text)-hintSize:]
}

func hashOf(key string) [sha256.Size]byte { return sha256.Sum256([]byte(key)) }

// checkNew refuses what no key can be, with an issue each, and returns the rest
// as it is kept: every scope once, in the order given. Scopes that no
// capability asks for are no mistake: a file that does may be published later.
func checkNew(n NewKey, now time.Time) (NewKey, error) {
	if err := tenants.RefuseSecret("name", n.Name); err != nil {
		return n, err
	}
	var issues []fault.Issue
	wrong := func(path, format string, args ...any) {
		issues = append(issues, fault.Issue{Path: path, Message: fmt.Sprintf(format, args...)})
	}
	switch {
	case keyShaped(n.Name):
		wrong("name", "that is a key, not a name; if it was yours, revoke it")
	case !isText(n.Name, maxName):
		wrong("name", "want 1 to %d characters on one line", maxName)
	}
	var scopes []string
	for i, scope := range n.Scopes {
		switch {
		case !isScope(scope):
			wrong(fmt.Sprintf("scopes[%d]", i), "want a scope such as crm.read: 1 to %d characters without blanks, quotes and backslashes", maxScope)
		case !slices.Contains(scopes, scope):
			scopes = append(scopes, scope)
		}
	}
	if len(n.Scopes) > maxScopes {
		wrong("scopes", "want at most %d", maxScopes)
	}
	if !n.Expires.IsZero() && (!n.Expires.After(now) || n.Expires.After(now.AddDate(maxYears, 0, 0))) {
		wrong("expires_at", "want a time in the next %d years; leave it out for a key that does not expire", maxYears)
	}
	if len(issues) > 0 {
		return n, fault.New(fault.Invalid, "key_invalid", "No key was made. Change what is named below and try again.").WithIssues(issues...)
	}
	if scopes == nil {
		scopes = []string{}
	}
	n.Scopes = scopes
	return n, nil
}

// isText reports whether s is one line of 1 to limit characters that reads as
// what it is.
func isText(s string, limit int) bool {
	n := utf8.RuneCountInString(s)
	return n >= 1 && n <= limit && utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool {
		return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)
	})
}

// isScope reports whether s is a scope token (RFC 6749 section 3.3) of a size
// that is kept.
func isScope(s string) bool {
	return s != "" && len(s) <= maxScope && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r > '~' || r == '"' || r == '\\'
	})
}
