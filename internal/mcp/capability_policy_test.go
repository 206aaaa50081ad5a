package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/events"
	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// gated registers a surface with one resource, one template and one prompt that
// have this gate, beside one of each that asks for nothing.
func (b *bundle) gated(gate surfaces.Gate, edit func(*tenants.Endpoint, *surfaces.Compiled)) *tenants.Endpoint {
	b.t.Helper()
	return b.surface("acme", func(ep *tenants.Endpoint, c *surfaces.Compiled) {
		c.Tools = nil
		words := &surfaces.Completion{Values: []string{"one", "two"}}
		says := "text"
		c.Resources = []surfaces.Resource{
			{URI: "acme://gated", Name: "gated", Gate: gate, Text: &says},
			{URI: "acme://gated/{id}", Name: "gated_one", Gate: gate, Function: &surfaces.FunctionPlan{Slug: "f"}, Variables: []surfaces.Variable{{Name: "id", Complete: words}}},
			{URI: "acme://open", Name: "open", Gate: surfaces.Gate{Public: gate.Public}, Text: &says},
		}
		c.Prompts = []surfaces.Prompt{
			{Name: "gated", Gate: gate, Function: &surfaces.FunctionPlan{Slug: "f"}, Arguments: []surfaces.PromptArgument{{Name: "id", Type: surfaces.JSONString, Schema: json.RawMessage(`{"type":"string"}`), Complete: words}}},
			{Name: "open", Messages: []surfaces.PromptMessage{{Role: "user", Text: "Hello."}}},
			{Name: "embeds", Messages: []surfaces.PromptMessage{{Role: "user", Resource: "acme://gated/7"}}},
		}
		if edit != nil {
			edit(ep, c)
		}
	})
}

// uses are the ways to use what gated declares, with the argument id.
func uses(id string) map[string]request {
	quoted := string(appendString(nil, id))
	return map[string]request{
		"read": modern("resources/read", "", `"uri":"acme://gated/`+id+`"`).named("acme://gated/" + id),
		"get":  modern("prompts/get", "gated", `"name":"gated","arguments":{"id":`+quoted+`}`),
	}
}

func completions() map[string]request {
	return map[string]request{
		"complete a resource": modern("completion/complete", "", `"ref":{"type":"ref/resource","uri":"acme://gated/{id}"},"argument":{"name":"id","value":""}`),
		"complete a prompt":   modern("completion/complete", "", `"ref":{"type":"ref/prompt","name":"gated"},"argument":{"name":"id","value":""}`),
	}
}

// lists are the names that the three lists show.
func (b *bundle) lists(token string) []string {
	b.t.Helper()
	var names []string
	for method, key := range map[string]string{"resources/list": "resources", "resources/templates/list": "resourceTemplates", "prompts/list": "prompts"} {
		body := bodyOf(b.t, b.send(modern(method, "", "").as(token)))
		var answer struct{ Result map[string]json.RawMessage }
		var list []struct{ Name string }
		if err := json.Unmarshal([]byte(body), &answer); err != nil || json.Unmarshal(answer.Result[key], &list) != nil || list == nil {
			b.t.Fatalf("%s: %s", method, body)
		}
		if !strings.Contains(body, `"cacheScope":"private"`) || !strings.Contains(body, `"ttlMs":300000`) || strings.Contains(body, "chumbo:") {
			b.t.Errorf("%s: %s", method, body)
		}
		for _, one := range list {
			names = append(names, key+" "+one.Name)
		}
	}
	slices.Sort(names)
	return names
}

var (
	openLists = []string{"prompts embeds", "prompts open", "resources open"}
	allLists  = []string{"prompts embeds", "prompts gated", "prompts open", "resourceTemplates gated_one", "resources gated", "resources open"}
)

// TestEveryGateHoldsForResourcesAndPrompts: each refusal in its own way, the
// same for what is read, got and completed, and in lists.
func TestEveryGateHoldsForResourcesAndPrompts(t *testing.T) {
	t.Parallel()
	hiddenWords := []string{"Resource not found", unknownPrompt, unknownReference}
	isUnknown := func(c called) bool {
		return c.status == http.StatusBadRequest && strings.Contains(c.body, `"code":-32602`) &&
			slices.ContainsFunc(hiddenWords, func(s string) bool { return strings.Contains(c.body, s) })
	}
	isForbidden := func(says string) func(called) bool {
		return func(c called) bool {
			return c.status == http.StatusBadRequest && strings.Contains(c.body, `"code":-32602`) && strings.Contains(c.body, `"kind":"forbidden"`) && strings.Contains(c.body, says)
		}
	}
	asksScope := func(c called) bool {
		return c.status == http.StatusForbidden && strings.Contains(c.header.Get("WWW-Authenticate"), `scope="crm.write"`)
	}
	works := func(c called) bool { return c.status == http.StatusOK && strings.Contains(c.body, `"result"`) }
	authorizer := func(answers map[string]string) func(*bundle, *surfaces.Compiled) {
		return func(b *bundle, c *surfaces.Compiled) {
			c.Policy.Authorizer = function("authorize", "checks")
			b.runner.answers(functions(answers))
		}
	}
	for name, tc := range map[string]struct {
		gate     surfaces.Gate
		claims   string
		scopes   []string
		edit     func(*bundle, *surfaces.Compiled)
		lists    []string
		use      func(called) bool
		complete func(called) bool
	}{
		"nothing asked":     {surfaces.Gate{}, "", nil, nil, allLists, works, works},
		"scope missing":     {surfaces.Gate{Scopes: []string{"crm.write"}}, "", nil, nil, openLists, asksScope, asksScope},
		"scope held":        {surfaces.Gate{Scopes: []string{"crm.write"}}, "", []string{"crm.write"}, nil, allLists, works, works},
		"scope nobody has":  {surfaces.Gate{Scopes: []string{"other"}}, "", nil, nil, openLists, isForbidden("insufficient_scope"), isUnknown},
		"hidden":            {surfaces.Gate{Visible: `"admin" in claims.roles`}, `{"roles":[]}`, nil, nil, openLists, isUnknown, isUnknown},
		"shown":             {surfaces.Gate{Visible: `"admin" in claims.roles && tool.read_only && !tool.destructive`}, `{"roles":["admin"]}`, nil, nil, allLists, works, works},
		"visible undecided": {surfaces.Gate{Visible: `"admin" in claims.roles`}, `{}`, nil, nil, openLists, isUnknown, isUnknown},
		"by name":           {surfaces.Gate{Visible: `tool.name in ["prompt:gated", "acme://gated/{id}", "acme://gated"]`}, "", nil, nil, allLists, works, works},
		"no second factor":  {surfaces.Gate{AAL: surfaces.AAL2}, `{"aal":"aal1"}`, nil, nil, openLists, isForbidden(codeAAL2), isUnknown},
		"second factor":     {surfaces.Gate{AAL: surfaces.AAL2}, `{"aal":"aal2"}`, nil, nil, allLists, works, works},
		"allowed":           {surfaces.Gate{Allow: &surfaces.Allow{Rule: `args.id == "7"`}}, "", nil, nil, allLists, works, works},
		"not allowed":       {surfaces.Gate{Allow: &surfaces.Allow{Rule: `args.id == "8"`, Reason: "Only eight."}}, "", nil, nil, allLists, isForbidden("Only eight."), works},
		"permitted": {surfaces.Gate{Permission: "p"}, "", nil,
			authorizer(map[string]string{"authorize": `[{"allowed":true}]`}), nil, works, works},
		"not permitted": {surfaces.Gate{Permission: "p"}, "", nil,
			authorizer(map[string]string{"authorize": `[{"allowed":false,"reason":"Not you.","code":"NO"}]`}), openLists, isForbidden("Not you."), isUnknown},
		"authorizer silent": {surfaces.Gate{Permission: "p"}, "", nil, authorizer(nil), openLists, isForbidden("PERMISSION_DENIED"), isUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			ep := b.gated(tc.gate, func(_ *tenants.Endpoint, c *surfaces.Compiled) {
				if tc.edit != nil {
					tc.edit(b, c)
				}
			})
			b.admitAs(ep, oauth.ModeDirect, "alice", tc.claims, tc.scopes...)
			if tc.lists != nil {
				if got := b.lists("alice"); !slices.Equal(got, tc.lists) {
					t.Errorf("lists show %v", got)
				}
			}
			for use, q := range uses("7") {
				if got := answered(b, q); !tc.use(got) {
					t.Errorf("%s: %d %s %v", use, got.status, got.body, got.header)
				}
			}
			for use, q := range completions() {
				if got := answered(b, q); !tc.complete(got) {
					t.Errorf("%s: %d %s %v", use, got.status, got.body, got.header)
				}
			}
			// What a prompt embeds is judged by itself.
			embeds := answered(b, modern("prompts/get", "embeds", `"name":"embeds"`))
			if works(embeds) != works(answered(b, uses("7")["read"])) || strings.Contains(embeds.body, "acme://") != works(embeds) {
				t.Errorf("embedded: %d %s", embeds.status, embeds.body)
			}
		})
	}
}

func answered(b *bundle, q request) called {
	res := b.send(q.as("alice"))
	return called{res.StatusCode, bodyOf(b.t, res), res.Header}
}

func TestWithoutASignInOnlyWhatIsPublicIsThere(t *testing.T) {
	t.Parallel()
	for _, public := range []bool{false, true} {
		b := setup(t)
		ep := b.gated(surfaces.Gate{Public: public}, func(_ *tenants.Endpoint, c *surfaces.Compiled) {
			c.Access.Modes = []surfaces.Mode{surfaces.ModeOAuth, surfaces.ModePublic}
		})
		b.auth.admit("", &oauth.Caller{Key: oauth.CallerKey{Surface: ep.Surface, Mode: oauth.ModePublic}, Role: "anon"})
		for _, list := range []map[string]request{uses("7"), completions()} {
			for use, q := range list {
				res := b.send(q)
				body := bodyOf(t, res)
				if public && res.StatusCode != http.StatusOK {
					t.Errorf("%s: %d %s", use, res.StatusCode, body)
				}
				if !public && (res.StatusCode != http.StatusUnauthorized || res.Header.Get("WWW-Authenticate") == "") {
					t.Errorf("%s without a sign-in: %d %s", use, res.StatusCode, body)
				}
			}
		}
	}
}

// TestOneQuestionForAWholeList: the authorizer is asked once per list, with the
// names as declared, and for a call with its arguments.
func TestOneQuestionForAWholeList(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ep := b.gated(surfaces.Gate{Permission: "p"}, func(_ *tenants.Endpoint, c *surfaces.Compiled) {
		c.Policy.Authorizer = function("authorize", "checks")
		c.Resources = append(c.Resources, surfaces.Resource{URI: "acme://second", Name: "second", Gate: surfaces.Gate{Permission: "q"}, Blob: []byte("x")})
	})
	b.admitAs(ep, oauth.ModeDirect, "alice", "")
	b.runner.answers(func(_ context.Context, _ *call, _ *surfaces.Function, argument []byte) ([]byte, error) {
		n := strings.Count(string(argument), `"capability"`)
		return fmt.Appendf(nil, "[%s]", strings.TrimSuffix(strings.Repeat(`{"allowed":true},`, n), ",")), nil
	})
	for q, want := range map[*request]string{
		{body: "resources/list"}: `authorize alice [{"capability":"acme://gated","permission":"p","arguments":null},{"capability":"acme://second","permission":"q","arguments":null}]`,
		{body: "prompts/list"}:   `authorize alice [{"capability":"prompt:gated","permission":"p","arguments":null}]`,
	} {
		before := len(b.runner.questions())
		b.send(modern(q.body, "", "").as("alice"))
		if got := b.runner.questions()[before:]; len(got) != 1 || got[0] != want {
			t.Errorf("%s asks %v", q.body, got)
		}
	}
	before := len(b.runner.questions())
	answered(b, uses("a%22b")["read"])
	if got := b.runner.questions()[before:]; len(got) != 1 || got[0] != `authorize alice [{"capability":"acme://gated/{id}","permission":"p","arguments":{"id":"a\"b"}}]` {
		t.Errorf("a read asks %v", got)
	}
}

func TestReadsAndPromptsAreRecordedAsDeclared(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ep := b.gated(surfaces.Gate{}, nil)
	b.caller(ep, "alice", "alice")
	for _, q := range uses("somebodys-secret") {
		answered(b, q)
	}
	answered(b, modern("resources/read", "", `"uri":"acme://somebodys-secret"`).named("acme://somebodys-secret"))
	var got []string
	for _, inv := range b.recorder.all() {
		got = append(got, inv.Method+" "+inv.Capability+" "+string(inv.Outcome))
		if inv.Outcome == events.OutcomeOK && inv.ResultBytes == 0 {
			t.Errorf("no bytes: %+v", inv)
		}
	}
	slices.Sort(got)
	if want := []string{"prompts/get prompt:gated ok", "resources/read  refused", "resources/read acme://gated/{id} ok"}; !slices.Equal(got, want) {
		t.Errorf("recorded %q", got)
	}
	if strings.Contains(b.logs.String(), "secret") {
		t.Errorf("logged: %s", b.logs.String())
	}
}

// TestABrokenCapabilityIsLeftOutAndTheOthersStay, of every kind.
func TestABrokenCapabilityIsLeftOutAndTheOthersStay(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var declared *surfaces.Compiled
	ep := b.gated(surfaces.Gate{}, func(_ *tenants.Endpoint, c *surfaces.Compiled) {
		c.Resources[0].Visible = `not a rule (`
		c.Resources[1].Row = &surfaces.GetPlan{}
		c.Prompts[0].Arguments[0].Schema = json.RawMessage(`{"type":"integr"}`)
		c.Prompts[2].Messages[0].Resource = "acme://{{"
		declared = c
	})
	b.caller(ep, "alice", "alice")
	if got := b.lists("alice"); !slices.Equal(got, []string{"prompts open", "resources open"}) {
		t.Errorf("lists show %v", got)
	}
	if n := strings.Count(b.logs.String(), " left out"); n != 4 {
		t.Errorf("%d lines: %s", n, b.logs.String())
	}
	preview := PreviewOf(declared)
	for i, raw := range slices.Concat(preview.Resources, preview.Prompts) {
		if open := i == 2 || i == 4; open != (raw != nil) {
			t.Errorf("%d: %s", i, raw)
		}
	}
}
