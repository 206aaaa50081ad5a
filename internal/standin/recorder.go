package standin

import (
	"net/http"
	"slices"
	"strings"
	"sync"
)

// Request is one request that reached the project, for tests to look at.
type Request struct {
	Method   string
	Path     string // decoded
	RawQuery string
	APIKey   string      // apikey as sent
	Bearer   string      // the token of Authorization, without "Bearer "
	Header   http.Header // the rest: no Authorization, apikey, Cookie
}

// recorder keeps what reached the project and lets tests step in.
type recorder struct {
	mu         sync.Mutex
	requests   []Request
	intercepts []func(http.Handler) http.Handler
	failures   []failure
}

type failure struct {
	prefix string
	answer http.Handler
}

// keptRequests bounds memory: a stand-in may run under load for long.
const keptRequests = 10_000

func (c *recorder) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler := c.note(r, next)
		handler.ServeHTTP(w, r)
	})
}

// note records a request and returns who answers it.
func (c *recorder) note(r *http.Request, next http.Handler) http.Handler {
	seen := Request{
		Method:   r.Method,
		Path:     r.URL.Path,
		RawQuery: r.URL.RawQuery,
		APIKey:   r.Header.Get("Apikey"),
		Bearer:   strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "),
		Header:   r.Header.Clone(),
	}
	for _, name := range []string{"Authorization", "Apikey", "Cookie"} {
		seen.Header.Del(name)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.requests) == keptRequests {
		c.requests = slices.Delete(c.requests, 0, keptRequests/2)
	}
	c.requests = append(c.requests, seen)
	for i, f := range c.failures {
		if strings.HasPrefix(r.URL.Path, f.prefix) {
			c.failures = slices.Delete(c.failures, i, i+1)
			return f.answer
		}
	}
	for _, intercept := range c.intercepts {
		next = intercept(next)
	}
	return next
}

// Requests are the requests that reached the project since the start or the
// last ForgetRequests, oldest first. Under load only the last thousands are
// kept.
func (p *Project) Requests() []Request {
	p.recorder.mu.Lock()
	defer p.recorder.mu.Unlock()
	return slices.Clone(p.recorder.requests)
}

// RequestsTo are the Requests whose path starts with prefix, such as
// "/rest/v1/".
func (p *Project) RequestsTo(prefix string) []Request {
	return slices.DeleteFunc(p.Requests(), func(r Request) bool { return !strings.HasPrefix(r.Path, prefix) })
}

// ForgetRequests empties Requests.
func (p *Project) ForgetRequests() {
	p.recorder.mu.Lock()
	defer p.recorder.mu.Unlock()
	p.recorder.requests = nil
}

// FailNext answers the next request whose path starts with prefix with a
// status, body and content type, before the gateway sees it. Calls queue up.
func (p *Project) FailNext(prefix string, status int, contentType, body string) {
	p.AnswerNext(prefix, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
}

// AnswerNext lets a handler answer the next request whose path starts with
// prefix: a slow one, an endless one, one that hangs up.
func (p *Project) AnswerNext(prefix string, answer http.Handler) {
	p.recorder.mu.Lock()
	defer p.recorder.mu.Unlock()
	p.recorder.failures = append(p.recorder.failures, failure{prefix: prefix, answer: answer})
}

// ExpireNext answers the next Data API request as an expired token is: 401
// PGRST303.
func (p *Project) ExpireNext() {
	p.AnswerNext("/rest/v1/", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		jwtError("PGRST303", "JWT expired").write(w)
	}))
}

// Intercept puts middleware around the gateway for the rest of the project's
// life; the last one added sees a request first.
func (p *Project) Intercept(middleware func(http.Handler) http.Handler) {
	p.recorder.mu.Lock()
	defer p.recorder.mu.Unlock()
	p.recorder.intercepts = append(p.recorder.intercepts, middleware)
}
