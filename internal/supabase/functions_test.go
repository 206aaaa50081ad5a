package supabase

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/chumbo-dev/chumbo/internal/egress"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/seal"
)

func wholeInvoke() Invoke {
	return Invoke{
		Slug: "build-report", Body: []byte(`{"a":1}`), ContentType: "application/json", Accept: "application/json, text/event-stream",
		IdempotencyKey: "8f14e45f-0000-4000-8000-000000000000", RequestID: "req_1",
		TraceParent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", TraceState: "a=b",
		Deadline: time.Now().Add(time.Minute), MaxBytes: 100,
	}
}

func TestInvokeSendsExactlyTheAllowedHeaders(t *testing.T) {
	t.Parallel()
	p := newFakeProject(t, answer(201, map[string]string{"Sb-Request-Id": "up-1"}, `{"ok":true}`))
	q := wholeInvoke()
	a, err := newTestClient().Invoke(t.Context(), AsUser(p.project(), seal.NewSecret("alice-token")), q)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = a.Body.Close() }()
	content, err := io.ReadAll(a.Body)
	if err != nil || string(content) != `{"ok":true}` || a.Status != 201 || a.ContentType != "application/json" || a.Upstream != "up-1" || a.Took <= 0 {
		t.Errorf("%+v %q %v", a, content, err)
	}
	requests, bodies := p.seen()
	if len(requests) != 1 || requests[0].Method != http.MethodPost || requests[0].RequestURI != "/functions/v1/build-report" || bodies[0] != `{"a":1}` {
		t.Fatalf("requests %v %q", requests, bodies)
	}
	wantHeaders(t, requests[0], map[string]string{
		"Apikey": "sb_publishable_test", "Authorization": "Bearer alice-token", "Accept": q.Accept, "Content-Type": "application/json",
		"Idempotency-Key": q.IdempotencyKey, "Chumbo-Request-Id": "req_1", "Chumbo-Deadline": q.Deadline.UTC().Format(time.RFC3339),
		"Traceparent": q.TraceParent, "Tracestate": "a=b",
	})
}

func TestInvokeAsAnonIsWithoutAuthorization(t *testing.T) {
	t.Parallel()
	p := newFakeProject(t, answer(200, nil, `1`))
	a, err := newTestClient().Invoke(t.Context(), AsAnon(p.project()), Invoke{Slug: "f", TraceState: "a=b"})
	if err != nil {
		t.Fatal(err)
	}
	_ = a.Body.Close()
	requests, _ := p.seen()
	wantHeaders(t, requests[0], map[string]string{"Apikey": "sb_publishable_test", "Content-Type": "application/json"})
}

// TestInvokeThatCannotBeSentIsUnsent: and says so, without a word to the project.
func TestInvokeThatCannotBeSentIsUnsent(t *testing.T) {
	t.Parallel()
	p := newFakeProject(t, answer(200, nil, `1`))
	for name, change := range map[string]func(*Invoke){
		"no slug":         func(q *Invoke) { q.Slug = "" },
		"path":            func(q *Invoke) { q.Slug = "a/b" },
		"dots":            func(q *Invoke) { q.Slug = ".." },
		"query":           func(q *Invoke) { q.Slug = "a?b" },
		"escape":          func(q *Invoke) { q.Slug = "a%2fb" },
		"letter":          func(q *Invoke) { q.Slug = "1a" },
		"other letters":   func(q *Invoke) { q.Slug = "ä" },
		"long":            func(q *Invoke) { q.Slug = strings.Repeat("a", 201) },
		"no time":         func(q *Invoke) { q.Deadline = time.Now().Add(-time.Second) },
		"a header's end":  func(q *Invoke) { q.Accept = "a\r\nX: y" },
		"a key's end":     func(q *Invoke) { q.IdempotencyKey = "a\n" },
		"a type's letter": func(q *Invoke) { q.ContentType = "ä/b" },
	} {
		q := wholeInvoke()
		change(&q)
		_, err := newTestClient().Invoke(t.Context(), AsAnon(p.project()), q)
		var f *fault.Error
		if !errors.As(err, &f) || !egress.Unsent(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := newTestClient().Invoke(t.Context(), Session{project: p.project()}, wholeInvoke()); !fault.Is(err, fault.Internal) || !egress.Unsent(err) {
		t.Errorf("a session of nobody: %v", err)
	}
	if requests, _ := p.seen(); len(requests) > 0 {
		t.Errorf("%d requests", len(requests))
	}
}

// TestInvokeDropsATraceThatNoHeaderCarries: a client's trace must not cost it
// the call.
func TestInvokeDropsATraceThatNoHeaderCarries(t *testing.T) {
	t.Parallel()
	p := newFakeProject(t, answer(200, nil, `1`))
	for _, q := range []Invoke{
		{Slug: "f", TraceParent: "00\r\nX-Bad: 1", TraceState: "a=b"},
		{Slug: "f", TraceParent: strings.Repeat("0", 200)},
	} {
		a, err := newTestClient().Invoke(t.Context(), AsAnon(p.project()), q)
		if err != nil {
			t.Fatal(err)
		}
		_ = a.Body.Close()
	}
	requests, _ := p.seen()
	for _, r := range requests {
		wantHeaders(t, r, map[string]string{"Apikey": "sb_publishable_test", "Content-Type": "application/json"})
	}
}

func TestFunctionErrors(t *testing.T) {
	t.Parallel()
	const page = "<html>oops</html>"
	for name, test := range map[string]struct {
		status int
		header map[string]string
		body   string
		want   FunctionError
		token  bool
	}{
		"expired":       {401, map[string]string{"Sb-Error-Code": "UNAUTHORIZED_ASYMMETRIC_JWT"}, `{"code":"x","message":"secret"}`, FunctionError{Status: 401, Code: "UNAUTHORIZED_ASYMMETRIC_JWT"}, true},
		"no token":      {401, map[string]string{"Sb-Error-Code": "UNAUTHORIZED_NO_AUTH_HEADER"}, `{}`, FunctionError{Status: 401, Code: "UNAUTHORIZED_NO_AUTH_HEADER"}, false},
		"key":           {401, map[string]string{"Sb-Error-Code": "UNAUTHORIZED_INVALID_API_KEY"}, `{}`, FunctionError{Status: 401, Code: "UNAUTHORIZED_INVALID_API_KEY"}, false},
		"not found":     {404, map[string]string{"Sb-Error-Code": "NOT_FOUND"}, `{"message":"m"}`, FunctionError{Status: 404, Code: "NOT_FOUND"}, false},
		"limit":         {546, map[string]string{"Sb-Error-Code": "WORKER_RESOURCE_LIMIT"}, `{}`, FunctionError{Status: 546, Code: "WORKER_RESOURCE_LIMIT"}, false},
		"idle":          {504, map[string]string{"Sb-Error-Code": "IDLE_TIMEOUT", "Sb-Request-Id": "u"}, `{}`, FunctionError{Status: 504, Code: "IDLE_TIMEOUT", Upstream: "u"}, false},
		"rate":          {429, map[string]string{"Sb-Error-Code": "RATE_LIMIT_EXCEEDED", "Retry-After": "7"}, `{}`, FunctionError{Status: 429, Code: "RATE_LIMIT_EXCEEDED", RetryAfter: 7 * time.Second}, false},
		"own 5xx":       {503, map[string]string{"Sb-Error-Code": "EDGE_FUNCTION_ERROR"}, `{"message":"secret"}`, FunctionError{Status: 503, Code: "EDGE_FUNCTION_ERROR", Own: true}, false},
		"odd code":      {500, map[string]string{"Sb-Error-Code": strings.Repeat("X", 40)}, `{}`, FunctionError{Status: 500, Code: "unnamed"}, false},
		"own 4xx":       {409, nil, `{"message":"Already\u0000 there\u202e.\n"}`, FunctionError{Status: 409, Own: true, Message: "Already  there."}, false},
		"own error":     {422, nil, `{"error":"No such month"}`, FunctionError{Status: 422, Own: true, Message: "No such month"}, false},
		"nested error":  {422, nil, `{"error":{"message":"No such month"}}`, FunctionError{Status: 422, Own: true, Message: "No such month"}, false},
		"own code":      {404, nil, `{"code":"NOT_FOUND","message":"No such month"}`, FunctionError{Status: 404, Own: true, Message: "No such month"}, false},
		"own 401":       {401, nil, `{"message":"Ask an admin"}`, FunctionError{Status: 401, Own: true, Message: "Ask an admin"}, false},
		"own text":      {400, map[string]string{"Content-Type": "text/plain"}, "No.", FunctionError{Status: 400, Own: true, Message: "No."}, false},
		"own page":      {400, map[string]string{"Content-Type": "text/html"}, page, FunctionError{Status: 400, Own: true}, false},
		"own list":      {400, nil, `["x"]`, FunctionError{Status: 400, Own: true}, false},
		"a long one":    {400, nil, `{"message":"` + strings.Repeat("ä", 4000) + `"}`, FunctionError{Status: 400, Own: true, Message: strings.Repeat("ä", 500)}, false},
		"long text":     {400, map[string]string{"Content-Type": "text/plain"}, strings.Repeat("x", 1001), FunctionError{Status: 400, Own: true}, false},
		"proxy":         {502, map[string]string{"Content-Type": "text/html"}, page, FunctionError{Status: 502}, false},
		"unnamed limit": {546, nil, `{"message":"m"}`, FunctionError{Status: 546, Code: "WORKER_LIMIT"}, false},
		"body code":     {503, nil, `{"code":"BOOT_ERROR","message":"m"}`, FunctionError{Status: 503, Code: "BOOT_ERROR"}, false},
		"local token":   {401, nil, `{"msg":"Invalid JWT"}`, FunctionError{Status: 401, Code: "UNAUTHORIZED_INVALID_JWT"}, true},
		"local nobody":  {401, nil, `{"msg":"Error: Missing authorization header"}`, FunctionError{Status: 401, Code: noAuthHeader}, false},
		"local missing": {404, map[string]string{"Content-Type": "text/plain"}, "Function not found", FunctionError{Status: 404, Code: "NOT_FOUND"}, false},
		"relay":         {200, map[string]string{"X-Relay-Error": "true"}, `{}`, FunctionError{Status: 502, Code: relayError}, false},
		"not modified":  {304, nil, "", FunctionError{Status: 304, Own: true}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newFakeProject(t, answer(test.status, test.header, test.body))
			a, err := newTestClient().Invoke(t.Context(), AsAnon(p.project()), Invoke{Slug: "f"})
			var e *FunctionError
			if !errors.As(err, &e) {
				t.Fatalf("%v", err)
			}
			if *e != test.want || e.TokenRefused() != test.token || egress.Unsent(err) {
				t.Errorf("%+v, token %v; want %+v", *e, e.TokenRefused(), test.want)
			}
			if a.Body != nil || a.Took <= 0 || a.Upstream != test.want.Upstream {
				t.Errorf("answer %+v", a)
			}
			if strings.Contains(e.Error(), "secret") {
				t.Errorf("text %q", e.Error())
			}
		})
	}
}

func TestInvokeFollowsNoRedirect(t *testing.T) {
	t.Parallel()
	p := newFakeProject(t, answer(307, map[string]string{"Location": "/functions/v1/other"}, ``))
	_, err := newTestClient().Invoke(t.Context(), AsAnon(p.project()), Invoke{Slug: "f"})
	if !fault.Is(err, fault.Unavailable) || egress.Unsent(err) {
		t.Errorf("%v", err)
	}
	if requests, _ := p.seen(); len(requests) != 1 {
		t.Errorf("%d requests", len(requests))
	}
}

// TestInvokeIsSentOnce: Go's transport would send a request again by itself,
// when its connection breaks and it has an Idempotency-Key.
func TestInvokeIsSentOnce(t *testing.T) {
	t.Parallel()
	calls := make(chan struct{}, 10)
	p := newFakeProject(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/functions/v1/dies" {
			calls <- struct{}{}
			panic(http.ErrAbortHandler)
		}
		_, _ = io.WriteString(w, "1")
	})
	c, s := newTestClient(), AsAnon(p.project())
	a, err := c.Invoke(t.Context(), s, Invoke{Slug: "f", IdempotencyKey: "k"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(a.Body); err != nil { // the connection is kept
		t.Fatal(err)
	}
	_ = a.Body.Close()
	_, err = c.Invoke(t.Context(), s, Invoke{Slug: "dies", IdempotencyKey: "k"})
	if !fault.Is(err, fault.Unavailable) || egress.Unsent(err) {
		t.Errorf("%v", err)
	}
	if len(calls) != 1 {
		t.Errorf("called %d times", len(calls))
	}
	requests, _ := p.seen()
	for _, r := range requests {
		if r.Header.Get("Idempotency-Key") != "k" {
			t.Errorf("headers %v", r.Header)
		}
	}
}

func TestInvokeBodyPastItsSizeIsAnError(t *testing.T) {
	t.Parallel()
	p := newFakeProject(t, answer(200, nil, strings.Repeat("x", 11)))
	a, err := newTestClient().Invoke(t.Context(), AsAnon(p.project()), Invoke{Slug: "f", MaxBytes: 10})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = a.Body.Close() }()
	if _, err := io.ReadAll(a.Body); !fault.Is(err, fault.TooLarge) {
		t.Errorf("%v", err)
	}
}

// TestInvokeOfACallerWhoLeftIsTheContextsError: before the answer, and in it.
func TestInvokeOfACallerWhoLeftIsTheContextsError(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{}, 2)
	p := newFakeProject(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/functions/v1/begins" {
			_, _ = io.WriteString(w, "x")
			_ = http.NewResponseController(w).Flush()
		}
		<-r.Context().Done()
		gone <- struct{}{}
	})
	c, s := newTestClient(), AsAnon(p.project())
	ctx, cancel := context.WithCancel(t.Context())
	a, err := c.Invoke(ctx, s, Invoke{Slug: "begins"})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := io.ReadAll(a.Body); !fault.Is(err, fault.Timeout) || !errors.Is(err, context.Canceled) {
		t.Errorf("in the body: %v", err)
	}
	_ = a.Body.Close()
	<-gone
	if _, err := c.Invoke(ctx, s, Invoke{Slug: "waits"}); !errors.Is(err, context.Canceled) {
		t.Errorf("before: %v", err)
	}
	// Closing is leaving too.
	if a, err = c.Invoke(t.Context(), s, Invoke{Slug: "begins"}); err != nil {
		t.Fatal(err)
	}
	_ = a.Body.Close()
	<-gone
}

// doerFunc is a way out that a test looks at.
type doerFunc func(*http.Request, egress.Options) (*http.Response, error)

func (f doerFunc) Do(r *http.Request, o egress.Options) (*http.Response, error) { return f(r, o) }

func TestInvokeHasItsOwnLaneAndDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var got egress.Options
		c := &Client{out: doerFunc(func(_ *http.Request, o egress.Options) (*http.Response, error) {
			got = o
			return &http.Response{StatusCode: http.StatusNoContent, Header: http.Header{}, Body: http.NoBody}, nil
		})}
		p := Project{APIOrigin: "https://a.example", Lane: "lane"}
		for after, want := range map[time.Duration]time.Duration{
			0: 30 * time.Second, time.Second: time.Second, 150 * time.Second: 150 * time.Second, time.Hour: 150 * time.Second,
		} {
			q := Invoke{Slug: "f", MaxBytes: 7}
			if after > 0 {
				q.Deadline = time.Now().Add(after)
			}
			if _, err := c.Invoke(t.Context(), AsAnon(p), q); err != nil {
				t.Fatal(err)
			}
			if got != (egress.Options{Lane: "lane/functions", MaxBytes: maxRefusal, Timeout: want + functionGrace, AnyAnswer: true}) {
				t.Errorf("%s: %+v", after, got)
			}
		}
		if _, _, err := c.ListFiles(t.Context(), AsAnon(p), ListFiles{Bucket: "b"}); err == nil || got.Lane != "lane/storage" || got.AnyAnswer {
			t.Errorf("storage: %+v %v", got, err)
		}
	})
}

// FuzzFunctionError: whatever a function or a proxy answers, what is passed on
// is one short line, and nothing of a platform's or a failing function's answer.
func FuzzFunctionError(f *testing.F) {
	f.Add(400, "application/json", "", `{"message":"No."}`)
	f.Add(422, "application/problem+json", "", `{"error":{"message":"\u2028\ud800x"}}`)
	f.Add(404, "text/plain", "", "a\xffb\x1b[2J\u202e")
	f.Add(500, "application/json", "EDGE_FUNCTION_ERROR", `{"message":"secret"}`)
	f.Add(401, "application/json", "", `{"msg":"Invalid JWT"}`)
	f.Fuzz(func(t *testing.T, status int, contentType, code, content string) {
		e := functionErrorOf(&http.Response{StatusCode: status, Header: http.Header{"Content-Type": {contentType}, "Sb-Error-Code": {code}}}, []byte(content))
		if m := e.Message; len(m) > maxMessage || !utf8.ValidString(m) || strings.ContainsFunc(m, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }) {
			t.Errorf("message %q", m)
		}
		if e.Message != "" && (!e.Own || status >= 500 || code != "") || e.Code != "" && e.Code != shownCode(e.Code) {
			t.Errorf("%+v", *e)
		}
	})
}
