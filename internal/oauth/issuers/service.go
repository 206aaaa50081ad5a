package issuers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/maypok86/otter/v2"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/egress"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/ratelimit"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// Watch tells what changed in the database. *tenants.Watch is one.
type Watch interface {
	Mark(scopes ...string) tenants.Mark
	Fresh(m tenants.Mark) bool
	Usable(m tenants.Mark) bool
}

// Limits bounds guesses. *ratelimit.Limiter is one.
type Limits interface {
	Take(ctx context.Context, n int, bounds ...ratelimit.Bound) error
}

// Config is what a Service needs. All of it is required.
type Config struct {
	Store  *db.Store
	Keys   *seal.Keyset
	Watch  Watch
	Out    *egress.Client
	Limits Limits
	Logger *slog.Logger
	Now    func() time.Time
}

// Bounds of what is kept in memory.
const (
	maxIssuers     = 10_000
	maxGoodBytes   = 16 << 20 // of verified tokens, and again of answers
	maxRejected    = 16_384
	maxSecrets     = 10_000
	maxSaid        = 4_096
	entryOverhead  = 640 // bytes of an entry besides its claims, about
	textOverhead   = 16  // of a text besides what is in it
	rejectedFor    = 10 * time.Second
	ownerToldEvery = time.Minute
)

// place names an issuer as one surface knows it. Surfaces never share what was
// read of an issuer: its URL is what an owner wrote.
type place struct {
	surface id.Surface
	issuer  string // byte for byte
}

// Service admits tokens of other issuers. Safe for concurrent use.
type Service struct {
	cfg       Config
	sealer    *seal.Sealer
	metadata  *keptPages[place, *metadata]
	keys      *keptPages[keysAt, *keySet]
	verified  *otter.Cache[tokenKey, *verified]
	rejected  *otter.Cache[tokenKey, rejection]
	answers   *otter.Cache[answerKey, *answer]
	denied    *otter.Cache[answerKey, rejection]
	secrets   *otter.Cache[secretKey, keptSecret]
	said      *otter.Cache[saying, time.Time]
	mu        sync.Mutex
	questions map[answerKey]*question // under way; mu
}

var _ oauth.Issuers = (*Service)(nil)

// New returns a Service, or says what is missing.
func New(c Config) (*Service, error) {
	if c.Store == nil || c.Keys == nil || c.Watch == nil || c.Out == nil || c.Limits == nil || c.Logger == nil || c.Now == nil {
		return nil, errors.New("issuers: every part of its configuration is required")
	}
	s := &Service{cfg: c, sealer: c.Keys.Sealer(seal.Introspection), questions: make(map[answerKey]*question)}
	s.metadata = newKeptPages(c.Now, maxIssuers, s.readMetadata)
	s.keys = newKeptPages(c.Now, maxIssuers, s.readKeys)
	var errs [6]error
	s.verified, errs[0] = otter.New(&otter.Options[tokenKey, *verified]{
		MaximumWeight: maxGoodBytes, Weigher: func(_ tokenKey, v *verified) uint32 { return weight(v.claims) },
	})
	s.rejected, errs[1] = otter.New(&otter.Options[tokenKey, rejection]{MaximumSize: maxRejected})
	s.answers, errs[2] = otter.New(&otter.Options[answerKey, *answer]{
		MaximumWeight: maxGoodBytes, Weigher: func(_ answerKey, a *answer) uint32 { return weight(a.claims) },
	})
	s.denied, errs[3] = otter.New(&otter.Options[answerKey, rejection]{MaximumSize: maxRejected})
	s.secrets, errs[4] = otter.New(&otter.Options[secretKey, keptSecret]{MaximumSize: maxSecrets})
	s.said, errs[5] = otter.New(&otter.Options[saying, time.Time]{MaximumSize: maxSaid})
	if err := errors.Join(errs[:]...); err != nil {
		return nil, fmt.Errorf("issuers: %w", err)
	}
	return s, nil
}

// weight is how many bytes an entry takes, about. A scope of one letter takes much
// more than it has.
func weight(c *claims) uint32 {
	return uint32(entryOverhead + len(c.rest) + textOverhead*(len(c.scopes)+len(c.audience)))
}

// rejection is why something was refused lately, and until when that counts.
type rejection struct {
	why   denial
	until time.Time
}

// saying is one thing told to the owner of a surface.
type saying struct {
	surface id.Surface
	kind    string
}

// tellOwner logs what only the surface's owner can mend, at most once a minute:
// whoever sends requests decides how often it is found.
func (s *Service) tellOwner(ctx context.Context, surface id.Surface, kind, advice string) {
	key, now := saying{surface, kind}, s.cfg.Now()
	if at, ok := s.said.GetIfPresent(key); ok && now.Sub(at) < ownerToldEvery {
		return
	}
	s.said.Set(key, now)
	s.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "tokens of another issuer cannot be checked",
		slog.String("surface_id", surface.String()), slog.String("error_kind", kind), slog.String("advice", advice))
}
