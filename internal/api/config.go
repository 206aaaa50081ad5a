package api

import (
	"errors"
	"log/slog"
	"net/http"

	"github.com/chumbo-dev/chumbo/internal/builders"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// Config is what the control API stands on. All collaborators are required.
type Config struct {
	Tenants  *tenants.Service
	Surfaces *surfaces.Service
	Builders *builders.Service
	Hosts    tenants.Hosts // the public URL, where builders approve devices; and whose word about client addresses counts
	Logger   *slog.Logger
}

// New returns the handler of /api/v1. Mount it at /api/ with the path left as
// it is. Every answer under it, errors included, is JSON.
func New(cfg Config) (http.Handler, error) {
	if cfg.Tenants == nil || cfg.Surfaces == nil || cfg.Builders == nil || cfg.Logger == nil || cfg.Hosts.PublicURL == "" {
		return nil, errors.New("api: tenants, surfaces, builders, a public URL and a logger are required")
	}
	a := &api{Config: cfg}
	return a.handler(), nil
}

type api struct{ Config }
