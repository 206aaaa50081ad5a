package app

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/chumbo-dev/chumbo/internal/api"
	"github.com/chumbo-dev/chumbo/internal/mcp"
	"github.com/chumbo-dev/chumbo/internal/oauth/bridge"
	"github.com/chumbo-dev/chumbo/internal/tenants"
	"github.com/chumbo-dev/chumbo/web"
)

// ownSegments are the first path segments that belong to the instance itself,
// on its shared host only. Each is a reserved project name.
var ownSegments = []string{"api", "app", "schema", "static"}

// handlers are the parts of the service that answer requests.
type handlers struct {
	surfaces *mcp.Handler
	bridge   http.Handler // the authorization server of bridge surfaces
	people   http.Handler // sign-in, consent, connected apps
	control  http.Handler
	builders http.Handler // the dashboard
	logos    http.Handler
}

// peoplePath is where the pages of end users are, on every host: which of them
// a host has is for the handler to say.
const peoplePath = "/connect/"

// routes mounts everything on net/http: the instance's own pages and APIs on
// its shared host, surfaces on every host.
func routes(h handlers, hosts tenants.Hosts, directory *tenants.Directory, pool *pgxpool.Pool) http.Handler {
	assets := web.Assets()
	own := http.NewServeMux()
	own.Handle("/api/", h.control)
	own.Handle("/schema/", api.Schemas())
	own.Handle("GET "+web.AssetsPath, assets)
	own.Handle("/app", h.builders)
	own.Handle("/app/", h.builders)

	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch path := r.URL.Path; {
		case path == "/healthz":
			writeText(w, http.StatusOK, "ok")
		case path == "/readyz":
			ready(w, r, pool)
		case strings.HasPrefix(path, tenants.LogoPrefix):
			h.logos.ServeHTTP(w, r)
		case path == "/" && directory.SharedHost(hosts.EffectiveHost(r)):
			http.Redirect(w, r, "/app", http.StatusFound)
		case isOwn(path) && directory.SharedHost(hosts.EffectiveHost(r)):
			own.ServeHTTP(w, r)
		case strings.HasPrefix(path, web.AssetsPath): // a connect page on a surface's own host
			assets.ServeHTTP(w, r)
		case strings.HasPrefix(path, peoplePath):
			h.people.ServeHTTP(w, r)
		case bridge.Serves(path):
			h.bridge.ServeHTTP(w, r)
		default:
			h.surfaces.ServeHTTP(w, r)
		}
	})
}

func isOwn(path string) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return slices.Contains(ownSegments, first)
}

// readyLimit bounds the readiness probe: a pool that cannot hand out a
// connection in this time is not ready.
const readyLimit = 2 * time.Second

func ready(w http.ResponseWriter, r *http.Request, pool *pgxpool.Pool) {
	ctx, cancel := context.WithTimeout(r.Context(), readyLimit)
	defer cancel()
	if err := pool.Ping(ctx); err != nil {
		writeText(w, http.StatusServiceUnavailable, "database unreachable")
		return
	}
	writeText(w, http.StatusOK, "ready")
}

func writeText(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text + "\n"))
}

// ownHosts are the hosts that egress must never call: ours.
func ownHosts(cfg Config) []string {
	var hosts []string
	if u, err := url.Parse(cfg.PublicURL); err == nil {
		hosts = append(hosts, u.Host)
	}
	if u, err := url.Parse(cfg.PagesURL); err == nil && u.Host != "" {
		hosts = append(hosts, u.Host)
	}
	if cfg.SurfaceDomain != "" {
		hosts = append(hosts, "*."+cfg.SurfaceDomain)
	}
	return hosts
}
