package tenants

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/events"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/seal"
)

// SignIn is what a builder types to begin a browser session.
type SignIn struct {
	Email    string
	Password seal.Secret
	Address  string // of the request
	Agent    string // User-Agent, cut
}

// SignIn checks a password and begins a session; Session.Cookie is its value.
// A wrong email or password is one fault.Unauthenticated; too many tries are
// fault.RateLimited with RetryAfter.
//
// It is one way in; another one proves who it is in its own file and ends in
// beginSession too.
func (s *Service) SignIn(ctx context.Context, in SignIn) (Session, error) {
	who, err := s.builderByEmail(ctx, in.Email)
	if err != nil {
		return Session{}, err
	}
	tries := []tried{byEmail(who.Email), byAddress("sign-in", in.Address)}
	if err := s.try(ctx, tries...); err != nil {
		return Session{}, err
	}
	ok, err := s.passwords.matches(ctx, in.Password, who.PasswordHash)
	if err != nil {
		return Session{}, err
	}
	if !ok {
		return Session{}, s.refuseSignIn(ctx, who.ID, in.Address)
	}
	var session Session
	err = s.store.AsSystem(ctx, func(q *db.Queries, _ pgx.Tx) error {
		if err := s.unchanged(ctx, q, who); err != nil {
			return err
		}
		if err := s.right(ctx, q, tries...); err != nil {
			return err
		}
		session, err = s.beginSession(ctx, q, Builder{ID: who.ID, Email: who.Email}, in.Address, in.Agent)
		return err
	})
	if err != nil {
		return Session{}, err
	}
	return session, nil
}

// builderByEmail finds a builder; one who is not known has the typed email and
// nothing else. It is asked before the throttle so that spellings of one email
// that Postgres takes for the same are counted together.
func (s *Service) builderByEmail(ctx context.Context, email string) (db.GetBuilderByEmailRow, error) {
	email = strings.TrimSpace(email)
	nobody := db.GetBuilderByEmailRow{Email: email}
	if !utf8.ValidString(email) || strings.ContainsRune(email, 0) || len(email) > maxEmail {
		nobody.Email = ""
		return nobody, nil
	}
	var who db.GetBuilderByEmailRow
	err := s.store.AsSystem(ctx, func(q *db.Queries, _ pgx.Tx) error {
		var err error
		who, err = q.GetBuilderByEmail(ctx, email)
		return err
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return nobody, nil
	}
	if err != nil {
		return db.GetBuilderByEmailRow{}, fmt.Errorf("load builder: %w", err)
	}
	return who, nil
}

// unchanged holds the builder's row and refuses when the password that was
// compared is no longer theirs: a change of it ends what began with it.
func (s *Service) unchanged(ctx context.Context, q *db.Queries, who db.GetBuilderByEmailRow) error {
	now, err := q.LockBuilder(ctx, who.ID)
	if err != nil {
		return fmt.Errorf("load builder: %w", err)
	}
	if now.PasswordHash == nil || who.PasswordHash == nil || *now.PasswordHash != *who.PasswordHash {
		return signInRefused()
	}
	return nil
}

func signInRefused() error {
	return fault.New(fault.Unauthenticated, "sign_in_refused", "The email or the password is not right. Check both and try again.")
}

// refuseSignIn records a refusal of a builder who is known. For one who is not
// it does the same and finds no organization to record it in.
func (s *Service) refuseSignIn(ctx context.Context, who id.Builder, address string) error {
	err := s.store.AsSystem(ctx, func(q *db.Queries, _ pgx.Tx) error {
		// The same write for known and unknown, so that the wait for it does
		// not tell them apart.
		if err := q.TouchThrottle(ctx, s.throttleKey(byAddress("sign-in", address))); err != nil {
			return fmt.Errorf("touch throttle: %w", err)
		}
		return s.auditEach(ctx, q, who, events.Actor{Address: address}, "session.sign_in", events.AuditRefused, nil)
	})
	return errors.Join(signInRefused(), err)
}

// beginSession begins a session of a builder who has proven who they are.
func (s *Service) beginSession(ctx context.Context, q *db.Queries, b Builder, address, agent string) (Session, error) {
	now, cookie := s.now(), newCookie()
	sessionID, expires := id.New[id.SessionKind](), now.Add(sessionLife)
	err := q.InsertBuilderSession(ctx, db.InsertBuilderSessionParams{
		ID: sessionID, BuilderID: b.ID, TokenHash: hashToken(cookie.Reveal()),
		Address: oneLine(address, 64), Agent: oneLine(agent, 200), Now: now, ExpiresAt: expires,
	})
	if err != nil {
		return Session{}, fmt.Errorf("insert session: %w", err)
	}
	if err := q.DeleteStaleBuilderSessions(ctx, now.Add(-staleAfter)); err != nil {
		return Session{}, fmt.Errorf("delete old sessions: %w", err)
	}
	session, err := s.openSession(ctx, q, sessionID, b, nil, address)
	if err != nil {
		return Session{}, err
	}
	session.ExpiresAt, session.Cookie = expires, cookie
	by := events.Actor{Builder: b.ID, Address: address}
	return session, s.auditEach(ctx, q, b.ID, by, "session.sign_in", events.AuditOK, map[string]any{"session": sessionID.String()})
}

// ChangePassword replaces the builder's password and ends their other
// sessions. A wrong current one is fault.Forbidden, a weak one fault.Invalid.
// Wrong ones count like those of a sign-in: a session left open is no way to
// guess.
func (s *Service) ChangePassword(ctx context.Context, session Session, current, next seal.Secret) error {
	address := session.Current.Address
	err := s.changePassword(ctx, session, current, next)
	var refused *fault.Error
	if !errors.As(err, &refused) {
		return err
	}
	recorded := s.store.AsSystem(ctx, func(q *db.Queries, _ pgx.Tx) error {
		by := events.Actor{Builder: session.Builder.ID, Address: address}
		return s.auditEach(ctx, q, session.Builder.ID, by, "password.change", events.AuditRefused, reasonOf(refused))
	})
	return errors.Join(err, recorded)
}

func (s *Service) changePassword(ctx context.Context, session Session, current, next seal.Secret) error {
	if err := checkPassword(next, session.Builder.Email); err != nil {
		return err
	}
	tries := []tried{byEmail(session.Builder.Email), byAddress("sign-in", session.Current.Address)}
	if err := s.try(ctx, tries...); err != nil {
		return err
	}
	who, err := s.builderByEmail(ctx, session.Builder.Email)
	if err != nil {
		return err
	}
	ok, err := s.passwords.matches(ctx, current, who.PasswordHash)
	if err != nil {
		return err
	}
	if !ok || who.ID != session.Builder.ID {
		return fault.New(fault.Forbidden, "password_wrong", "The current password is not right. Nothing was changed; try again.")
	}
	hash, err := s.passwords.hash(ctx, next)
	if err != nil {
		return err
	}
	return s.store.AsSystem(ctx, func(q *db.Queries, _ pgx.Tx) error {
		if err := s.unchanged(ctx, q, who); err != nil {
			return err
		}
		if err := s.right(ctx, q, tries...); err != nil {
			return err
		}
		by := events.Actor{Builder: who.ID, Address: session.Current.Address}
		return s.setPassword(ctx, q, who.ID, hash, session.ID, by, "password.change")
	})
}

// SetPassword gives a builder a password without asking for the one before,
// and ends all their sessions. It is for the operator and asks nobody for
// permission: its callers must have done so. An unknown email is
// fault.NotFound, a weak password fault.Invalid.
func (s *Service) SetPassword(ctx context.Context, email string, password seal.Secret) error {
	who, err := s.builderByEmail(ctx, email)
	if err != nil {
		return err
	}
	if who.ID.IsZero() {
		return fault.New(fault.NotFound, "builder_unknown", "There is no builder with this email. Check its spelling.")
	}
	if err := checkPassword(password, who.Email); err != nil {
		return err
	}
	hash, err := s.passwords.hash(ctx, password)
	if err != nil {
		return err
	}
	return s.store.AsSystem(ctx, func(q *db.Queries, _ pgx.Tx) error {
		if _, err := q.LockBuilder(ctx, who.ID); err != nil {
			return fmt.Errorf("load builder: %w", err)
		}
		return s.setPassword(ctx, q, who.ID, hash, id.Session{}, events.Actor{}, "password.set")
	})
}

// setPassword stores a password's hash and ends every session but one.
func (s *Service) setPassword(ctx context.Context, q *db.Queries, b id.Builder, hash string, keep id.Session, by events.Actor, action string) error {
	now := s.now()
	err := q.SetBuilderPassword(ctx, db.SetBuilderPasswordParams{ID: b, PasswordHash: &hash, Now: &now})
	if err != nil {
		return fmt.Errorf("store password: %w", err)
	}
	if err := q.EndBuilderSessionsExcept(ctx, db.EndBuilderSessionsExceptParams{BuilderID: b, ID: keep, Now: &now}); err != nil {
		return fmt.Errorf("end sessions: %w", err)
	}
	return s.auditEach(ctx, q, b, by, action, events.AuditOK, nil)
}
