package mcp

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"

	"github.com/chumbo-dev/chumbo/internal/events"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// Handler is the HTTP edge: an http.Handler for every surface URL, for
// /.well-known/* and for the metadata URLs below a surface URL. Mount it on
// net/http directly, with no middleware that replaces the ResponseWriter; it
// sets write deadlines of its own.
type Handler struct {
	cfg       Config
	revisions *revisions
	transport transport
	listeners *listeners
	clients   *clients
	story     *story
}

// NewHandler returns the edge over the real runner of tools.
func NewHandler(cfg Config) (*Handler, error) {
	if cfg.Projects == nil || cfg.Keys == nil || cfg.Now == nil {
		return nil, errors.New("mcp: no projects client, no keys or no clock")
	}
	return newHandler(cfg, newRunner(cfg.Projects, cfg.Keys).withClock(cfg.Now).withCreates(cfg.Creates))
}

func newHandler(cfg Config, run runner) (*Handler, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	revisions, err := newRevisions(cfg, run)
	if err != nil {
		return nil, err
	}
	clients, err := newClients()
	if err != nil {
		return nil, fmt.Errorf("mcp: %w", err)
	}
	story, err := newStory(cfg)
	if err != nil {
		return nil, fmt.Errorf("mcp: %w", err)
	}
	listeners := newListeners(cfg.Directory, func(ctx context.Context, ep *tenants.Endpoint) (lists, error) {
		r, err := revisions.of(ctx, ep)
		if err != nil {
			return lists{}, err
		}
		return r.lists, nil
	})
	if cfg.Changes != nil {
		listeners.hear(cfg.Changes)
	}
	return &Handler{
		cfg: cfg, revisions: revisions, transport: oneShot{}, listeners: listeners, clients: clients, story: story,
	}, nil
}

// Close ends the streams that are open, each with a proper last message, and
// refuses new ones. Call it when the HTTP server begins to shut down.
func (h *Handler) Close() { h.listeners.close() }

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{h: h, r: r, requestID: rand.Text(), started: h.cfg.Now()}
	x.w = &timedWriter{ResponseWriter: w, x: x}
	x.w.Header().Set("Chumbo-Request-Id", x.requestID)
	x.w.Header().Set("Chumbo-Version", h.cfg.Version)
	defer x.recovered()
	x.serve()
}

// serve keeps the order of design section 4: host, path, origin, OPTIONS, the
// connect page, credential; then size, method, media type and body in post.
func (x *exchange) serve() {
	host, path := x.h.cfg.Hosts.EffectiveHost(x.r), x.r.URL.EscapedPath()
	if resource, ok := oauth.ResourcePath(path); ok {
		x.metadata(host, resource)
		return
	}
	ep, err := x.h.cfg.Directory.Lookup(x.r.Context(), host, path)
	if err != nil {
		x.openCORS()
		x.problem(err)
		return
	}
	x.enter(ep)
	switch {
	case !allowOrigin(x.w.Header(), ep.Access, x.r):
		x.problem(fault.New(fault.Forbidden, "origin_not_allowed", "This surface does not answer pages of this origin. Its owner lists the origins that may call it."))
	case x.r.Method == http.MethodOptions:
		preflight(x.w, x.r)
	case x.r.Method == http.MethodGet && acceptsHTML(x.r.Header) && len(x.r.Header.Values("Authorization")) == 0:
		x.connectPage(ep)
	case ep.State == tenants.StatePaused:
		x.problem(fault.New(fault.Unavailable, "paused", "This surface is paused by its owner. Nothing is wrong with your request; try again later."))
	default:
		x.authenticated(ep)
	}
}

// enter notes the surface in the headers of the answer.
func (x *exchange) enter(ep *tenants.Endpoint) {
	h := x.w.Header()
	h.Set("Chumbo-Surface", ep.Surface.String())
	h.Set("Chumbo-Revision", strconv.Itoa(ep.Revision))
}

// metadata answers the protected-resource metadata URLs, which need no token
// and mind no bad one. Where no client signs in, the 404 says what to send.
func (x *exchange) metadata(host, resource string) {
	ep, err := x.h.cfg.Directory.Lookup(x.r.Context(), host, resource)
	if err != nil {
		x.openCORS()
		x.problem(err)
		return
	}
	if x.r.Method == http.MethodGet && ep.Access.Has(surfaces.ModeOAuth) {
		x.h.story.step(x, ep, events.StepMetadata)
	}
	oauth.ServeMetadata(x.w, x.r, ep)
}

func (x *exchange) connectPage(ep *tenants.Endpoint) {
	h := x.w.Header()
	h.Add("Vary", "Accept, Authorization")
	h.Set("Cache-Control", "no-store")
	v := visit{endpoint: ep}
	if revision, err := x.h.revisions.of(x.r.Context(), ep); err != nil { // the page is of use without its tools
		x.h.cfg.Logger.Warn("load revision for the connect page", slog.String("surface", ep.Surface.String()), slog.Any("error", err))
	} else {
		// Nobody is known who could fulfil a rule, the surface's or a capability's.
		unruled := func(k *capability) bool { return revision.rules.visible == nil && k.visible == nil }
		for _, t := range revision.order {
			if unruled(&t.capability) {
				v.tools = append(v.tools, t.spec)
			}
		}
		for _, one := range revision.resources {
			if unruled(&one.capability) {
				v.resources = append(v.resources, one.spec)
			}
		}
		for _, p := range revision.promptOrder {
			if unruled(&p.capability) {
				v.prompts = append(v.prompts, p.spec)
			}
		}
	}
	x.h.cfg.Connect.ServeHTTP(x.w, x.r.WithContext(context.WithValue(x.r.Context(), visitKey{}, v)))
}

func (x *exchange) authenticated(ep *tenants.Endpoint) {
	caller, err := x.h.cfg.Authenticator.Authenticate(x.r.Context(), ep, x.r.Header, x.h.cfg.Hosts.ClientAddress(x.r))
	if err != nil {
		x.refused(ep, err)
		return
	}
	x.w.Header().Set("Chumbo-Access", string(caller.Key.Mode))
	reads := x.r.Method == http.MethodGet || x.r.Method == http.MethodHead
	if reads && caller.Key.Mode == oauth.ModePublic && ep.Access.Has(surfaces.ModeOAuth) {
		x.challenge(ep, oauth.SignIn(ep))
		return
	}
	x.underGrant(ep, caller, func() {
		x.admitted(&call{endpoint: ep, caller: caller, http: x.r.Context(), requestID: x.requestID, facts: newFacts(caller, x.started)})
	})
}

// admitted serves a caller who is known, once the surface's own conditions are
// fulfilled.
func (x *exchange) admitted(c *call) {
	err := x.gate(x.r.Context(), c)
	x.project, c.projectTime = c.projectTime, 0
	if challenge := x.late401(c); challenge != nil {
		x.challenge(c.endpoint, challenge)
		return
	}
	if err != nil {
		x.problem(err)
		return
	}
	x.post(c)
}

// refused answers what Authenticate returned. A failure to verify is never a
// challenge.
func (x *exchange) refused(ep *tenants.Endpoint, err error) {
	var challenge *oauth.Challenge
	if errors.As(err, &challenge) {
		x.challenge(ep, challenge)
		return
	}
	x.problem(err)
}

// challenge asks the client to sign in. To one that brought no credential this
// is where an attempt to connect begins.
func (x *exchange) challenge(ep *tenants.Endpoint, c *oauth.Challenge) {
	if c.Status == http.StatusUnauthorized && ep.Access.Has(surfaces.ModeOAuth) && len(x.r.Header.Values("Authorization")) == 0 {
		x.h.story.step(x, ep, events.StepChallenge)
	}
	c.Write(x.w, x.requestID)
}

// problem answers outside of JSON-RPC, with RFC 9457.
func (x *exchange) problem(err error) {
	x.logInternal(err)
	x.w.Header().Set("Cache-Control", "no-store")
	fault.WriteProblem(x.w, err, x.requestID)
}

// openCORS lets a browser read why there is nothing here.
func (x *exchange) openCORS() {
	x.w.Header().Set("Access-Control-Allow-Origin", "*")
	x.w.Header().Set("Access-Control-Expose-Headers", oauth.ExposedHeaders)
}

// mediaType is a Content-Type without its parameters.
func mediaType(h http.Header) string {
	media, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	return strings.ToLower(strings.TrimSpace(media))
}
