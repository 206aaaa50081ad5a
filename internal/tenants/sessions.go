package tenants

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/events"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/seal"
)

const (
	sessionIdle  = 7 * 24 * time.Hour  // without a request
	sessionLife  = 30 * 24 * time.Hour // whatever happens
	rotateEvery  = time.Hour           // of use
	previousGood = time.Minute         // for requests already under way
	staleAfter   = 24 * time.Hour      // then what is over is deleted
)

// Session is a browser session as one request finds it.
type Session struct {
	ID            id.Session
	Builder       Builder
	Organizations []Membership // by name; what the switcher lists
	Current       Principal    // at work in the chosen organization; zero when Organizations is empty
	CSRF          string       // what forms of this session must carry back
	ExpiresAt     time.Time
	Cookie        seal.Secret // new value for the cookie; zero: keep the one that was sent
}

// Membership is a seat of a builder in an organization.
type Membership struct {
	Organization Organization
	Role         Role
}

// A cookie's value is 256 random bits in base64url, made by us at every
// sign-in: what a browser sent before is never adopted (session fixation).
func newCookie() seal.Secret { return seal.NewSecret(random256()) }

func random256() string {
	b := make([]byte, 32)
	_, _ = rand.Read(b) // never fails (crypto/rand)
	return base64.RawURLEncoding.EncodeToString(b)
}

// hash256 is the stored form of a value of random256; ok is false for text
// that is none.
func hash256(value seal.Secret) (hash []byte, ok bool) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(value.Reveal())
	return hashToken(value.Reveal()), err == nil && len(raw) == 32
}

// Session finds the session of a cookie's value. An unknown, ended or expired
// one is fault.Unauthenticated. Cookies are rotated: Session.Cookie then holds
// the new value, and the old one is good for requests already under way. An
// old one that comes back later was copied, by whom we cannot tell: the
// session ends for both.
func (s *Service) Session(ctx context.Context, cookie seal.Secret, address string) (Session, error) {
	hash, ok := hash256(cookie)
	if !ok {
		return Session{}, sessionUnknown()
	}
	var session Session
	var refused *fault.Error
	err := s.store.AsSystem(ctx, func(q *db.Queries, _ pgx.Tx) error {
		var err error
		session, refused, err = s.findSession(ctx, q, hash, address)
		return err
	})
	if err != nil {
		return Session{}, err
	}
	if refused != nil {
		return Session{}, refused
	}
	return session, nil
}

// findSession returns a refusal beside the error, so that what it wrote stays.
func (s *Service) findSession(ctx context.Context, q *db.Queries, hash []byte, address string) (Session, *fault.Error, error) {
	row, err := q.GetBuilderSession(ctx, hash)
	if errors.Is(err, pgx.ErrNoRows) {
		return Session{}, sessionUnknown(), nil
	}
	if err != nil {
		return Session{}, nil, fmt.Errorf("load session: %w", err)
	}
	if refused := s.inForce(row); refused != nil {
		return Session{}, refused, nil
	}
	if s.replayed(row) {
		refused := fault.New(fault.Unauthenticated, "session_replayed", "This session was used from a second place and has been ended. Sign in again.")
		return Session{}, refused, s.endReplayed(ctx, q, row, address)
	}
	next, err := s.keepSession(ctx, q, row, hash)
	if err != nil {
		return Session{}, nil, err
	}
	session, err := s.openSession(ctx, q, row.ID, Builder{ID: row.BuilderID, Email: row.Email}, row.OrganizationID, address)
	session.ExpiresAt, session.Cookie = row.ExpiresAt, next
	return session, nil, err
}

func sessionUnknown() *fault.Error {
	return fault.New(fault.Unauthenticated, "session_unknown", "You are not signed in. Sign in and try again.")
}

func (s *Service) inForce(row db.GetBuilderSessionRow) *fault.Error {
	now := s.now()
	switch {
	case row.EndedAt != nil:
		return fault.New(fault.Unauthenticated, "session_ended", "This session has ended. Sign in again.")
	case !now.Before(row.ExpiresAt) || now.Sub(row.SeenAt) >= sessionIdle:
		return fault.New(fault.Unauthenticated, "session_expired", "This session has expired. Sign in again.")
	}
	return nil
}

func (s *Service) replayed(row db.GetBuilderSessionRow) bool {
	return !row.IsCurrent && (row.PreviousUntil == nil || !s.now().Before(*row.PreviousUntil))
}

func (s *Service) endReplayed(ctx context.Context, q *db.Queries, row db.GetBuilderSessionRow, address string) error {
	now := s.now()
	if _, err := q.EndBuilderSession(ctx, db.EndBuilderSessionParams{ID: row.ID, Now: &now}); err != nil {
		return fmt.Errorf("end session: %w", err)
	}
	return s.auditEach(ctx, q, row.BuilderID, events.Actor{Address: address}, "session.replay", events.AuditRefused, nil)
}

// keepSession notes the use of a session and rotates its cookie when that is
// due. Of requests that come at once one gets the new value; the others keep
// working with the old one.
func (s *Service) keepSession(ctx context.Context, q *db.Queries, row db.GetBuilderSessionRow, hash []byte) (seal.Secret, error) {
	now := s.now()
	if row.IsCurrent && now.Sub(row.RotatedAt) >= rotateEvery {
		next, until := newCookie(), now.Add(previousGood)
		n, err := q.RotateBuilderSession(ctx, db.RotateBuilderSessionParams{
			ID: row.ID, Hash: hash, NextHash: hashToken(next.Reveal()), PreviousUntil: &until, Now: now,
		})
		if err != nil {
			return seal.Secret{}, fmt.Errorf("rotate session: %w", err)
		}
		if n == 1 {
			return next, nil
		}
		return seal.Secret{}, nil
	}
	if now.Sub(row.SeenAt) < touchEvery {
		return seal.Secret{}, nil
	}
	if err := q.SeeBuilderSession(ctx, db.SeeBuilderSessionParams{ID: row.ID, Now: now}); err != nil {
		return seal.Secret{}, fmt.Errorf("note use of session: %w", err)
	}
	return seal.Secret{}, nil
}

// openSession puts together what a request needs to know. Seats are read every
// time, so that a removal counts at once.
func (s *Service) openSession(ctx context.Context, q *db.Queries, session id.Session, b Builder, chosen *id.Organization, address string) (Session, error) {
	rows, err := q.ListMemberships(ctx, b.ID)
	if err != nil {
		return Session{}, fmt.Errorf("load memberships: %w", err)
	}
	out := Session{ID: session, Builder: b, CSRF: s.csrf(session)}
	at := 0
	for i, row := range rows {
		if chosen != nil && *chosen == row.OrganizationID {
			at = i
		}
		out.Organizations = append(out.Organizations, Membership{
			Organization: Organization{ID: row.OrganizationID, Slug: row.Slug, Name: row.Name}, Role: Role(row.Role),
		})
	}
	if len(out.Organizations) > 0 {
		out.Current = Principal{
			Organization: out.Organizations[at].Organization, Role: out.Organizations[at].Role,
			Builder: b, Session: session, Scope: ScopeAdmin, Address: address,
		}
	}
	return out, nil
}

// csrf is a MAC of the session's id under a key the database does not have: it
// survives the cookie's rotation, so that a page that stayed open can still be
// sent, and neither the cookie nor a dump of the database tells it.
func (s *Service) csrf(session id.Session) string {
	return base64.RawURLEncoding.EncodeToString(s.keys.MAC(seal.CSRF, []byte(session.String())))
}

// CheckCSRF compares what a form carried with the session's, in constant time.
// Another value is fault.Forbidden.
func (s *Service) CheckCSRF(session Session, given string) error {
	mac, err := base64.RawURLEncoding.DecodeString(given)
	if err != nil || session.ID.IsZero() || !s.keys.VerifyMAC(seal.CSRF, []byte(session.ID.String()), mac) {
		return fault.New(fault.Forbidden, "csrf", "This form was not made for your session. Open the page again and repeat what you did.")
	}
	return nil
}

// SignOut ends a session. Ending one that is not there is no error.
func (s *Service) SignOut(ctx context.Context, cookie seal.Secret, address string) error {
	hash, ok := hash256(cookie)
	if !ok {
		return nil
	}
	return s.store.AsSystem(ctx, func(q *db.Queries, _ pgx.Tx) error {
		row, err := q.GetBuilderSession(ctx, hash)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("load session: %w", err)
		}
		now := s.now()
		n, err := q.EndBuilderSession(ctx, db.EndBuilderSessionParams{ID: row.ID, Now: &now})
		if err != nil {
			return fmt.Errorf("end session: %w", err)
		}
		if n == 0 {
			return nil
		}
		return s.auditEach(ctx, q, row.BuilderID, events.Actor{Builder: row.BuilderID, Address: address}, "session.sign_out", events.AuditOK, nil)
	})
}

// SwitchOrganization makes a session work in another organization of its
// builder, given by name or id, or fault.NotFound. It changes nothing that an
// organization owns, and is not in its audit log.
func (s *Service) SwitchOrganization(ctx context.Context, session Session, organization string) error {
	return s.store.AsSystem(ctx, func(q *db.Queries, _ pgx.Tx) error {
		rows, err := q.ListMemberships(ctx, session.Builder.ID)
		if err != nil {
			return fmt.Errorf("load memberships: %w", err)
		}
		for _, row := range rows {
			if row.Slug == organization || row.OrganizationID.String() == organization {
				return s.choose(ctx, q, session, row.OrganizationID)
			}
		}
		return fault.New(fault.NotFound, "organization_unknown", "There is no such organization, or you are not a member of it.")
	})
}

func (s *Service) choose(ctx context.Context, q *db.Queries, session Session, organization id.Organization) error {
	n, err := q.ChooseOrganization(ctx, db.ChooseOrganizationParams{OrganizationID: &organization, ID: session.ID, BuilderID: session.Builder.ID})
	if err != nil {
		return fmt.Errorf("choose organization: %w", err)
	}
	if n == 0 {
		return sessionUnknown()
	}
	return nil
}

// auditEach writes one row into the audit log of each organization the builder
// belongs to: what happens to a person's way in concerns them all.
func (s *Service) auditEach(ctx context.Context, q *db.Queries, b id.Builder, by events.Actor, action, outcome string, detail map[string]any) error {
	rows, err := q.ListMemberships(ctx, b)
	if err != nil {
		return fmt.Errorf("load memberships: %w", err)
	}
	for _, row := range rows {
		by.Organization = row.OrganizationID
		if err := s.audit(ctx, q, by, &act{action: action, target: b.String(), detail: detail}, outcome); err != nil {
			return err
		}
	}
	return nil
}

// oneLine is text of a request's header, fit to be stored and shown.
func oneLine(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most])
	}
	return text
}
