package api

import (
	"errors"
	"log/slog"
	"net/http"

	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// Config is what the control API stands on. All collaborators are required.
type Config struct {
	Tenants  *tenants.Service
	Surfaces *surfaces.Service
	Supabase *supabase.Client
	Logger   *slog.Logger

	AllowSplitIssuer bool // CHUMBO_ALLOW_SPLIT_ISSUER
	AllowPublic      bool // surfaces may declare mode public
	RequireOwnership bool // nothing of an unverified project is served
}

// New returns the handler of /api/v1. Mount it at /api/ with the path left as
// it is. Every answer under it, errors included, is JSON.
func New(cfg Config) (http.Handler, error) {
	if cfg.Tenants == nil || cfg.Surfaces == nil || cfg.Supabase == nil || cfg.Logger == nil {
		return nil, errors.New("api: tenants, surfaces, supabase and logger are required")
	}
	a := &api{Config: cfg}
	return a.routes(), nil
}

type api struct{ Config }
