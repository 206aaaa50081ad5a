package tenants

import (
	"strings"
	"sync"
)

// Watch is what others learn from the Directory's listening connection: what
// changed, and whether what was read of it is still known to be right. One
// connection per server hears for everything that is kept in memory.
//
// A scope is kind:id, such as grant:0190…; triggers in the database notify
// with them. Safe for concurrent use.
type Watch struct {
	directory *Directory

	mu       sync.Mutex
	watchers []watcher // only ever appended to
}

type watcher struct {
	kind string
	fn   func(scope string)
}

// The kinds of scopes that others keep things by.
const (
	ScopeGrant    = "grant:"    // grant:<uuid>: taken away, narrowed, or a chain of it ended
	ScopeUpstream = "upstream:" // upstream:<uuid>: the session at the project ended

	ScopeSurface = scopeSurface // surface:<uuid>: what it serves or where, or its switch
	ScopeProject = scopeProject // project:<uuid>: whether and how it is served

	ScopeKey           = "key:"           // key:<uuid>: a key of an application was revoked or changed
	ScopeClient        = "client:"        // client:<uuid of the project>: whose surface an OAuth client belongs to
	ScopeIntrospection = "introspection:" // introspection:<uuid of the surface>: its client's secret
)

// Mark is when something was read, for Watch to judge. The zero Mark is never
// right.
type Mark struct{ read read }

// Watch returns the Directory's ear: the same one every time.
func (d *Directory) Watch() *Watch { return d.watch }

// Mark is taken before a query, with up to four scopes whose change makes the
// answer wrong.
func (w *Watch) Mark(scopes ...string) Mark {
	if len(scopes) > len(Mark{}.read.scopes) {
		panic("tenants: a mark with more than four scopes")
	}
	d := w.directory
	m := Mark{read{at: d.fresh.stamp(), loaded: d.now()}}
	for i := range m.read.scopes {
		if i < len(scopes) {
			m.read.scopes[i] = d.fresh.slotOf(scopes[i])
			continue
		}
		m.read.scopes[i] = m.read.scopes[0] // names nothing new
	}
	return m
}

// Fresh reports whether what was read under the mark is known to be right.
func (w *Watch) Fresh(m Mark) bool {
	return w.directory.fresh.valid(&m.read, w.directory.now())
}

// Usable reports whether what was read under the mark may still serve while
// the database does not answer: nothing named it, and it was known to be right
// within the stale bound.
func (w *Watch) Usable(m Mark) bool { return w.directory.usable(&m.read) }

// OnChange calls fn with every scope of the kind that is notified, and with ""
// when hearing began anew, so that anything may have changed. fn must not
// block. Register before Directory.Run.
func (w *Watch) OnChange(kind string, fn func(scope string)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.watchers = append(w.watchers, watcher{kind, fn})
}

// tell passes a scope on; scopeAll as "".
func (w *Watch) tell(scope string) {
	w.mu.Lock()
	list := w.watchers
	w.mu.Unlock()
	for _, one := range list {
		switch {
		case scope == scopeAll:
			one.fn("")
		case strings.HasPrefix(scope, one.kind):
			one.fn(scope)
		}
	}
}

// usable reports whether an answer may serve while the database is away.
func (d *Directory) usable(r *read) bool {
	at, ok := d.fresh.confirmed(r)
	return ok && d.stale > 0 && d.now().Sub(at) <= d.stale
}
