package builders_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/api/apitest"
	"github.com/chumbo-dev/chumbo/internal/builders"
	"github.com/chumbo-dev/chumbo/internal/localpg"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

func TestMain(m *testing.M) { localpg.TestMain(m) }

const surfaceFile = `version: 1
title: Acme CRM
access: { mode: oauth, authorization: direct }
tools:
  - table: customers
    operations: [list, get]
    columns: [id, name, status]
`

// bundle is a world as three builders see it.
type bundle struct {
	*apitest.World
	alice, vera, bob tenants.Principal
}

// registered is a world where Alice's project acme has a schema.
func registered(t *testing.T, o apitest.Options) bundle {
	t.Helper()
	w := apitest.New(t, o)
	b := bundle{World: w, alice: w.Principal(t, w.Alice), vera: w.Principal(t, w.Vera), bob: w.Principal(t, w.Bob)}
	if _, _, err := w.Builders.Register(t.Context(), b.alice, b.registration("acme"), nil); err != nil {
		t.Fatalf("register: %v", err)
	}
	if _, err := w.Builders.PutSchema(t.Context(), b.alice, "acme", w.Snapshot(t), surfaces.SourcePostgres); err != nil {
		t.Fatalf("put schema: %v", err)
	}
	return b
}

func (b bundle) registration(slug string) builders.NewRegistration {
	return builders.NewRegistration{URL: b.Project.URL(), PublishableKey: b.Project.PublishableKey(), Slug: slug, Name: "Acme"}
}

func (b bundle) publish(t *testing.T) builders.Publication {
	t.Helper()
	done, err := b.Builders.Publish(t.Context(), b.alice, "acme", "main", []byte(surfaceFile), nil, nil)
	if err != nil {
		t.Fatalf("publish: %v", err)
	}
	return done
}

// actions runs a query of the control plane's tables that returns texts.
func (b bundle) actions(t *testing.T, sql string, args ...any) []string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), b.DB.AdminDSN)
	if err != nil {
		t.Fatalf("connect as admin: %v", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	if _, err := conn.Exec(t.Context(), "set search_path = chumbo"); err != nil {
		t.Fatalf("set search path: %v", err)
	}
	rows, err := conn.Query(t.Context(), sql, args...)
	if err != nil {
		t.Fatalf("query: %v", err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatalf("read rows: %v", err)
	}
	return list
}
