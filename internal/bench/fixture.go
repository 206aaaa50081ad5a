package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http/httptest"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/app"
	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/localpg"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// tables per surface; two tools each.
const tables = 10

// fixture is what all services of a run share: Postgres, the stand-in
// project, a compiled surface and a token for it.
type fixture struct {
	postgres *localpg.Server
	template string
	project  *httptest.Server
	tap      *tap // of project
	compiled *surfaces.Compiled
	policed  *surfaces.Compiled // the same tools under rules
	ways     *surfaces.Compiled // one tool for each way to the Data API
	tools    []surfaces.Tool
	token    string
}

func newFixture(ctx context.Context) (*fixture, error) {
	postgres, err := localpg.Start(ctx, localpg.Options{Log: os.Stderr})
	if err != nil {
		return nil, err
	}
	f := &fixture{postgres: postgres}
	if err := f.prepare(ctx); err != nil {
		return nil, errors.Join(err, postgres.Close())
	}
	return f, nil
}

func (f *fixture) prepare(ctx context.Context) error {
	var err error
	f.template, err = f.postgres.Template(ctx, "bench", func(ctx context.Context, dsn string) error {
		return db.Migrate(ctx, dsn, db.MigrateOptions{
			ServerPassword: f.postgres.RolePassword("chumbo_server"), RiverPassword: f.postgres.RolePassword("chumbo_river"),
		})
	})
	if err != nil {
		return err
	}
	snapshot, err := f.database(ctx)
	if err != nil {
		return err
	}
	if f.compiled, err = compile(snapshot, ""); err != nil {
		return err
	}
	if f.policed, err = compile(snapshot, rules); err != nil {
		return err
	}
	if f.ways, err = publish(snapshot, waysFile); err != nil {
		return err
	}
	f.tools = f.compiled.Tools
	key, err := newSigningKey()
	if err != nil {
		return err
	}
	f.tap = &tap{}
	f.project = httptest.NewServer(f.tap.wrap(standinProject(key)))
	f.token, err = key.token(f.project.URL + "/auth/v1")
	return err
}

func (f *fixture) close() {
	f.project.Close()
	if err := f.postgres.Close(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
	}
}

// rules are what a tool of everyday policy says: both rules read claims and the
// tool's meta.
const rules = `    meta: { tier: pro, team: sales }
    visible: "claims.app_metadata.tier == tool.meta.tier"
    allow: { rule: "tool.meta.team in claims.app_metadata.teams", reason: "Only for the team." }
`

// database makes the tables of an app and imports their schema, as a builder's
// would be.
func (f *fixture) database(ctx context.Context) (*surfaces.Snapshot, error) {
	const database = "bench_app"
	if err := f.postgres.CreateDatabase(ctx, database, ""); err != nil {
		return nil, err
	}
	conn, err := pgx.Connect(ctx, f.postgres.DSN(database))
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close(ctx) }()
	const roles = `do $$ begin create role authenticated nologin; exception when duplicate_object then null; end $$;`
	if _, err := conn.Exec(ctx, roles+appSchema()); err != nil {
		return nil, fmt.Errorf("create tables: %w", err)
	}
	return surfaces.ImportPostgres(ctx, conn, surfaces.ImportOptions{})
}

// appSchema is the tables of the app, and a function that reads one row.
func appSchema() string {
	var ddl strings.Builder
	for i := range tables {
		fmt.Fprintf(&ddl, `create table t%d (id bigint generated always as identity primary key, name text not null, status text, amount numeric, updated_at timestamptz not null);
			alter table t%[1]d enable row level security; create policy everyone on t%[1]d to authenticated using (true) with check (true);
			create index on t%[1]d (name, id); create index on t%[1]d (status); grant select on t%[1]d to authenticated;`, i)
	}
	ddl.WriteString(`grant update on t0 to authenticated;
		create function one_row(id bigint) returns t0 language sql stable as $$ select * from t0 where t0.id = one_row.id $$;`)
	return ddl.String()
}

// compile publishes a surface file over the tables, with more lines for each.
func compile(snapshot *surfaces.Snapshot, more string) (*surfaces.Compiled, error) {
	var file strings.Builder
	file.WriteString("version: 1\ntitle: Bench\naccess: { mode: oauth, authorization: direct }\ntools:\n")
	for i := range tables {
		fmt.Fprintf(&file, "  - table: t%d\n    operations: [list, get]\n    columns: [id, name, status, amount, updated_at]\n    filters: { status: [eq] }\n    order: [name, id]\n%s", i, more)
	}
	return publish(snapshot, file.String())
}

func publish(snapshot *surfaces.Snapshot, file string) (*surfaces.Compiled, error) {
	compiled, problems := surfaces.Compile([]byte(file), snapshot, surfaces.ProjectFacts{Signing: surfaces.SigningAsymmetric})
	if compiled == nil {
		return nil, fmt.Errorf("compile: %+v", problems)
	}
	return compiled, nil
}

// service is one running Chumbo with a number of surfaces.
type service struct {
	server *app.Server
	urls   []string
	close  func()
}

// origin is a project as a registered one is reached.
type origin struct{ url, key string }

// serve registers n surfaces of the project that answers at once in a database
// of their own and serves them on loopback.
func (f *fixture) serve(ctx context.Context, what *surfaces.Compiled, n int) (*service, error) {
	database := fmt.Sprintf("bench_%d", n)
	switch what {
	case f.policed:
		database += "_policed"
	case f.ways:
		database += "_ways"
	}
	return f.serveOf(ctx, origin{f.project.URL, "sb_publishable_bench"}, what, n, database)
}

// serveOf is serve for any project, in a database of that name.
func (f *fixture) serveOf(ctx context.Context, of origin, what *surfaces.Compiled, n int, database string) (*service, error) {
	if err := f.postgres.CreateDatabase(ctx, database, f.template); err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // at once
	if err != nil {
		return nil, err
	}
	base := "http://" + listener.Addr().String()
	urls, err := f.register(ctx, of, what, database, base, n)
	if err != nil {
		return nil, err
	}
	cfg, err := app.LoadConfig([]string{"CHUMBO_PUBLIC_URL=" + base, "CHUMBO_REQUIRE_OWNERSHIP=false", "CHUMBO_ALLOW_PRIVATE_HOSTS=true",
		fmt.Sprintf("CHUMBO_CACHE_BYTES=%d", cacheBytes)})
	if err != nil {
		return nil, err
	}
	cfg.DatabaseURL, cfg.MasterKey = seal.NewSecret(f.postgres.DSNAs(database, "chumbo_server")), seal.GenerateKey()
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	server, err := app.NewServer(ctx, cfg, app.Options{Logger: log, Version: "bench"})
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- server.Run(ctx, listener) }()
	return &service{server: server, urls: urls, close: func() {
		stop()
		if err := errors.Join(<-done, server.Close(context.WithoutCancel(ctx))); err != nil {
			fmt.Fprintln(os.Stderr, "bench: stop server:", err)
		}
	}}, nil
}

// perProject is how many surfaces share a project.
const perProject = 100

// register writes n published surfaces as the cluster's owner: through the
// API this would take minutes, and what is measured starts afterwards.
func (f *fixture) register(ctx context.Context, of origin, what *surfaces.Compiled, database, base string, n int) ([]string, error) {
	conn, err := pgx.Connect(ctx, f.postgres.DSN(database))
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close(ctx) }()
	compiled, access, err := encode(what)
	if err != nil {
		return nil, err
	}
	const sql = `
set search_path = chumbo;
with org as (
    insert into organizations select gen_random_uuid(), 'bench', 'Bench', now() returning id
), project as (
    insert into projects (organization_id, id, slug, name, typed_url, api_origin, issuer, jwks_uri, publishable_key, signing, oauth_enabled, scopes_supported, created_at, updated_at)
    select org.id, gen_random_uuid(), 'p' || i, 'P', @origin@, @origin@, @origin@ || '/auth/v1', @origin@ || '/auth/v1/.well-known/jwks.json',
        @key@, 'asymmetric', true, '{email}', now(), now()
    from org, generate_series(0, (@n@ - 1) / @per@) i returning organization_id, id, slug
), surface as (
    insert into surfaces (organization_id, id, project_id, slug, state, created_at, updated_at)
    select organization_id, gen_random_uuid(), id, 's' || i, 'live', now(), now()
    from project, generate_series(0, @per@ - 1) i where substr(slug, 2)::int * @per@ + i < @n@ returning organization_id, id, project_id, slug
), url as (
    insert into surface_urls (organization_id, id, surface_id, host, path, is_primary, is_root, created_at)
    select s.organization_id, gen_random_uuid(), s.id, '', '/' || p.slug || '/' || s.slug || '/mcp', true, false, now()
    from surface s join project p on p.id = s.project_id
)
insert into revisions (organization_id, surface_id, number, digest, file, title, access, format, compiled, schema_digest, created_at)
select organization_id, id, 1, '\x00', '', 'Bench', @access@, @format@, @compiled@, '\x00', now() from surface;
update surfaces set live_revision = 1;`
	text := strings.NewReplacer(
		"@origin@", quote(of.url), "@key@", quote(of.key), "@n@", fmt.Sprint(n), "@per@", fmt.Sprint(min(perProject, n)),
		"@access@", quote(string(access)), "@format@", fmt.Sprint(surfaces.Format), "@compiled@", `'\x`+hex.EncodeToString(compiled)+"'",
	).Replace(sql)
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	if _, err := conn.Exec(ctx, text); err != nil {
		return nil, fmt.Errorf("register %d surfaces: %w", n, err)
	}
	rows, err := conn.Query(ctx, "select path from chumbo.surface_urls order by path")
	if err != nil {
		return nil, err
	}
	paths, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, err
	}
	urls := make([]string, len(paths))
	for i, path := range paths {
		urls[i] = base + path
	}
	return urls, nil
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
