package bridge

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// endpoint is one thing the authorization server of a surface answers.
type endpoint string

const (
	endpointMetadata  endpoint = "metadata" // RFC 8414 and OpenID Connect Discovery
	endpointKeys      endpoint = "jwks"
	endpointToken     endpoint = "token"
	endpointRegister  endpoint = "register"
	endpointRevoke    endpoint = "revoke"
	endpointAuthorize endpoint = "authorize" // at a host's root only: sends on to the page
)

// metadataNames are the well-known names of the metadata document. Clients ask
// for either, before the path of the issuer or after it (RFC 8414 section 3.1,
// OpenID Connect Discovery section 4).
var metadataNames = []string{"/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"}

// issuerPaths are what follows the issuer's path.
var issuerPaths = map[string]endpoint{
	"/oauth/token": endpointToken, "/oauth/register": endpointRegister, "/oauth/revoke": endpointRevoke, "/oauth/jwks.json": endpointKeys,
}

// rootPaths are what clients guess at a host that they read no metadata of.
var rootPaths = map[string]endpoint{
	"/authorize": endpointAuthorize, "/token": endpointToken, "/register": endpointRegister, "/revoke": endpointRevoke, "/jwks.json": endpointKeys,
}

// methods of each endpoint, besides OPTIONS.
var endpointMethods = map[endpoint]string{
	endpointMetadata: "GET, HEAD", endpointKeys: "GET, HEAD", endpointAuthorize: "GET, HEAD",
	endpointToken: "POST", endpointRegister: "POST", endpointRevoke: "POST",
}

const (
	maxBody     = 64 << 10
	metadataAge = "public, max-age=60"
	keySetAge   = "public, max-age=300"
)

// Serves reports whether a path belongs to the authorization server: one of
// its metadata documents or endpoints, or a guessed path at a host's root. It
// says nothing about whether a surface is there.
func Serves(path string) bool {
	_, _, ok := route(path)
	return ok
}

// route splits a path into what is asked for and the path of the surface URL
// whose issuer is asked; "/" for the host's root surface.
func route(path string) (what endpoint, surface string, ok bool) {
	if what, ok := rootPaths[path]; ok {
		return what, "/", true
	}
	for _, name := range metadataNames {
		if rest, found := strings.CutPrefix(path, name); found {
			switch {
			case rest == "":
				return endpointMetadata, "/", true
			case rest[0] == '/' && rest != "/":
				return endpointMetadata, rest, true
			}
			return "", "", false
		}
		if rest, found := strings.CutSuffix(path, name); found && len(rest) > 1 && rest[0] == '/' {
			return endpointMetadata, rest, true
		}
	}
	for suffix, what := range issuerPaths {
		if rest, found := strings.CutSuffix(path, suffix); found && strings.HasSuffix(rest, "/mcp") {
			return what, rest, true
		}
	}
	return "", "", false
}

// exchange is one request to the authorization server.
type exchange struct {
	s         *Service
	w         http.ResponseWriter
	r         *http.Request
	what      endpoint
	ep        *tenants.Endpoint
	visitor   Visitor
	basic     bool // the client came with Authorization: Basic
	begun     bool
	requestID string
}

// ServeHTTP answers the paths of Serves: JSON on every way out, with CORS for
// any origin. A surface that is not a bridge surface is 404.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{s: s, w: w, r: r, requestID: rand.Text()}
	x.visitor = Visitor{Address: s.cfg.Hosts.ClientAddress(r), Agent: r.UserAgent(), RequestID: x.requestID}
	h := w.Header()
	h.Set("Chumbo-Request-Id", x.requestID)
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Expose-Headers", oauth.ExposedHeaders)
	defer x.recovered()
	x.serve()
}

func (x *exchange) serve() {
	what, surface, ok := route(x.r.URL.EscapedPath())
	if !ok {
		x.problem(nothingHere())
		return
	}
	x.what = what
	if x.r.Method == http.MethodOptions {
		x.preflight()
		return
	}
	ep, err := x.s.cfg.Directory.Lookup(x.r.Context(), x.s.cfg.Hosts.EffectiveHost(x.r), surface)
	if err != nil {
		x.problem(err)
		return
	}
	if !ep.Access.Bridged() {
		x.problem(nothingHere())
		return
	}
	x.ep = ep
	x.header().Set("Chumbo-Surface", ep.Surface.String())
	if allowed := endpointMethods[what]; !strings.Contains(allowed+",", x.r.Method+",") {
		x.methodNotAllowed(allowed)
		return
	}
	switch what {
	case endpointMetadata:
		x.s.serveMetadata(x)
	case endpointKeys:
		x.s.serveKeys(x)
	case endpointAuthorize:
		x.sendOn()
	case endpointRegister:
		x.s.serveRegistration(x)
	case endpointToken:
		x.s.serveToken(x)
	case endpointRevoke:
		x.s.serveRevocation(x)
	}
}

// nothingHere is 404 for paths without an authorization server.
func nothingHere() *fault.Error {
	return fault.New(fault.NotFound, "no_authorization_server", "No authorization server of ours is here. Read the server's metadata to find its own.")
}

// sendOn takes a browser from a guessed address to the right one.
func (x *exchange) sendOn() {
	to := x.s.AuthorizationURL(x.ep)
	if x.r.URL.RawQuery != "" {
		to += "?" + x.r.URL.RawQuery
	}
	x.begun = true
	x.header().Set("Cache-Control", "no-store")
	x.header().Set("Content-Type", "application/json")
	x.header().Set("Location", to)
	x.w.WriteHeader(http.StatusFound)
}

func (x *exchange) preflight() {
	x.begun = true
	oauth.Preflight(x.w, x.r, endpointMethods[x.what]+", OPTIONS")
}

func (x *exchange) header() http.Header { return x.w.Header() }

// mediaType is the request's Content-Type without its parameters.
func (x *exchange) mediaType() string {
	media, _, _ := strings.Cut(x.r.Header.Get("Content-Type"), ";")
	return strings.ToLower(strings.TrimSpace(media))
}

// body reads the request's body, 64 KiB at most.
func (x *exchange) body() ([]byte, *tokenError) {
	body, err := io.ReadAll(http.MaxBytesReader(x.w, x.r.Body, maxBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, &tokenError{status: http.StatusRequestEntityTooLarge, code: "invalid_request", description: "The request is larger than 64 KiB. Send less."}
	case err != nil:
		return nil, &tokenError{status: http.StatusBadRequest, code: "invalid_request", description: "The request could not be read. Send it again."}
	}
	return body, nil
}

// json answers with a document of ours.
func (x *exchange) json(status int, document any) {
	body, err := json.Marshal(document)
	if err != nil { // our own structs always marshal
		x.problem(fmt.Errorf("encode answer: %w", err))
		return
	}
	x.write(status, "application/json", body)
}

func (x *exchange) write(status int, contentType string, body []byte) {
	h := x.header()
	h.Set("Content-Type", contentType)
	h.Set("X-Content-Type-Options", "nosniff")
	x.begun = true
	x.w.WriteHeader(status)
	if x.r.Method != http.MethodHead {
		_, _ = x.w.Write(append(body, '\n'))
	}
}

// problem answers with RFC 9457: for documents, and wherever no authorization
// server was found. It carries error as well, for those who read that only.
func (x *exchange) problem(err error) {
	x.log(err)
	x.header().Set("Cache-Control", "no-store")
	fault.SetRetryAfter(x.header(), fault.From(err).RetryAfter)
	p := fault.ProblemOf(err, x.requestID)
	x.writeProblem(p)
}

func (x *exchange) writeProblem(p fault.Problem) {
	body, err := json.Marshal(struct {
		fault.Problem
		Error       string `json:"error"`
		Description string `json:"error_description,omitempty"`
	}{p, problemError(p.Status), p.Detail})
	if err != nil { // our own structs always marshal
		x.w.WriteHeader(http.StatusInternalServerError)
		return
	}
	x.write(p.Status, "application/problem+json", body)
}

func problemError(status int) string {
	switch {
	case status == http.StatusServiceUnavailable || status == http.StatusGatewayTimeout || status == http.StatusTooManyRequests:
		return "temporarily_unavailable"
	case status >= http.StatusInternalServerError:
		return "server_error"
	}
	return "invalid_request"
}

func (x *exchange) methodNotAllowed(allowed string) {
	x.header().Set("Allow", allowed+", OPTIONS")
	x.header().Set("Cache-Control", "no-store")
	x.writeProblem(fault.Problem{
		Type: "about:blank", Title: "Method not allowed", Status: http.StatusMethodNotAllowed,
		Detail: "This address is asked with " + allowed + " only.", Code: "method_not_allowed", TraceID: x.requestID,
	})
}

// oauthError answers with an OAuth error object (RFC 6749 section 5.2).
func (x *exchange) oauthError(err error) {
	var e *tokenError
	if !errors.As(err, &e) {
		x.log(err)
		e = tokenErrorOf(fault.From(err))
		fault.SetRetryAfter(x.header(), fault.From(err).RetryAfter)
	}
	x.header().Set("Cache-Control", "no-store")
	if e.status == http.StatusUnauthorized && x.basic {
		x.header().Set("WWW-Authenticate", `Basic realm="token endpoint"`)
	}
	x.json(e.status, struct {
		Error       string `json:"error"`
		Description string `json:"error_description,omitempty"`
	}{e.code, plainDescription(e.description)})
}

// tokenErrorOf gives a failure the code that makes clients do the right thing:
// keep their tokens and try again, unless it is about them.
func tokenErrorOf(f *fault.Error) *tokenError {
	switch f.Kind {
	case fault.Unavailable, fault.Timeout:
		return &tokenError{status: http.StatusServiceUnavailable, code: "temporarily_unavailable", description: f.Message}
	case fault.RateLimited:
		return &tokenError{status: http.StatusTooManyRequests, code: "temporarily_unavailable", description: f.Message}
	}
	return &tokenError{status: http.StatusInternalServerError, code: "server_error", description: "Something went wrong on our side. Try again; if it stays, send us the request id."}
}

// plainDescription keeps to the characters of error_description.
func plainDescription(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '"' || r == '\\':
			return '\''
		case r < ' ' || r > '~':
			return '?'
		}
		return r
	}, text)
}

// log writes down what is our own failure.
func (x *exchange) log(err error) {
	if kind := fault.From(err).Kind; kind != fault.Internal && kind != fault.Unavailable && kind != fault.Timeout {
		return
	}
	attributes := []slog.Attr{slog.String("request", x.requestID), slog.String("endpoint", string(x.what)), slog.Any("error", err)}
	if x.ep != nil {
		attributes = append(attributes, slog.String("surface_id", x.ep.Surface.String()))
	}
	x.s.cfg.Logger.LogAttrs(x.r.Context(), slog.LevelError, "authorization server", attributes...)
}

// recovered, deferred, turns a panic into a 500 and a line in the log; where an
// answer has begun, the connection is cut. The value of a panic may hold what a
// user typed.
func (x *exchange) recovered() {
	p := recover()
	if p == nil {
		return
	}
	if p == http.ErrAbortHandler { //nolint:errorlint // net/http compares it so
		panic(p)
	}
	x.s.cfg.Logger.Error("panic in the authorization server", slog.String("request", x.requestID),
		slog.String("panic", fmt.Sprintf("%T", p)), slog.String("stack", string(debug.Stack())))
	if x.begun {
		panic(http.ErrAbortHandler)
	}
	x.problem(fault.New(fault.Internal, "", "Something went wrong on our side. Try again; if it stays, send us the request id."))
}
