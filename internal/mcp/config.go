package mcp

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/chumbo-dev/chumbo/internal/events"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/oauth/bridge"
	"github.com/chumbo-dev/chumbo/internal/ratelimit"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// DefaultCacheBytes bounds the cache of built servers unless Config says
// otherwise (CHUMBO_CACHE_BYTES).
const DefaultCacheBytes = 128 << 20

// Directory turns a host and a path into a surface. *tenants.Directory is one.
type Directory interface {
	// Lookup finds the surface of a URL. Errors: fault.Misdirected for a host
	// not served here, fault.NotFound for a path, fault.Unavailable when that
	// cannot be told.
	Lookup(ctx context.Context, host, path string) (*tenants.Endpoint, error)
	// Compiled loads the live revision of the endpoint.
	Compiled(ctx context.Context, ep *tenants.Endpoint) (*surfaces.Compiled, error)
}

// Hosts says which host a request was sent to, and by whom. tenants.Hosts is
// one.
type Hosts interface {
	EffectiveHost(r *http.Request) string
	ClientAddress(r *http.Request) string
}

// Authenticator decides who calls. *oauth.Authenticator is one.
type Authenticator interface {
	// Authenticate returns the caller, or an error that holds an
	// *oauth.Challenge or a *fault.Error.
	Authenticate(ctx context.Context, ep *tenants.Endpoint, h http.Header, from string) (*oauth.Caller, error)
	// Refused is told that the project refused the caller's token late, and
	// returns the challenge to answer with.
	Refused(ep *tenants.Endpoint, caller *oauth.Caller) *oauth.Challenge
}

// Recorder keeps invocations. *events.Recorder is one. Record must not block.
type Recorder interface {
	Record(inv events.Invocation)
}

// Bridge is told of the calls of grants. *bridge.Service is one.
type Bridge interface {
	// Running registers a request under way: cancel is called when its grant is
	// taken away, or was since the request was admitted, and done ends the registration and reports whether it was.
	Running(org id.Organization, grant id.Grant, cancel func()) (done func() (revoked bool))
	// FirstCall is told of every use of a grant, with what the client says of
	// itself where that is known. It may ask the database at the first.
	FirstCall(ctx context.Context, ep *tenants.Endpoint, c *oauth.Caller, clientName, clientVersion string, v bridge.Visitor)
}

// Steps keeps the story of attempts to connect. *events.Steps is one. Record
// must not block.
type Steps interface {
	Record(s events.Step)
}

// Limiter counts what callers without a credential ask. *ratelimit.Limiter is
// one.
type Limiter interface {
	// Take counts n against each bound, or refuses: fault.RateLimited, or
	// fault.Unavailable when that cannot be told.
	Take(ctx context.Context, n int, bounds ...ratelimit.Bound) error
}

// Clients keeps what the OAuth clients of projects say of themselves.
// *directclients.Service is one. Name must not block.
type Clients interface {
	Name(ep *tenants.Endpoint, c *oauth.Caller, name string)
}

// Creates remembers creates, so that one repeated within ten minutes is not made
// twice. *dedupe.Creates is one.
type Creates interface {
	// Key returns the value of the unique column for the create that the digest
	// stands for: the same for every call within ten minutes of the first, on
	// any server. The digest holds whatever makes two creates the same, their
	// caller first. Errors: fault.Unavailable when that cannot be told.
	Key(ctx context.Context, surface id.Surface, digest []byte) (uuid.UUID, error)
}

// Changes tells what is notified of. *tenants.Watch is one.
type Changes interface {
	// OnChange calls fn with every scope of the kind that changed, and with ""
	// when anything may have. fn must not block.
	OnChange(kind string, fn func(scope string))
}

// Config is what a Handler is built from. Everything is required but Creates,
// Approvals, Changes, Bridge, Clients, Steps and CacheBytes.
type Config struct {
	Directory     Directory
	Hosts         Hosts
	Authenticator Authenticator
	Projects      *supabase.Client // reaches the projects, for the declared tools
	Keys          *seal.Keyset     // seals cursors
	Recorder      Recorder
	Limiter       Limiter
	Creates       Creates      // nil: tools with a dedupe column refuse
	Approvals     Approvals    // nil: whatever asks a person refuses
	Changes       Changes      // nil: streams learn of changes by asking now and then
	Bridge        Bridge       // nil: there are no callers with a grant
	Clients       Clients      // nil: nothing is kept of the names of direct clients
	Steps         Steps        // nil: nothing is kept of attempts to connect
	Connect       http.Handler // the page a browser sees at a surface URL; see EndpointOf
	Logger        *slog.Logger
	Now           func() time.Time
	Version       string // of this program, told to clients
	CacheBytes    int64  // bound of the cache of built servers; 0 means DefaultCacheBytes
}

func (c Config) validate() error {
	switch {
	case c.Directory == nil:
		return errors.New("mcp: no directory")
	case c.Hosts == nil:
		return errors.New("mcp: no hosts")
	case c.Authenticator == nil:
		return errors.New("mcp: no authenticator")
	case c.Recorder == nil:
		return errors.New("mcp: no recorder")
	case c.Limiter == nil:
		return errors.New("mcp: no limiter")
	case c.Connect == nil:
		return errors.New("mcp: no connect page")
	case c.Logger == nil:
		return errors.New("mcp: no logger")
	case c.Now == nil:
		return errors.New("mcp: no clock")
	case c.Version == "":
		return errors.New("mcp: no version")
	case c.Steps != nil && c.Keys == nil:
		return errors.New("mcp: steps need keys")
	case c.CacheBytes < 0:
		return errors.New("mcp: cache bytes below zero")
	}
	return nil
}

type visitKey struct{}

// visit is what the connect page is told of the surface it stands for.
type visit struct {
	endpoint  *tenants.Endpoint
	tools     []*surfaces.Tool
	resources []*surfaces.Resource
	prompts   []*surfaces.Prompt
}

// EndpointOf returns the surface whose URL the request of ctx was sent to. It
// is set for Config.Connect.
func EndpointOf(ctx context.Context) (*tenants.Endpoint, bool) {
	v, ok := ctx.Value(visitKey{}).(visit)
	return v.endpoint, ok
}

// ToolsOf returns the tools that surface serves, as declared, whoever may call
// them, but for those with a visible rule of their own; none when they cannot
// be read right now. It is set for Config.Connect.
func ToolsOf(ctx context.Context) []*surfaces.Tool {
	v, _ := ctx.Value(visitKey{}).(visit)
	return v.tools
}

// ResourcesOf is ToolsOf for resources and resource templates.
func ResourcesOf(ctx context.Context) []*surfaces.Resource {
	v, _ := ctx.Value(visitKey{}).(visit)
	return v.resources
}

// PromptsOf is ToolsOf for prompts.
func PromptsOf(ctx context.Context) []*surfaces.Prompt {
	v, _ := ctx.Value(visitKey{}).(visit)
	return v.prompts
}
