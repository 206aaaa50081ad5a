package tenants

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/seal"
)

// API tokens are cht_ and 256 random bits in base64url. Only the SHA-256 of
// the whole is stored: a random value of that size needs no slow hash.
const (
	tokenPrefix = "cht_"
	tokenBytes  = 32
	touchEvery  = time.Minute // how exact last_used_at and a session's seen_at are

	maxTokenYears = 10
)

func newToken() seal.Secret {
	b := make([]byte, tokenBytes)
	_, _ = rand.Read(b) // never fails (crypto/rand)
	return seal.NewSecret(tokenPrefix + base64.RawURLEncoding.EncodeToString(b))
}

func randomHex(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails (crypto/rand)
	return hex.EncodeToString(b)
}

func hashToken(token string) []byte {
	sum := sha256.Sum256([]byte(token))
	return sum[:]
}

// VerifyToken finds out whose API token this is. A malformed, unknown, revoked
// or expired one is fault.Unauthenticated with what to do about it.
func (s *Service) VerifyToken(ctx context.Context, token seal.Secret) (Principal, error) {
	text, ok := strings.CutPrefix(token.Reveal(), tokenPrefix)
	if raw, err := base64.RawURLEncoding.Strict().DecodeString(text); !ok || err != nil || len(raw) != tokenBytes {
		return Principal{}, fault.New(fault.Unauthenticated, "token_malformed", "This is no API token of Chumbo. Copy it whole: cht_ and 43 characters.")
	}
	var p Principal
	err := s.store.AsSystem(ctx, func(q *db.Queries, _ pgx.Tx) error {
		row, err := q.GetAPITokenByHash(ctx, hashToken(token.Reveal()))
		if errors.Is(err, pgx.ErrNoRows) {
			return fault.New(fault.Unauthenticated, "token_unknown", "This API token is not known here. Check that it belongs to this server, or make a new one.")
		}
		if err != nil {
			return fmt.Errorf("load token: %w", err)
		}
		if err := s.usable(row); err != nil {
			return err
		}
		p = Principal{
			Organization: Organization{ID: row.OrganizationID, Slug: row.OrganizationSlug, Name: row.OrganizationName},
			Builder:      Builder{ID: row.BuilderID, Email: row.BuilderEmail}, Token: row.ID, Role: Role(row.Role), Scope: Scope(row.Scope),
		}
		return s.touch(ctx, q, row)
	})
	if err != nil {
		return Principal{}, err
	}
	return p, nil
}

func (s *Service) usable(row db.GetAPITokenByHashRow) error {
	if row.RevokedAt != nil {
		return fault.New(fault.Unauthenticated, "token_revoked", "This API token was revoked. Make a new one.")
	}
	if row.ExpiresAt != nil && !s.now().Before(*row.ExpiresAt) {
		return fault.New(fault.Unauthenticated, "token_expired", "This API token has expired. Make a new one.")
	}
	return nil
}

func (s *Service) touch(ctx context.Context, q *db.Queries, row db.GetAPITokenByHashRow) error {
	now := s.now()
	if row.LastUsedAt != nil && now.Sub(*row.LastUsedAt) < touchEvery {
		return nil
	}
	err := q.TouchAPIToken(ctx, db.TouchAPITokenParams{OrganizationID: row.OrganizationID, ID: row.ID, Now: &now})
	if err != nil {
		return fmt.Errorf("note use of token: %w", err)
	}
	return nil
}

// NewAPIToken is an API token about to be made.
type NewAPIToken struct {
	Name    string
	Scope   Scope
	Expires time.Time // zero: does not expire
}

// APIToken is an API token as its organization sees it; the token itself is
// shown once, when it is made.
type APIToken struct {
	ID         id.Token
	Name       string
	Scope      Scope
	Builder    Builder
	CreatedAt  time.Time
	ExpiresAt  *time.Time
	LastUsedAt *time.Time
}

// Tokens lists the organization's API tokens that were not revoked, newest
// first.
func (s *Service) Tokens(ctx context.Context, p Principal) ([]APIToken, error) {
	var out []APIToken
	err := s.store.AsSystem(ctx, func(q *db.Queries, _ pgx.Tx) error {
		rows, err := q.ListAPITokens(ctx, p.Organization.ID)
		if err != nil {
			return fmt.Errorf("list tokens: %w", err)
		}
		for _, row := range rows {
			out = append(out, APIToken{
				ID: row.ID, Name: row.Name, Scope: Scope(row.Scope), Builder: Builder{ID: row.BuilderID, Email: row.BuilderEmail},
				CreatedAt: row.CreatedAt, ExpiresAt: row.ExpiresAt, LastUsedAt: row.LastUsedAt,
			})
		}
		return nil
	})
	return out, err
}

// CreateToken makes another API token for the principal, shown only now. Only
// an owner or admin makes one so; a device authorization is for everybody.
func (s *Service) CreateToken(ctx context.Context, p Principal, n NewAPIToken) (id.Token, seal.Secret, error) {
	token, tokenID := newToken(), id.New[id.TokenKind]()
	var until *time.Time
	if !n.Expires.IsZero() {
		until = &n.Expires
	}
	a := &act{action: "token.create", target: tokenID.String(), detail: map[string]any{}}
	err := s.administer(ctx, p, a, func(q *db.Queries) error {
		if err := s.checkNewToken(n); err != nil {
			return err
		}
		a.detail["scope"] = n.Scope
		err := q.InsertAPIToken(ctx, db.InsertAPITokenParams{
			OrganizationID: p.Organization.ID, ID: tokenID, BuilderID: p.Builder.ID, Name: n.Name, Scope: string(n.Scope),
			TokenHash: hashToken(token.Reveal()), Now: s.now(), ExpiresAt: until,
		})
		if err != nil {
			return fmt.Errorf("insert token: %w", err)
		}
		return nil
	})
	if err != nil {
		return id.Token{}, seal.Secret{}, err
	}
	return tokenID, token, nil
}

func (s *Service) checkNewToken(n NewAPIToken) error {
	if err := RefuseSecret("name", n.Name); err != nil {
		return err
	}
	if !titleShaped(n.Name) {
		return fault.New(fault.Invalid, "name_invalid", "Give the token a name of 1 to 80 characters.").
			WithIssues(fault.Issue{Path: "name", Message: "want 1 to 80 characters on one line"})
	}
	if err := checkScope(n.Scope); err != nil {
		return err
	}
	now := s.now()
	if !n.Expires.IsZero() && (!n.Expires.After(now) || n.Expires.After(now.AddDate(maxTokenYears, 0, 0))) {
		return fault.New(fault.Invalid, "expires_at_invalid", "The expiry must be in the future, and at most %d years away. Leave it out for a token that does not expire.", maxTokenYears).
			WithIssues(fault.Issue{Path: "expires_at", Message: "want a time in the next 10 years"})
	}
	return nil
}

// RevokeToken ends an API token of the principal's organization at once. Who
// may not administer ends their own: any of theirs from the dashboard, and
// with an API token that one itself.
func (s *Service) RevokeToken(ctx context.Context, p Principal, token id.Token) error {
	a := &act{action: "token.revoke", target: token.String()}
	administers := p.MayAdminister()
	may := func() error {
		if p.Token.IsZero() || p.Token == token {
			return nil
		}
		return administers
	}
	return s.changeIf(ctx, p, may, a, func(q *db.Queries) error {
		now := s.now()
		n, err := q.RevokeAPIToken(ctx, db.RevokeAPITokenParams{
			OrganizationID: p.Organization.ID, ID: token, Now: &now, AnyBuilder: administers == nil, BuilderID: p.Builder.ID,
		})
		if err != nil {
			return fmt.Errorf("revoke token: %w", err)
		}
		if n == 0 && administers != nil {
			return administers
		}
		if n == 0 {
			return fault.New(fault.NotFound, "token_unknown", "There is no such token, or it is revoked already.")
		}
		return nil
	})
}
