package db_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/db/dbtest"
	"github.com/chumbo-dev/chumbo/internal/localpg"
)

func TestMigrateAgainChangesNothing(t *testing.T) {
	t.Parallel()
	d := dbtest.NewDatabase(t)
	for range 2 {
		if err := db.Migrate(t.Context(), d.AdminDSN, db.MigrateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.CheckRole(t.Context(), d.Store.Pool()); err != nil {
		t.Errorf("login role after a second migration: %v", err)
	}
}

func TestMigrateRunsAtOnceOnOneAndOnSeveralDatabases(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	server := localpg.Shared(t)
	opt := db.MigrateOptions{ServerPassword: server.RolePassword("chumbo_server"), RiverPassword: server.RolePassword("chumbo_river")}
	var group errgroup.Group
	for range 3 {
		dsn := server.Clone(t, "")
		for range 2 {
			group.Go(func() error { return db.Migrate(ctx, dsn, opt) })
		}
	}
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
}

func TestMigrateGivesTheLoginRoleItsPassword(t *testing.T) {
	t.Parallel()
	d := dbtest.NewDatabase(t)
	var stored string
	conn, err := pgx.Connect(t.Context(), d.AdminDSN)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	if err := conn.QueryRow(t.Context(), "select rolpassword from pg_authid where rolname = 'chumbo_server'").Scan(&stored); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(stored, "SCRAM-SHA-256$4096:") {
		t.Errorf("stored password is %.20q…, want a SCRAM verifier", stored)
	}
}
