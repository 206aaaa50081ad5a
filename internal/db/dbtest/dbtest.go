// Package dbtest gives each test a migrated Chumbo database of its own, cloned
// from a template that is built once per server. It is for tests only.
package dbtest

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/localpg"
)

// Database is one migrated database with the ways into it.
type Database struct {
	Store     *db.Store // pool of chumbo_server, at most 8 connections
	AdminDSN  string    // the owner of the cluster, whom no rule binds
	ServerDSN string    // chumbo_server
	RiverDSN  string    // chumbo_river
}

// New returns a store over a fresh database. Everything is removed at the end
// of the test. The package needs localpg.TestMain as its TestMain.
func New(t testing.TB) *db.Store {
	t.Helper()
	return NewDatabase(t).Store
}

// NewDatabase is New for tests that need more than the store.
func NewDatabase(t testing.TB) *Database {
	t.Helper()
	ctx := context.Background()
	server := localpg.Shared(t)
	template, err := server.Template(ctx, "chumbo", func(ctx context.Context, dsn string) error {
		return db.Migrate(ctx, dsn, db.MigrateOptions{
			ServerPassword: server.RolePassword("chumbo_server"), RiverPassword: server.RolePassword("chumbo_river"),
		})
	})
	if err != nil {
		t.Fatalf("build template database: %v", err)
	}
	admin := server.Clone(t, template)
	config, err := pgx.ParseConfig(admin)
	if err != nil {
		t.Fatalf("parse database URL: %v", err)
	}
	name := config.Database
	d := &Database{AdminDSN: admin, ServerDSN: server.DSNAs(name, "chumbo_server"), RiverDSN: server.DSNAs(name, "chumbo_river")}
	pool, err := db.OpenSized(ctx, d.ServerDSN, 8)
	if err != nil {
		t.Fatalf("open database: %v", err)
	}
	t.Cleanup(pool.Close)
	d.Store = db.NewStore(pool)
	return d
}

// Exec runs SQL as the owner of the cluster, past every rule of ours.
func (d *Database) Exec(t testing.TB, sql string, args ...any) {
	t.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, d.AdminDSN)
	if err != nil {
		t.Fatalf("connect as admin: %v", err)
	}
	defer func() { _ = conn.Close(ctx) }()
	if _, err := conn.Exec(ctx, "set search_path = chumbo"); err != nil {
		t.Fatalf("set search path: %v", err)
	}
	if _, err := conn.Exec(ctx, sql, args...); err != nil {
		t.Fatalf("exec as admin: %v", err)
	}
}
