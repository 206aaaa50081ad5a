package mcp

import (
	"errors"
	"net/http"
)

// Handler is the HTTP edge: an http.Handler for every surface URL and for
// /.well-known/* on every host. Mount it on net/http directly, with no
// WriteTimeout and no middleware that replaces the ResponseWriter.
type Handler struct {
	cfg Config
	run runner
}

// NewHandler returns the edge over the real runner of tools.
func NewHandler(cfg Config) (*Handler, error) {
	if cfg.Projects == nil || cfg.Keys == nil {
		return nil, errors.New("mcp: no projects client or no keys")
	}
	return newHandler(cfg, newRunner(cfg.Projects, cfg.Keys))
}

func newHandler(cfg Config, run runner) (*Handler, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	return &Handler{cfg: cfg, run: run}, nil
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	http.NotFound(w, r)
}
