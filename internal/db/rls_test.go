package db_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/db/dbtest"
	"github.com/chumbo-dev/chumbo/internal/id"
)

// access is what the two data roles may do with a table.
type access struct{ app, system string }

// tenantTables belong to one organization, row by row.
var tenantTables = map[string]access{
	"organizations":    {"select update", "insert select"},
	"members":          {"insert select update", "insert select"},
	"api_tokens":       {"insert select update", "insert select update"},
	"name_claims":      {"insert select", "select"},
	"projects":         {"delete insert select update", "select"},
	"domains":          {"delete insert select update", "select"},
	"schema_snapshots": {"delete insert select", ""},
	"surfaces":         {"delete insert select update", "select"},
	"surface_urls":     {"delete insert select update", "select"},
	"revisions":        {"delete insert select", "select"},
	"registrations":    {"delete insert select update", "delete"},
	"project_logos":    {"delete insert select update", "select"},
	"notices":          {"insert select update", "insert"},
	"audit_events":     {"insert", "insert select"},
	"invocations":      {"select", "delete insert select"},

	"sign_in_settings":      {"insert select update", ""},
	"oauth_clients":         {"delete insert select update", "delete select"},
	"upstream_sessions":     {"insert select update", "delete select update"},
	"end_user_sessions":     {"insert select update", "delete select"},
	"sign_ins":              {"insert select update", "delete select"},
	"grants":                {"insert select update", "select"},
	"refresh_chains":        {"insert select update", "delete select"},
	"used_states":           {"insert select", "delete select"},
	"connection_steps":      {"select", "delete insert select"},
	"api_keys":              {"insert select update", ""},
	"direct_clients":        {"insert select update", ""},
	"introspection_secrets": {"delete insert select update", ""},
	"approvals":             {"insert select update", "delete select"},
}

// systemTables are the instance's, and closed to chumbo_app.
var systemTables = map[string]access{
	"instance_facts":   {"", "insert select"},
	"builders":         {"", "insert select update"},
	"goose_db_version": {"", ""},

	"setup_codes":           {"", "delete insert select update"},
	"builder_sessions":      {"", "delete insert select update"},
	"throttles":             {"", "delete insert select update"},
	"device_authorizations": {"", "delete insert select update"},
	"signing_keys":          {"", "delete insert select update"},
	"bridge_limits":         {"", "delete insert select update"},
	"rate_windows":          {"", "delete insert select update"},
	"create_keys":           {"", "delete insert select update"},
}

// riverTables are River's own, in its schema.
var riverTables = map[string]access{
	"river_job":          {"insert select", "insert select"},
	"river_leader":       {},
	"river_migration":    {},
	"river_notification": {},
	"river_queue":        {},
}

func admin(t *testing.T, d *dbtest.Database) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), d.AdminDSN)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	if _, err := conn.Exec(t.Context(), "set search_path = chumbo"); err != nil {
		t.Fatal(err)
	}
	return conn
}

func TestEveryTableIsOnExactlyOneList(t *testing.T) {
	t.Parallel()
	conn := admin(t, dbtest.NewDatabase(t))
	rows, err := conn.Query(t.Context(), `
		select n.nspname, c.relname, c.relrowsecurity and c.relforcerowsecurity, pg_get_userbyid(c.relowner)
		from pg_class c join pg_namespace n on n.oid = c.relnamespace
		where c.relkind in ('r', 'p', 'v', 'm', 'f') and n.nspname not in ('pg_catalog', 'information_schema') and n.nspname not like 'pg_toast%'`)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	var schema, table, owner string
	var forced bool
	_, err = pgx.ForEachRow(rows, []any{&schema, &table, &forced, &owner}, func() error {
		seen[table] = true
		_, isTenant := tenantTables[table]
		_, isSystem := systemTables[table]
		_, isRiver := riverTables[table]
		switch {
		case schema == "river" && isRiver:
		case schema == "chumbo" && isTenant != isSystem:
			if !forced {
				t.Errorf("%s: Row Level Security is not enabled and forced", table)
			}
		default:
			t.Errorf("%s.%s is on no list", schema, table)
		}
		if owner != "chumbo_owner" {
			t.Errorf("%s.%s belongs to %s", schema, table, owner)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range []map[string]access{tenantTables, systemTables, riverTables} {
		for name := range list {
			if !seen[name] {
				t.Errorf("%s is on a list and does not exist", name)
			}
		}
	}
}

func TestRolesHoldExactlyTheListedPrivileges(t *testing.T) {
	t.Parallel()
	conn := admin(t, dbtest.NewDatabase(t))
	holds := func(role, table string) string {
		var have []string
		for _, privilege := range []string{"delete", "insert", "references", "select", "trigger", "truncate", "update"} {
			var ok bool
			if err := conn.QueryRow(t.Context(), "select has_table_privilege($1, $2, $3)", role, table, privilege).Scan(&ok); err != nil {
				t.Fatal(err)
			}
			if ok {
				have = append(have, privilege)
			}
		}
		return strings.Join(have, " ")
	}
	for schema, list := range map[string]map[string]access{"chumbo": tenantTables, "chumbo ": systemTables, "river": riverTables} {
		for table, want := range list {
			name := strings.TrimSpace(schema) + "." + table
			for role, privileges := range map[string]string{"chumbo_app": want.app, "chumbo_system": want.system, "chumbo_server": ""} {
				if got := holds(role, name); got != privileges {
					t.Errorf("%s on %s: %q, want %q", role, name, got, privileges)
				}
			}
			if got := holds("chumbo_river", name); schema != "river" && got != "" {
				t.Errorf("chumbo_river on %s: %q, want nothing", name, got)
			}
		}
	}
}

// TestColumnsAreGrantedOneByOneWhereTheTableIsNot lists what a role may do with
// some columns of a table only.
func TestColumnsAreGrantedOneByOneWhereTheTableIsNot(t *testing.T) {
	t.Parallel()
	conn := admin(t, dbtest.NewDatabase(t))
	rows, err := conn.Query(t.Context(), `
		select distinct g.rolname || ' ' || lower(a.privilege_type) || ' ' || c.relname || '.' || col.attname
		from pg_class c join pg_namespace n on n.oid = c.relnamespace and n.nspname = 'chumbo'
		join pg_attribute col on col.attrelid = c.oid, aclexplode(col.attacl) a join pg_roles g on g.oid = a.grantee
		where c.relkind in ('r', 'p', 'v', 'm', 'f') order by 1`)
	if err != nil {
		t.Fatal(err)
	}
	got, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"chumbo_app update schema_snapshots.created_at", "chumbo_app update schema_snapshots.source",
		"chumbo_system select registrations.created_at",
		"chumbo_system update projects.ownership_checked_at", "chumbo_system update projects.ownership_due_at",
		"chumbo_system update projects.ownership_misses", "chumbo_system update projects.taken_over_at",
		"chumbo_system update projects.updated_at", "chumbo_system update projects.verified_at", "chumbo_system update projects.verified_by",
		"chumbo_system update surfaces.state", "chumbo_system update surfaces.updated_at",
	}
	if !slices.Equal(got, want) {
		t.Errorf("columns granted:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestArchitecturePageListsEveryTable keeps docs/architecture.md true.
func TestArchitecturePageListsEveryTable(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	cell := func(privileges string) string {
		if privileges == "" {
			return "none"
		}
		return strings.ReplaceAll(privileges, " ", ", ")
	}
	for _, list := range []map[string]access{tenantTables, systemTables, riverTables} {
		for table, may := range list {
			row := ""
			for line := range strings.Lines(string(page)) {
				if strings.HasPrefix(line, "| `"+table+"` |") {
					row = strings.TrimSpace(line)
				}
			}
			if want := "| " + cell(may.app) + " | " + cell(may.system) + " |"; !strings.HasSuffix(row, want) {
				t.Errorf("docs/architecture.md says of %s %q, want it to end in %q", table, row, want)
			}
		}
	}
}

// seed puts one row of an organization into every tenant table.
func seed(t *testing.T, conn *pgx.Conn, name string) id.Organization {
	t.Helper()
	org, builder, project, surface := id.New[id.OrganizationKind](), uuid.New(), uuid.New(), uuid.New()
	upstream, grant := uuid.New(), uuid.New()
	for _, statement := range []string{
		"insert into organizations values (@org, @name, @name, now())",
		"insert into builders values (@builder, @name || '@example.test', now())",
		"insert into members values (@org, @builder, 'owner', now())",
		"insert into api_tokens values (@org, gen_random_uuid(), @builder, 't', sha256(@name::bytea), now())",
		"insert into name_claims values ('project', @name, @org, now())",
		`insert into projects values (@org, @project, @name, @name, 'u', 'https://' || @name, 'i', 'j', 'k', 'hs256', true, '{}', null, now(), now())`,
		"insert into domains values (@org, gen_random_uuid(), @project, @name || '.example.test', null, now())",
		"insert into schema_snapshots values (@org, @project, 'd', '{}', 'file', now())",
		"insert into surfaces values (@org, @surface, @project, 'main', 'live', null, null, now(), now())",
		"insert into surface_urls values (@org, gen_random_uuid(), @surface, '', '/' || @name || '/mcp', true, false, now())",
		"insert into revisions values (@org, @surface, 1, 'd', 'f', 't', '{}', 1, 'c', 's', null, now())",
		"insert into registrations (organization_id, id, builder_id, typed_url, created_at) values (@org, gen_random_uuid(), @builder, 'u', now())",
		"insert into notices values (@org, gen_random_uuid(), 'k', null, 't', now())",
		"insert into project_logos values (@org, @project, sha256('logo'), 'png', now())",
		"insert into audit_events values (@org, gen_random_uuid(), now(), 'system', 'a', 't', 'ok', '{}')",
		"insert into invocations values (@org, gen_random_uuid(), now(), @surface, 1, 'm', 'c', 'direct', '', '', 'ok', '', 1, 1, 1, '', '')",
		"insert into sign_in_settings (organization_id, project_id, updated_at) values (@org, @project, now())",
		`insert into oauth_clients (organization_id, surface_id, client_id, kind, name, redirect_uris, auth_methods, metadata, created_at, last_used_at)
			values (@org, @surface, 'c', 'registered', 'n', '{}', '{}', '{}', now(), now())`,
		`insert into upstream_sessions (organization_id, id, project_id, issuer, subject, email, kind, access_token, refresh_token, access_until, created_at, refreshed_at)
			values (@org, @upstream, @project, 'i', 's', 'e', 'session', 'a', 'r', now(), now(), now())`,
		`insert into end_user_sessions (organization_id, id, project_id, upstream_session_id, token_hash, created_at, expires_at)
			values (@org, gen_random_uuid(), @project, @upstream, sha256(@name::bytea), now(), now())`,
		`insert into sign_ins (organization_id, id, surface_id, project_id, url_ref, purpose, cookie_hash, created_at, expires_at)
			values (@org, gen_random_uuid(), @surface, @project, 'u', 'apps', 'c', now(), now())`,
		`insert into grants (organization_id, id, surface_id, project_id, kind, issuer, subject, client_id, client_name, asked, scopes, read_only, writes,
			upstream_session_id, created_at, approved_at, expires_at)
			values (@org, @grant, @surface, @project, 'client', 'i', 's', 'c', 'n', '{}', '{}', false, '{}', @upstream, now(), now(), now())`,
		`insert into refresh_chains (organization_id, id, grant_id, generation, rotated_at, created_at, idle_until)
			values (@org, gen_random_uuid(), @grant, 1, now(), now(), now())`,
		"insert into used_states values (@org, 'j', now())",
		`insert into connection_steps (organization_id, id, at, surface_id, step, outcome, code, address, client_id, client_name, client_version, agent, request_id)
			values (@org, gen_random_uuid(), now(), @surface, 'challenge', 'ok', '', 'a', '', '', '', '', 'r')`,
		`insert into api_keys (organization_id, id, surface_id, name, key_hash, hint, scopes, created_by, created_at)
			values (@org, gen_random_uuid(), @surface, 'a key', sha256(uuid_send(@org::uuid)), 'abcd', '{}', gen_random_uuid(), now())`,
		"insert into direct_clients values (@org, @project, 'a client', @surface, '', now(), now())",
		"insert into introspection_secrets values (@org, @surface, 's', gen_random_uuid(), now())",
		"insert into approvals values (@org, @name, @surface, 'u', 'i', 's', @grant, 'caller', 'call', 'sealed', 'pending', now(), null, now())",
	} {
		args := pgx.StrictNamedArgs{
			"org": org.UUID(), "name": name, "builder": builder, "project": project, "surface": surface, "upstream": upstream, "grant": grant,
		}
		for key := range args {
			if !strings.Contains(statement, "@"+key) {
				delete(args, key)
			}
		}
		statement = strings.ReplaceAll(statement, "@name", "@name::text")
		if _, err := conn.Exec(t.Context(), statement, args); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	return org
}

func column(table string) string {
	if table == "organizations" {
		return "id"
	}
	return "organization_id"
}

func TestQueryWithoutWhereSeesNothingOfAnotherOrganization(t *testing.T) {
	t.Parallel()
	d := dbtest.NewDatabase(t)
	conn := admin(t, d)
	alice, bob := seed(t, conn, "acme"), seed(t, conn, "globex")
	for _, table := range slices.Sorted(maps.Keys(tenantTables)) {
		t.Run(table, func(t *testing.T) {
			var bobs json.RawMessage
			err := conn.QueryRow(t.Context(), fmt.Sprintf("select to_jsonb(t) from %s t where %s = $1", table, column(table)), bob.UUID()).Scan(&bobs)
			if err != nil {
				t.Fatalf("bob has no row: %v", err)
			}
			may := tenantTables[table].app
			if strings.Contains(may, "select") {
				sees(t, d, alice, table, 1)
				sees(t, d, bob, table, 1)
			}
			if strings.Contains(may, "update") {
				touches(t, d, alice, fmt.Sprintf("update %s set %[2]s = %[2]s", table, column(table)))
				denied(t, d, alice, fmt.Sprintf("update %s set %s = '%s'", table, column(table), bob.UUID()))
			}
			if strings.Contains(may, "delete") {
				touches(t, d, alice, append(slices.Clone(under[table]), "delete from "+table)...)
			}
			if strings.Contains(may, "insert") {
				denied(t, d, alice, fmt.Sprintf("insert into %s select * from jsonb_populate_record(null::%[1]s, $1)", table), bobs)
			}
		})
	}
	var rows int
	if err := conn.QueryRow(t.Context(), "select count(*) from projects").Scan(&rows); err != nil || rows != 2 {
		t.Errorf("%d projects are left, %v", rows, err)
	}
}

// sees counts without a WHERE.
func sees(t *testing.T, d *dbtest.Database, org id.Organization, table string, want int) {
	t.Helper()
	err := d.Store.AsOrganization(t.Context(), org, func(_ *db.Queries, tx pgx.Tx) error {
		var n, own int
		query := fmt.Sprintf("select count(*), count(*) filter (where %s = $1) from %s", column(table), table)
		if err := tx.QueryRow(t.Context(), query, org.UUID()).Scan(&n, &own); err != nil {
			return err
		}
		if n != want || own != want {
			t.Errorf("sees %d rows, %d its own, want %d", n, own, want)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// under lists what must go before a row of the table can.
var under = map[string][]string{
	"surfaces":  {"update surfaces set live_revision = null", "delete from revisions", "delete from surface_urls"},
	"revisions": {"update surfaces set live_revision = null"},
	"projects": {"update surfaces set live_revision = null", "delete from revisions", "delete from surface_urls", "delete from surfaces",
		"delete from domains", "delete from schema_snapshots", "delete from project_logos"},
}

// touches runs changes without a WHERE, expects one row each, and takes them
// back.
func touches(t *testing.T, d *dbtest.Database, org id.Organization, statements ...string) {
	t.Helper()
	undo := errors.New("undo")
	err := d.Store.AsOrganization(t.Context(), org, func(_ *db.Queries, tx pgx.Tx) error {
		for _, statement := range statements {
			tag, err := tx.Exec(t.Context(), statement)
			if err != nil {
				return fmt.Errorf("%s: %w", statement, err)
			}
			if tag.RowsAffected() != 1 {
				t.Errorf("%s changed %d rows, want its own only", statement, tag.RowsAffected())
			}
		}
		return undo
	})
	if !errors.Is(err, undo) {
		t.Error(err)
	}
}

// denied expects Row Level Security or a missing privilege to refuse.
func denied(t *testing.T, d *dbtest.Database, org id.Organization, statement string, args ...any) {
	t.Helper()
	err := d.Store.AsOrganization(t.Context(), org, func(_ *db.Queries, tx pgx.Tx) error {
		_, err := tx.Exec(t.Context(), statement, args...)
		return err
	})
	if !insufficientPrivilege(err) {
		t.Errorf("%s: %v, want it refused", statement, err)
	}
}

func insufficientPrivilege(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "42501"
}

func TestNothingIsReachedWithoutTakingARole(t *testing.T) {
	t.Parallel()
	d := dbtest.NewDatabase(t)
	seed(t, admin(t, d), "acme")
	for schema, list := range map[string]map[string]access{"chumbo": tenantTables, "chumbo ": systemTables, "river": riverTables} {
		for table := range list {
			name := strings.TrimSpace(schema) + "." + table
			if _, err := d.Store.Pool().Exec(t.Context(), "select from "+name); !insufficientPrivilege(err) {
				t.Errorf("the login role reads %s: %v", name, err)
			}
		}
	}
	for table, may := range tenantTables {
		if !strings.Contains(may.app, "select") {
			continue
		}
		err := pgx.BeginFunc(t.Context(), d.Store.Pool(), func(tx pgx.Tx) error {
			if _, err := tx.Exec(t.Context(), "set local role chumbo_app"); err != nil {
				return err
			}
			var n int
			if err := tx.QueryRow(t.Context(), "select count(*) from "+table).Scan(&n); err != nil {
				return err
			}
			if n != 0 {
				t.Errorf("%s shows %d rows to no organization", table, n)
			}
			return nil
		})
		if err != nil {
			t.Errorf("%s: %v", table, err)
		}
	}
	if _, err := d.Store.Pool().Exec(t.Context(), "set role chumbo_owner"); err == nil {
		t.Error("the login role becomes chumbo_owner")
	}
}

func TestOrganizationDoesNotOutliveItsTransaction(t *testing.T) {
	t.Parallel()
	d := dbtest.NewDatabase(t)
	alice := seed(t, admin(t, d), "acme")
	conn, err := d.Store.Pool().Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	conn.Release()
	sees(t, d, alice, "projects", 1)
	for range 16 { // whichever connection of the pool was used
		var role, org *string
		err := d.Store.Pool().QueryRow(t.Context(), "select current_user::text, nullif(current_setting('chumbo.organization_id', true), '')").Scan(&role, &org)
		if err != nil {
			t.Fatal(err)
		}
		if *role != "chumbo_server" || org != nil {
			t.Fatalf("after the transaction: role %s, organization %v", *role, org)
		}
	}
}
