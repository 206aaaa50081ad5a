package supabase_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chumbo-dev/chumbo/internal/egress"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/standin"
	"github.com/chumbo-dev/chumbo/internal/supabase"
)

func flush(w http.ResponseWriter) { _ = http.NewResponseController(w).Flush() }

// functions are the ways in which one can answer, or fail to.
func functions() map[string]http.Handler {
	f := map[string]http.HandlerFunc{
		"echo": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", r.Header.Get("Content-Type"))
			_, _ = io.WriteString(w, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")+" ")
			_, _ = io.Copy(w, r.Body)
		},
		"stream": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "event: progress\n")
			flush(w)
			<-r.Context().Done()
		},
		"dies": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "half")
			flush(w)
			panic("dies")
		},
		"panics":  func(http.ResponseWriter, *http.Request) { panic("panics") },
		"hangup":  func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"slow":    func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"refuses": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "Not on Sundays.", http.StatusConflict) },
		"fails":   func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "secret", http.StatusServiceUnavailable) },
	}
	all := map[string]http.Handler{}
	for name, handler := range f {
		all[name] = handler
	}
	for _, code := range []string{"BOOT_ERROR", "WORKER_ERROR", "WORKER_RESOURCE_LIMIT", "IDLE_TIMEOUT", "RATE_LIMIT_EXCEEDED"} {
		all[strings.ReplaceAll(code, "_", "-")] = standin.FunctionError(code)
	}
	return all
}

func startFunctions(t *testing.T) (p *standin.Project, c *supabase.Client, alice supabase.Session) {
	t.Helper()
	p, c = start(t, standin.Options{Schema: standin.CRM + buckets, Users: standin.CRMUsers(), Functions: functions()})
	return p, c, sessionOf(t, p, standin.AliceEmail)
}

func TestFunctionsOfAStandInProject(t *testing.T) {
	t.Parallel()
	p, c, alice := startFunctions(t)
	anon := supabase.AsAnon(supabase.Project{APIOrigin: p.URL(), PublishableKey: p.PublishableKey()})
	expired, err := p.AccessToken(standin.AliceEmail, standin.TokenOptions{Lifetime: -time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	late := supabase.AsUser(supabase.Project{APIOrigin: p.URL(), PublishableKey: p.PublishableKey()}, seal.NewSecret(expired))
	for _, test := range []struct {
		slug string
		as   supabase.Session
		want supabase.FunctionError
	}{
		{"nothing", alice, supabase.FunctionError{Status: 404, Code: "NOT_FOUND"}},
		{"echo", anon, supabase.FunctionError{Status: 401, Code: "UNAUTHORIZED_NO_AUTH_HEADER"}},
		{"echo", late, supabase.FunctionError{Status: 401, Code: "UNAUTHORIZED_ASYMMETRIC_JWT"}},
		{"BOOT-ERROR", alice, supabase.FunctionError{Status: 503, Code: "BOOT_ERROR"}},
		{"WORKER-ERROR", alice, supabase.FunctionError{Status: 500, Code: "WORKER_ERROR"}},
		{"panics", alice, supabase.FunctionError{Status: 500, Code: "WORKER_ERROR"}},
		{"WORKER-RESOURCE-LIMIT", alice, supabase.FunctionError{Status: 546, Code: "WORKER_RESOURCE_LIMIT"}},
		{"IDLE-TIMEOUT", alice, supabase.FunctionError{Status: 504, Code: "IDLE_TIMEOUT"}},
		{"RATE-LIMIT-EXCEEDED", alice, supabase.FunctionError{Status: 429, Code: "RATE_LIMIT_EXCEEDED"}},
		{"refuses", alice, supabase.FunctionError{Status: 409, Own: true, Message: "Not on Sundays."}},
		{"fails", alice, supabase.FunctionError{Status: 503, Code: "EDGE_FUNCTION_ERROR", Own: true}},
	} {
		for range 7 { // more than a breaker forgives: what a function answers must not close the others
			a, err := c.Invoke(t.Context(), test.as, supabase.Invoke{Slug: test.slug})
			var e *supabase.FunctionError
			if !errors.As(err, &e) || a.Upstream == "" {
				t.Fatalf("%s: %+v %v", test.slug, a, err)
			}
			e.Upstream = ""
			if *e != test.want {
				t.Errorf("%s: %+v, want %+v", test.slug, *e, test.want)
			}
		}
	}
	for range 7 {
		if _, err := c.Invoke(t.Context(), alice, supabase.Invoke{Slug: "hangup"}); !fault.Is(err, fault.Unavailable) || egress.Unsent(err) {
			t.Errorf("hang up: %v", err)
		}
		a, err := c.Invoke(t.Context(), alice, supabase.Invoke{Slug: "dies"})
		if err != nil {
			t.Fatal(err)
		}
		if content, err := io.ReadAll(a.Body); string(content) != "half" || !fault.Is(err, fault.Unavailable) || egress.Unsent(err) {
			t.Errorf("dies: %q %v", content, err)
		}
		_ = a.Body.Close()
	}
}

// TestAliceAndBobCallOneFunction: at once, and each with their own token and
// arguments.
func TestAliceAndBobCallOneFunction(t *testing.T) {
	t.Parallel()
	p, c, _ := startFunctions(t)
	var all sync.WaitGroup
	for _, email := range []string{standin.AliceEmail, standin.BobEmail} {
		token, err := p.AccessToken(email, standin.TokenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		session := supabase.AsUser(supabase.Project{APIOrigin: p.URL(), PublishableKey: p.PublishableKey()}, seal.NewSecret(token))
		for range 8 {
			all.Go(func() {
				a, err := c.Invoke(t.Context(), session, supabase.Invoke{Slug: "echo", Body: []byte(email), ContentType: "text/plain"})
				if err != nil {
					t.Error(err)
					return
				}
				defer func() { _ = a.Body.Close() }()
				if content, err := io.ReadAll(a.Body); err != nil || string(content) != token+" "+email {
					t.Errorf("%s got %q %v", email, content, err)
				}
			})
		}
	}
	all.Wait()
}

// TestFunctionsLeaveNothingBehind is not parallel: it counts goroutines.
func TestFunctionsLeaveNothingBehind(t *testing.T) { //nolint:paralleltest // see above
	arrived := make(chan struct{}, 1)
	handlers := functions()
	handlers["slow"] = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { arrived <- struct{}{}; <-r.Context().Done() })
	p, _ := start(t, standin.Options{Schema: standin.CRM + buckets, Users: standin.CRMUsers(), Functions: handlers})
	alice := sessionOf(t, p, standin.AliceEmail)
	out := egress.New(egress.Policy{AllowHTTP: true, AllowLoopback: true, AllowAnyPort: true})
	c := supabase.New(out)
	round := func() {
		for _, slug := range []string{"stream", "dies", "slow", "hangup", "WORKER-RESOURCE-LIMIT"} {
			ctx, cancel := context.WithCancel(t.Context())
			if slug == "slow" {
				go func() { <-arrived; cancel() }()
			}
			a, err := c.Invoke(ctx, alice, supabase.Invoke{Slug: slug})
			if err == nil {
				_, _ = bufio.NewReader(a.Body).ReadString('\n')
				_ = a.Body.Close()
			}
			cancel()
		}
		out.CloseIdle()
	}
	round()
	before := settled(1 << 20)
	for range 40 {
		round()
	}
	if after := settled(before); after > before {
		all := make([]byte, 1<<20)
		t.Errorf("%d goroutines, %d before\n%s", after, before, all[:runtime.Stack(all, true)])
	}
}

// settled is how many goroutines there are, once they are at most so many or
// have had their time to end.
func settled(enough int) int {
	n := runtime.NumGoroutine()
	for i := 0; i < 500 && (n > enough || i < 20); i++ {
		time.Sleep(5 * time.Millisecond) // nobody tells when a server has let go of a connection
		n = runtime.NumGoroutine()
	}
	return n
}
