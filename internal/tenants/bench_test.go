package tenants_test

import (
	"fmt"
	"runtime"
	"testing"

	"log/slog"

	"github.com/chumbo-dev/chumbo/internal/db/dbtest"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// BenchmarkDirectory measures a hit among many entries, and what an entry
// weighs. go test -run - -bench Directory ./internal/tenants
func BenchmarkDirectory(b *testing.B) {
	d := dbtest.NewDatabase(b)
	const entries = 2000
	d.Exec(b, "insert into organizations values (gen_random_uuid(), 'acme', 'Acme', now())")
	d.Exec(b, `insert into projects select o.id, gen_random_uuid(), 'project-' || n, 'p', 'u', 'https://p' || n || '.example.test',
		'https://p' || n || '.example.test/auth/v1', 'https://p' || n || '.example.test/auth/v1/.well-known/jwks.json',
		'sb_publishable_0123456789abcdef' || n, 'asymmetric', true, '{openid,email,profile}', null, now(), now()
		from organizations o, generate_series(1, $1::integer) n`, entries)
	d.Exec(b, "insert into surfaces select organization_id, gen_random_uuid(), id, 'main', 'live', null, null, now(), now() from projects")
	d.Exec(b, `insert into surface_urls select s.organization_id, gen_random_uuid(), s.id, '', '/' || p.slug || '/mcp', true, false, now()
		from surfaces s join projects p on p.id = s.project_id`)
	d.Exec(b, `insert into revisions select organization_id, id, 1, 'd', '', 'Acme CRM', '{"modes":["oauth"],"authorization":"direct"}', 1, '{}', '', null, now() from surfaces`)
	d.Exec(b, "update surfaces set live_revision = 1")
	d.Exec(b, "analyze")
	clock := newClock()
	directory, err := tenants.NewDirectory(tenants.DirectoryConfig{
		Store: d.Store, Hosts: tenants.Hosts{PublicURL: publicURL}, Now: clock.Now, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		b.Fatal(err)
	}
	run(b, directory)
	path := func(n int) string { return fmt.Sprintf("/project-%d/mcp", n%entries+1) }
	before := heap()
	for n := range entries {
		if _, err := directory.Lookup(b.Context(), host, path(n)); err != nil {
			b.Fatal(err)
		}
	}
	weight := float64(heap()-before) / entries
	paths := make([]string, entries)
	for n := range paths {
		paths[n] = path(n)
	}
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		if _, err := directory.Lookup(b.Context(), host, paths[n%entries]); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(weight, "B/entry")
	runtime.KeepAlive(directory)
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
