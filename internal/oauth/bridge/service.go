package bridge

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/maypok86/otter/v2"
	"golang.org/x/sync/singleflight"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/egress"
	"github.com/chumbo-dev/chumbo/internal/events"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/oauth/lastused"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// Directory finds surfaces. *tenants.Directory is one.
type Directory interface {
	Lookup(ctx context.Context, host, path string) (*tenants.Endpoint, error)
	ByRef(ctx context.Context, ref string) (*tenants.Endpoint, error)
	Compiled(ctx context.Context, ep *tenants.Endpoint) (*surfaces.Compiled, error)
	OwnBases(ep *tenants.Endpoint) []string
}

// Verifier checks the project's own tokens. *oauth.Authenticator is one.
type Verifier interface {
	VerifyProjectToken(ctx context.Context, p *tenants.ProjectRef, token seal.Secret) (oauth.ProjectToken, error)
}

// Steps keeps the story of attempts to connect. *events.Steps is one. Record
// must not block.
type Steps interface {
	Record(s events.Step)
}

// Watch tells what changed in the database. *tenants.Watch is one.
type Watch interface {
	Mark(scopes ...string) tenants.Mark
	Fresh(m tenants.Mark) bool
	Usable(m tenants.Mark) bool
	OnChange(kind string, fn func(scope string))
}

// Config is what a Service needs. All of it is required.
type Config struct {
	Store     *db.Store
	Keys      *seal.Keyset
	Directory Directory
	Watch     Watch
	Hosts     tenants.Hosts
	Projects  *supabase.Client // reaches the projects' Auth
	Documents *egress.Client   // reads clients' metadata documents and key sets
	Verifier  Verifier
	Steps     Steps
	PagesURL  string // scheme://host[:port] under which /connect/ is served
	Logger    *slog.Logger
	Now       func() time.Time
}

// Service is the bridge. Safe for concurrent use; several servers of one
// instance share everything through the database.
type Service struct {
	cfg        Config
	keys       *signingKeys                               // signingkeys.go
	tokens     *otter.Cache[[sha256.Size]byte, readToken] // accesstoken.go
	documents  singleflight.Group                         // document.go: readings under way
	maxClients int64                                      // register.go: of one surface
	upstreams  *upstreams                                 // upstream.go
	standing   *standing                                  // standing.go
	running    *running                                   // running.go
	touches    *lastused.Uses[id.Grant]                   // used.go
	firstCalls *otter.Cache[grantKey, struct{}]           // used.go
	limits     *limits                                    // limits.go
	known      *knownAuth                                 // signin_known.go
	told       *strangerStories                           // steps.go
}

// The times of the design (section 5, Tokens).
const (
	signInLifetime  = 10 * time.Minute
	codeLifetime    = time.Minute
	accessLifetime  = 10 * time.Minute
	refreshIdle     = 30 * 24 * time.Hour
	grantLifetime   = 90 * 24 * time.Hour // absolute, unless the user chose less
	retryWindow     = time.Minute         // in which a refresh token's repetition is answered alike
	visitLifetime   = 12 * time.Hour
	warmBefore      = 30 * time.Second // an upstream token this near its end is refreshed first
	refreshLease    = 15 * time.Second
	personalMaximum = 90 * 24 * time.Hour
)

// CallbackPath is where the project's Auth sends browsers back to: one address
// for the whole instance, below Config.PagesURL.
const CallbackPath = "/connect/callback"

// New returns a Service, or says what is missing.
func New(cfg Config) (*Service, error) {
	if cfg.Store == nil || cfg.Keys == nil || cfg.Directory == nil || cfg.Watch == nil || cfg.Projects == nil || cfg.Documents == nil ||
		cfg.Verifier == nil || cfg.Steps == nil || cfg.PagesURL == "" || cfg.Logger == nil || cfg.Now == nil {
		return nil, errors.New("bridge: every part of its configuration is required")
	}
	cfg.PagesURL = strings.TrimRight(cfg.PagesURL, "/")
	s := &Service{cfg: cfg, keys: newSigningKeys(cfg.Store, cfg.Keys, cfg.Now), maxClients: maxClients}
	s.limits = &limits{store: cfg.Store, keys: cfg.Keys, now: cfg.Now}
	s.known = newKnownAuth(cfg.Projects, cfg.Now)
	var err error
	if s.tokens, err = newReadTokens(); err != nil {
		return nil, fmt.Errorf("bridge: %w", err)
	}
	if s.upstreams, err = newUpstreams(cfg.Keys); err != nil {
		return nil, fmt.Errorf("bridge: %w", err)
	}
	if s.standing, err = newStanding(); err != nil {
		return nil, fmt.Errorf("bridge: %w", err)
	}
	if s.touches, err = newTouches(cfg); err != nil {
		return nil, fmt.Errorf("bridge: %w", err)
	}
	if s.firstCalls, err = newFirstCalls(); err != nil {
		return nil, fmt.Errorf("bridge: %w", err)
	}
	if s.told, err = newStrangerStories(); err != nil {
		return nil, fmt.Errorf("bridge: %w", err)
	}
	s.running = &running{calls: map[id.Grant]map[*call]struct{}{}}
	cfg.Watch.OnChange(tenants.ScopeGrant, func(scope string) { s.running.heard(s, scope) })
	return s, nil
}
