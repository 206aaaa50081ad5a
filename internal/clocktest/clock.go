// Package clocktest gives tests a clock that stands still until they move it.
// It is for tests only.
package clocktest

import (
	"sync"
	"time"
)

// Clock is a time that tests move. Safe for concurrent use.
type Clock struct {
	mu sync.Mutex
	at time.Time
}

// New returns a clock that stands at the given time.
func New(at time.Time) *Clock { return &Clock{at: at} }

// Now is the clock's time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

// Advance moves the clock on.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}
