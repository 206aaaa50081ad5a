package tenants_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

const host = "mcp.example.test"

// lookups counts the Directory's queries, and can hold one back after the
// database has answered it.
type lookups struct {
	mu      sync.Mutex
	n       int
	held    chan struct{} // closed once a query is held back
	release chan struct{} // lets it go on
}

type lookupQuery struct{}

func (l *lookups) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	if !strings.Contains(data.SQL, "name: LookupSurface") {
		return ctx
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.n++
	return context.WithValue(ctx, lookupQuery{}, true)
}

func (l *lookups) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryEndData) {
	if ctx.Value(lookupQuery{}) == nil {
		return
	}
	l.mu.Lock()
	held, release := l.held, l.release
	l.held, l.release = nil, nil
	l.mu.Unlock()
	if held != nil {
		close(held)
		<-release
	}
}

func (l *lookups) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.n
}

// holdNext holds the next query back; the channels are TraceQueryEnd's.
func (l *lookups) holdNext() (held, release chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held, l.release = make(chan struct{}), make(chan struct{})
	return l.held, l.release
}

// counted replaces the bundle's store by one whose lookups are counted, and
// which reaches the database through a proxy when there is one.
func (b *bundle) counted(t *testing.T, p *proxy) *lookups {
	t.Helper()
	config, err := pgxpool.ParseConfig(b.ServerDSN)
	if err != nil {
		t.Fatal(err)
	}
	l := &lookups{}
	config.ConnConfig.Tracer = l
	config.ConnConfig.RuntimeParams["search_path"] = "chumbo"
	config.MaxConns = 8
	if p != nil {
		config.ConnConfig.Host, config.ConnConfig.Port, config.ConnConfig.Fallbacks = "127.0.0.1", p.port(), nil
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	b.Store = db.NewStore(pool)
	return l
}

// warm looks a URL up until it is served from memory.
func warm(t *testing.T, d *tenants.Directory, l *lookups, path string) *tenants.Endpoint {
	t.Helper()
	var ep *tenants.Endpoint
	eventually(t, "the directory listens", func() bool {
		before := l.count()
		for range 2 {
			var err error
			if ep, err = d.Lookup(t.Context(), host, path); err != nil {
				t.Fatal(err)
			}
		}
		return l.count() <= before+1 && l.count() > 0 && func() bool {
			again := l.count()
			_, err := d.Lookup(t.Context(), host, path)
			return err == nil && l.count() == again
		}()
	})
	return ep
}

func TestLookupSaysWhatServesAURL(t *testing.T) {
	t.Parallel()
	b := setup(t, tenants.Hosts{})
	s := b.surface(t, b.alice, "acme-crm", "main")
	d := directory(t, b, tenants.DirectoryConfig{})
	ep, err := d.Lookup(t.Context(), host, "/acme-crm/mcp")
	if err != nil {
		t.Fatal(err)
	}
	if ep.Surface != s.ID || ep.Organization != b.alice.Organization.ID || ep.Revision != 1 || ep.State != tenants.StateLive ||
		ep.Project.Issuer != "https://db.example.test/auth/v1" || ep.Project.Slug != "acme-crm" || len(ep.Digest) != 64 {
		t.Errorf("endpoint is %+v", ep)
	}
	if ep.Resource.URL() != publicURL+"/acme-crm/mcp" || len(ep.URLs) != 1 || ep.URLs[0] != ep.Resource {
		t.Errorf("resource %+v of %+v", ep.Resource, ep.URLs)
	}
	if !ep.Access.Has("oauth") || ep.Access.Authorization != "direct" {
		t.Errorf("access is %+v", ep.Access)
	}
	compiled, err := d.Compiled(t.Context(), ep)
	if err != nil || compiled.Title != "Acme CRM" {
		t.Errorf("compiled %+v, %v", compiled, err)
	}
}

func TestLookupRefusesWhatIsNotServed(t *testing.T) {
	t.Parallel()
	hosts := tenants.Hosts{PublicURL: publicURL, SurfaceDomain: "surfaces.example.test"}
	b := setup(t, hosts)
	s := b.surface(t, b.alice, "acme-crm", "main")
	b.Exec(t, `insert into domains (organization_id, id, project_id, host, created_at)
		values ($1, gen_random_uuid(), $2, 'waiting.example.test', now())`, s.Organization.UUID(), s.Project.UUID())
	d := directory(t, b, tenants.DirectoryConfig{Hosts: hosts})
	for _, c := range []struct {
		host, path string
		want       fault.Kind
		says       string
	}{
		{"evil.example.test", "/acme-crm/mcp", fault.Misdirected, "Host"},
		{"evil.example.test", "/favicon.ico", fault.Misdirected, "Host"},
		{"waiting.example.test", "/mcp", fault.Misdirected, "Host"},
		{"a.b.surfaces.example.test", "/mcp", fault.Misdirected, "Host"},
		{"", "/acme-crm/mcp", fault.Misdirected, "Host"},
		{host, "/nobody/mcp", fault.NotFound, "/mcp"},
		{host, "/", fault.NotFound, "/mcp"},
		{host, "/acme-crm", fault.NotFound, "/mcp"},
		{host, "/ACME-CRM/mcp", fault.NotFound, "/mcp"},
		{host, "/" + strings.Repeat("a", 4000) + "/mcp", fault.NotFound, "/mcp"},
		{"nobody.surfaces.example.test", "/mcp", fault.NotFound, "/mcp"},
		{"acme-crm.surfaces.example.test", "/", fault.NotFound, "/mcp"}, // no root surface yet
		{host, "/acme-crm/mcp/", fault.NotFound, "Use " + publicURL + "/acme-crm/mcp"},
		{host, "/nobody/mcp/", fault.NotFound, "no published surface"},
	} {
		_, err := d.Lookup(t.Context(), c.host, c.path)
		f := fault.From(err)
		if f.Kind != c.want || !strings.Contains(f.Message, c.says) {
			t.Errorf("%.40s%.40s: %v, want %v saying %q", c.host, c.path, err, c.want, c.says)
		}
		if strings.Contains(f.Message, "evil") {
			t.Errorf("%s: the answer repeats the host: %q", c.host, f.Message)
		}
	}
}

func TestLookupFollowsTheHostItWasReachedBy(t *testing.T) {
	t.Parallel()
	hosts := tenants.Hosts{PublicURL: "http://localhost:8080", Aliases: []string{"127.0.0.1:8080"}, SurfaceDomain: "surfaces.example.test"}
	b := setup(t, hosts)
	s := b.surface(t, b.alice, "acme-crm", "main")
	b.Exec(t, "update surface_urls set is_root = true where host <> ''")
	b.Exec(t, `insert into domains (organization_id, id, project_id, host, verified_at, created_at)
		values ($1, gen_random_uuid(), $2, 'mcp.acme.example.test', now(), now())`, s.Organization.UUID(), s.Project.UUID())
	b.Exec(t, `insert into surface_urls (organization_id, id, surface_id, host, path, is_primary, is_root, created_at)
		values ($1, gen_random_uuid(), $2, 'mcp.acme.example.test', '/mcp', false, true, now())`, s.Organization.UUID(), s.ID.UUID())
	d := directory(t, b, tenants.DirectoryConfig{Hosts: hosts})
	for _, c := range []struct{ host, path, want string }{
		{"localhost:8080", "/acme-crm/mcp", "http://localhost:8080/acme-crm/mcp"},
		{"127.0.0.1:8080", "/acme-crm/mcp", "http://127.0.0.1:8080/acme-crm/mcp"},
		{"acme-crm.surfaces.example.test:8080", "/mcp", "http://acme-crm.surfaces.example.test:8080/mcp"},
		{"acme-crm.surfaces.example.test:8080", "/", "http://acme-crm.surfaces.example.test:8080/mcp"},
		{"acme-crm.surfaces.example.test:8080", "", "http://acme-crm.surfaces.example.test:8080/mcp"},
		{"mcp.acme.example.test:8080", "/mcp", "http://mcp.acme.example.test:8080/mcp"},
	} {
		ep, err := d.Lookup(t.Context(), c.host, c.path)
		if err != nil {
			t.Errorf("%s%s: %v", c.host, c.path, err)
			continue
		}
		if ep.Resource.URL() != c.want || len(ep.URLs) != 4 || ep.URLs[0].URL() != "http://acme-crm.surfaces.example.test:8080/mcp" {
			t.Errorf("%s%s: resource %s of %v, want %s", c.host, c.path, ep.Resource.URL(), ep.URLs, c.want)
		}
	}
}

func TestUnprovenProjectsAreNotServedWhereOwnershipIsRequired(t *testing.T) {
	t.Parallel()
	b := setup(t, tenants.Hosts{})
	b.surface(t, b.alice, "acme-crm", "main")
	d := directory(t, b, tenants.DirectoryConfig{RequireOwnership: true})
	if _, err := d.Lookup(t.Context(), host, "/acme-crm/mcp"); !fault.Is(err, fault.NotFound) {
		t.Errorf("unproven project: %v, want not found", err)
	}
	b.Exec(t, "update projects set verified_at = now()")
	if _, err := d.Lookup(t.Context(), host, "/acme-crm/mcp"); err != nil {
		t.Errorf("proven project: %v", err)
	}
}

func TestNewerFormatKeepsTheLastKnownRevisionServing(t *testing.T) {
	t.Parallel()
	b := setup(t, tenants.Hosts{})
	s := b.surface(t, b.alice, "acme-crm", "main")
	b.publish(t, s, 2, 1)
	b.publish(t, s, 3, 99)
	d := directory(t, b, tenants.DirectoryConfig{})
	ep, err := d.Lookup(t.Context(), host, "/acme-crm/mcp")
	if err != nil || ep.Revision != 2 {
		t.Fatalf("serving %+v, %v, want revision 2", ep, err)
	}
	if _, err := d.Compiled(t.Context(), ep); err != nil {
		t.Errorf("compiled form of the last known: %v", err)
	}
}

func TestPublishOnOneServerIsSeenByAnother(t *testing.T) {
	t.Parallel()
	b := setup(t, tenants.Hosts{})
	s := b.surface(t, b.alice, "acme-crm", "main")
	l := b.counted(t, nil)
	d := directory(t, b, tenants.DirectoryConfig{})
	run(t, d)
	warm(t, d, l, "/acme-crm/mcp")
	b.publish(t, s, 2, 1)
	began := time.Now()
	eventually(t, "the new revision is served", func() bool {
		ep, err := d.Lookup(t.Context(), host, "/acme-crm/mcp")
		return err == nil && ep.Revision == 2
	})
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("seen after %v", took)
	}
	warm(t, d, l, "/acme-crm/mcp")
	if _, err := b.service.SetState(t.Context(), b.alice, "acme-crm", "main", tenants.StatePaused); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the pause is served", func() bool {
		ep, err := d.Lookup(t.Context(), host, "/acme-crm/mcp")
		return err == nil && ep.State == tenants.StatePaused
	})
}

func TestOneQueryAnswersManyConcurrentMisses(t *testing.T) {
	t.Parallel()
	b := setup(t, tenants.Hosts{})
	b.surface(t, b.alice, "acme-crm", "main")
	b.surface(t, b.alice, "acme-crm", "sales")
	l := b.counted(t, nil)
	d := directory(t, b, tenants.DirectoryConfig{})
	run(t, d)
	warm(t, d, l, "/acme-crm/sales/mcp") // so that it listens
	before := l.count()
	held, release := l.holdNext()
	var wg sync.WaitGroup
	for range 200 {
		wg.Go(func() {
			if _, err := d.Lookup(t.Context(), host, "/acme-crm/mcp"); err != nil {
				t.Error(err)
			}
		})
	}
	<-held
	close(release)
	wg.Wait()
	if n := l.count() - before; n != 1 {
		t.Errorf("%d queries, want 1", n)
	}
}

func TestNegativeAnswerIsRememberedUntilItsSurfaceIsPublished(t *testing.T) {
	t.Parallel()
	b := setup(t, tenants.Hosts{})
	b.surface(t, b.alice, "acme-crm", "main")
	sales, err := b.service.EnsureSurface(t.Context(), b.alice, "acme-crm", "sales")
	if err != nil {
		t.Fatal(err)
	}
	l := b.counted(t, nil)
	d := directory(t, b, tenants.DirectoryConfig{})
	run(t, d)
	warm(t, d, l, "/acme-crm/mcp")
	lookup := func(path string) error { _, err := d.Lookup(t.Context(), host, path); return err }
	for _, path := range []string{"/acme-crm/sales/mcp", "/acme-crm/later/mcp"} {
		if err := lookup(path); !fault.Is(err, fault.NotFound) {
			t.Fatalf("%s: %v", path, err)
		}
	}
	before := l.count()
	_, _ = lookup("/acme-crm/sales/mcp"), lookup("/acme-crm/later/mcp")
	if n := l.count() - before; n != 0 {
		t.Errorf("%d queries for what was remembered, want none", n)
	}
	b.publish(t, sales, 1, 1) // the surface's notice
	later, err := b.service.EnsureSurface(t.Context(), b.alice, "acme-crm", "later")
	if err != nil {
		t.Fatal(err) // the URL's notice
	}
	b.publish(t, later, 1, 1)
	// The clock stands still: only the notices can end the memory.
	eventually(t, "both are served", func() bool { return lookup("/acme-crm/sales/mcp") == nil && lookup("/acme-crm/later/mcp") == nil })
}

func TestLoadOvertakenByAnInvalidationIsNotKept(t *testing.T) {
	t.Parallel()
	hosts := tenants.Hosts{PublicURL: publicURL, Aliases: []string{"alias.example.test"}}
	b := setup(t, hosts)
	s := b.surface(t, b.alice, "acme-crm", "main")
	b.surface(t, b.alice, "acme-crm", "sales")
	l := b.counted(t, nil)
	d := directory(t, b, tenants.DirectoryConfig{Hosts: hosts})
	run(t, d)
	warm(t, d, l, "/acme-crm/sales/mcp")
	revision := func(host string) int {
		ep, err := d.Lookup(t.Context(), host, "/acme-crm/mcp")
		if err != nil {
			t.Error(err)
			return 0
		}
		return ep.Revision
	}
	if got := revision("alias.example.test"); got != 1 {
		t.Fatalf("revision %d, want 1", got)
	}
	held, release := l.holdNext()
	early, late := make(chan int, 1), make(chan int, 1)
	go func() { early <- revision(host) }()
	<-held // the answer is revision 1, on its way
	b.publish(t, s, 2, 1)
	eventually(t, "the notice has arrived", func() bool { return revision("alias.example.test") == 2 })
	go func() { late <- revision(host) }()
	close(release)
	if got := <-early; got != 1 && got != 2 {
		t.Errorf("who asked before the publish got revision %d", got)
	}
	if got := <-late; got != 2 {
		t.Errorf("who asked after the publish got revision %d, want 2", got)
	}
	if got := revision(host); got != 2 {
		t.Errorf("the overtaken answer was kept: revision %d, want 2", got)
	}
}

func TestStalledListeningConnectionMakesEveryEntryAMiss(t *testing.T) {
	t.Parallel()
	b := setup(t, tenants.Hosts{})
	s := b.surface(t, b.alice, "acme-crm", "main")
	p := newProxy(t, b.ServerDSN)
	l := b.counted(t, nil)
	d := directory(t, b, tenants.DirectoryConfig{Listen: p.config(t, b.ServerDSN), StaleMax: time.Minute})
	run(t, d)
	warm(t, d, l, "/acme-crm/mcp")
	p.set(true, false)
	b.publish(t, s, 2, 1)
	if ep, err := d.Lookup(t.Context(), host, "/acme-crm/mcp"); err != nil || ep.Revision != 1 {
		t.Fatalf("within the bound: %+v, %v, want revision 1 still", ep, err)
	}
	b.clock.advance(5*time.Second + time.Millisecond)
	for range 3 {
		before := l.count()
		ep, err := d.Lookup(t.Context(), host, "/acme-crm/mcp")
		if err != nil || ep.Revision != 2 {
			t.Fatalf("after the bound: %+v, %v, want revision 2", ep, err)
		}
		if l.count() != before+1 {
			t.Error("an entry served while nothing is heard")
		}
	}
	p.set(false, true) // the stalled connection ends
	p.set(false, false)
	warm(t, d, l, "/acme-crm/mcp")
}

func TestDatabaseAwayServesUntilTheStaleBoundThenRefuses(t *testing.T) {
	t.Parallel()
	b := setup(t, tenants.Hosts{})
	b.surface(t, b.alice, "acme-crm", "main")
	p := newProxy(t, b.ServerDSN)
	l := b.counted(t, p)
	d := directory(t, b, tenants.DirectoryConfig{StaleMax: time.Minute})
	none := directory(t, b, tenants.DirectoryConfig{StaleMax: 0})
	run(t, d)
	run(t, none)
	warm(t, d, l, "/acme-crm/mcp")
	warm(t, none, l, "/acme-crm/mcp")
	p.set(false, true)
	refused := func(d *tenants.Directory, path string) bool {
		_, err := d.Lookup(t.Context(), host, path)
		return fault.Is(err, fault.Unavailable) && fault.From(err).RetryAfter > 0
	}
	b.clock.advance(30 * time.Second)
	if _, err := d.Lookup(t.Context(), host, "/acme-crm/mcp"); err != nil {
		t.Errorf("within the stale bound: %v", err)
	}
	if !refused(none, "/acme-crm/mcp") {
		t.Error("served with a stale bound of 0")
	}
	if !refused(d, "/acme-crm/sales/mcp") {
		t.Error("a URL never seen must be unavailable, not unknown")
	}
	b.clock.advance(31 * time.Second)
	if !refused(d, "/acme-crm/mcp") {
		t.Error("served beyond the stale bound")
	}
	p.set(false, false)
	b.clock.advance(time.Second)
	eventually(t, "it serves again", func() bool {
		b.clock.advance(time.Millisecond)
		_, err := d.Lookup(t.Context(), host, "/acme-crm/mcp")
		return err == nil
	})
}

func TestListeningConnectionLastsThroughManyBeats(t *testing.T) {
	t.Parallel()
	b := setup(t, tenants.Hosts{})
	b.surface(t, b.alice, "acme-crm", "main")
	l := b.counted(t, nil)
	d := directory(t, b, tenants.DirectoryConfig{})
	run(t, d)
	warm(t, d, l, "/acme-crm/mcp")
	loaded := l.count()
	// Move the clock by less than the silence bound each time a beat has been
	// heard: 16 s pass for the rules, and no entry is ever a miss.
	deadline := time.Now().Add(4500 * time.Millisecond)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for time.Now().Before(deadline) {
		<-tick.C
		b.clock.advance(20 * time.Millisecond)
		if _, err := d.Lookup(t.Context(), host, "/acme-crm/mcp"); err != nil {
			t.Fatal(err)
		}
	}
	if n := l.count() - loaded; n != 0 {
		t.Errorf("%d loads while listening, want none", n)
	}
}
