package apikeys

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/maypok86/otter/v2"
	"golang.org/x/sync/singleflight"

	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

const (
	rememberedVerdicts = 20_000
	yesFor             = 30 * time.Second // how long the app's yes counts, at most until the key expires
	noFor              = 10 * time.Second
)

// verdicts is what a server remembers of the app's own keys. Refusals are kept
// apart, so that guesses push nothing else out.
type verdicts struct {
	yes    *otter.Cache[askedKey, verdict]
	no     *otter.Cache[askedKey, verdict]
	asking singleflight.Group
}

// askedKey is a key as presented at a surface, without the key, and who is
// asked about it: another function, or another project, has another answer.
type askedKey struct {
	surface  id.Surface
	project  id.Project
	origin   string
	function surfaces.Function
	hash     [sha256.Size]byte
}

// flight names a question under way, by whom it is counted.
func (k askedKey) flight(counted string) string {
	return string(seal.AD(k.surface.String(), k.project.String(), k.origin, k.function.Profile, k.function.Schema, k.function.Name, k.function.Argument,
		hex.EncodeToString(k.hash[:]), counted))
}

// verdict is what was said of a key. Immutable.
type verdict struct {
	answer checkedAnswer
	known  bool
	until  time.Time
}

func newVerdicts() (*verdicts, error) {
	yes, err := otter.New(&otter.Options[askedKey, verdict]{MaximumSize: rememberedVerdicts})
	if err != nil {
		return nil, err
	}
	no, err := otter.New(&otter.Options[askedKey, verdict]{MaximumSize: unknownKeys})
	if err != nil {
		return nil, err
	}
	return &verdicts{yes: yes, no: no}, nil
}

// remembered is what was said and still counts.
func (v *verdicts) remembered(key askedKey, now time.Time) (verdict, bool) {
	if one, ok := v.yes.GetIfPresent(key); ok && now.Before(one.until) {
		return one, true
	}
	if one, ok := v.no.GetIfPresent(key); ok && now.Before(one.until) {
		return one, true
	}
	return verdict{}, false
}

// keep remembers what was said now. A key that has expired already counts as a
// refusal.
func (v *verdicts) keep(key askedKey, answer checkedAnswer, known bool, now time.Time) verdict {
	one := verdict{answer: answer, known: known, until: now.Add(yesFor)}
	if !known || one.expired(now) {
		one.until = now.Add(noFor)
		v.yes.Invalidate(key)
		v.no.Set(key, one)
		return one
	}
	if !answer.expires.IsZero() && answer.expires.Before(one.until) {
		one.until = answer.expires
	}
	v.no.Invalidate(key)
	v.yes.Set(key, one)
	return one
}

func (v verdict) expired(now time.Time) bool {
	return !v.answer.expires.IsZero() && !now.Before(v.answer.expires)
}
