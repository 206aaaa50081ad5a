package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
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

// Config is what the control API stands on. All collaborators are required.
type Config struct {
	Tenants  *tenants.Service
	Surfaces *surfaces.Service
	Builders *builders.Service
	Bridge   Bridge
	Keys     Keys
	Clients  Clients
	// Introspection keeps what tokens of other issuers are checked with.
	Introspection Introspection
	// Connections reads the story of attempts to connect.
	Connections Connections
	Hosts       tenants.Hosts // the public URL, where builders approve devices; and whose word about client addresses counts
	Logger      *slog.Logger
	Now         func() time.Time
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

// Clients lists the OAuth clients of projects that came to their surfaces.
// *directclients.Service is one.
type Clients interface {
	List(ctx context.Context, p tenants.Principal, project id.Project) ([]directclients.Client, error)
}

// Connections lists attempts to connect. *events.Reader is one.
type Connections interface {
	Connections(ctx context.Context, org id.Organization, surface id.Surface, f events.ConnectionFilter, cursor string, limit int, now time.Time) (events.ConnectionPage, error)
}

// New returns the handler of /api/v1. Mount it at /api/ with the path left as
// it is. Every answer under it, errors included, is JSON.
func New(cfg Config) (http.Handler, error) {
	if cfg.Tenants == nil || cfg.Surfaces == nil || cfg.Builders == nil || cfg.Bridge == nil || cfg.Keys == nil || cfg.Clients == nil || cfg.Introspection == nil ||
		cfg.Connections == nil || cfg.Logger == nil || cfg.Now == nil || cfg.Hosts.PublicURL == "" {
		return nil, errors.New("api: every part of its configuration is required")
	}
	a := &api{Config: cfg}
	return a.handler(), nil
}

type api struct{ Config }
