package db

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/chumbo-dev/chumbo/internal/id"
)

// Store opens the only two kinds of transaction Chumbo uses. The login role of
// the pool owns nothing and has no table privileges; data is reached only
// under one of two roles, set for the length of a transaction.
type Store struct{ pool *pgxpool.Pool }

// NewStore wraps a pool whose login role is a NOINHERIT member of chumbo_app
// and chumbo_system.
func NewStore(pool *pgxpool.Pool) *Store { return &Store{pool: pool} }

// AsOrganization runs fn in one transaction as chumbo_app, which sees and
// writes rows of that organization only. An error from fn rolls back.
func (s *Store) AsOrganization(ctx context.Context, org id.Organization, fn func(q *Queries, tx pgx.Tx) error) error {
	if org.IsZero() {
		return fmt.Errorf("begin as organization: no organization")
	}
	return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "select set_config('role', 'chumbo_app', true), set_config('chumbo.organization_id', $1, true)", org.UUID().String())
		if err != nil {
			return fmt.Errorf("become chumbo_app: %w", err)
		}
		return fn(New(tx), tx)
	})
}

// AsSystem runs fn in one transaction as chumbo_system, which reaches a
// written list of tables across organizations: the Directory, token checks,
// first run and the worker.
func (s *Store) AsSystem(ctx context.Context, fn func(q *Queries, tx pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "set local role chumbo_system"); err != nil {
			return fmt.Errorf("become chumbo_system: %w", err)
		}
		return fn(New(tx), tx)
	})
}

// Pool is the underlying pool, for health checks and the listening connection.
func (s *Store) Pool() *pgxpool.Pool { return s.pool }
