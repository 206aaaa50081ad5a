package standin

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// TestErrors pins status and code of what can go wrong, and that every error
// has the four members and the Proxy-Status header.
func TestErrors(t *testing.T) {
	t.Parallel()
	p := startOdd(t, nil)
	cases := []struct {
		name, who, method, path, body string
		headers                       []string
		status                        int
		code                          string
	}{
		{"bare value", AliceEmail, "GET", "things?id=5", "", nil, 400, "PGRST100"},
		{"unknown operator", AliceEmail, "GET", "things?id=foo.5", "", nil, 400, "PGRST100"},
		{"is with another word", AliceEmail, "GET", "things?id=is.maybe", "", nil, 400, "PGRST100"},
		{"text search without a configuration's name", AliceEmail, "GET", "things?name=wfts().x", "", nil, 400, "PGRST100"},
		{"text search configuration in a schema", AliceEmail, "GET", "things?name=wfts(pg_catalog.simple).x", "", nil, 400, "PGRST100"},
		{"malformed array", AliceEmail, "GET", "things?tags=cs.x", "", nil, 400, "22P02"},
		{"broken logic", AliceEmail, "GET", "things?or=(id.eq.1", "", nil, 400, "PGRST100"},
		{"cast in a filter", AliceEmail, "GET", "things?id::text=eq.1", "", nil, 400, "PGRST100"},
		{"broken order", AliceEmail, "GET", "things?order=id.sideways", "", nil, 400, "PGRST100"},
		{"unquoted dot is an embed", AliceEmail, "GET", "Weird%20Table?a.b=eq.1", "", nil, 400, "PGRST108"},
		{"unknown column", AliceEmail, "GET", "things?nam=eq.1", "", nil, 400, "42703"},
		{"wrong case column", AliceEmail, "GET", "things?Name=eq.1", "", nil, 400, "42703"},
		{"unknown table", AliceEmail, "GET", "thing", "", nil, 404, "PGRST205"},
		{"too deep", AliceEmail, "GET", "things/1", "", nil, 404, "PGRST125"},
		{"no integer", AliceEmail, "GET", "things?id=eq.x", "", nil, 400, "22P02"},
		{"null is no integer", AliceEmail, "GET", "things?id=eq.null", "", nil, 400, "22P02"},
		{"out of range", AliceEmail, "GET", "things?rank=eq.99999999999", "", nil, 400, "22003"},
		{"raw plus in a time", AliceEmail, "GET", "things?at=gt.2026-01-01T00:00:00+00:00", "", nil, 400, "22007"},
		{"no such label", AliceEmail, "GET", "things?mood=eq.angry", "", nil, 400, "22P02"},
		{"malformed array", AliceEmail, "GET", "things?tags=cs.x", "", nil, 400, "22P02"},
		{"NUL in a value", AliceEmail, "GET", "things?name=eq.%00", "", nil, 400, "22021"},
		{"invalid UTF-8", AliceEmail, "GET", "things?name=eq.%ff", "", nil, 400, "22021"},
		{"aggregates are off", AliceEmail, "GET", "things?select=id.sum()", "", nil, 400, "PGRST123"},
		{"count() too", AliceEmail, "GET", "things?select=count()", "", nil, 400, "PGRST123"},
		{"no privilege, signed in", AliceEmail, "GET", "forbidden", "", nil, 403, "42501"},
		{"no privilege, anon", "", "GET", "forbidden", "", nil, 401, "42501"},
		{"unknown schema", AliceEmail, "GET", "things", "", []string{"Accept-Profile", "private"}, 406, "PGRST106"},
		{"unknown media type", AliceEmail, "GET", "things", "", []string{"Accept", "text/weird"}, 406, "PGRST107"},
		{"csv is outside the subset", AliceEmail, "GET", "things", "", []string{"Accept", "text/csv"}, 400, "PGRST127"},
		{"not one object", AliceEmail, "GET", "things", "", []string{"Accept", "application/vnd.pgrst.object+json"}, 406, "PGRST116"},
		{"strict and unknown preference", AliceEmail, "GET", "things", "", []string{"Prefer", "handling=strict, foo=bar"}, 400, "PGRST122"},
		{"PUT is outside the subset", AliceEmail, "PUT", "things?id=eq.1", "{}", nil, 400, "PGRST127"},
		{"unsupported verb", AliceEmail, "TRACE", "things", "", nil, 405, "PGRST117"},
		{"broken JSON", AliceEmail, "POST", "slots", "{", nil, 400, "PGRST102"},
		{"other content type", AliceEmail, "POST", "slots", "{}", []string{"Content-Type", "text/weird"}, 400, "PGRST102"},
		{"unlike keys", AliceEmail, "POST", "slots", `[{"id":1},{"id":2,"note":"x"}]`, nil, 400, "PGRST102"},
		{"unknown key", AliceEmail, "POST", "slots", `{"id":1,"colour":"x"}`, nil, 400, "PGRST204"},
		{"unknown key in PATCH", AliceEmail, "PATCH", "slots?id=eq.1", `{"colour":"x"}`, nil, 400, "PGRST204"},
		{"not null", AliceEmail, "POST", "people", `{"id":9}`, nil, 400, "23502"},
		{"check", AliceEmail, "POST", "people", `{"id":9,"name":"` + strings.Repeat("x", 60) + `"}`, nil, 400, "23514"},
		{"unique", AliceEmail, "POST", "people", `{"id":9,"name":"Ada"}`, nil, 409, "23505"},
		{"foreign key", AliceEmail, "POST", "people", `{"id":9,"name":"Zed","boss_id":77}`, nil, 409, "23503"},
		{"referenced", AliceEmail, "DELETE", "people?id=eq.1", "", nil, 409, "23503"},
		{"generated column", AliceEmail, "POST", "people", `{"id":9,"name":"Zed","made":1}`, nil, 400, "428C9"},
		{"view that cannot be written", AliceEmail, "POST", "distinct_names", `{"name":"x"}`, nil, 500, "55000"},
		{"NUL in a body", AliceEmail, "POST", "slots", `{"id":9,"note":"\u0000"}`, nil, 400, "22P05"},
		{"unknown function", AliceEmail, "POST", "rpc/ad", `{"a":1}`, nil, 404, "PGRST202"},
		{"missing argument", AliceEmail, "POST", "rpc/add", `{"b":1}`, nil, 404, "PGRST202"},
		{"extra argument", AliceEmail, "POST", "rpc/add", `{"a":1,"c":1}`, nil, 404, "PGRST202"},
		{"same names, other types", AliceEmail, "POST", "rpc/pick", `{"a":1}`, nil, 300, "PGRST203"},
		{"other verb on a function", AliceEmail, "DELETE", "rpc/add", "", nil, 405, "PGRST101"},
		{"query that is no filter", AliceEmail, "POST", "rpc/all_people?a=1", "{}", nil, 400, "PGRST100"},
		{"writing in a GET", AliceEmail, "GET", "rpc/write_slot?id=50", "", nil, 405, "25006"},
		{"writing in a stable function", AliceEmail, "POST", "rpc/claims_to_be_stable", `{"id":50}`, nil, 400, "0A000"},
		{"raise", AliceEmail, "POST", "rpc/complain", `{"kind":"plain"}`, nil, 400, "P0001"},
		{"raise with a status", AliceEmail, "POST", "rpc/complain", `{"kind":"teapot"}`, nil, 402, "PT402"},
		{"raise with JSON", AliceEmail, "POST", "rpc/complain", `{"kind":"json"}`, nil, 418, "X1"},
		{"raise with broken JSON", AliceEmail, "POST", "rpc/complain", `{"kind":"badjson"}`, nil, 500, "PGRST121"},
		{"assert", AliceEmail, "POST", "rpc/complain", `{"kind":"assert"}`, nil, 500, "P0004"},
		{"statement timeout", AliceEmail, "POST", "rpc/sleepy", "{}", nil, 500, "57014"},
		{"max-affected on one value", AliceEmail, "POST", "rpc/add", `{"a":1}`, []string{"Prefer", "handling=strict, max-affected=1"}, 400, "PGRST128"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			got := as(t, p, tc.who).do(tc.method, tc.path, tc.body, tc.headers...)
			if got.status != tc.status || got.code() != tc.code {
				t.Fatalf("%d %s, want %d %s", got.status, got.body, tc.status, tc.code)
			}
			var members map[string]json.RawMessage
			if err := json.Unmarshal([]byte(got.body), &members); err != nil || len(members) != 4 {
				t.Errorf("body %s has not the four members", got.body)
			}
			if h := got.header.Get("Proxy-Status"); h != "PostgREST; error="+tc.code {
				t.Errorf("Proxy-Status %q", h)
			}
			if tc.status == 401 && got.header.Get("WWW-Authenticate") != "Bearer" {
				t.Errorf("WWW-Authenticate %q, want Bearer", got.header.Get("WWW-Authenticate"))
			}
		})
	}
}

// TestTokens pins what the Data API says about tokens it refuses.
func TestTokens(t *testing.T) {
	t.Parallel()
	p, other := startOdd(t, nil), startOdd(t, nil)
	token := func(p *Project, o TokenOptions) string {
		t.Helper()
		made, err := p.AccessToken(AliceEmail, o)
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	in := func(d time.Duration) int64 { return time.Now().Add(d).Unix() }
	cases := []struct {
		name, token   string
		status        int
		code, message string
	}{
		{"good", token(p, TokenOptions{}), 200, "", ""},
		{"expired", token(p, TokenOptions{Lifetime: -time.Hour}), 401, "PGRST303", "JWT expired"},
		{"expired within the skew", token(p, TokenOptions{Lifetime: -5 * time.Second}), 200, "", ""},
		{"not yet valid", token(p, TokenOptions{Claims: map[string]any{"nbf": in(time.Hour)}}), 401, "PGRST303", "JWT not yet valid"},
		{"from the future", token(p, TokenOptions{Claims: map[string]any{"iat": in(time.Hour)}}), 401, "PGRST303", "JWT issued at future"},
		{"of another project", token(other, TokenOptions{}), 401, "PGRST301", "No suitable key or wrong key type"},
		{"opaque", "nothing", 401, "PGRST301", "Expected 3 parts in JWT; got 1"},
		{"no such role", token(p, TokenOptions{Claims: map[string]any{"role": "nobody_at_all"}}), 401, "22023", `role "nobody_at_all" does not exist`},
		{"sub that is no uuid", token(p, TokenOptions{Claims: map[string]any{"sub": "alice"}}), 200, "", ""},
	}
	for _, tc := range cases {
		got := client{t: t, p: p, bearer: tc.token}.get("things?select=id&limit=1")
		var body struct{ Message string }
		_ = json.Unmarshal([]byte(got.body), &body)
		if got.status != tc.status || got.code() != tc.code || body.Message != tc.message {
			t.Errorf("%s: %d %s, want %d %s %q", tc.name, got.status, got.body, tc.status, tc.code, tc.message)
		}
		want := ""
		if strings.HasPrefix(tc.code, "PGRST") {
			want = `Bearer error="invalid_token", error_description="` + tc.message + `"`
		}
		if tc.code != "22023" && got.header.Get("WWW-Authenticate") != want {
			t.Errorf("%s: WWW-Authenticate %q, want %q", tc.name, got.header.Get("WWW-Authenticate"), want)
		}
	}
}

func TestTokensOfARotatedKeyWorkUntilItIsDropped(t *testing.T) {
	t.Parallel()
	p := startCRM(t, nil)
	c := as(t, p, AliceEmail)
	p.RotateKey()
	if got := c.get("organizations?select=name"); got.status != 200 {
		t.Fatalf("after rotation: %d %s", got.status, got.body)
	}
	p.DropOldKeys()
	if got := c.get("organizations?select=name"); got.status != 401 || got.code() != "PGRST301" {
		t.Errorf("after the old key is gone: %d %s, want 401 PGRST301", got.status, got.body)
	}
}
