package demo

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chumbo-dev/chumbo/internal/standin"
)

// TestRefusalsAtTheSurfaceNameWhatToDoNext sends what a surface must refuse.
func TestRefusalsAtTheSurfaceNameWhatToDoNext(t *testing.T) {
	t.Parallel()
	_, p := newTenant(t)
	token := p.signIn(standin.AliceEmail).AccessToken
	expired := p.token(standin.AliceEmail, standin.TokenOptions{Lifetime: -time.Minute})
	list := `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	called := func(arguments string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"customers_list","arguments":` + arguments + `}}`
	}
	large := strings.Repeat(" ", 2<<20)
	p.ForgetRequests()
	for _, c := range []struct {
		name, token, body string
		header            http.Header
		status            int
		says              []string // the mistake, and the way out
	}{
		{"no token", "", list, nil, 401, []string{"Sign in"}},
		{"expired token", expired, list, nil, 401, []string{"expired", "Refresh it or sign in again"}},
		{"foreign host", token, list, http.Header{"Host": {"evil.example.test"}}, 421, []string{"not served here", "Check the URL"}},
		{"2 MiB", token, large, nil, 413, []string{"larger than 1048576 bytes", "Send less"}},
		{"not JSON", token, `{"jsonrpc":"2.0",`, nil, 400, []string{"-32700", "not valid JSON", "Send one JSON-RPC 2.0 message"}},
		{"not JSON-RPC", token, `{"method":"tools/list"}`, nil, 400, []string{"-32600", `\"jsonrpc\": \"2.0\"`}},
		{"no object", token, `"tools/list"`, nil, 400, []string{"-32600", "is an object"}},
		{"no method", token, `{"jsonrpc":"2.0","id":1}`, nil, 400, []string{"-32600", "names its method"}},
		{"a key twice", token, `{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"tools/call"}`, nil, 400, []string{"-32600", "Send each key once"}},
		{"a key twice in params", token, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"customers_list","n\u0061me":"archive_customer"}}`, nil, 400, []string{"Send each key once"}},
		{"a key twice in arguments", token, called(`{"limit":1,"limit":2}`), nil, 400, []string{"Send each key once"}},
		{"another media type", token, list, http.Header{"Content-Type": {"text/plain"}}, 415, []string{"Content-Type is application/json"}},
		{"a version from the future", token, list, http.Header{"Mcp-Protocol-Version": {"2099-01-01"}}, 400, []string{"-32022", "2026-07-28, 2025-11-25"}},
		{"text for a number", token, called(`{"limit":"many"}`), nil, 200, []string{`\"path\":\"/limit\"`, "want integer", "correct them and call again"}},
		{"a list for a text", token, called(`{"name_ilike":["a"]}`), nil, 200, []string{`\"path\":\"/name_ilike\"`, "want string"}},
		{"a filter that is none", token, called(`{"email":"x"}`), nil, 200, []string{"additional properties 'email' not allowed"}},
		{"a label that is none", token, called(`{"status":"opne"}`), nil, 200, []string{`\"path\":\"/status\"`}},
		{"a limit out of range", token, called(`{"limit":1000}`), nil, 200, []string{`\"path\":\"/limit\"`, "want 100"}},
		{"an unknown tool", token, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"drop_table"}}`, nil, 200, []string{"-32602", "Unknown tool"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := sendRaw(t, http.MethodPost, p.mcp, c.token, c.header, c.body)
			if r.status != c.status || !strings.Contains(r.header.Get("Content-Type"), "json") {
				t.Fatalf("%d %v %s", r.status, r.header, r.body)
			}
			for _, want := range c.says {
				if !strings.Contains(r.body, want) {
					t.Errorf("%q is not in %s", want, r.body)
				}
			}
			if c.status == http.StatusOK && !strings.Contains(r.body, `"error"`) {
				r.failed(t)
			}
			if (c.status == http.StatusUnauthorized) != (r.header.Get("WWW-Authenticate") != "") {
				t.Errorf("challenge %q", r.header.Get("WWW-Authenticate"))
			}
		})
	}
	if reached := p.RequestsTo("/rest/v1/"); len(reached) != 0 {
		t.Errorf("%d refused requests reached the project", len(reached))
	}
	// What only the database can judge is told in our words, by argument.
	text := call(t, p.mcp, token, eras[0], "customers_list", map[string]any{"updated_at_gte": "soonish"}).failed(t)
	if !strings.Contains(text, `"path":"/updated_at_gte"`) || !strings.Contains(text, "must be a time such as") || strings.Contains(text, "22007") {
		t.Errorf("a time that is none: %s", text)
	}
}

// TestBodyWithoutALengthIsBoundedToo: a body sent in chunks says nothing of
// its size.
func TestBodyWithoutALengthIsBoundedToo(t *testing.T) {
	t.Parallel()
	_, p := newTenant(t)
	body := io.MultiReader(bytes.NewReader(bytes.Repeat([]byte(" "), 1<<20)), strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.mcp, body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+p.token(standin.AliceEmail, standin.TokenOptions{}))
	if status, text := send(t, req); status != http.StatusRequestEntityTooLarge || !strings.Contains(string(text), "Send less") {
		t.Fatalf("%d %s", status, text)
	}
}

// TestFilterValuesReachTheDatabaseAsTyped finds a row by the very text in its
// name, whatever the Data API's own grammar makes of such characters.
func TestFilterValuesReachTheDatabaseAsTyped(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	names := []string{
		`a,b`, `say "hi"`, `(parentheses)`, `100%`, `100%25`, `under_score`, `star*`, `back\slash`, `x&name=eq.y`, `),or(id.gt.0`, `eq.x`,
		`not.is.null`, `null`, `{a,b}`, `a.b:c`, `plus+and space`, `semi;colon--`, `'quoted'`, "tab\there", `ümlaut 🙂`, ` lead`, `trail `, `#?/`,
	}
	p := w.tenant(t, "Acme builders", "crm", standin.Options{})
	p.importSchema()
	p.publish(fmt.Sprintf(pagingFile, "Values", 16<<10))
	for i, name := range names {
		if err := p.Exec(t.Context(), "update public.customers set name = $1 where id = $2", name, i+1); err != nil {
			t.Fatal(err)
		}
	}
	token := p.signIn(standin.AliceEmail).AccessToken
	for _, era := range eras {
		for i, name := range names {
			want := fmt.Sprint(i + 1)
			for _, argument := range []string{"name", "name_ilike"} {
				arguments := map[string]any{argument: name, "order": "id", "limit": 100}
				found := false
				for _, item := range call(t, p.mcp, token, era, "customers_list", arguments).page(t).Items {
					found = found || item["id"] == want
					// A * in a search is any one character; all else is itself.
					if got := item["name"].(string); argument == "name" && got != name || !strings.Contains(got, strings.TrimSuffix(name, "*")) {
						t.Errorf("%s %q found %q", argument, name, got)
					}
				}
				if !found {
					t.Errorf("%s %q found nothing", argument, name)
				}
			}
		}
	}
	// The same by way of next_call, which repeats the arguments.
	arguments := map[string]any{"name_ilike": "a", "order": "id", "limit": 1}
	first := call(t, p.mcp, token, eras[0], "customers_list", arguments).result(t)
	var next struct {
		NextCall struct {
			Name      string         `json:"name"`
			Arguments map[string]any `json:"arguments"`
		} `json:"next_call"`
	}
	if err := json.Unmarshal(first.Structured, &next); err != nil {
		t.Fatal(err)
	}
	if rows := call(t, p.mcp, token, eras[0], next.NextCall.Name, next.NextCall.Arguments).page(t).Items; len(rows) != 1 {
		t.Errorf("next_call: %v", rows)
	}
}
