package db_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	migrations "github.com/chumbo-dev/chumbo/db/migrations"
	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/db/dbtest"
)

// TestMigrationsGoBackAndForthWithRowsInTheTables: every step down leaves what
// was there before the step up, and the step up works again.
func TestMigrationsGoBackAndForthWithRowsInTheTables(t *testing.T) {
	t.Parallel()
	d := dbtest.NewDatabase(t)
	config, err := pgx.ParseConfig(d.AdminDSN)
	if err != nil {
		t.Fatal(err)
	}
	config.RuntimeParams["search_path"] = "chumbo"
	pool := stdlib.OpenDB(*config, stdlib.OptionAfterConnect(func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "set role chumbo_owner")
		return err
	}))
	t.Cleanup(func() { _ = pool.Close() })
	d.Exec(t, `insert into chumbo.organizations (id, slug, name, created_at) values ('00000000-0000-7000-8000-000000000001', 'acme', 'Acme', now())`)
	d.Exec(t, `insert into chumbo.projects (organization_id, id, slug, name, typed_url, api_origin, issuer, jwks_uri, publishable_key, signing, oauth_enabled, scopes_supported, created_at, updated_at)
		values ('00000000-0000-7000-8000-000000000001', '00000000-0000-7000-8000-000000000002', 'acme-crm', 'Acme', 'https://a.example.test', 'https://a.example.test', 'https://a.example.test/auth/v1', '', 'k', 'hs256', false, '{}', now(), now())`)
	columns := func() string {
		var all string
		err := pool.QueryRowContext(t.Context(), `select string_agg(table_name || '.' || column_name || ' ' || data_type || ' ' || is_nullable, e'\n' order by table_name, column_name)
			from information_schema.columns where table_schema = 'chumbo'`).Scan(&all)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	provider, err := goose.NewProvider(goose.DialectPostgres, pool, migrations.FS, goose.WithTableName("goose_db_version"), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		t.Fatal(err)
	}
	before := columns()
	if _, err := provider.DownTo(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	if _, err := provider.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	if after := columns(); after != before {
		t.Errorf("columns before:\n%s\nafter:\n%s", before, after)
	}
	if err := db.CheckRole(t.Context(), d.Store.Pool()); err != nil {
		t.Error(err)
	}
}
