package supabase

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/egress"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/seal"
)

func newTestClient() *Client {
	return New(egress.New(egress.Policy{AllowHTTP: true, AllowLoopback: true, AllowAnyPort: true}))
}

// fakeProject answers with handle and remembers what reached it.
type fakeProject struct {
	*httptest.Server
	mu       sync.Mutex
	requests []*http.Request
	bodies   []string
}

func newFakeProject(t *testing.T, handle http.HandlerFunc) *fakeProject {
	t.Helper()
	p := &fakeProject{}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		p.mu.Lock()
		p.requests, p.bodies = append(p.requests, r), append(p.bodies, string(body))
		p.mu.Unlock()
		handle(w, r)
	}))
	t.Cleanup(p.Close)
	return p
}

func (p *fakeProject) project() Project {
	return Project{ID: id.New[id.ProjectKind](), APIOrigin: p.URL, PublishableKey: "sb_publishable_test"}
}

func (p *fakeProject) seen() ([]*http.Request, []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.requests), slices.Clone(p.bodies)
}

func answer(status int, headers map[string]string, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		for k, v := range headers {
			w.Header().Set(k, v)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func TestSelectSendsExactlyTheAllowedHeaders(t *testing.T) {
	t.Parallel()
	p := newFakeProject(t, answer(200, map[string]string{"Sb-Request-Id": "req-1"}, `[]`))
	a, err := newTestClient().Select(t.Context(), AsUser(p.project(), seal.NewSecret("alice-token")),
		Select{Profile: "crm", Relation: "Weird Table", Columns: []string{`"a.b"`}, Limit: 3})
	if err != nil {
		t.Fatal(err)
	}
	if string(a.Body) != "[]" || a.Upstream != "req-1" || a.Status != 200 || a.Took <= 0 {
		t.Errorf("answer %+v", a)
	}
	requests, _ := p.seen()
	if len(requests) != 1 {
		t.Fatalf("%d requests", len(requests))
	}
	r := requests[0]
	if r.Method != http.MethodGet || r.URL.EscapedPath() != "/rest/v1/Weird%20Table" {
		t.Errorf("%s %s", r.Method, r.URL.EscapedPath())
	}
	wantHeaders(t, r, map[string]string{
		"Apikey": "sb_publishable_test", "Authorization": "Bearer alice-token", "Accept": "application/json", "Accept-Profile": "crm",
	})
}

// wantHeaders checks the exact set, besides what the transport adds.
func wantHeaders(t *testing.T, r *http.Request, want map[string]string) {
	t.Helper()
	for name, value := range want {
		if got := r.Header.Values(name); len(got) != 1 || got[0] != value {
			t.Errorf("%s: %q, want %q", name, got, value)
		}
	}
	if got := r.Header.Get("X-Client-Info"); !strings.HasPrefix(got, "chumbo/") {
		t.Errorf("X-Client-Info: %q", got)
	}
	for name := range r.Header {
		switch name {
		case "X-Client-Info", "User-Agent", "Accept-Encoding", "Content-Length":
			continue
		}
		if _, ok := want[name]; !ok {
			t.Errorf("unexpected header %s", name)
		}
	}
}

func TestAnonSendsNoAuthorization(t *testing.T) {
	t.Parallel()
	p := newFakeProject(t, answer(200, nil, `"hello"`))
	a, err := newTestClient().Call(t.Context(), AsAnon(p.project()), Call{Function: "greet", Arguments: []byte(`{"name":"x"}`), Profile: "api"})
	if err != nil || string(a.Body) != `"hello"` {
		t.Fatalf("%+v, %v", a, err)
	}
	requests, bodies := p.seen()
	wantHeaders(t, requests[0], map[string]string{
		"Apikey": "sb_publishable_test", "Accept": "application/json", "Content-Type": "application/json", "Content-Profile": "api",
	})
	if bodies[0] != `{"name":"x"}` || requests[0].Method != http.MethodPost || requests[0].URL.Path != "/rest/v1/rpc/greet" {
		t.Errorf("%s %s %s", requests[0].Method, requests[0].URL, bodies[0])
	}
}

func TestNothingIsSentAsAUserWithoutAToken(t *testing.T) {
	t.Parallel()
	p := newFakeProject(t, answer(200, nil, `[]`))
	_, err := newTestClient().Select(t.Context(), Session{project: p.project()}, Select{Relation: "customers"})
	if !fault.Is(err, fault.Internal) {
		t.Errorf("error %v", err)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("AsUser took an empty token")
			}
		}()
		AsUser(p.project(), seal.Secret{})
	}()
	if requests, _ := p.seen(); len(requests) != 0 {
		t.Errorf("%d requests were sent", len(requests))
	}
}

func TestSelectSingleAsksForOneObject(t *testing.T) {
	t.Parallel()
	p := newFakeProject(t, answer(406, map[string]string{"Proxy-Status": "PostgREST; error=PGRST116"},
		`{"code":"PGRST116","details":"The result contains 0 rows","hint":null,"message":"Cannot coerce the result to a single JSON object"}`))
	_, err := newTestClient().Select(t.Context(), AsAnon(p.project()), Select{Relation: "t", Single: true})
	var e *Error
	if !errors.As(err, &e) || e.Code != "PGRST116" || e.Rows != 0 || e.Gateway || e.Status != 406 {
		t.Fatalf("error %#v", err)
	}
	requests, _ := p.seen()
	if got := requests[0].Header.Get("Accept"); got != "application/vnd.pgrst.object+json" {
		t.Errorf("Accept %q", got)
	}
}

func TestErrorTellsDataAPIFromGateway(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		handle  http.HandlerFunc
		status  int
		code    string
		gateway bool
	}{
		{"proxy status", answer(400, map[string]string{"Proxy-Status": "PostgREST; error=22P02"}, `{"code":"22P02","message":"m","details":null,"hint":null}`), 400, "22P02", false},
		{"four keys, older version", answer(404, nil, `{"code":"PGRST205","message":"m","details":null,"hint":"h"}`), 404, "PGRST205", false},
		{"details is a list", answer(300, map[string]string{"Proxy-Status": "PostgREST; error=PGRST201"}, `{"code":"PGRST201","message":"m","details":[{"a":1}],"hint":null}`), 300, "PGRST201", false},
		{"no api key", answer(401, nil, `{"message":"No API key found in request","hint":"x"}`), 401, "", true},
		{"function style body", answer(404, nil, `{"code":"NOT_FOUND","message":"m"}`), 404, "", true},
		{"html", answer(520, map[string]string{"Content-Type": "text/html"}, `<html>oops</html>`), 520, "", true},
		{"html with 200", answer(200, map[string]string{"Content-Type": "text/html"}, `<html>login</html>`), 200, "", true},
		{"empty", answer(503, nil, ``), 503, "", true},
		{"code is null", answer(500, map[string]string{"Proxy-Status": "PostgREST; error=x"}, `{"code":null,"message":"m"}`), 500, "", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := newFakeProject(t, test.handle)
			_, err := newTestClient().Select(t.Context(), AsAnon(p.project()), Select{Relation: "t"})
			var e *Error
			if !errors.As(err, &e) || e.Status != test.status || e.Code != test.code || e.Gateway != test.gateway {
				t.Fatalf("error %#v", err)
			}
			requests, _ := p.seen()
			if len(requests) != 1 {
				t.Errorf("%d requests, want one: nothing is repeated", len(requests))
			}
		})
	}
}

func TestErrorForLogsHasNoTextOfTheProject(t *testing.T) {
	t.Parallel()
	e := &Error{Status: 400, Code: "P0001", Message: "balance of alice@example.test is 5"}
	if strings.Contains(e.Error(), "alice") {
		t.Error(e.Error())
	}
}

func TestAuthorMessageIsOnlyWhatAnAuthorRaised(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		status int
		code   string
		want   bool
	}{
		{400, "P0001", true}, {402, "PT402", true}, {400, "MY001", true}, {400, "90001", true},
		{500, "PT500", false}, {500, "P0002", false}, {400, "42501", false}, {400, "22P02", false}, {400, "PGRST100", false},
		{400, "55000", false}, {500, "XX000", false}, {400, "", false}, {400, "HV000", false}, {400, "abc", false}, {409, "23505", false},
	} {
		e := &Error{Status: test.status, Code: test.code, Message: "m"}
		if e.AuthorMessage() != test.want {
			t.Errorf("%d %s: %v", test.status, test.code, !test.want)
		}
	}
	if (&Error{Status: 400, Code: "P0001", Message: "m", Gateway: true}).AuthorMessage() {
		t.Error("a gateway's text is not the author's")
	}
}

func TestCallOfVoidHasNoBody(t *testing.T) {
	t.Parallel()
	p := newFakeProject(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	a, err := newTestClient().Call(t.Context(), AsAnon(p.project()), Call{Function: "f"})
	if err != nil || a.Body != nil || a.Status != 204 {
		t.Fatalf("%+v, %v", a, err)
	}
	if _, bodies := p.seen(); bodies[0] != "{}" {
		t.Errorf("body %q", bodies[0])
	}
}

func TestAnswerOverTheLimitIsRefused(t *testing.T) {
	t.Parallel()
	p := newFakeProject(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		chunk := []byte(strings.Repeat(" ", 1<<16))
		for range (maxData >> 16) + 2 {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	})
	_, err := newTestClient().Select(t.Context(), AsAnon(p.project()), Select{Relation: "t"})
	if !fault.Is(err, fault.TooLarge) {
		t.Fatalf("error %v", err)
	}
}

func TestNamesThatLeaveTheirPathSegmentAreRefused(t *testing.T) {
	t.Parallel()
	p := newFakeProject(t, answer(200, nil, `[]`))
	c := newTestClient()
	for _, name := range []string{"", ".", "..", "a/b", `a\b`, "../auth/v1/user", "a\x00"} {
		if _, err := c.Select(t.Context(), AsAnon(p.project()), Select{Relation: name}); err == nil {
			t.Errorf("relation %q was asked for", name)
		}
		if _, err := c.Call(t.Context(), AsAnon(p.project()), Call{Function: name}); err == nil {
			t.Errorf("function %q was called", name)
		}
	}
	if requests, _ := p.seen(); len(requests) != 0 {
		t.Errorf("%d requests were sent", len(requests))
	}
	if _, err := c.Select(t.Context(), AsAnon(p.project()), Select{Relation: "a?b#c%2Fd ü"}); err != nil {
		t.Fatal(err)
	}
	requests, _ := p.seen()
	if got := requests[0].URL.Path; got != "/rest/v1/a?b#c%2Fd ü" {
		t.Errorf("path %q", got)
	}
}

func TestACanceledCallIsTheContextsError(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	release := make(chan struct{})
	p := newFakeProject(t, func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		select {
		case <-r.Context().Done():
		case <-release:
		}
	})
	defer close(release)
	_, err := newTestClient().Select(ctx, AsAnon(p.project()), Select{Relation: "t"})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v", err)
	}
}

func TestUnreachableProjectIsUnavailable(t *testing.T) {
	t.Parallel()
	p := newFakeProject(t, answer(200, nil, `[]`))
	project := p.project()
	p.Close()
	_, err := newTestClient().Select(t.Context(), AsAnon(project), Select{Relation: "t"})
	if !fault.Is(err, fault.Unavailable) {
		t.Fatalf("error %v", err)
	}
	if strings.Contains(fault.From(err).Message, "127.0.0.1") {
		t.Errorf("the public text names an address: %s", fault.From(err).Message)
	}
}

func TestDataAPIReachable(t *testing.T) {
	t.Parallel()
	postgrest := map[string]string{"Proxy-Status": "PostgREST; error=x"}
	for _, test := range []struct {
		name   string
		handle http.HandlerFunc
		code   string // of the fault; empty for reachable
	}{
		{"unknown relation", answer(404, postgrest, `{"code":"PGRST205","message":"m","details":null,"hint":null}`), ""},
		{"bad key", answer(401, nil, `{"message":"Invalid API key"}`), "publishable_key_refused"},
		{"bad key, plain text", answer(401, map[string]string{"Content-Type": "text/plain"}, `Unauthorized`), "publishable_key_refused"},
		{"no such route", answer(404, map[string]string{"Content-Type": "text/plain"}, `404`), "no_data_api"},
		{"no schema cache", answer(503, postgrest, `{"code":"PGRST002","message":"m","details":null,"hint":null}`), "data_api_unavailable"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := newFakeProject(t, test.handle)
			err := newTestClient().DataAPIReachable(t.Context(), p.project())
			if test.code == "" && err != nil || test.code != "" && (err == nil || fault.From(err).Code != test.code) {
				t.Fatalf("error %v", err)
			}
		})
	}
}

func BenchmarkSelect(b *testing.B) {
	s := httptest.NewServer(answer(200, nil, `[{"id":"1","name":"a"}]`))
	defer s.Close()
	c, session := newTestClient(), AsUser(Project{APIOrigin: s.URL, PublishableKey: "k"}, seal.NewSecret("t"))
	q := Select{Relation: "customers", Columns: []string{`"id"::text`, `"name"`}, Limit: 21}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Select(b.Context(), session, q); err != nil {
			b.Fatal(err)
		}
	}
}
