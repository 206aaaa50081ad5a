// Package approvals owns what a person's word may be used for once: the sealed
// states of calls that wait for an answer, and the calls that wait for a person
// on our page because their client cannot ask one.
//
// It decides neither whether a call needs a person nor who a person is. What a
// call is about is sealed in the database; only a keyed hash says which call of
// which caller a row stands for.
package approvals

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/seal"
)

const (
	// Window is how long a question waits for its person, and then how long the
	// answer waits for the call.
	Window = 10 * time.Minute

	// MaxPending is how many questions of one caller wait at once.
	MaxPending = 20

	// MaxArguments bounds the arguments that a page shows, in bytes.
	MaxArguments = 16 << 10

	// Path is where the pages are, below the pages URL.
	Path = "/connect/approvals/"

	askBound = 3 * time.Second
	keepUsed = 5 * time.Minute // beyond a state's end: clocks of servers differ
)

// Config is what a Service needs. All of it is required.
type Config struct {
	Store    *db.Store
	Keys     *seal.Keyset
	PagesURL string // scheme://host[:port] of the pages
	Now      func() time.Time
	Logger   *slog.Logger
}

// Service keeps approvals and used states. Safe for concurrent use, and the
// same on every server of a database.
type Service struct {
	cfg    Config
	sealer *seal.Sealer
}

// New returns one, or says what is missing.
func New(cfg Config) (*Service, error) {
	if cfg.Store == nil || cfg.Keys == nil || cfg.PagesURL == "" || cfg.Now == nil || cfg.Logger == nil {
		return nil, errors.New("approvals: a store, keys, the pages URL, a clock and a logger are needed")
	}
	cfg.PagesURL = strings.TrimRight(cfg.PagesURL, "/")
	return &Service{cfg: cfg, sealer: cfg.Keys.Sealer(seal.Approval)}, nil
}

// Use takes the state of that name, which is random and good until the time
// given, and reports whether nobody took it before. Errors: fault.Unavailable
// when that cannot be told.
func (s *Service) Use(ctx context.Context, org id.Organization, name []byte, until time.Time) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, askBound)
	defer cancel()
	digest := sha256.Sum256(seal.AD("request state", string(name)))
	var n int64
	err := s.cfg.Store.AsOrganization(ctx, org, func(q *db.Queries, _ pgx.Tx) error {
		var err error
		n, err = q.UseState(ctx, db.UseStateParams{OrganizationID: org, Jti: digest[:], ExpiresAt: until.Add(keepUsed)})
		return err
	})
	if err != nil {
		return false, s.away(ctx, "use state", err)
	}
	return n == 1, nil
}

// away is the error of a database that gives no answer.
func (s *Service) away(ctx context.Context, what string, err error) error {
	s.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "approvals: no answer of the database", slog.String("what", what), slog.String("error", err.Error()))
	return fault.Wrap(fmt.Errorf("%s: %w", what, err), fault.Unavailable, "approvals_unavailable",
		"Nothing was done: whether this was agreed to cannot be told right now. Try again in a moment.").WithRetryAfter(2 * time.Second)
}
