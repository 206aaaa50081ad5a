// Package lastused gathers when things that callers use were last used (grants,
// keys), and writes that in batches: no call ever waits for it, and a thing in
// steady use costs one write a minute. It never notifies anybody, and keeps
// nothing but ids and times.
package lastused

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/maypok86/otter/v2"

	"github.com/chumbo-dev/chumbo/internal/id"
)

const (
	every = time.Minute     // how exact what is written is
	batch = 2 * time.Second // how long uses are gathered before they are written
	wait  = 5 * time.Second // for the database
)

// Config is what Uses needs. All of it is required.
type Config[K comparable] struct {
	What string // of what, in the log
	Most int    // things remembered; a forgotten one is written again
	// Write notes that things of one organization were in use now. What it
	// cannot write is forgotten: the next use says it again.
	Write  func(ctx context.Context, org id.Organization, used []K, now time.Time) error
	Logger *slog.Logger
	Now    func() time.Time
}

// Uses gathers. Safe for concurrent use.
type Uses[K comparable] struct {
	Config[K]
	last *otter.Cache[K, time.Time] // noted

	mu    sync.Mutex
	due   map[id.Organization]map[K]struct{}
	armed bool
}

// New returns Uses, or says what is missing.
func New[K comparable](c Config[K]) (*Uses[K], error) {
	if c.What == "" || c.Most <= 0 || c.Write == nil || c.Logger == nil || c.Now == nil {
		return nil, errors.New("last uses: every part of its configuration is required")
	}
	last, err := otter.New(&otter.Options[K, time.Time]{MaximumSize: c.Most})
	if err != nil {
		return nil, err
	}
	return &Uses[K]{Config: c, last: last, due: map[id.Organization]map[K]struct{}{}}, nil
}

// Note says that a thing of the organization is in use now.
func (u *Uses[K]) Note(org id.Organization, key K) {
	now := u.Now()
	if at, ok := u.last.GetIfPresent(key); ok && now.Sub(at) < every {
		return
	}
	u.last.Set(key, now)
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.due[org] == nil {
		u.due[org] = map[K]struct{}{}
	}
	u.due[org][key] = struct{}{}
	if !u.armed {
		u.armed = true
		time.AfterFunc(batch, func() { u.Flush() })
	}
}

// Flush writes what is gathered, and returns how much that was. Note calls it
// by itself.
func (u *Uses[K]) Flush() (things int) {
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	now := u.Now()
	for org, keys := range u.take() {
		used := make([]K, 0, len(keys))
		for key := range keys {
			used = append(used, key)
		}
		things += len(used)
		if err := u.Write(ctx, org, used, now); err != nil {
			u.Logger.LogAttrs(ctx, slog.LevelWarn, "last uses were not written",
				slog.String("of", u.What), slog.Int("things", len(used)), slog.String("error", err.Error()))
		}
	}
	return things
}

// take empties what is gathered.
func (u *Uses[K]) take() map[id.Organization]map[K]struct{} {
	u.mu.Lock()
	defer u.mu.Unlock()
	due := u.due
	u.due, u.armed = map[id.Organization]map[K]struct{}{}, false
	return due
}
