package tenants_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

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
func warm(t *testing.T, d *tenants.Directory, l *lookups, path string) {
	t.Helper()
	eventually(t, "the directory listens and serves from memory", func() bool {
		before := l.count()
		if _, err := d.Lookup(t.Context(), host, path); err != nil {
			t.Fatal(err)
		}
		return l.count() == before
	})
}
