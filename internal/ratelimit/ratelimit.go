// Package ratelimit owns limits that hold over all servers together: a window
// in Postgres, of which each server leases a tenth at a time and counts it
// down in memory. It never stores an address, only a keyed hash, and never
// lets through what it cannot count.
package ratelimit

import (
	"context"
	"log/slog"
	"time"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/seal"
)

// Rate is how many uses a window of time has.
type Rate struct {
	N   int
	Per time.Duration
}

// Bound is a rate for everything that shares name and key.
type Bound struct {
	Name string // what is limited, such as "public call"
	Key  string // for whom: ids and AddressKey, joined
	Rate Rate
}

// Config is what a Limiter needs. All of it is required.
type Config struct {
	Store  *db.Store
	Keys   *seal.Keyset
	Now    func() time.Time
	Logger *slog.Logger
}

// Limiter counts uses. Safe for concurrent use.
type Limiter struct{}

// New returns a Limiter, or says what is missing.
func New(c Config) (*Limiter, error) { panic("not built") }

// Take counts n uses against each bound, in order, or refuses: the error is
// fault.RateLimited with RetryAfter (the rest of the window, whole seconds)
// when a bound is reached, and fault.Unavailable when that cannot be told.
func (l *Limiter) Take(ctx context.Context, n int, bounds ...Bound) error { panic("not built") }

// AddressKey is how an address is counted: an IPv6 network of 64 bits as one,
// since that much is given to one household. An address that cannot be read is
// counted with its like.
func AddressKey(address string) string { panic("not built") }
