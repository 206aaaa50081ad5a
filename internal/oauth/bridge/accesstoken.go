package bridge

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	strict "github.com/go-jose/go-jose/v4/json"
	"github.com/maypok86/otter/v2"

	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

const (
	accessType     = "at+jwt" // RFC 9068 section 2.1
	clockSkew      = 30 * time.Second
	maxAccessToken = 8 << 10
)

// Why an access token is not one of ours, or no longer. Fixed texts: no byte
// of a token is in them.
var (
	errTokenMalformed = errors.New("access token cannot be read")
	errTokenKey       = errors.New("access token is signed with a key that is not published")
	errTokenSignature = errors.New("signature of the access token is wrong")
	errTokenExpired   = errors.New("access token has expired")
)

// accessClaims are what an access token of ours says. That its grant stands,
// and that it is meant for a surface, is for Admit to see.
type accessClaims struct {
	Issuer   string
	Audience []string
	Subject  string // the project's
	ClientID string
	Surface  id.Surface
	Grant    id.Grant
	Chain    id.Chain
	Scopes   []string
	Expires  time.Time
}

// tokenClaims is the payload of an access token (RFC 9068 section 2.2). srf,
// gid and chn are ours: the surface, the grant and the chain of refresh tokens
// that it came from.
type tokenClaims struct {
	Issuer   string     `json:"iss"`
	Subject  string     `json:"sub"`
	Audience string     `json:"aud"`
	ClientID string     `json:"client_id"`
	Scope    string     `json:"scope,omitempty"`
	IssuedAt int64      `json:"iat"`
	Expires  int64      `json:"exp"`
	ID       string     `json:"jti"`
	Surface  id.Surface `json:"srf"`
	Grant    id.Grant   `json:"gid"`
	Chain    id.Chain   `json:"chn"`
}

// accessToken mints an access token (RFC 9068, ES256) by the issuer that ep
// was reached by, for its URL, and tells how long it is good for.
func (s *Service) accessToken(ctx context.Context, ep *tenants.Endpoint, i issued, now time.Time) (seal.Secret, time.Duration, error) {
	key, err := s.signingKey(ctx)
	if err != nil {
		return seal.Secret{}, 0, err
	}
	payload, err := strict.Marshal(tokenClaims{
		Issuer: ep.Resource.URL(), Subject: i.subject, Audience: ep.Resource.URL(), ClientID: i.client,
		Scope: strings.Join(i.scopes, " "), IssuedAt: now.Unix(), Expires: now.Add(accessLifetime).Unix(), ID: rand.Text(),
		Surface: ep.Surface, Grant: i.grant, Chain: i.chain,
	})
	if err != nil {
		return seal.Secret{}, 0, fmt.Errorf("encode access token: %w", err)
	}
	signer, err := jose.NewSigner(
		jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: key.private, KeyID: key.kid}},
		(&jose.SignerOptions{}).WithType(accessType))
	if err != nil {
		return seal.Secret{}, 0, fmt.Errorf("prepare signature: %w", err)
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		return seal.Secret{}, 0, fmt.Errorf("sign access token: %w", err)
	}
	text, err := signed.CompactSerialize()
	if err != nil {
		return seal.Secret{}, 0, fmt.Errorf("sign access token: %w", err)
	}
	return seal.NewSecret(text), accessLifetime, nil
}

// signingKey is the key that signs now, made if there is none.
func (s *Service) signingKey(ctx context.Context) (bridgeKey, error) {
	key, ok, err := s.keys.signing(ctx)
	if ok || err != nil {
		return key, err
	}
	if err := s.RotateKeys(ctx); err != nil {
		return bridgeKey{}, err
	}
	if _, err := s.keys.readTable(ctx); err != nil {
		return bridgeKey{}, err
	}
	key, ok, err = s.keys.signing(ctx)
	if err == nil && !ok {
		err = errors.New("no signing key after rotation")
	}
	return key, err
}

// readAccessToken verifies that a text is an access token that this instance
// signed: signature, type and expiry (30 s of skew). Errors: one of errToken…,
// or fault.Unavailable when the keys cannot be read now.
func (s *Service) readAccessToken(ctx context.Context, text string) (accessClaims, error) {
	if len(text) > maxAccessToken {
		return accessClaims{}, errTokenMalformed
	}
	hash := sha256.Sum256([]byte(text))
	if known, ok := s.tokens.GetIfPresent(hash); ok {
		return s.stillGood(ctx, known)
	}
	read, err := s.verifyAccessToken(ctx, text)
	if err != nil {
		return accessClaims{}, err
	}
	if claims, err := s.stillGood(ctx, read); err != nil {
		return claims, err
	}
	s.tokens.Set(hash, read)
	return read.claims, nil
}

// readToken is a token whose signature was right: remembered by the SHA-256
// of its text, so that it is verified once.
type readToken struct {
	kid    string
	claims accessClaims
}

const readTokens = 16384 // remembered

func newReadTokens() (*otter.Cache[[sha256.Size]byte, readToken], error) {
	return otter.New(&otter.Options[[sha256.Size]byte, readToken]{MaximumSize: readTokens})
}

// stillGood judges by the clock and by the keys of now.
func (s *Service) stillGood(ctx context.Context, t readToken) (accessClaims, error) {
	if _, ok, err := s.keys.public(ctx, t.kid); err != nil {
		return accessClaims{}, err
	} else if !ok {
		return accessClaims{}, errTokenKey
	}
	if !s.cfg.Now().Before(t.claims.Expires.Add(clockSkew)) {
		return accessClaims{}, errTokenExpired
	}
	return t.claims, nil
}

func (s *Service) verifyAccessToken(ctx context.Context, text string) (readToken, error) {
	signed, err := jose.ParseSignedCompact(text, []jose.SignatureAlgorithm{jose.ES256})
	if err != nil {
		return readToken{}, errTokenMalformed
	}
	header := signed.Signatures[0].Protected
	// Whatever else this instance may sign one day is no access token
	// (RFC 9068 section 4).
	if typ, _ := header.ExtraHeaders[jose.HeaderType].(string); !strings.EqualFold(typ, accessType) || header.KeyID == "" {
		return readToken{}, errTokenMalformed
	}
	public, ok, err := s.keys.public(ctx, header.KeyID)
	switch {
	case err != nil:
		return readToken{}, err
	case !ok:
		return readToken{}, errTokenKey
	}
	payload, err := signed.Verify(public)
	if err != nil {
		return readToken{}, errTokenSignature
	}
	claims, err := parseAccessClaims(payload)
	return readToken{kid: header.KeyID, claims: claims}, err
}

func parseAccessClaims(payload []byte) (accessClaims, error) {
	var c tokenClaims
	if err := strict.Unmarshal(payload, &c); err != nil {
		return accessClaims{}, errTokenMalformed
	}
	if c.Issuer == "" || c.Subject == "" || c.Audience == "" || c.ClientID == "" || c.Expires <= 0 ||
		c.Surface.IsZero() || c.Grant.IsZero() || c.Chain.IsZero() {
		return accessClaims{}, errTokenMalformed
	}
	return accessClaims{
		Issuer: c.Issuer, Audience: []string{c.Audience}, Subject: c.Subject, ClientID: c.ClientID,
		Surface: c.Surface, Grant: c.Grant, Chain: c.Chain, Scopes: strings.Fields(c.Scope), Expires: time.Unix(c.Expires, 0),
	}, nil
}
