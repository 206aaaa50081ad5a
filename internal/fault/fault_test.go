package fault

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

var errSecret = errors.New(`dial tcp 10.0.0.7:5432: password "hunter2"`)

func TestUnknownErrorsBecomeInternalAndHideTheirText(t *testing.T) {
	t.Parallel()
	for name, render := range map[string]func(http.ResponseWriter){
		"problem": func(w http.ResponseWriter) { WriteProblem(w, errSecret, "req-1") },
		"oauth":   func(w http.ResponseWriter) { WriteOAuth(w, errSecret) },
		"rpc":     func(w http.ResponseWriter) { _, _ = w.Write(RPCBody(nil, RPCOf(errSecret, "req-1"))) },
		"cause": func(w http.ResponseWriter) {
			WriteProblem(w, Wrap(errSecret, Unavailable, "", "The project does not answer."), "req-1")
		},
	} {
		w := httptest.NewRecorder()
		render(w)
		if body := w.Body.String(); strings.Contains(body, "hunter2") || strings.Contains(body, "10.0.0.7") {
			t.Errorf("%s leaks the cause: %s", name, body)
		}
	}
}

func TestProblemCarriesKindIssuesAndRetryAfter(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("load: %w", New(RateLimited, "slow_down", "Too many.").
		WithRetryAfter(1500*time.Millisecond).WithIssues(Issue{Line: 3, Column: 7, Message: "no such column"}))
	w := httptest.NewRecorder()
	WriteProblem(w, err, "req-9")
	var p Problem
	if e := json.Unmarshal(w.Body.Bytes(), &p); e != nil {
		t.Fatal(e)
	}
	if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") != "2" || w.Header().Get("Content-Type") != "application/problem+json" {
		t.Errorf("answer: %d %v", w.Code, w.Header())
	}
	if p.Code != "slow_down" || p.TraceID != "req-9" || len(p.Issues) != 1 || p.Issues[0].Line != 3 {
		t.Errorf("problem: %+v", p)
	}
}

func TestOAuthErrorsUseTheirRegisteredCodes(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		err  error
		code string
		want int
	}{
		{New(Invalid, "invalid_grant", "Used."), "invalid_grant", 400},
		{New(Invalid, "", "No code."), "invalid_request", 400},
		{New(Unauthenticated, "", "Who?"), "invalid_client", 401},
		{New(Unavailable, "", "Away."), "temporarily_unavailable", 503},
		{errSecret, "server_error", 500},
	} {
		w := httptest.NewRecorder()
		WriteOAuth(w, tc.err)
		var body map[string]string
		if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
			t.Fatal(err)
		}
		if w.Code != tc.want || body["error"] != tc.code || w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%v: %d %v", tc.err, w.Code, body)
		}
	}
}

func TestRPCErrorsKeepTheRequestIDBytes(t *testing.T) {
	t.Parallel()
	if got := string(RPCBody(json.RawMessage("9007199254740993"), RPCOf(New(Invalid, "", "Wrong."), "req-1"))); !strings.Contains(got, `"id":9007199254740993`) || !strings.Contains(got, `"code":-32602`) {
		t.Errorf("body: %s", got)
	}
	if got := string(RPCBody(nil, RPC{Code: CodeParse, Message: "Not JSON."})); !strings.Contains(got, `"id":null`) {
		t.Errorf("body: %s", got)
	}
}

func TestEveryKindHasAStatusAndAName(t *testing.T) {
	t.Parallel()
	for k := Internal; k <= Timeout; k++ {
		if k.Status() < 400 || k.String() == "" || k.Title() == "" {
			t.Errorf("kind %d: %d %q %q", k, k.Status(), k.String(), k.Title())
		}
	}
}
