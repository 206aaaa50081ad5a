package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	textmessage "golang.org/x/text/message"

	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// TestNumbersBeyondReckoningAreRefusedBeforeTheyAreReckonedWith: the validator
// expands a number to all its digits, and a body holds a hundred thousand of
// them.
func TestNumbersBeyondReckoningAreRefusedBeforeTheyAreReckonedWith(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.caller(b.surface("acme", func(_ *tenants.Endpoint, c *surfaces.Compiled) {
		c.Tools[0].Input = json.RawMessage(`{"type":"object","properties":{"ids":{"type":"array","maxItems":100,"items":{"anyOf":[{"type":"integer"},{"type":"string"}]}}}}`)
	}), "alice", "alice")
	for _, number := range []string{"1e999999", "-1E+999999", "1e-999999", "1e401", strings.Repeat("9", 401), "0." + strings.Repeat("0", 401) + "1", "1e99999999999999999999"} {
		numbers := strings.TrimSuffix(strings.Repeat(number+",", 200_000/len(number)), ",")
		begun := time.Now()
		body := bodyOf(t, b.send(legacy("2025-11-25", "tools/call", `{"name":"zebra_list","arguments":{"ids":[`+numbers+`]}}`).as("alice")))
		if took := time.Since(begun); took > 10*time.Second {
			t.Fatalf("%.10s… took %s", number, took)
		}
		if !strings.Contains(body, `\"kind\":\"invalid\"`) || !strings.Contains(body, `\"path\":\"/ids/0\"`) || len(body) > 2000 {
			t.Fatalf("%.10s… answered %.300s", number, body)
		}
	}
	if n := b.runner.count(); n != 0 {
		t.Fatalf("%d calls ran", n)
	}
	body := bodyOf(t, b.send(legacy("2025-11-25", "tools/call", `{"name":"zebra_list","arguments":{"ids":[9223372036854775808,1e2,"1e999999"]}}`).as("alice")))
	if strings.Contains(body, "isError") || b.runner.count() != 1 {
		t.Fatalf("ordinary numbers: %s", body)
	}
}

func TestWhatTheSDKRefusesIsAnsweredAsTheClientsMistake(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.caller(b.surface("acme", nil), "alice", "alice")
	for _, q := range []request{
		legacy("2025-11-25", "resources/read", `{"uri":"acme://\u0000\u202e"}`),
		modern("resources/read", "=?base64?YWNtZTovLwA=?=", `"uri":"acme://\u0000"`),
		{body: `{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":5,"clientInfo":5}}`},
		{body: `{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"_meta":5}}`},
	} {
		res := b.send(q.as("alice"))
		var answer struct {
			Error struct{ Code int }
		}
		want := -32602
		if strings.Contains(q.body, "resources/read") && q.header["MCP-Protocol-Version"] != version20260728 {
			want = codeResourceNotFound
		}
		body := bodyOf(t, res)
		if err := json.Unmarshal([]byte(body), &answer); err != nil || answer.Error.Code != want || res.StatusCode >= 500 {
			t.Errorf("%s: %d %s %v", q.body, res.StatusCode, body, err)
		}
	}
}

// deadlineWriter notes the deadline its connection was given.
type deadlineWriter struct {
	*httptest.ResponseRecorder
	until time.Time
}

func (w *deadlineWriter) SetWriteDeadline(t time.Time) error {
	w.until = t
	return nil
}

// TestAnAnswerNobodyReadsEnds: a client that sends and never reads must not
// hold its connection for ever.
func TestAnAnswerNobodyReadsEnds(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.caller(b.surface("acme", nil), "alice", "alice")
	for _, q := range []request{legacy("2025-11-25", "tools/list", `{}`).as("alice"), {}, {method: http.MethodOptions}} {
		r := httptest.NewRequest(http.MethodPost, "http://"+testHost+"/acme/mcp", strings.NewReader(q.body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+q.token)
		w := &deadlineWriter{ResponseRecorder: httptest.NewRecorder()}
		b.handler.ServeHTTP(w, r)
		if left := time.Until(w.until); left < 10*time.Second || left > 2*time.Minute {
			t.Errorf("%s: %s to write the answer", q.body, left)
		}
	}
}

// TestOfManyMistakesOnlySomeAreLookedAt: each one's text costs more than the
// check that found it.
func TestOfManyMistakesOnlySomeAreLookedAt(t *testing.T) {
	t.Parallel()
	schema, err := compileSchema(json.RawMessage(`{"type":"array","items":{"type":"integer"}}`))
	if err != nil {
		t.Fatal(err)
	}
	mistakes := "[" + strings.Repeat(`"x",`, 50_000) + "1]"
	var value any
	if err := json.Unmarshal([]byte(mistakes), &value); err != nil {
		t.Fatal(err)
	}
	var invalid *jsonschema.ValidationError
	if !errors.As(schema.Validate(value), &invalid) {
		t.Fatal("accepted")
	}
	if n := len(appendIssues(nil, invalid, textmessage.NewPrinter(language.English))); n != maxMistakes {
		t.Fatalf("%d mistakes looked at", n)
	}
}

// TestSurfaceThatCannotBeBuiltEndsNothingElse: revisions are built on a
// goroutine of their own, where a panic would end the process.
func TestSurfaceThatCannotBeBuiltEndsNothingElse(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.caller(b.surface("acme", nil), "alice", "alice")
	b.directory.load = func(*tenants.Endpoint) error { panic("a row of Alice's") }
	for range 2 {
		if res := b.send(legacy("2025-11-25", "tools/list", `{}`).as("alice")); res.StatusCode != http.StatusInternalServerError {
			t.Fatalf("answered %d", res.StatusCode)
		}
	}
	if strings.Contains(b.logs.String(), "Alice's") {
		t.Fatalf("the log quotes the panic: %s", b.logs.String())
	}
}

type panickingDirectory struct{ Directory }

func (panickingDirectory) Lookup(context.Context, string, string) (*tenants.Endpoint, error) {
	panic("what Alice typed")
}

func TestPanicInTheEdgeIsA500AndALineInTheLog(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.handler.cfg.Directory = panickingDirectory{b.directory}
	res := b.send(legacy("2025-11-25", "tools/list", `{}`))
	body, id := bodyOf(t, res), res.Header.Get("Chumbo-Request-Id")
	if res.StatusCode != http.StatusInternalServerError || !strings.Contains(body, id) || strings.Contains(body, "typed") {
		t.Errorf("answered %d %s", res.StatusCode, body)
	}
	if log := b.logs.String(); !strings.Contains(log, id) || strings.Contains(log, "typed") {
		t.Errorf("logged %s", log)
	}
}
