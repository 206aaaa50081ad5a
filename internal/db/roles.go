package db

import (
	"context"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/chumbo-dev/chumbo/internal/seal"
)

// role is one cluster-wide role as it must be.
type role struct {
	name     string
	options  string // of CREATE ROLE
	memberOf []string
	password seal.Secret
}

func roles(opt MigrateOptions) []role {
	return []role{
		{name: "chumbo_owner", options: "nologin"},
		{name: "chumbo_app", options: "nologin"},
		{name: "chumbo_system", options: "nologin"},
		{name: "chumbo_server", options: "login noinherit", memberOf: []string{"chumbo_app", "chumbo_system"}, password: seal.NewSecret(opt.ServerPassword)},
		{name: "chumbo_river", options: "login noinherit", password: seal.NewSecret(opt.RiverPassword)},
	}
}

// ensureRoles makes every role. Roles belong to the cluster while advisory
// locks belong to a database, so two runs on two databases may meet here:
// whoever loses tries again and finds the work done.
func ensureRoles(ctx context.Context, conn *pgx.Conn, opt MigrateOptions) error {
	for _, r := range roles(opt) {
		if err := retryConcurrent(ctx, func() error { return ensureRole(ctx, conn, r) }); err != nil {
			return fmt.Errorf("role %s: %w", r.name, err)
		}
	}
	return retryConcurrent(ctx, func() error { return joinOwner(ctx, conn) })
}

func ensureRole(ctx context.Context, conn *pgx.Conn, r role) error {
	var exists bool
	if err := conn.QueryRow(ctx, "select exists (select from pg_roles where rolname = $1)", r.name).Scan(&exists); err != nil {
		return fmt.Errorf("look up: %w", err)
	}
	if !exists {
		if _, err := conn.Exec(ctx, "create role "+r.name+" "+r.options); err != nil {
			return fmt.Errorf("create: %w", err)
		}
	}
	for _, group := range r.memberOf {
		var member bool
		if err := conn.QueryRow(ctx, "select pg_has_role($1, $2, 'member')", r.name, group).Scan(&member); err != nil {
			return fmt.Errorf("look up membership: %w", err)
		}
		if member {
			continue
		}
		if _, err := conn.Exec(ctx, "grant "+group+" to "+r.name); err != nil {
			return fmt.Errorf("join %s: %w", group, err)
		}
	}
	if r.password.IsZero() {
		return nil
	}
	verifier, err := scramVerifier(r.password)
	if err != nil {
		return err
	}
	// The verifier is base64 and punctuation without quotes; the password
	// itself never reaches the server or its log.
	if _, err := conn.Exec(ctx, "alter role "+r.name+" password '"+verifier+"'"); err != nil {
		return fmt.Errorf("set password: %w", err)
	}
	return nil
}

// joinOwner lets a migrating role that is no superuser act as chumbo_owner.
func joinOwner(ctx context.Context, conn *pgx.Conn) error {
	var ready bool
	if err := conn.QueryRow(ctx, "select pg_has_role(current_user, 'chumbo_owner', 'member')").Scan(&ready); err != nil {
		return fmt.Errorf("look up membership: %w", err)
	}
	if ready {
		return nil
	}
	if _, err := conn.Exec(ctx, "grant chumbo_owner to current_user"); err != nil {
		return fmt.Errorf("join chumbo_owner: %w", err)
	}
	return nil
}

// retryConcurrent repeats fn while another session changes the same rows of
// the cluster's catalogs.
func retryConcurrent(ctx context.Context, fn func() error) error {
	var err error
	for attempt := range 20 {
		if err = fn(); !isConcurrentChange(err) {
			return err
		}
		timer := time.NewTimer(time.Duration(attempt+1) * 5 * time.Millisecond)
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-timer.C:
		}
	}
	return err
}

func isConcurrentChange(err error) bool {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return false
	}
	switch pg.Code {
	case "23505", "42710": // made by somebody else meanwhile
		return true
	case "XX000": // "tuple concurrently updated"
		return true
	}
	return false
}

// scramVerifier computes what Postgres stores for a SCRAM-SHA-256 password
// (RFC 5803). Only printable ASCII is taken, for which SASLprep changes
// nothing.
func scramVerifier(password seal.Secret) (string, error) {
	text := password.Reveal()
	for _, b := range []byte(text) {
		if b < 0x20 || b > 0x7e {
			return "", errors.New("set password: only printable ASCII characters can be used")
		}
	}
	const iterations = 4096
	salt := make([]byte, 16)
	_, _ = rand.Read(salt) // never fails (crypto/rand)
	salted, err := pbkdf2.Key(sha256.New, text, salt, iterations, sha256.Size)
	if err != nil {
		return "", fmt.Errorf("derive password verifier: %w", err)
	}
	mac := func(message string) []byte {
		m := hmac.New(sha256.New, salted)
		m.Write([]byte(message))
		return m.Sum(nil)
	}
	stored := sha256.Sum256(mac("Client Key"))
	encode := base64.StdEncoding.EncodeToString
	return fmt.Sprintf("SCRAM-SHA-256$%d:%s$%s:%s", iterations, encode(salt), encode(stored[:]), encode(mac("Server Key"))), nil
}
