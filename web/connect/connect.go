// Package connect owns the pages that people see who connect an AI app to an
// app of theirs: sign-in, consent and Connected apps, all under /connect/ on
// the pages host. On a project's own host it serves the password form and
// nothing else. What a page looks like is package web's; what a step does is
// package bridge's.
//
// It never decides who somebody is, never redirects to an address that package
// bridge did not give it, never waits longer than a moment for a project to
// show a page, and never puts a password, a code or a token into a page, an
// address or the log; a personal token is shown once, on the page that answers
// its form.
//
//	routes.go     every route, and on which host
//	guard.go      other sites, panics, what every answer carries
//	cookies.go    the cookies of a sign-in and of a visit; what forms carry
//	policy.go     what a page's Content-Security-Policy admits
//	render.go     pages, forms shown again, refusals
//	authorize.go  a browser comes from a client
//	signin.go     the ways to sign in
//	ticket.go     the password form on the project's own host, and back
//	callback.go   back from the project, a provider or a mail
//	consent.go    the question and its answer
//	apps.go       Connected apps
//	approvals.go  calls that wait for their person's word
package connect

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/chumbo-dev/chumbo/internal/approvals"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/oauth/bridge"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// Bridge is what the pages ask and do. *bridge.Service is one.
type Bridge interface {
	Authorize(ctx context.Context, ep *tenants.Endpoint, query url.Values, v bridge.Visitor) (*bridge.SignIn, seal.Secret, error)
	Apps(ctx context.Context, ep *tenants.Endpoint, v bridge.Visitor) (*bridge.SignIn, seal.Secret, error)
	Open(ctx context.Context, signIn id.SignIn, cookie seal.Secret) (*bridge.SignIn, error)
	Cancel(ctx context.Context, in *bridge.SignIn) (string, error)
	Again(ctx context.Context, in *bridge.SignIn) error

	Methods(ctx context.Context, in *bridge.SignIn, onOwnHost bool) (bridge.Methods, error)
	StartOAuth(ctx context.Context, in *bridge.SignIn) (string, error)
	StartProvider(ctx context.Context, in *bridge.SignIn, provider string) (string, error)
	Password(ctx context.Context, in *bridge.SignIn, email string, password seal.Secret, captcha string, v bridge.Visitor) (bridge.Outcome, error)
	SignUp(ctx context.Context, in *bridge.SignIn, email string, password seal.Secret, captcha string, v bridge.Visitor) (bridge.Outcome, error)
	SendCode(ctx context.Context, in *bridge.SignIn, email, captcha string, v bridge.Visitor) (bridge.Outcome, error)
	VerifyEmailCode(ctx context.Context, in *bridge.SignIn, code string, v bridge.Visitor) (bridge.Outcome, error)
	VerifyFactor(ctx context.Context, in *bridge.SignIn, code string, v bridge.Visitor) (bridge.Outcome, error)
	Callback(ctx context.Context, query url.Values, cookie func(id.SignIn) seal.Secret, v bridge.Visitor) (*bridge.SignIn, bridge.Outcome, error)

	Ticket(in *bridge.SignIn) string
	OpenTicket(ctx context.Context, host, ticket string) (*bridge.SignIn, error)
	HandBack(ctx context.Context, in *bridge.SignIn) (string, error)
	Complete(ctx context.Context, signIn id.SignIn, cookie seal.Secret, secret string) (*bridge.SignIn, error)

	NewVisit(ctx context.Context, who *bridge.Person) (seal.Secret, error)
	Visit(ctx context.Context, ep *tenants.Endpoint, cookie seal.Secret) (*bridge.Person, error)
	EndVisit(ctx context.Context, project id.Project, cookie seal.Secret) error
	Recognize(ctx context.Context, in *bridge.SignIn, who *bridge.Person) error

	Question(ctx context.Context, in *bridge.SignIn) (*bridge.Question, error)
	Decide(ctx context.Context, in *bridge.SignIn, a bridge.Answer, v bridge.Visitor) (string, error)

	Connected(ctx context.Context, who *bridge.Person) ([]bridge.AccessGrant, error)
	Revoke(ctx context.Context, who *bridge.Person, grant id.Grant) error
	Narrow(ctx context.Context, who *bridge.Person, grant id.Grant, readOnly bool, scopes []string) error
	Widen(ctx context.Context, who *bridge.Person, grant id.Grant) error
	NewPersonalToken(ctx context.Context, who *bridge.Person, ep *tenants.Endpoint, name string, readOnly bool, lifetime time.Duration) (bridge.AccessGrant, seal.Secret, error)
}

var _ Bridge = (*bridge.Service)(nil)

// Approvals are the calls that wait for a person's word. *approvals.Service is
// one.
type Approvals interface {
	Find(ctx context.Context, name string) (approvals.Place, error)
	Request(ctx context.Context, at approvals.Place, who approvals.Person) (*approvals.Request, error)
	Decide(ctx context.Context, at approvals.Place, who approvals.Person, approve bool) (bool, error)
}

var _ Approvals = (*approvals.Service)(nil)

// Directory finds the surface that an address of a page names.
// *tenants.Directory is one.
type Directory interface {
	ByRef(ctx context.Context, ref string) (*tenants.Endpoint, error)
}

// Config is what the pages stand on. All of it is required.
type Config struct {
	Bridge    Bridge
	Approvals Approvals
	Directory Directory
	Hosts     tenants.Hosts // which host a request is for, and whose word about client addresses counts
	Keys      *seal.Keyset  // what forms carry is made with it
	Logger    *slog.Logger
	Now       func() time.Time
	PagesURL  string // scheme://host[:port] of the pages
}

// New returns the handler of everything under /connect/, on every host: which
// host it is decides what is there. Mount it with the path left as it is.
func New(cfg Config) (http.Handler, error) {
	if cfg.Bridge == nil || cfg.Approvals == nil || cfg.Directory == nil || cfg.Keys == nil || cfg.Logger == nil || cfg.Now == nil || cfg.PagesURL == "" || cfg.Hosts.PublicURL == "" {
		return nil, errors.New("connect: every part of its configuration is required")
	}
	cfg.PagesURL = strings.TrimRight(cfg.PagesURL, "/")
	at, err := url.Parse(cfg.PagesURL)
	if err != nil || at.Host == "" || at.Path != "" || at.Scheme != "http" && at.Scheme != "https" {
		return nil, fmt.Errorf("connect: pages URL %q: want scheme://host[:port]", cfg.PagesURL)
	}
	s := &site{Config: cfg, secure: at.Scheme == "https", host: plainHost(at)}
	return s.handler()
}

type site struct {
	Config
	secure bool   // people reach us by https
	host   string // of the pages, as Hosts.EffectiveHost names it
}

// plainHost is a URL's host as Hosts.EffectiveHost names it.
func plainHost(u *url.URL) string {
	host := strings.ToLower(u.Host)
	switch u.Scheme {
	case "https":
		return strings.TrimSuffix(host, ":443")
	default:
		return strings.TrimSuffix(host, ":80")
	}
}
