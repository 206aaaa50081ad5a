// Package dashboard owns the pages of builders under /app: who is signed in,
// what a form may do, and which facts a page shows. What a page looks like is
// package web's; what an action does is tenants', surfaces' and builders'.
//
// It never calls a project to render a page: what takes a project's answer
// arrives by events, or after a form was sent. It never puts a key, a token or
// a password into a page, an address or the log; an API token made here is
// shown once, on the page that answers its form.
//
//	routes.go     every route, and what it needs
//	guard.go      other sites, ids, panics, keys pasted into the wrong field
//	session.go    the cookie, and who is signed in
//	render.go     pages, forms shown again, refusals
//	setup.go, signin.go, account.go, organization.go, tokens.go, device.go
//	projects.go, register.go, project.go, ownership.go, schema.go, settings.go
//	surface_*.go  surfaces: overview, capabilities, revisions
package dashboard

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/chumbo-dev/chumbo/internal/builders"
	"github.com/chumbo-dev/chumbo/internal/events"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// Config is what the dashboard stands on. All of it is required.
type Config struct {
	Tenants  *tenants.Service
	Surfaces *surfaces.Service
	Builders *builders.Service
	Usage    *events.Reader
	Hosts    tenants.Hosts // PublicURL, and whose word about client addresses counts
	// Preview lists a revision's tools as clients get them: the JSON of each,
	// nil for one that would not be served.
	Preview func(*surfaces.Compiled) []json.RawMessage
	Logger  *slog.Logger
	Version string
	Now     func() time.Time
}

// New returns the handler of /app and everything below it. Mount it on the
// shared host only, with the path left as it is.
func New(cfg Config) (http.Handler, error) {
	if cfg.Tenants == nil || cfg.Surfaces == nil || cfg.Builders == nil || cfg.Usage == nil || cfg.Preview == nil ||
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
