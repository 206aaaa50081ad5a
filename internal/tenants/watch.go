package tenants

import (
	"context"
	"time"
)

// Watch is what others learn from the Directory's listening connection: what
// changed, and whether what was read of it is still known to be right. One
// connection per server hears for everything that is kept in memory.
//
// A scope is kind:id, such as grant:0190…; triggers in the database notify
// with them. Safe for concurrent use.
type Watch struct{ directory *Directory }

// The kinds of scopes that others keep things by.
const (
	ScopeGrant    = "grant:"    // grant:<uuid>: taken away, narrowed, or a chain of it ended
	ScopeUpstream = "upstream:" // upstream:<uuid>: the session at the project ended
)

// Mark is when something was read, for Watch to judge.
type Mark struct {
	at     stamp
	loaded time.Time
	scopes [4]uint16
}

// Watch returns the Directory's ear.
func (d *Directory) Watch() *Watch { return &Watch{directory: d} }

// Mark is taken before a query, with up to four scopes whose change makes the
// answer wrong.
func (w *Watch) Mark(scopes ...string) Mark { panic("not built") }

// Fresh reports whether what was read under the mark is known to be right.
func (w *Watch) Fresh(m Mark) bool { panic("not built") }

// Usable reports whether what was read under the mark may still serve while
// the database does not answer: nothing named it, and it was known to be right
// within the stale bound.
func (w *Watch) Usable(m Mark) bool { panic("not built") }

// OnChange calls fn with every scope of the kind that is notified, and with ""
// when hearing began anew, so that anything may have changed. fn must not
// block. Register before Directory.Run.
func (w *Watch) OnChange(kind string, fn func(scope string)) { panic("not built") }

// ByRef finds the endpoint that Resource.Ref names. Errors as Lookup's.
func (d *Directory) ByRef(ctx context.Context, ref string) (*Endpoint, error) { panic("not built") }
