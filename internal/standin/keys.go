package standin

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
)

// keyring holds the keys Auth signs and verifies with. One key signs; standby
// and previous keys only verify. The legacy secret signs the project's own
// anon and service_role keys, and everything when there is no other key.
type keyring struct {
	mu           sync.RWMutex
	secret       []byte
	trustsSecret bool
	current      *signingKey // nil: HS256 only
	standby      *signingKey
	previous     []*signingKey
}

type signingKey struct {
	kid  string
	priv *ecdsa.PrivateKey
}

// newKeyring makes fresh keys. With SigningHS256 there is no asymmetric key.
func newKeyring(signing Signing) (*keyring, error) {
	k := &keyring{secret: make([]byte, 32), trustsSecret: true}
	if _, err := rand.Read(k.secret); err != nil {
		return nil, fmt.Errorf("make secret: %w", err)
	}
	switch signing {
	case SigningHS256:
		return k, nil
	case SigningES256, "":
		key, err := newSigningKey()
		k.current = key
		return k, err
	default:
		return nil, fmt.Errorf("signing %q is neither ES256 nor HS256", signing)
	}
}

func newSigningKey() (*signingKey, error) {
	priv, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make signing key: %w", err)
	}
	return &signingKey{kid: uuid.NewString(), priv: priv}, nil
}

// addStandby publishes a key that does not sign yet.
func (k *keyring) addStandby() error {
	key, err := newSigningKey()
	if err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.standby = key
	return nil
}

// rotate makes the standby key sign, or a fresh one where there is none. The
// key that signed until now goes on verifying. An HS256-only project moves to
// an asymmetric key by it.
func (k *keyring) rotate() {
	k.mu.Lock()
	defer k.mu.Unlock()
	next := k.standby
	if next == nil {
		fresh, err := newSigningKey()
		if err != nil {
			return // crypto/rand does not fail
		}
		next = fresh
	}
	if k.current != nil {
		k.previous = append(k.previous, k.current)
	}
	k.current, k.standby = next, nil
}

// dropOld forgets every key that no longer signs.
func (k *keyring) dropOld() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.previous = nil
}

// dropSecret stops trusting the legacy secret, which ends the JWT forms of the
// anon and service_role keys.
func (k *keyring) dropSecret() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.trustsSecret = false
}

// hs256Only reports whether tokens are signed with the legacy secret.
func (k *keyring) hs256Only() bool {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.current == nil
}

// sign makes a JWT with the key that signs now.
func (k *keyring) sign(claims map[string]any) (string, error) {
	k.mu.RLock()
	key := k.current
	k.mu.RUnlock()
	if key == nil {
		return k.signLegacy(claims)
	}
	input, err := signingInput(map[string]any{"alg": "ES256", "kid": key.kid, "typ": "JWT"}, claims)
	if err != nil {
		return "", err
	}
	digest := sha256.Sum256([]byte(input))
	r, s, err := ecdsa.Sign(rand.Reader, key.priv, digest[:])
	if err != nil {
		return "", fmt.Errorf("sign token: %w", err)
	}
	sig := make([]byte, 64)
	r.FillBytes(sig[:32])
	s.FillBytes(sig[32:])
	return input + "." + base64.RawURLEncoding.EncodeToString(sig), nil
}

// signLegacy makes an HS256 JWT without a kid, as the anon and service_role
// keys are.
func (k *keyring) signLegacy(claims map[string]any) (string, error) {
	input, err := signingInput(map[string]any{"alg": "HS256", "typ": "JWT"}, claims)
	if err != nil {
		return "", err
	}
	return input + "." + base64.RawURLEncoding.EncodeToString(k.mac(input)), nil
}

func (k *keyring) mac(input string) []byte {
	h := hmac.New(sha256.New, k.secret)
	h.Write([]byte(input))
	return h.Sum(nil)
}

func signingInput(header, claims map[string]any) (string, error) {
	h, err := json.Marshal(header)
	if err != nil {
		return "", fmt.Errorf("encode token header: %w", err)
	}
	c, err := json.Marshal(claims)
	if err != nil {
		return "", fmt.Errorf("encode token claims: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(h) + "." + base64.RawURLEncoding.EncodeToString(c), nil
}

// verify checks signature, expiry and not-before, and returns the claims. The
// error texts are the ones Auth shows.
func (k *keyring) verify(token string, now time.Time) (map[string]any, error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return nil, errors.New("token is malformed: token contains an invalid number of segments")
	}
	var header struct{ Alg, Kid string }
	if err := decodeSegment("header", parts[0], &header); err != nil {
		return nil, err
	}
	var claims map[string]any
	if err := decodeSegment("claim", parts[1], &claims); err != nil {
		return nil, err
	}
	sig, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil {
		return nil, errors.New("token is malformed: could not base64 decode signature")
	}
	if err := k.checkSignature(header.Alg, header.Kid, parts[0]+"."+parts[1], sig); err != nil {
		return nil, err
	}
	if exp, ok := claims["exp"].(float64); ok && !now.Before(time.Unix(int64(exp), 0)) {
		return nil, errors.New("token has invalid claims: token is expired")
	}
	if nbf, ok := claims["nbf"].(float64); ok && now.Before(time.Unix(int64(nbf), 0)) {
		return nil, errors.New("token has invalid claims: token is not valid yet")
	}
	return claims, nil
}

func (k *keyring) checkSignature(alg, kid, input string, sig []byte) error {
	k.mu.RLock()
	defer k.mu.RUnlock()
	switch {
	case alg == "HS256" && (k.trustsSecret || k.current == nil):
		if !hmac.Equal(sig, k.mac(input)) {
			return errors.New("token signature is invalid: signature is invalid")
		}
		return nil
	case alg != "ES256" || k.current == nil:
		return fmt.Errorf("token signature is invalid: signing method %s is invalid", alg)
	}
	for _, key := range k.published() {
		if key.kid != kid {
			continue
		}
		digest := sha256.Sum256([]byte(input))
		if len(sig) != 64 || !ecdsa.Verify(&key.priv.PublicKey, digest[:],
			new(big.Int).SetBytes(sig[:32]), new(big.Int).SetBytes(sig[32:])) {
			return errors.New("token signature is invalid: crypto/ecdsa: verification error")
		}
		return nil
	}
	return fmt.Errorf("token is unverifiable: error while executing keyfunc: unrecognized JWT kid %s for algorithm ES256", kid)
}

func (k *keyring) published() []*signingKey {
	var keys []*signingKey
	if k.current != nil {
		keys = append(keys, k.current)
	}
	if k.standby != nil {
		keys = append(keys, k.standby)
	}
	return append(keys, k.previous...)
}

// jwks is the JWK set document: the public half of every asymmetric key, empty
// when the project signs with the secret only (RFC 7517).
func (k *keyring) jwks() []byte {
	k.mu.RLock()
	defer k.mu.RUnlock()
	keys := []map[string]any{}
	for _, key := range k.published() {
		x, y := make([]byte, 32), make([]byte, 32)
		key.priv.X.FillBytes(x)
		key.priv.Y.FillBytes(y)
		keys = append(keys, map[string]any{
			"alg": "ES256", "crv": "P-256", "ext": true, "key_ops": []string{"verify"},
			"kid": key.kid, "kty": "EC", "use": "sig",
			"x": base64.RawURLEncoding.EncodeToString(x),
			"y": base64.RawURLEncoding.EncodeToString(y),
		})
	}
	doc, err := json.Marshal(map[string]any{"keys": keys})
	if err != nil {
		return []byte(`{"keys":[]}`) // strings and bools always encode
	}
	return doc
}

func decodeSegment(name, segment string, into any) error {
	raw, err := base64.RawURLEncoding.DecodeString(segment)
	if err != nil {
		return fmt.Errorf("token is malformed: could not base64 decode %s: %w", name, err)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("token is malformed: could not JSON decode %s: %w", name, err)
	}
	return nil
}
