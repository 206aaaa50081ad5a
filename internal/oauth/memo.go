package oauth

import (
	"crypto/sha256"
	"time"

	"github.com/maypok86/otter/v2"

	"github.com/chumbo-dev/chumbo/internal/id"
)

const (
	rejectedFor   = 10 * time.Second
	rejectedLimit = 16384
	entryOverhead = 640 // bytes of an entry besides its claims, about
	parsedFactor  = 4   // of claims as rules read them, against their JSON
	textOverhead  = 16  // of a text besides what is in it
)

// tokenKey names a token of a project without holding it. The same token
// presented for two projects is two entries.
type tokenKey struct {
	project id.Project
	hash    [sha256.Size]byte
}

func keyOf(project id.Project, text string) tokenKey {
	var buffer [2048]byte // keeps the usual token off the heap
	return tokenKey{project: project, hash: sha256.Sum256(append(buffer[:0], text...))}
}

// verified is what is remembered of a token whose signature was right: its
// claims and the key that signed it. Nothing about admission: a surface's
// rules run on every request.
type verified struct {
	claims *claims
	kid    string
	thumb  [sha256.Size]byte
}

// memo remembers tokens: verified ones until they expire, rejected ones for a
// few seconds, in two caches so that a flood of bad tokens evicts no good one.
type memo struct {
	now      func() time.Time
	good     *otter.Cache[tokenKey, *verified]
	rejected *otter.Cache[tokenKey, rejection]
}

type rejection struct {
	why   reason
	until time.Time
}

func newMemo(now func() time.Time, maxBytes int) (*memo, error) {
	good, err := otter.New(&otter.Options[tokenKey, *verified]{
		MaximumWeight: uint64(maxBytes),
		Weigher:       func(_ tokenKey, v *verified) uint32 { return weightOf(v.claims) },
	})
	if err != nil {
		return nil, err
	}
	rejected, err := otter.New(&otter.Options[tokenKey, rejection]{MaximumSize: rejectedLimit})
	if err != nil {
		return nil, err
	}
	return &memo{now: now, good: good, rejected: rejected}, nil
}

// weightOf is how many bytes an entry takes, about. A scope of one letter takes
// much more than it has, and claims that rules read are there once more, parsed.
func weightOf(c *claims) uint32 {
	return uint32(entryOverhead + (1+parsedFactor)*len(c.rest) + textOverhead*(len(c.scopes)+len(c.audience)))
}

func (m *memo) get(k tokenKey) *verified {
	v, _ := m.good.GetIfPresent(k)
	return v
}

func (m *memo) put(k tokenKey, v *verified) { m.good.Set(k, v) }

func (m *memo) forget(k tokenKey) { m.good.Invalidate(k) }

func (m *memo) reject(k tokenKey, why reason) {
	m.rejected.Set(k, rejection{why: why, until: m.now().Add(rejectedFor)})
}

// rejection returns why the token was rejected lately, or "".
func (m *memo) rejection(k tokenKey) reason {
	r, ok := m.rejected.GetIfPresent(k)
	if !ok {
		return ""
	}
	if !m.now().Before(r.until) {
		m.rejected.Invalidate(k)
		return ""
	}
	return r.why
}
