package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/chumbo-dev/chumbo/internal/egress"
	"github.com/chumbo-dev/chumbo/internal/fault"
)

// The checks of a surface from outside, in the order they run.
const (
	CheckSurfaceAnswers   = "surface_answers"
	CheckSurfaceChallenge = "surface_challenge"
	CheckSurfaceResource  = "surface_resource"
	CheckSurfaceIssuer    = "surface_issuer"
	CheckSurfaceScopes    = "surface_scopes"
	CheckSurfaceClients   = "surface_clients"
)

// SurfaceChecks lists the checks of Surface in order.
func SurfaceChecks() []Check {
	return []Check{
		{CheckSurfaceAnswers, "Surface answers"},
		{CheckSurfaceChallenge, "Sign-in challenge"},
		{CheckSurfaceResource, "URL and metadata agree"},
		{CheckSurfaceIssuer, "Authorization server"},
		{CheckSurfaceScopes, "Scopes and staying signed in"},
		{CheckSurfaceClients, "Clients get through"},
	}
}

// Visitor makes a request from where the checks run; *egress.Client is one.
type Visitor interface {
	Do(req *http.Request, opt egress.Options) (*http.Response, error)
}

// clientAgents are User-Agents of real clients that firewalls have been seen
// to turn away.
var clientAgents = []string{"Claude-User", "python-httpx/0.28.1", "Python/3.12 aiohttp/3.13.5"}

// requestID is our own header: an answer without it is somebody else's.
const requestID = "Chumbo-Request-Id"

// Surface visits a surface as a client would, without a token, and says where
// a client would stop. address is the URL as a person would type it; run it
// from another machine than the server's, for it is the way there that is
// looked at. progress (may be nil) gets each finding as it comes. Errors are
// the context's only.
func Surface(ctx context.Context, out Visitor, address string, progress func(Finding)) ([]Finding, error) {
	v := &visit{out: out, address: address}
	var findings []Finding
	for _, check := range SurfaceChecks() {
		f := v.run(ctx, check.ID).plain()
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		f.Check, f.Title = check.ID, check.Title
		findings = append(findings, f)
		if progress != nil {
			progress(f)
		}
	}
	return findings, nil
}

// visit is one run. Each check leaves what later ones need.
type visit struct {
	out     Visitor
	address string

	answered  bool
	status    int    // of the first visit
	metadata  string // URL the challenge names; empty for none
	bare      bool   // the challenge is the scheme alone: callers bring a key or a session
	scope     string // what the challenge asks for; empty for nothing
	described resourceDocument
	server    *serverDocument // the authorization server's; nil until it was read
}

type resourceDocument struct {
	Resource             string   `json:"resource"`
	AuthorizationServers []string `json:"authorization_servers"`
	Scopes               []string `json:"scopes_supported"`
}

func (v *visit) run(ctx context.Context, check string) Finding {
	switch check {
	case CheckSurfaceAnswers:
		return v.answers(ctx)
	case CheckSurfaceChallenge:
		return v.challenge(ctx)
	case CheckSurfaceResource:
		return v.resource(ctx)
	case CheckSurfaceIssuer:
		return v.issuer(ctx)
	case CheckSurfaceScopes:
		return v.scopes()
	default:
		return v.clients(ctx)
	}
}

// page is an answer, read.
type page struct {
	status int
	header http.Header
	body   []byte
}

const maxVisit = 64 << 10

func (v *visit) ask(ctx context.Context, method, address, agent string, body []byte) (page, error) {
	req, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return page{}, fault.Wrap(err, fault.Invalid, "bad_url", "This is not a URL.")
	}
	req.Header.Set("User-Agent", agent)
	req.Header.Set("Accept", "application/json, text/event-stream")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := v.out.Do(req, egress.Options{MaxBytes: maxVisit, KeepRedirect: true})
	if err != nil {
		return page{}, err
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	return page{res.StatusCode, res.Header, text}, err
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"chumbo-doctor","version":"1"}}}`

func (v *visit) call(ctx context.Context, agent string) (page, error) {
	return v.ask(ctx, http.MethodPost, v.address, agent, []byte(initialize))
}

func (v *visit) answers(ctx context.Context) Finding {
	facts := map[string]string{"url": v.address}
	p, err := v.call(ctx, "chumbo-doctor")
	switch {
	case err != nil:
		return Finding{Status: Fail, Summary: "Nothing usable answers at " + v.address + ".", Detail: fault.From(err).Message, Facts: facts,
			Fix: "Check the URL, its DNS name and certificate, and that the server is running and reachable from here."}
	case isRedirect(p.status):
		return Finding{Status: Fail, Summary: fmt.Sprintf("The URL redirects to %s: clients drop the token or the request there.", shown(p.header.Get("Location"))), Facts: facts,
			Fix: "Give people the URL it leads to, or take the redirect away in the proxy in front of the server."}
	case p.header.Get(requestID) == "":
		return Finding{Status: Fail, Summary: fmt.Sprintf("Something in front of the server answers %d; the request never reached Chumbo.", p.status), Facts: facts,
			Fix: "Look at the proxy, firewall or content network that this host name leads to, and let POST requests to this path through."}
	case p.status == http.StatusNotFound || p.status == http.StatusMisdirectedRequest:
		return Finding{Status: Fail, Summary: "Chumbo answers, but serves nothing at this URL.", Detail: detailOf(p), Facts: facts,
			Fix: "Copy the URL from the surface's page or from chumbo status: every letter counts. Until the project's ownership is proven, nothing of it is served."}
	case p.status == http.StatusTooManyRequests:
		return Finding{Status: Fail, Summary: "Chumbo answers that there were too many requests from here.", Detail: detailOf(p), Facts: facts,
			Fix: "Run this again when that time is over."}
	case p.status >= http.StatusInternalServerError:
		return Finding{Status: Fail, Summary: fmt.Sprintf("The surface answers %d.", p.status), Detail: detailOf(p), Facts: facts,
			Fix: "Try again; if it stays, look at the server's log for request " + shown(p.header.Get(requestID)) + "."}
	}
	v.answered, v.status = true, p.status
	v.metadata, v.scope, v.bare = metadataOf(p.header), scopeOf(p.header), isBare(p)
	return Finding{Status: Pass, Summary: fmt.Sprintf("Answered by Chumbo (%d).", p.status), Facts: facts}
}

func isRedirect(status int) bool { return status >= 300 && status <= 399 }

// detailOf is the text of a problem document; nothing else is repeated.
func detailOf(p page) string {
	var problem struct {
		Detail string `json:"detail"`
	}
	if json.Unmarshal(p.body, &problem) != nil {
		return ""
	}
	return shown(problem.Detail)
}

// shown cuts what a server said to a line a person can read.
func shown(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, s)
	if len(s) > 300 {
		s = s[:300] + "…"
	}
	return s
}

var challengePattern = regexp.MustCompile(`^Bearer resource_metadata="([^"]+)"`)

func metadataOf(h http.Header) string {
	if m := challengePattern.FindStringSubmatch(h.Get("WWW-Authenticate")); m != nil {
		return m[1]
	}
	return ""
}

// isBare reports whether an answer asks for a credential and names no way to
// obtain one, as a surface does that lists bearer or api-key without oauth.
func isBare(p page) bool {
	values := p.header.Values("WWW-Authenticate")
	return p.status == http.StatusUnauthorized && len(values) == 1 && values[0] == "Bearer"
}

// withoutSignIn is of the checks that only a surface with sign-in needs. Where
// a part of the surface is public, the challenge comes from GET alone.
func (v *visit) withoutSignIn() (Finding, bool) {
	switch {
	case v.bare:
		return Finding{Status: Skip, Summary: "Not looked at: no client signs in here. Callers send a key, or a session of the app."}, true
	case v.status == http.StatusOK && v.metadata == "":
		return Finding{Status: Skip, Summary: "Not looked at: the surface is public."}, true
	}
	return Finding{}, false
}

// challenge looks at both ways clients ask first: some read it from GET.
func (v *visit) challenge(ctx context.Context) Finding {
	if !v.answered {
		return skipped()
	}
	p, err := v.ask(ctx, http.MethodGet, v.address, "chumbo-doctor", nil)
	if err == nil && v.status == http.StatusOK {
		v.metadata, v.scope = metadataOf(p.header), scopeOf(p.header)
	}
	if f, ok := v.withoutSignIn(); ok && (err != nil || !v.bare || isBare(p)) {
		return f
	}
	if err != nil {
		return Finding{Status: Fail, Summary: "POST is answered, GET is not: some clients read the challenge from GET.", Detail: fault.From(err).Message,
			Fix: "Let GET requests through in the proxy in front of the server."}
	}
	values := p.header.Values("WWW-Authenticate")
	if v.metadata == "" || p.status != http.StatusUnauthorized || len(values) != 1 || metadataOf(p.header) != v.metadata {
		return Finding{Status: Fail, Summary: "Clients are not told where to sign in.",
			Detail: fmt.Sprintf("POST answers %d and GET %d; both must be 401 with the same single WWW-Authenticate header.", v.status, p.status),
			Fix:    "Let status 401 and the header WWW-Authenticate pass unchanged in the proxy in front of the server."}
	}
	return Finding{Status: Pass, Summary: "Clients are sent to " + v.metadata + ".", Facts: map[string]string{"resource_metadata": v.metadata}}
}

// resource compares the URL as typed with what the metadata says, byte for
// byte, as clients do (RFC 9728 section 3.3).
func (v *visit) resource(ctx context.Context) Finding {
	if f, ok := v.withoutSignIn(); ok {
		return f
	}
	if v.metadata == "" {
		return skipped()
	}
	facts := map[string]string{"url": v.address, "resource_metadata": v.metadata}
	p, err := v.ask(ctx, http.MethodGet, v.metadata, "chumbo-doctor", nil)
	if err != nil || p.status != http.StatusOK || json.Unmarshal(p.body, &v.described) != nil {
		return Finding{Status: Fail, Summary: "The document that the challenge names cannot be read.", Facts: facts,
			Detail: fmt.Sprintf("%s answers %d.", v.metadata, p.status),
			Fix:    "Let GET requests to /.well-known/ reach the server. If the address there is not one people can reach, correct CHUMBO_PUBLIC_URL."}
	}
	facts["resource"] = shown(v.described.Resource)
	if v.described.Resource != v.address {
		return Finding{Status: Fail, Facts: facts,
			Summary: fmt.Sprintf("People are given %s, but the surface calls itself %s: %s.", v.address, shown(v.described.Resource), difference(v.address, v.described.Resource)),
			Detail:  "Strict clients compare both byte for byte and refuse to connect.",
			Fix:     "Give people " + shown(v.described.Resource) + ". If it is the server that is wrong, correct CHUMBO_PUBLIC_URL, or let the proxy pass the Host header on and list it in CHUMBO_TRUSTED_PROXIES."}
	}
	return Finding{Status: Pass, Summary: v.described.Resource, Facts: facts}
}

// difference names the first part in which two URLs differ.
func difference(typed, named string) string {
	a, errA := url.Parse(typed)
	b, errB := url.Parse(named)
	switch {
	case errA != nil || errB != nil:
		return "one of them is not a URL"
	case a.Scheme != b.Scheme:
		return "the scheme differs"
	case a.Hostname() != b.Hostname():
		return "the host differs"
	case a.Port() != b.Port():
		return "the port differs"
	case strings.TrimSuffix(a.Path, "/") == strings.TrimSuffix(b.Path, "/"):
		return "one ends in a slash"
	case a.Path != b.Path:
		return "the path differs"
	}
	return "what follows the path differs"
}

// issuer asks for the authorization server's metadata where clients ask first.
// The issuer's path belongs into that address (RFC 8414 section 3.1): Supabase's
// ends in /auth/v1, and without it there is nothing.
func (v *visit) issuer(ctx context.Context) Finding {
	if f, ok := v.withoutSignIn(); ok {
		return f
	}
	if v.described.Resource == "" {
		return skipped()
	}
	if len(v.described.AuthorizationServers) == 0 {
		return Finding{Status: Fail, Summary: "The metadata names no authorization server.", Fix: "Publish the surface again. If it stays, report it with the URL of the metadata."}
	}
	issuer := v.described.AuthorizationServers[0]
	if issuer == v.described.Resource {
		return v.bridge(ctx, issuer)
	}
	u, err := url.Parse(issuer)
	if err != nil || u.Host == "" {
		return Finding{Status: Fail, Summary: "The authorization server's name is not a URL.", Fix: "Check the project again (chumbo link)."}
	}
	facts := map[string]string{"issuer": shown(issuer)}
	doc, status := v.serverAt(ctx, u, facts)
	switch {
	case doc == nil && isSupabase(u):
		return Finding{Status: Fail, Summary: "The authorization server's description cannot be read.", Detail: fmt.Sprintf("%s answers %d.", facts["metadata"], status), Facts: facts,
			Fix: "Check the project again (chumbo link): its OAuth server may be off, or a gateway in front of it may demand an API key."}
	case doc == nil:
		return Finding{Status: Fail, Summary: "The authorization server's description cannot be read.", Detail: fmt.Sprintf("%s answers %d.", facts["metadata"], status), Facts: facts,
			Fix: "Check access.issuer in the surface file, and that the issuer answers from here."}
	}
	if doc.Issuer != issuer {
		return Finding{Status: Fail, Facts: facts,
			Summary: fmt.Sprintf("The surface names the issuer %s, the server there calls itself %s.", shown(issuer), shown(doc.Issuer)),
			Fix:     "Check the project again (chumbo link), so that its issuer is stored as the project claims it. With authorization: external, write access.issuer as the server calls itself."}
	}
	v.server = doc
	return Finding{Status: Pass, Summary: issuer, Facts: facts}
}

// isSupabase reports whether an issuer has the path of Supabase Auth.
func isSupabase(issuer *url.URL) bool {
	return strings.HasSuffix(strings.TrimSuffix(issuer.Path, "/"), "/auth/v1")
}

// serverAt reads the authorization server's metadata where clients ask for it:
// by RFC 8414, then by OpenID Connect Discovery, which is all that many issuers
// have. Of Supabase's only the first place counts: it is the one that a gateway
// may hide. facts gets the place; nil comes with the last status.
func (v *visit) serverAt(ctx context.Context, issuer *url.URL, facts map[string]string) (*serverDocument, int) {
	origin, path := issuer.Scheme+"://"+issuer.Host, strings.TrimSuffix(issuer.Path, "/")
	places := []string{origin + "/.well-known/oauth-authorization-server" + path}
	if !isSupabase(issuer) {
		places = append(places, origin+"/.well-known/openid-configuration"+path)
		if path != "" {
			places = append(places, origin+path+"/.well-known/openid-configuration")
		}
	}
	status := 0
	for _, place := range places {
		facts["metadata"] = place
		p, err := v.ask(ctx, http.MethodGet, place, "chumbo-doctor", nil)
		var doc serverDocument
		if err == nil && p.status == http.StatusOK && json.Unmarshal(p.body, &doc) == nil {
			return &doc, p.status
		}
		status = p.status
	}
	return nil, status
}

// clients sends what real clients send. The server treats them all alike, so
// another answer comes from something in front of it.
func (v *visit) clients(ctx context.Context) Finding {
	if !v.answered {
		return skipped()
	}
	var blocked []string
	for _, agent := range clientAgents {
		p, err := v.call(ctx, agent)
		arrived := err == nil && p.header.Get(requestID) != "" && (p.status == v.status || p.status == http.StatusTooManyRequests)
		if !arrived { // too many requests of a public surface are Chumbo's own answer
			blocked = append(blocked, agent)
		}
	}
	if len(blocked) > 0 {
		return Finding{Status: Fail, Facts: map[string]string{"blocked": strings.Join(blocked, ", ")},
			Summary: "Edge blocked, origin never saw it: requests as " + strings.Join(blocked, ", ") + " are turned away before they reach Chumbo.",
			Detail:  "Claude, ChatGPT and others send such a User-Agent. People see \"Authorization failed\" there.",
			Fix:     "In the firewall or content network in front of the server, allow these User-Agents (bot protection, browser checks) for this host."}
	}
	return Finding{Status: Pass, Summary: "Requests as " + strings.Join(clientAgents, ", ") + " arrive."}
}
