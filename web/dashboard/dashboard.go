// Package dashboard owns the pages of builders under /app: who is signed in,
// what a form may do, and which facts a page shows. What a page looks like is
// package web's; what an action does is tenants', surfaces' and builders'.
//
// It never calls a project to render a page: what takes a project's answer
// arrives by events, or after a form was sent. It never puts a key, a token or
// a password into a page, an address or the log; an API token or a key of
// an application made here is shown once, on the page that answers its form.
//
//	routes.go     every route, and what it needs
//	guard.go      other sites, ids, panics, keys pasted into the wrong field
//	session.go    the cookie, and who is signed in
//	render.go     pages, forms shown again, refusals
//	setup.go, signin.go, account.go, organization.go, tokens.go, device.go
//	projects.go, register.go, project.go, ownership.go, schema.go, settings.go
//	sign_in_settings.go how the project's people sign in through the bridge
//	surface_introspection.go the secret that a surface checks tokens of another issuer with
//	surface_*.go  surfaces: overview, capabilities, connections, grants, keys,
//	              clients, revisions
package dashboard

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/chumbo-dev/chumbo/internal/builders"
	"github.com/chumbo-dev/chumbo/internal/events"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/oauth/apikeys"
	"github.com/chumbo-dev/chumbo/internal/oauth/bridge"
	"github.com/chumbo-dev/chumbo/internal/oauth/directclients"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// Config is what the dashboard stands on. All of it is required.
type Config struct {
	Tenants  *tenants.Service
	Surfaces *surfaces.Service
	Builders *builders.Service
	Usage    *events.Reader
	Bridge   Bridge
	Keys     Keys
	Clients  Clients
	// Introspection keeps what tokens of other issuers are checked with.
	Introspection Introspection
	// Connections tells the story of attempts to connect.
	Connections Connections
	Hosts       tenants.Hosts // PublicURL, and whose word about client addresses counts
	// Preview lists what a revision declares as clients get it.
	Preview func(*surfaces.Compiled) Preview
	Logger  *slog.Logger
	Version string
	Now     func() time.Time
}

// Preview is what clients list, in declared order: the JSON of each, nil for one
// that would not be served.
type Preview struct {
	Tools     []json.RawMessage
	Resources []json.RawMessage // and resource templates
	Prompts   []json.RawMessage
}

// Bridge is what builders see and change of the bridge. *bridge.Service is one.
type Bridge interface {
	GrantsOf(ctx context.Context, p tenants.Principal, surface id.Surface, after id.Grant) ([]bridge.AccessGrant, error)
	RevokeByBuilder(ctx context.Context, p tenants.Principal, surface id.Surface, grant id.Grant) error
	SignInSettings(ctx context.Context, p tenants.Principal, project id.Project) (bridge.SignInSettings, error)
	ChangeSignIn(ctx context.Context, p tenants.Principal, project id.Project, c bridge.SignInChange) (bridge.SignInSettings, error)
}

// Keys makes, lists and ends keys of applications. *apikeys.Service is one.
type Keys interface {
	Create(ctx context.Context, p tenants.Principal, surface id.Surface, n apikeys.NewKey) (apikeys.Key, seal.Secret, error)
	List(ctx context.Context, p tenants.Principal, surface id.Surface, after id.Key) ([]apikeys.Key, error)
	Revoke(ctx context.Context, p tenants.Principal, surface id.Surface, key id.Key) error
}

// Clients lists OAuth clients of projects themselves. *directclients.Service is
// one.
type Clients interface {
	List(ctx context.Context, p tenants.Principal, project id.Project) ([]directclients.Client, error)
}

// Connections lists attempts to connect and adds them up. *events.Reader is
// one.
type Connections interface {
	Connections(ctx context.Context, org id.Organization, surface id.Surface, f events.ConnectionFilter, cursor string, limit int, now time.Time) (events.ConnectionPage, error)
	ConnectionSummary(ctx context.Context, org id.Organization, surface id.Surface, since, now time.Time) (events.ConnectionSummary, error)
}

// New returns the handler of /app and everything below it. Mount it on the
// shared host only, with the path left as it is.
func New(cfg Config) (http.Handler, error) {
	if cfg.Tenants == nil || cfg.Surfaces == nil || cfg.Builders == nil || cfg.Usage == nil || cfg.Bridge == nil || cfg.Keys == nil || cfg.Clients == nil ||
		cfg.Introspection == nil || cfg.Connections == nil || cfg.Preview == nil ||
		cfg.Logger == nil || cfg.Now == nil || cfg.Hosts.PublicURL == "" {
		return nil, errors.New("dashboard: every part of its configuration is required")
	}
	d := &dashboard{Config: cfg, secure: strings.HasPrefix(cfg.Hosts.PublicURL, "https://")}
	return d.handler()
}

type dashboard struct {
	Config
	secure bool // people reach us by https
}
