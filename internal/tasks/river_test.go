package tasks_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/db/dbtest"
	"github.com/chumbo-dev/chumbo/internal/egress"
	"github.com/chumbo-dev/chumbo/internal/events"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/oauth/bridge"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/tasks"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

func service(t *testing.T, d *dbtest.Database) *tenants.Service {
	t.Helper()
	s, err := tenants.NewService(tenants.ServiceConfig{Store: d.Store, Now: time.Now, Hosts: tenants.Hosts{PublicURL: "https://mcp.example.test"}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// people is the bridge as a worker has it.
func people(t *testing.T, d *dbtest.Database) *bridge.Service {
	t.Helper()
	keys, err := seal.ParseKeyset(seal.GenerateKey())
	if err != nil {
		t.Fatal(err)
	}
	quiet, hosts := slog.New(slog.DiscardHandler), tenants.Hosts{PublicURL: "https://mcp.example.test"}
	directory, err := tenants.NewDirectory(tenants.DirectoryConfig{Store: d.Store, Hosts: hosts, Now: time.Now, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	out := egress.New(egress.Policy{})
	projects := supabase.New(out)
	verifier, err := oauth.New(oauth.Config{Keys: projects})
	if err != nil {
		t.Fatal(err)
	}
	s, err := bridge.New(bridge.Config{
		Store: d.Store, Keys: keys, Directory: directory, Watch: directory.Watch(), Hosts: hosts, Projects: projects, Documents: out,
		Verifier: verifier, Steps: noSteps{}, PagesURL: hosts.PublicURL, Logger: quiet, Now: time.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

type noSteps struct{}

func (noSteps) Record(events.Step) {}

// notThere is every project, none of which has the ownership function any more.
type notThere struct{ tenants.Prover }

func (notThere) OwnershipToken(context.Context, supabase.Project) (string, error) {
	return "", fault.New(fault.NotFound, "ownership_missing", "The project has no such function.")
}

// onStart is how many jobs a worker's start brings.
const onStart = 4

func completed(jobs []string, kind string) (n int) {
	for _, job := range jobs {
		if job == kind+" completed" {
			n++
		}
	}
	return n
}

// finished asks for the states of all jobs until every one has ended.
func finished(t *testing.T, d *dbtest.Database, want int) []string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), d.AdminDSN)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	deadline, tick := time.Now().Add(20*time.Second), time.NewTicker(20*time.Millisecond)
	defer tick.Stop()
	for {
		// One statement: a job that arrives between two would be taken for one that has ended.
		rows, err := conn.Query(t.Context(), `select kind || ' ' || state || coalesce(' ' || errors[1]::text, ''), finalized_at is null
			from river.river_job order by id`)
		if err != nil {
			t.Fatal(err)
		}
		var jobs []string
		open := false
		var job string
		var unfinished bool
		if _, err := pgx.ForEachRow(rows, []any{&job, &unfinished}, func() error {
			jobs, open = append(jobs, job), open || unfinished
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if len(jobs) >= want && !open {
			return jobs
		}
		if time.Now().After(deadline) {
			t.Fatalf("jobs after 20 s: %q, want %d ended", jobs, want)
		}
		<-tick.C
	}
}

func work(t *testing.T, d *dbtest.Database, logger *slog.Logger) (stop func()) {
	t.Helper()
	w, err := tasks.NewWorker(t.Context(), tasks.WorkerConfig{
		Store: d.Store, RiverDSN: seal.NewSecret(d.RiverDSN), Logger: logger, InvocationRetention: 30 * 24 * time.Hour,
		Tenants: service(t, d), Prover: notThere{}, Bridge: people(t, d),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("worker ended: %v", err)
		}
	}
}

// complaints keeps what River logs at error level.
type complaints struct {
	slog.Handler
	seen chan string
}

func (c complaints) Enabled(_ context.Context, level slog.Level) bool {
	return level >= slog.LevelError
}

func (c complaints) Handle(_ context.Context, r slog.Record) error {
	text := r.Message
	r.Attrs(func(a slog.Attr) bool { text += " " + a.String(); return true })
	select {
	case c.seen <- text:
	default:
	}
	return nil
}
func (c complaints) WithAttrs([]slog.Attr) slog.Handler { return c }
func (c complaints) WithGroup(string) slog.Handler      { return c }

func TestWorkerRunsRetentionOnceADayUnderItsOwnRole(t *testing.T) {
	t.Parallel()
	d := dbtest.NewDatabase(t)
	d.Exec(t, `insert into invocations select $1, gen_random_uuid(), now() - interval '1 year', $1, 1, 'm', 'c', 'direct', '', '', 'ok', '', 1, 1, 1, '', ''
		from generate_series(1, 3)`, uuid.New())
	seen := make(chan string, 10)
	logger := slog.New(complaints{seen: seen})
	for range 2 { // a second start the same day adds no second job
		stop := work(t, d, logger)
		if jobs := finished(t, d, onStart); completed(jobs, "invocation_retention") != 1 {
			t.Errorf("jobs: %q", jobs)
		}
		stop()
	}
	close(seen)
	for text := range seen {
		t.Errorf("River complained: %s", text)
	}
	err := d.Store.AsSystem(t.Context(), func(_ *db.Queries, tx pgx.Tx) error {
		var n int
		err := tx.QueryRow(t.Context(), "select count(*) from invocations").Scan(&n)
		if n != 0 {
			t.Errorf("%d old invocations are left", n)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestWorkerRepeatsProofsThatAreDueAndForgetsOldRegistrations(t *testing.T) {
	t.Parallel()
	d := dbtest.NewDatabase(t)
	org := uuid.New()
	d.Exec(t, "insert into organizations values ($1, 'acme', 'Acme', now())", org)
	for slug, due := range map[string]string{"due": "now() - interval '1 hour'", "later": "now() + interval '1 hour'"} {
		d.Exec(t, `insert into projects (organization_id, id, slug, name, typed_url, api_origin, issuer, jwks_uri, publishable_key, signing,
			oauth_enabled, scopes_supported, verified_at, verified_by, ownership_due_at, created_at, updated_at)
			values ($1, gen_random_uuid(), $2, $2, 'u', 'https://' || $2 || '.example.test', 'i', 'j', 'k', 'hs256', true, '{}', now(), 'function', `+due+`, now(), now())`, org, slug)
	}
	d.Exec(t, `insert into registrations (organization_id, id, builder_id, typed_url, created_at)
		select $1, gen_random_uuid(), $1, 'u', now() - age * interval '1 hour' from generate_series(1, 30) age`, org)
	stop := work(t, d, slog.New(slog.DiscardHandler))
	jobs := finished(t, d, onStart)
	stop()
	if completed(jobs, "ownership_recheck") != 1 {
		t.Errorf("jobs: %q", jobs)
	}
	conn, err := pgx.Connect(t.Context(), d.AdminDSN)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	var missed string
	var registrations int
	err = conn.QueryRow(t.Context(), `select (select string_agg(slug || ownership_misses, ' ' order by slug) from chumbo.projects),
		(select count(*) from chumbo.registrations)`).Scan(&missed, &registrations)
	if err != nil || missed != "due1 later0" || registrations != 23 {
		t.Errorf("misses %q, %d registrations, %v; want due1 later0 and 23", missed, registrations, err)
	}
}

func TestWorkerSweepsAfterTheBridgeAndMakesItsFirstKey(t *testing.T) {
	t.Parallel()
	d := dbtest.NewDatabase(t)
	d.Exec(t, "insert into bridge_limits values ('old', now() - interval '30 days', 1)")
	stop := work(t, d, slog.New(slog.DiscardHandler))
	jobs := finished(t, d, onStart)
	stop()
	if completed(jobs, "bridge_sweep") != 1 {
		t.Errorf("jobs: %q", jobs)
	}
	err := d.Store.AsSystem(t.Context(), func(_ *db.Queries, tx pgx.Tx) error {
		var keys, windows int
		err := tx.QueryRow(t.Context(), "select (select count(*) from signing_keys), (select count(*) from bridge_limits)").Scan(&keys, &windows)
		if keys != 1 || windows != 0 {
			t.Errorf("%d signing keys and %d old windows, want 1 and none", keys, windows)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestWorkerSweepsWindowsOfRateLimits(t *testing.T) {
	t.Parallel()
	d := dbtest.NewDatabase(t)
	d.Exec(t, "insert into rate_windows values ('old', now() - interval '25 hours', 1, 1), ('new', now(), 1, 1)")
	stop := work(t, d, slog.New(slog.DiscardHandler))
	jobs := finished(t, d, onStart)
	stop()
	if completed(jobs, "rate_sweep") != 1 {
		t.Errorf("jobs: %q", jobs)
	}
	err := d.Store.AsSystem(t.Context(), func(_ *db.Queries, tx pgx.Tx) error {
		var left string
		err := tx.QueryRow(t.Context(), "select string_agg(convert_from(key, 'utf8'), ' ') from rate_windows").Scan(&left)
		if left != "new" {
			t.Errorf("windows left: %s", left)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestWorkerNeedsTheBridge(t *testing.T) {
	t.Parallel()
	d := dbtest.NewDatabase(t)
	_, err := tasks.NewWorker(t.Context(), tasks.WorkerConfig{
		Tenants: service(t, d), Prover: notThere{}, Store: d.Store, RiverDSN: seal.NewSecret(d.RiverDSN), Logger: slog.New(slog.DiscardHandler), InvocationRetention: time.Hour,
	})
	if err == nil {
		t.Error("a worker that would discard sweeps as unknown")
	}
}

func TestField86_WorkerFetchesWhileEveryOtherConnectionIsTaken(t *testing.T) {
	t.Parallel()
	d := dbtest.NewDatabase(t)
	stop := work(t, d, slog.New(slog.DiscardHandler))
	defer stop()
	finished(t, d, onStart)
	// Everything the server's pool has, held.
	for range d.Store.Pool().Config().MaxConns - 1 {
		conn, err := d.Store.Pool().Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Release()
	}
	inserter, err := tasks.NewInserter(slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	err = d.Store.AsSystem(t.Context(), func(_ *db.Queries, tx pgx.Tx) error {
		return inserter.Insert(t.Context(), tx, retainAgain{})
	})
	if err != nil {
		t.Fatal(err)
	}
	if jobs := finished(t, d, onStart+1); completed(jobs, "invocation_retention") != 2 {
		t.Errorf("jobs: %q", jobs)
	}
}

// retainAgain is the retention job without its once-a-day rule.
type retainAgain struct{}

func (retainAgain) Kind() string { return events.RetentionArgs{}.Kind() }

type plainJob struct {
	N int `json:"n"`
}

func (plainJob) Kind() string { return "plain" }

func TestField88_ServerOnlyInsertsAndOnlyWithItsTransaction(t *testing.T) {
	t.Parallel()
	d := dbtest.NewDatabase(t)
	inserter, err := tasks.NewInserter(slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	count := func() (n int) {
		err := d.Store.AsSystem(t.Context(), func(_ *db.Queries, tx pgx.Tx) error {
			return tx.QueryRow(t.Context(), "select count(*) from river.river_job").Scan(&n)
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	undo := errors.New("undo")
	as := map[string]func(func(*db.Queries, pgx.Tx) error) error{
		"system": func(fn func(*db.Queries, pgx.Tx) error) error { return d.Store.AsSystem(t.Context(), fn) },
		"organization": func(fn func(*db.Queries, pgx.Tx) error) error {
			return d.Store.AsOrganization(t.Context(), id.New[id.OrganizationKind](), fn)
		},
	}
	for who, in := range as {
		before := count()
		err := in(func(_ *db.Queries, tx pgx.Tx) error {
			if err := inserter.Insert(t.Context(), tx, plainJob{1}); err != nil {
				return err
			}
			return undo
		})
		if !errors.Is(err, undo) || count() != before {
			t.Errorf("%s, rolled back: %v, %d jobs", who, err, count()-before)
		}
		err = in(func(_ *db.Queries, tx pgx.Tx) error { return inserter.Insert(t.Context(), tx, plainJob{2}) })
		if err != nil || count() != before+1 {
			t.Errorf("%s, committed: %v, %d jobs, want 1", who, err, count()-before)
		}
		for _, statement := range []string{"delete from river.river_job", "update river.river_job set state = 'cancelled'", "select from river.river_leader"} {
			err := in(func(_ *db.Queries, tx pgx.Tx) error {
				_, err := tx.Exec(t.Context(), statement)
				return err
			})
			var pg *pgconn.PgError
			if !errors.As(err, &pg) || pg.Code != "42501" {
				t.Errorf("%s: %s: %v, want it refused", who, statement, err)
			}
		}
	}
}

func TestField85_WorkerRefusesATransactionPooler(t *testing.T) {
	t.Parallel()
	d := dbtest.NewDatabase(t)
	_, err := tasks.NewWorker(t.Context(), tasks.WorkerConfig{
		Tenants: service(t, d), Prover: notThere{}, Bridge: people(t, d),
		Store: d.Store, RiverDSN: seal.NewSecret("postgres://u:p@127.0.0.1:6543/postgres"), Logger: slog.New(slog.DiscardHandler), InvocationRetention: time.Hour,
	})
	if !errors.Is(err, db.ErrTransactionPooler) {
		t.Errorf("port 6543: %v", err)
	}
}
