package standin

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/crypto/bcrypt"
)

// errNoPerson says that nobody has this id or address.
var errNoPerson = errors.New("no such user")

// people reads and writes auth.users and auth.identities.
type people struct{ pool *pgxpool.Pool }

// person is a row of auth.users, in the shape the API shows.
type person struct {
	ID                 string         `json:"id"`
	Aud                string         `json:"aud"`
	Role               string         `json:"role"`
	Email              string         `json:"email"`
	EmailConfirmedAt   *time.Time     `json:"email_confirmed_at,omitempty"`
	Phone              string         `json:"phone"`
	ConfirmationSentAt *time.Time     `json:"confirmation_sent_at,omitempty"`
	ConfirmedAt        *time.Time     `json:"confirmed_at,omitempty"`
	RecoverySentAt     *time.Time     `json:"recovery_sent_at,omitempty"`
	LastSignInAt       *time.Time     `json:"last_sign_in_at,omitempty"`
	AppMetadata        map[string]any `json:"app_metadata"`
	UserMetadata       map[string]any `json:"user_metadata"`
	Factors            []factorView   `json:"factors,omitempty"`
	Identities         []identity     `json:"identities"`
	CreatedAt          time.Time      `json:"created_at"`
	UpdatedAt          time.Time      `json:"updated_at"`
	BannedUntil        *time.Time     `json:"banned_until,omitempty"`
	IsAnonymous        bool           `json:"is_anonymous"`

	passwordHash string
}

// identity is one way the person signs in.
type identity struct {
	IdentityID   string         `json:"identity_id"`
	ID           string         `json:"id"` // the provider's own id of the person
	UserID       string         `json:"user_id"`
	Data         map[string]any `json:"identity_data"`
	Provider     string         `json:"provider"`
	LastSignInAt time.Time      `json:"last_sign_in_at"`
	CreatedAt    time.Time      `json:"created_at"`
	UpdatedAt    time.Time      `json:"updated_at"`
	Email        string         `json:"email"`
}

func (p *person) banned(now time.Time) bool {
	return p.BannedUntil != nil && now.Before(*p.BannedUntil)
}

func (p *person) passwordIs(password string) bool {
	return p.passwordHash != "" && bcrypt.CompareHashAndPassword([]byte(p.passwordHash), []byte(password)) == nil
}

// setPassword keeps the cheapest hash there is: these are test accounts.
func (p *person) setPassword(password string) error {
	if password == "" {
		return nil
	}
	hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	if err != nil {
		return fmt.Errorf("hash password: %w", err)
	}
	p.passwordHash = string(hash)
	return nil
}

// newPerson is somebody who signed up by email.
func newPerson(u User, now time.Time) (*person, error) {
	p := &person{ID: u.ID, Aud: "authenticated", Role: "authenticated", Email: strings.ToLower(u.Email), CreatedAt: now, UpdatedAt: now}
	if p.ID == "" {
		p.ID = uuid.NewString()
	}
	if _, err := uuid.Parse(p.ID); err != nil {
		return nil, fmt.Errorf("user id %q is no UUID", p.ID)
	}
	p.AppMetadata = map[string]any{"provider": "email", "providers": []any{"email"}}
	maps.Copy(p.AppMetadata, u.AppMetadata)
	p.UserMetadata = map[string]any{"email": p.Email, "email_verified": false, "phone_verified": false, "sub": p.ID}
	maps.Copy(p.UserMetadata, u.UserMetadata)
	p.addIdentity("email", p.ID, map[string]any{"email": p.Email, "email_verified": false, "phone_verified": false, "sub": p.ID}, now)
	if !u.Unconfirmed {
		p.confirm(now)
	}
	return p, p.setPassword(u.Password)
}

func (p *person) confirm(now time.Time) {
	p.EmailConfirmedAt = &now
	p.UserMetadata["email_verified"] = true
}

// verifyIdentities marks the address of each identity that has it as verified.
func (p *person) verifyIdentities() {
	for i := range p.Identities {
		if p.Identities[i].Email == p.Email {
			p.Identities[i].Data["email_verified"] = true
		}
	}
}

func (p *person) addIdentity(provider, providerID string, data map[string]any, now time.Time) {
	p.Identities = append(p.Identities, identity{IdentityID: uuid.NewString(), ID: providerID, UserID: p.ID, Data: data,
		Provider: provider, LastSignInAt: now, CreatedAt: now, UpdatedAt: now, Email: p.Email})
}

// addUser makes a configured user, or leaves the one of that email alone.
func (a *authServer) addUser(ctx context.Context, u User) error {
	_, err := a.people.byEmail(ctx, u.Email)
	if !errors.Is(err, errNoPerson) {
		return err // nil when they are there
	}
	p, err := newPerson(u, a.cfg.now().UTC())
	if err != nil {
		return err
	}
	return a.people.insert(ctx, p)
}

// insert makes the person; update changes one that is there.
func (s people) insert(ctx context.Context, p *person) error {
	return s.write(ctx, p, `
insert into auth.users (id, aud, role, email, phone, encrypted_password, email_confirmed_at, confirmation_sent_at,
  recovery_sent_at, last_sign_in_at, raw_app_meta_data, raw_user_meta_data, created_at, updated_at, is_anonymous)
values (@id, @aud, @role, nullif(@email, ''), nullif(@phone, ''), nullif(@password, ''), @confirmed, @confirmation,
  @recovery, @signed_in, @app, @meta, @created, @updated, @anonymous)`)
}

func (s people) update(ctx context.Context, p *person) error {
	return s.write(ctx, p, `
update auth.users set email = nullif(@email, ''), encrypted_password = nullif(@password, ''), email_confirmed_at = @confirmed,
  confirmation_sent_at = @confirmation, recovery_sent_at = @recovery, raw_app_meta_data = @app,
  raw_user_meta_data = @meta, updated_at = @updated
where id = @id`)
}

func (s people) write(ctx context.Context, p *person, sql string) error {
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		done, err := tx.Exec(ctx, sql, pgx.NamedArgs{
			"id": p.ID, "aud": p.Aud, "role": p.Role, "email": p.Email, "phone": p.Phone, "password": p.passwordHash,
			"confirmed": p.EmailConfirmedAt, "confirmation": p.ConfirmationSentAt, "recovery": p.RecoverySentAt,
			"signed_in": p.LastSignInAt, "app": p.AppMetadata, "meta": p.UserMetadata,
			"created": p.CreatedAt, "updated": p.UpdatedAt, "anonymous": p.IsAnonymous,
		})
		if err != nil {
			return err
		}
		if done.RowsAffected() == 0 {
			return errNoPerson // deleted meanwhile
		}
		for _, i := range p.Identities {
			if err := saveIdentity(ctx, tx, i); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("write user: %w", err)
	}
	return nil
}

// noteSignIn touches nothing else, so that sign-ins at once lose no change.
func (s people) noteSignIn(ctx context.Context, p *person, now time.Time) error {
	p.LastSignInAt, p.UpdatedAt = &now, now
	_, err := s.pool.Exec(ctx, `update auth.users set last_sign_in_at = $2, updated_at = $2 where id = $1::uuid`, p.ID, now)
	if err != nil {
		return fmt.Errorf("note sign-in: %w", err)
	}
	return nil
}

func saveIdentity(ctx context.Context, tx pgx.Tx, i identity) error {
	_, err := tx.Exec(ctx, `
insert into auth.identities (id, user_id, provider, provider_id, identity_data, last_sign_in_at, created_at, updated_at)
values (@id, @user, @provider, @provider_id, @data, @signed_in, @created, @updated)
on conflict (id) do update set identity_data = excluded.identity_data, last_sign_in_at = excluded.last_sign_in_at,
  updated_at = excluded.updated_at`, pgx.NamedArgs{
		"id": i.IdentityID, "user": i.UserID, "provider": i.Provider, "provider_id": i.ID, "data": i.Data,
		"signed_in": i.LastSignInAt, "created": i.CreatedAt, "updated": i.UpdatedAt,
	})
	return err
}

func (s people) byID(ctx context.Context, id string) (*person, error) {
	if _, err := uuid.Parse(id); err != nil {
		return nil, errNoPerson
	}
	return s.find(ctx, "id = $1::uuid", id)
}

func (s people) byEmail(ctx context.Context, email string) (*person, error) {
	return s.find(ctx, "email = lower($1)", email)
}

func (s people) find(ctx context.Context, where, arg string) (*person, error) {
	var p person
	err := s.pool.QueryRow(ctx, `
select id::text, coalesce(aud, ''), coalesce(role, ''), coalesce(email, ''), coalesce(phone, ''), coalesce(encrypted_password, ''),
  email_confirmed_at, email_confirmed_at, confirmation_sent_at, recovery_sent_at, last_sign_in_at, banned_until,
  coalesce(raw_app_meta_data, '{}'), coalesce(raw_user_meta_data, '{}'), coalesce(created_at, now()), coalesce(updated_at, now()), is_anonymous
from auth.users where `+where, arg).Scan(
		&p.ID, &p.Aud, &p.Role, &p.Email, &p.Phone, &p.passwordHash,
		&p.EmailConfirmedAt, &p.ConfirmedAt, &p.ConfirmationSentAt, &p.RecoverySentAt, &p.LastSignInAt, &p.BannedUntil,
		&p.AppMetadata, &p.UserMetadata, &p.CreatedAt, &p.UpdatedAt, &p.IsAnonymous)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, errNoPerson
	}
	if err != nil {
		return nil, fmt.Errorf("read user: %w", err)
	}
	p.inUTC()
	rows, err := s.pool.Query(ctx, `
select id::text, provider_id, provider, identity_data, coalesce(last_sign_in_at, created_at), created_at, updated_at
from auth.identities where user_id = $1::uuid order by created_at, id`, p.ID)
	if err != nil {
		return nil, fmt.Errorf("read identities: %w", err)
	}
	p.Identities, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (identity, error) {
		i := identity{UserID: p.ID}
		err := row.Scan(&i.IdentityID, &i.ID, &i.Provider, &i.Data, &i.LastSignInAt, &i.CreatedAt, &i.UpdatedAt)
		i.Email, _ = i.Data["email"].(string)
		i.LastSignInAt, i.CreatedAt, i.UpdatedAt = i.LastSignInAt.UTC(), i.CreatedAt.UTC(), i.UpdatedAt.UTC()
		return i, err
	})
	if err != nil {
		return nil, fmt.Errorf("read identities: %w", err)
	}
	return &p, nil
}

func (p *person) inUTC() {
	for _, t := range []*time.Time{p.EmailConfirmedAt, p.ConfirmedAt, p.ConfirmationSentAt, p.RecoverySentAt, p.LastSignInAt, p.BannedUntil} {
		if t != nil {
			*t = t.UTC()
		}
	}
	p.CreatedAt, p.UpdatedAt = p.CreatedAt.UTC(), p.UpdatedAt.UTC()
}
