package cli

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

func run(t *testing.T, server string, args ...string) (code int, out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	vars := map[string]string{"CHUMBO_URL": server, "CHUMBO_TOKEN": "cht_test"}
	code = Main(t.Context(), Environment{
		Args: args, Getenv: func(name string) string { return vars[name] }, Dir: t.TempDir(), Out: &stdout, Err: &stderr,
	})
	return code, stdout.String(), stderr.String()
}

var link = []string{"link", "--project-url", "https://project.example.test", "--publishable-key", "sb_publishable_x", "--slug", "acme"}

func TestTokenDoesNotFollowARedirect(t *testing.T) {
	t.Parallel()
	var reached atomic.Int32
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	t.Cleanup(elsewhere.Close)
	server := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	t.Cleanup(server.Close)
	code, _, errs := run(t, server.URL, link...)
	if code != 1 || reached.Load() != 0 || !strings.Contains(errs, "not the address of a Chumbo server") {
		t.Errorf("exit %d, %d requests elsewhere, %q", code, reached.Load(), errs)
	}
}

func TestAnswersThatAreNotOursAreNamedSo(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{"html": "<html>", "json": `{"hello":"world"}`} {
		contentType := map[string]string{"html": "text/html", "json": "application/json"}[name]
		for _, status := range []int{http.StatusOK, http.StatusBadGateway} {
			if name == "json" && status == http.StatusOK {
				continue // indistinguishable from an answer with members we do not know
			}
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", contentType)
				w.WriteHeader(status)
				_, _ = w.Write([]byte(body))
			}))
			code, _, errs := run(t, server.URL, link...)
			server.Close()
			if code != 1 || !strings.Contains(errs, "not the address of a Chumbo server") {
				t.Errorf("%s %d: exit %d, %q", name, status, code, errs)
			}
		}
	}
}

func TestServerFailureNamesItsRequest(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = w.Write([]byte(`{"status":500,"detail":"Something went wrong.","trace_id":"abc123"}`))
	}))
	t.Cleanup(server.Close)
	code, _, errs := run(t, server.URL, link...)
	if code != 1 || !strings.Contains(errs, "abc123") {
		t.Errorf("exit %d, %q", code, errs)
	}
}
