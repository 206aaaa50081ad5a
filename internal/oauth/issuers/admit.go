package issuers

import (
	"context"
	"crypto"
	"crypto/sha256"
	"errors"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"

	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// tokenKey names a token at a surface without holding it. The same token
// presented at two surfaces is two entries.
type tokenKey struct {
	place
	hash [sha256.Size]byte
}

// verified is what is remembered of a token whose signature was right: its
// claims and the key that signed it. Nothing about admission: a surface's rules
// run on every request.
type verified struct {
	claims *claims
	kid    string
	alg    jose.SignatureAlgorithm
	thumb  [sha256.Size]byte
}

// Admit implements oauth.Issuers: a JWT of the issuer that the surface names.
func (s *Service) Admit(ctx context.Context, ep *tenants.Endpoint, token string) (*oauth.Caller, error) {
	who, err := s.admit(ctx, ep, token)
	if err != nil {
		return nil, answerTo(ep, err)
	}
	return who, nil
}

func (s *Service) admit(ctx context.Context, ep *tenants.Endpoint, text string) (*oauth.Caller, error) {
	issuer := external(ep)
	if issuer == nil {
		return nil, denyKind
	}
	key := tokenKey{place{ep.Surface, issuer.URL}, sha256.Sum256([]byte(text))}
	if why, ok := s.rejection(key); ok {
		return nil, why
	}
	v, err := s.remembered(ctx, key)
	if v == nil && err == nil {
		v, err = s.verify(ctx, key, text)
	}
	if err != nil {
		return nil, err
	}
	return caller(ep, v.claims)
}

// remembered returns what is known of the token, or nil when nothing is that
// still stands.
func (s *Service) remembered(ctx context.Context, key tokenKey) (*verified, error) {
	v, ok := s.verified.GetIfPresent(key)
	if !ok {
		return nil, nil
	}
	if err := v.claims.judge(key.issuer, s.cfg.Now()); err != nil {
		s.verified.Invalidate(key)
		return nil, err
	}
	keys, err := s.keySetOf(ctx, key.place, false)
	if err != nil {
		return nil, err
	}
	if keys.holds(v) {
		return v, nil
	}
	s.verified.Invalidate(key) // the key is gone or replaced
	return nil, nil
}

// verify reads the token, checks what needs no key first, then the signature,
// and remembers the outcome.
func (s *Service) verify(ctx context.Context, key tokenKey, text string) (*verified, error) {
	t, err := parseToken(text)
	if err != nil {
		return nil, err
	}
	if err := t.claims.judge(key.issuer, s.cfg.Now()); err != nil {
		return nil, err
	}
	keys, err := s.keySetOf(ctx, key.place, false)
	if err != nil {
		return nil, err
	}
	signer, err := signerOf(ctx, keys, t, key.issuer, text)
	if errors.Is(err, denyUnknownKey) {
		anew, away := s.keySetOf(ctx, key.place, true)
		if away != nil {
			return nil, away
		}
		if anew != keys { // else the same keys would be tried again
			signer, err = signerOf(ctx, anew, t, key.issuer, text)
		}
	}
	if err != nil {
		if errors.Is(err, denySignature) {
			s.reject(key, denySignature)
		}
		return nil, err
	}
	v := &verified{claims: t.claims, kid: t.kid, alg: t.alg, thumb: signer.thumb}
	s.verified.Set(key, v)
	return v, nil
}

// signerOf returns the key that signed the token. denyUnknownKey is what a
// token of a new key gets, too: the set may be read again for it.
func signerOf(ctx context.Context, keys *keySet, t *token, issuer, text string) (signingKey, error) {
	candidates := keys.find(t.kid, t.alg)
	for _, key := range candidates {
		// go-oidc reads the token anew and checks algorithm, signature and issuer.
		// Time and audience are ours: it knows ID tokens only, and no skew.
		verifier := oidc.NewVerifier(issuer, &oidc.StaticKeySet{PublicKeys: []crypto.PublicKey{key.public}}, &oidc.Config{
			SupportedSigningAlgs: []string{string(t.alg)}, SkipClientIDCheck: true, SkipExpiryCheck: true,
		})
		if _, err := verifier.Verify(ctx, text); err == nil {
			return key, nil
		}
	}
	if len(candidates) == 0 || t.kid == "" {
		return signingKey{}, denyUnknownKey
	}
	return signingKey{}, denySignature
}

func (s *Service) rejection(key tokenKey) (denial, bool) {
	r, ok := s.rejected.GetIfPresent(key)
	if !ok || !s.cfg.Now().Before(r.until) {
		return denial{}, false
	}
	return r.why, true
}

func (s *Service) reject(key tokenKey, why denial) {
	s.rejected.Set(key, rejection{why: why, until: s.cfg.Now().Add(rejectedFor)})
}
