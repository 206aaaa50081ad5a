// Package dedupe owns what makes identical creates within ten minutes one: a
// random key for each, which the row's unique column gets, so that the second
// insert meets the first row. It stores a keyed hash and the key, never a
// caller and never an argument, and it knows nothing of the rows.
package dedupe

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/seal"
)

const (
	// Window is how long identical creates are one, from the first of them.
	Window = 10 * time.Minute

	askBound = 3 * time.Second
)

// Config is what a Creates needs. All of it is required.
type Config struct {
	Store  *db.Store
	Keys   *seal.Keyset
	Now    func() time.Time
	Logger *slog.Logger
}

// Creates gives creates their keys. Safe for concurrent use, and the same on
// every server of a database.
type Creates struct{ cfg Config }

// New returns one, or says what is missing.
func New(cfg Config) (*Creates, error) {
	if cfg.Store == nil || cfg.Keys == nil || cfg.Now == nil || cfg.Logger == nil {
		return nil, errors.New("dedupe: a store, keys, a clock and a logger are needed")
	}
	return &Creates{cfg: cfg}, nil
}

// Key returns the key of the create that the digest stands for, at the surface:
// the same for every call within Window of the first. The digest holds whatever
// makes two creates the same, their caller first. Errors: fault.Unavailable
// when it cannot be told; the context's error when that has ended.
func (c *Creates) Key(ctx context.Context, surface id.Surface, digest []byte) (uuid.UUID, error) {
	ctx, cancel := context.WithTimeout(ctx, askBound)
	defer cancel()
	now := c.cfg.Now()
	var key uuid.UUID
	err := c.cfg.Store.AsSystem(ctx, func(q *db.Queries, _ pgx.Tx) error {
		var err error
		key, err = q.CreateKey(ctx, db.CreateKeyParams{
			Digest: c.cfg.Keys.MAC(seal.CreateKey, seal.AD(surface.String(), string(digest))),
			Key:    uuid.New(), ExpiresAt: now.Add(Window), Now: now,
		})
		return err
	})
	if err != nil {
		c.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "key of a create could not be asked", slog.String("error", err.Error()))
		return uuid.Nil, fault.Wrap(fmt.Errorf("create key: %w", err), fault.Unavailable, "create_key_unavailable",
			"Nothing was created: whether this was made before cannot be told right now. Try again in a moment.").WithRetryAfter(2 * time.Second)
	}
	return key, nil
}
