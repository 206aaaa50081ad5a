package tenants

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/maypok86/otter/v2"
	"golang.org/x/sync/singleflight"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// The times of the freshness rules (design, Control plane).
const (
	beatEvery    = 2 * time.Second        // how often a server hears itself
	silenceBound = 5 * time.Second        // silence after which nothing counts as fresh
	negativeFor  = 2 * time.Second        // how long "nothing there" is remembered
	awayFor      = 500 * time.Millisecond // pause between tries of a database that does not answer
	loadTimeout  = 3 * time.Second        // one load, from the pool to the last row
)

// Directory turns the host and path of a request into an Endpoint. It loads on
// first use, keeps what it loaded for as long as it can know it unchanged, and
// serves no answer older than its rules allow:
//
//   - an entry serves while the listening connection is heard from and no
//     notification named the entry's URL, host, surface or project since the
//     moment before it was loaded;
//   - with the database away, an entry serves until StaleMax after it was last
//     known to be right, but never after a notification named it.
//
// Safe for concurrent use. No lock is held while loading.
type Directory struct {
	store   *db.Store
	hosts   *hostTable
	listen  *pgx.ConnConfig
	formats []int32
	require bool
	stale   time.Duration
	now     func() time.Time
	log     *slog.Logger

	fresh   *freshness
	found   *otter.Cache[lookupKey, *entry]
	missing *otter.Cache[lookupKey, *entry]
	flights singleflight.Group
	watch   *Watch
	away    atomic.Int64 // Unix nanoseconds until which the database is not asked again
}

// DirectoryConfig is what a Directory needs.
type DirectoryConfig struct {
	Store            *db.Store
	Listen           *pgx.ConnConfig  // of the listening connection; nil for the store's own
	Hosts            Hosts            // checked by NewDirectory
	RequireOwnership bool             // serve verified projects only
	StaleMax         time.Duration    // how long the last known answer serves while the database is away; 0 for not at all
	MaxEntries       int              // 0 for 50,000
	Now              func() time.Time // the clock of every rule above
	Logger           *slog.Logger
}

// NewDirectory checks the configuration. Until Run listens, every Lookup asks
// the database.
func NewDirectory(c DirectoryConfig) (*Directory, error) {
	if c.Store == nil || c.Now == nil || c.Logger == nil {
		return nil, errors.New("directory: Store, Now and Logger are needed")
	}
	if c.StaleMax < 0 || c.MaxEntries < 0 {
		return nil, errors.New("directory: StaleMax and MaxEntries cannot be negative")
	}
	hosts, err := newHostTable(c.Hosts)
	if err != nil {
		return nil, fmt.Errorf("directory: %w", err)
	}
	if c.MaxEntries == 0 {
		c.MaxEntries = 50_000
	}
	if c.Listen == nil {
		c.Listen = c.Store.Pool().Config().ConnConfig
	}
	found, err := otter.New(&otter.Options[lookupKey, *entry]{MaximumSize: c.MaxEntries})
	if err != nil {
		return nil, fmt.Errorf("directory: %w", err)
	}
	missing, err := otter.New(&otter.Options[lookupKey, *entry]{MaximumSize: 10_000})
	if err != nil {
		return nil, fmt.Errorf("directory: %w", err)
	}
	d := &Directory{
		store: c.Store, hosts: hosts, listen: c.Listen.Copy(), require: c.RequireOwnership, stale: c.StaleMax,
		now: c.Now, log: c.Logger, fresh: newFreshness(), found: found, missing: missing,
	}
	d.watch = &Watch{directory: d}
	for n := 1; n <= surfaces.Format; n++ {
		if surfaces.KnownFormat(n) {
			d.formats = append(d.formats, int32(n))
		}
	}
	return d, nil
}

// lookupKey is what is looked up: a host as surface_urls names it, the base it
// was reached by, and a path ("/" for the host's root surface).
type lookupKey struct{ host, base, path string }

// Lookup finds the surface at a host (from Hosts.EffectiveHost) and a path, as
// it stands now. The path "" or "/" means the host's root surface. Errors:
// fault.Misdirected for a host that is not served here, fault.NotFound for a
// path without a published surface (or one of a project that may not be
// served), fault.Unavailable when the database is away and nothing recent
// enough is known. The endpoint is shared: never change it.
func (d *Directory) Lookup(ctx context.Context, host, path string) (*Endpoint, error) {
	stored, base, ok := d.hosts.stored(host)
	if !ok {
		return nil, errMisdirected()
	}
	if path == "" {
		path = "/"
	}
	if path != "/" && strings.HasSuffix(path, "/") {
		return nil, d.trailingSlash(ctx, lookupKey{stored, base, strings.TrimRight(path, "/")})
	}
	if !surfacePath(path) && (path != "/" || stored == sharedHost) {
		// Nothing can be there, but a host we do not know is still not ours.
		path = noPath
	}
	return d.lookup(ctx, lookupKey{stored, base, path})
}

// SharedHost reports whether a host, as Hosts.EffectiveHost gives it, is the
// shared host or an alias of it: where the instance's own pages and APIs are.
func (d *Directory) SharedHost(host string) bool {
	_, shared := d.hosts.shared[host]
	return shared
}

// noPath stands for every path that no surface can have, so that a scan of
// made-up paths costs one entry.
const noPath = "-"

// surfacePath reports whether a surface can be at path: every registered path
// is short, made of names, and ends in /mcp.
func surfacePath(path string) bool {
	if len(path) > 128 || !strings.HasPrefix(path, "/") || !strings.HasSuffix(path, "/mcp") {
		return false
	}
	for i := range len(path) {
		if b := path[i]; (b < 'a' || b > 'z') && (b < '0' || b > '9') && b != '-' && b != '/' {
			return false
		}
	}
	return true
}

// remembered is the stored answer that is known to be right, or nil.
func (d *Directory) remembered(key lookupKey) *entry {
	now := d.now()
	if e, ok := d.found.GetIfPresent(key); ok && d.fresh.valid(&e.read, now) {
		return e
	}
	if e, ok := d.missing.GetIfPresent(key); ok && d.fresh.valid(&e.read, now) && now.Sub(e.loaded) < negativeFor {
		return e
	}
	return nil
}

func (d *Directory) lookup(ctx context.Context, key lookupKey) (*Endpoint, error) {
	if key.path == noPath && (key.host == sharedHost || hasLabel(key.host)) {
		return nil, errNotFound()
	}
	if e := d.remembered(key); e != nil {
		return e.answer()
	}
	e, err := d.load(ctx, key)
	if err != nil {
		return nil, err
	}
	return e.answer()
}

// trailingSlash is the answer to a path that ends in a slash: what it names
// without one, if anything.
func (d *Directory) trailingSlash(ctx context.Context, key lookupKey) error {
	if !surfacePath(key.path) {
		key.path = noPath
	}
	ep, err := d.lookup(ctx, key)
	if err != nil {
		return err
	}
	return fault.New(fault.NotFound, "trailing_slash", "There is nothing at a URL that ends in a slash. Use %s", ep.Resource.URL())
}

// Compiled loads the compiled form of the endpoint's revision. It is immutable
// and not kept here. Errors: fault.Unavailable when the database is away.
func (d *Directory) Compiled(ctx context.Context, ep *Endpoint) (*surfaces.Compiled, error) {
	var row db.GetCompiledRevisionRow
	err := d.store.AsSystem(ctx, func(q *db.Queries, _ pgx.Tx) error {
		var err error
		row, err = q.GetCompiledRevision(ctx, db.GetCompiledRevisionParams{
			OrganizationID: ep.Organization, SurfaceID: ep.Surface, Number: int32(ep.Revision),
		})
		return err
	})
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil, fmt.Errorf("load revision %d of %s: %w", ep.Revision, ep.Surface, err)
	case err != nil && ctx.Err() != nil:
		return nil, fmt.Errorf("load revision: %w", ctx.Err())
	case err != nil:
		return nil, errAway(err)
	}
	if !surfaces.KnownFormat(int(row.Format)) {
		return nil, fmt.Errorf("load revision %d of %s: format %d is not known to this version", ep.Revision, ep.Surface, row.Format)
	}
	compiled := new(surfaces.Compiled)
	if err := json.Unmarshal(row.Compiled, compiled); err != nil {
		return nil, fmt.Errorf("decode revision %d of %s: %w", ep.Revision, ep.Surface, err)
	}
	return compiled, nil
}

func errMisdirected() *fault.Error {
	return fault.New(fault.Misdirected, "unknown_host", "This host is not served here. Check the URL; a proxy in front of this server must pass the Host header on, or be listed as trusted.")
}

func errNotFound() *fault.Error {
	return fault.New(fault.NotFound, "unknown_surface", "There is no published surface at this URL. Check it against the one shown when the surface was published; it ends in /mcp.")
}

func errAway(cause error) *fault.Error {
	return fault.Wrap(cause, fault.Unavailable, "database_away", "This service cannot reach its database right now. Try again shortly.").WithRetryAfter(2 * time.Second)
}
