package tenants_test

import (
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

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
	b.clock.Advance(5*time.Second + time.Millisecond)
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
	b.clock.Advance(30 * time.Second)
	if _, err := d.Lookup(t.Context(), host, "/acme-crm/mcp"); err != nil {
		t.Errorf("within the stale bound: %v", err)
	}
	if !refused(none, "/acme-crm/mcp") {
		t.Error("served with a stale bound of 0")
	}
	if !refused(d, "/acme-crm/sales/mcp") {
		t.Error("a URL never seen must be unavailable, not unknown")
	}
	b.clock.Advance(31 * time.Second)
	if !refused(d, "/acme-crm/mcp") {
		t.Error("served beyond the stale bound")
	}
	p.set(false, false)
	b.clock.Advance(time.Second)
	eventually(t, "it serves again", func() bool {
		b.clock.Advance(time.Millisecond)
		_, err := d.Lookup(t.Context(), host, "/acme-crm/mcp")
		return err == nil
	})
}

func TestDatabaseAwayNeverServesWhatIsKnownToHaveChanged(t *testing.T) {
	t.Parallel()
	b := setup(t, tenants.Hosts{})
	b.surface(t, b.alice, "acme-crm", "main")
	b.surface(t, b.alice, "acme-crm", "sales")
	p := newProxy(t, b.ServerDSN)
	l := b.counted(t, p)
	listen, err := pgx.ParseConfig(b.ServerDSN)
	if err != nil {
		t.Fatal(err)
	}
	d := directory(t, b, tenants.DirectoryConfig{Listen: listen, StaleMax: time.Minute})
	run(t, d)
	warm(t, d, l, "/acme-crm/mcp")
	warm(t, d, l, "/acme-crm/sales/mcp")
	p.set(false, true) // loads fail, notices still come
	if _, err := b.service.SetState(t.Context(), b.alice, "acme-crm", "main", tenants.StatePaused); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the changed surface is unavailable", func() bool {
		_, err := d.Lookup(t.Context(), host, "/acme-crm/mcp")
		return fault.Is(err, fault.Unavailable)
	})
	if _, err := d.Lookup(t.Context(), host, "/acme-crm/sales/mcp"); err != nil {
		t.Errorf("the other surface: %v", err)
	}
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
	// The rules' clock keeps pace with the machine's, for longer than two beats:
	// waiting for notices must not end the connection, and no entry be a miss.
	deadline := time.Now().Add(4500 * time.Millisecond)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for time.Now().Before(deadline) {
		<-tick.C
		b.clock.Advance(20 * time.Millisecond)
		if _, err := d.Lookup(t.Context(), host, "/acme-crm/mcp"); err != nil {
			t.Fatal(err)
		}
	}
	if n := l.count() - loaded; n != 0 {
		t.Errorf("%d loads while listening, want none", n)
	}
}
