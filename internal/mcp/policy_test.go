package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chumbo-dev/chumbo/internal/events"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// admitAs makes the token admit a caller of the mode with these claims.
func (b *bundle) admitAs(ep *tenants.Endpoint, mode oauth.Mode, token, claims string, scopes ...string) *oauth.Caller {
	c := &oauth.Caller{
		Key:    oauth.CallerKey{Surface: ep.Surface, Mode: mode, Issuer: ep.Project.Issuer, Subject: token, Client: "client-" + token},
		Scopes: scopes, Role: "authenticated", Expires: time.Now().Add(time.Hour),
	}
	if mode.User() {
		c.Token = seal.NewSecret(token)
	}
	if claims != "" {
		c.Claims = json.RawMessage(claims)
	}
	b.auth.admit(token, c)
	return c
}

// policed registers a surface at /acme/mcp whose one tool, docs, is as edited,
// beside another that asks for nothing.
func (b *bundle) policed(edit func(c *surfaces.Compiled, docs *surfaces.Tool)) *tenants.Endpoint {
	b.t.Helper()
	return b.surface("acme", func(_ *tenants.Endpoint, c *surfaces.Compiled) {
		c.Tools = []surfaces.Tool{testTool("docs"), testTool("open")}
		c.Tools[0].Meta = json.RawMessage(`{"tier":"pro"}`)
		edit(c, &c.Tools[0])
	})
}

// called is what came of a call.
type called struct {
	status int
	body   string
	header http.Header
}

func (b *bundle) call(tool, token, arguments string) called {
	b.t.Helper()
	if arguments == "" {
		arguments = "{}"
	}
	res := b.send(modern("tools/call", tool, `"name":"`+tool+`","arguments":`+arguments).as(token))
	return called{res.StatusCode, bodyOf(b.t, res), res.Header}
}

func (c called) ran() bool {
	return c.status == http.StatusOK && !strings.Contains(c.body, `"isError":true`) && strings.Contains(c.body, `"result"`)
}

func (c called) unknown() bool { return strings.Contains(c.body, unknownTool) }

func (c called) forbidden(says ...string) bool {
	for _, text := range append(says, `"isError":true`, `\"kind\":\"forbidden\"`) {
		if !strings.Contains(c.body, text) {
			return false
		}
	}
	return c.status == http.StatusOK
}

// functions answers the app's functions by name.
func functions(answers map[string]string) func(context.Context, *call, *surfaces.Function, []byte) ([]byte, error) {
	return func(_ context.Context, _ *call, fn *surfaces.Function, _ []byte) ([]byte, error) {
		if answer, ok := answers[fn.Name]; ok {
			return []byte(answer), nil
		}
		return nil, &supabase.Error{Status: 404, Code: "PGRST202"}
	}
}

func function(name, argument string) *surfaces.Function {
	return &surfaces.Function{Relation: surfaces.Relation{Schema: "public", Name: name}, Argument: argument}
}

// TestField79_RulesDecideForEveryCallerAnew: Alice, an admin, lists, then Bob;
// the same URL, the same server, at once.
func TestField79_RulesDecideForEveryCallerAnew(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ep := b.policed(func(c *surfaces.Compiled, docs *surfaces.Tool) {
		docs.Visible = `"admin" in claims.app_metadata.roles`
		docs.Allow = &surfaces.Allow{Rule: `context.owner == subject && args.name != "x"`}
		c.Policy.Context = function("ctx", "")
	})
	b.admitAs(ep, oauth.ModeDirect, "alice", `{"app_metadata":{"roles":["admin"]}}`)
	b.admitAs(ep, oauth.ModeDirect, "bob", `{"app_metadata":{"roles":["member"]},"user_metadata":{"roles":["admin"]}}`)
	b.admitAs(ep, oauth.ModeDirect, "carol", `{"app_metadata":{"roles":["admin"]}}`)
	b.runner.answers(func(_ context.Context, c *call, _ *surfaces.Function, _ []byte) ([]byte, error) {
		owner := c.caller.Key.Subject
		if owner == "carol" {
			owner = "alice" // an answer about somebody else must not count for her
		}
		return fmt.Appendf(nil, `{"owner":%q}`, owner), nil
	})
	check := func() error {
		for token, want := range map[string][]string{"alice": {"docs", "open"}, "bob": {"open"}, "carol": {"docs", "open"}} {
			res := b.send(modern("tools/list", "", "").as(token))
			body := bodyOf(t, res)
			if !strings.Contains(body, `"cacheScope":"private"`) || strings.Contains(body, "tier") {
				return fmt.Errorf("%s: not private, or meta is sent: %s", token, body)
			}
			if got := b.tools("/acme/mcp", token); !slices.Equal(got, want) {
				return fmt.Errorf("%s sees %v, want %v", token, got, want)
			}
		}
		if got := b.call("docs", "alice", ""); !got.forbidden() { // name is missing: undecided
			return fmt.Errorf("alice without a name: %+v", got)
		}
		if got := b.call("docs", "alice", `{"name":"y"}`); !got.ran() || !strings.Contains(got.body, "alice") {
			return fmt.Errorf("alice: %+v", got)
		}
		if got := b.call("docs", "alice", `{"name":"x"}`); !got.forbidden("NOT_ALLOWED") {
			return fmt.Errorf("alice with another argument: %+v", got)
		}
		if got := b.call("docs", "bob", `{"name":"y"}`); !got.unknown() {
			return fmt.Errorf("bob: %+v", got)
		}
		if got := b.call("docs", "carol", `{"name":"y"}`); !got.forbidden() {
			return fmt.Errorf("carol: %+v", got)
		}
		return nil
	}
	var group sync.WaitGroup
	for range 6 {
		group.Go(func() {
			for range 5 {
				if err := check(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
}

// TestField76_NothingSaidAllowsNothing: whatever says what is allowed and
// says nothing, allows nothing.
func TestField76_NothingSaidAllowsNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		edit    func(c *surfaces.Compiled, docs *surfaces.Tool)
		claims  string
		answers map[string]string
		gate    bool // nothing of the surface is open
	}{
		"no roles are required of a list": {claims: `{"app_metadata":{"role":"admin"}}`, gate: true, edit: func(c *surfaces.Compiled, _ *surfaces.Tool) {
			c.Access.RequiredRoles = &surfaces.RequiredRoles{Claim: []string{"app_metadata", "role"}}
		}},
		"the caller has no roles": {claims: `{"app_metadata":{"role":[]}}`, gate: true, edit: func(c *surfaces.Compiled, _ *surfaces.Tool) {
			c.Access.RequiredRoles = &surfaces.RequiredRoles{Claim: []string{"app_metadata", "role"}, Roles: []string{"admin"}}
		}},
		"the claim has no path": {claims: `{"":"admin"}`, gate: true, edit: func(c *surfaces.Compiled, _ *surfaces.Tool) {
			c.Access.RequiredRoles = &surfaces.RequiredRoles{Roles: []string{"admin"}}
		}},
		"the function gives no scopes": {answers: map[string]string{"my_scopes": `[]`}, edit: func(c *surfaces.Compiled, docs *surfaces.Tool) {
			c.Access.ScopesFrom, docs.Scopes = &surfaces.ScopesFrom{Function: function("my_scopes", "")}, []string{"docs.read"}
		}},
		"the function gives null": {answers: map[string]string{"my_scopes": `null`}, edit: func(c *surfaces.Compiled, docs *surfaces.Tool) {
			c.Access.ScopesFrom, docs.Scopes = &surfaces.ScopesFrom{Function: function("my_scopes", "")}, []string{"docs.read"}
		}},
		"the authorizer answers nothing": {answers: map[string]string{"auth": `[]`}, edit: func(c *surfaces.Compiled, docs *surfaces.Tool) {
			c.Policy.Authorizer, docs.Permission = function("auth", "checks"), "docs.read"
		}},
		"a rule over an empty set": {claims: `{"roles":[]}`, edit: func(_ *surfaces.Compiled, docs *surfaces.Tool) {
			docs.Visible = `claims.roles.exists(r, r == "admin")`
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			ep := b.policed(c.edit)
			b.admitAs(ep, oauth.ModeDirect, "alice", cmp.Or(c.claims, `{}`))
			b.runner.answers(functions(c.answers))
			got := b.call("docs", "alice", "")
			if got.ran() || b.runner.count() != 0 {
				t.Fatalf("it ran: %s", got.body)
			}
			if c.gate {
				if got.status != http.StatusForbidden || got.header.Get("WWW-Authenticate") != "" || !strings.Contains(got.body, "role_required") {
					t.Errorf("%+v", got)
				}
				return
			}
			if list := b.tools("/acme/mcp", "alice"); !slices.Equal(list, []string{"open"}) {
				t.Errorf("sees %v", list)
			}
		})
	}
}

// TestWhatBreaksStaysClosed breaks each thing that policy asks, and always
// nothing runs.
func TestWhatBreaksStaysClosed(t *testing.T) {
	t.Parallel()
	reads := func(c *surfaces.Compiled, docs *surfaces.Tool) {
		c.Policy.Context, docs.Visible = function("ctx", ""), `context.ok`
	}
	allows := func(c *surfaces.Compiled, docs *surfaces.Tool) {
		c.Policy.Context, docs.Allow = function("ctx", ""), &surfaces.Allow{Rule: `context.ok`}
	}
	asks := func(c *surfaces.Compiled, docs *surfaces.Tool) {
		c.Policy.Authorizer, docs.Permission = function("auth", "checks"), "docs.read"
	}
	scoped := func(c *surfaces.Compiled, docs *surfaces.Tool) {
		c.Access.ScopesFrom, docs.Scopes = &surfaces.ScopesFrom{Function: function("my_scopes", "")}, []string{"docs.read"}
	}
	ruled := func(rule string) func(*surfaces.Compiled, *surfaces.Tool) {
		return func(_ *surfaces.Compiled, docs *surfaces.Tool) { docs.Visible = rule }
	}
	away := fault.New(fault.Unavailable, "", "secret detail").WithRetryAfter(3 * time.Second)
	loop := `claims.l.all(a, claims.l.all(b, claims.l.all(c, a + b + c > 0)))`
	many := `{"l":[` + strings.TrimSuffix(strings.Repeat("1,", 400), ",") + `]}`
	for name, c := range map[string]struct {
		edit    func(c *surfaces.Compiled, docs *surfaces.Tool)
		claims  string
		answers map[string]string
		err     error
		fails   bool // the request fails as a whole; else the tool is hidden
	}{
		"context is not there":                  {edit: reads},
		"context is away":                       {edit: reads, err: away, fails: true},
		"context fails":                         {edit: reads, err: &supabase.Error{Status: 500, Code: "XX000"}, fails: true},
		"context raises":                        {edit: reads, err: &supabase.Error{Status: 400, Code: "P0001", Message: "secret detail"}},
		"context may not be asked":              {edit: reads, err: &supabase.Error{Status: 403, Code: "42501"}},
		"context is our own trouble":            {edit: reads, err: errors.New("broken")},
		"context is no JSON":                    {edit: reads, answers: map[string]string{"ctx": `{"ok":tru`}},
		"context is two values":                 {edit: reads, answers: map[string]string{"ctx": `{"ok":true} {"ok":true}`}},
		"context is nothing":                    {edit: reads, answers: map[string]string{"ctx": ``}},
		"context is null":                       {edit: reads, answers: map[string]string{"ctx": `null`}},
		"context is a list":                     {edit: reads, answers: map[string]string{"ctx": `[{"ok":true}]`}},
		"context says the text true":            {edit: reads, answers: map[string]string{"ctx": `{"ok":"true"}`}},
		"context says one":                      {edit: reads, answers: map[string]string{"ctx": `{"ok":1}`}},
		"context is too large":                  {edit: reads, answers: map[string]string{"ctx": `{"ok":true,"x":"` + strings.Repeat("x", maxFact) + `"}`}},
		"allow: context is away":                {edit: allows, err: away, fails: true},
		"the authorizer is not there":           {edit: asks},
		"the authorizer is away":                {edit: asks, err: away, fails: true},
		"the authorizer raises":                 {edit: asks, err: &supabase.Error{Status: 400, Code: "P0001", Message: "secret detail"}},
		"the authorizer says null":              {edit: asks, answers: map[string]string{"auth": `null`}},
		"the authorizer says nothing":           {edit: asks, answers: map[string]string{"auth": ``}},
		"the authorizer says true":              {edit: asks, answers: map[string]string{"auth": `true`}},
		"the authorizer says one":               {edit: asks, answers: map[string]string{"auth": `{"allowed":true}`}},
		"the authorizer says more":              {edit: asks, answers: map[string]string{"auth": `[{"allowed":true},{"allowed":true}]`}},
		"the authorizer says the text true":     {edit: asks, answers: map[string]string{"auth": `[{"allowed":"true"}]`}},
		"the authorizer says 1":                 {edit: asks, answers: map[string]string{"auth": `[{"allowed":1}]`}},
		"the authorizer spells it otherwise":    {edit: asks, answers: map[string]string{"auth": `[{"Allowed":true}]`}},
		"the authorizer says it twice":          {edit: asks, answers: map[string]string{"auth": `[{"allowed":false,"allowed":true}]`}},
		"the authorizer's reason is a list":     {edit: asks, answers: map[string]string{"auth": `[{"allowed":true,"reason":[]}]`}},
		"the authorizer says a list of true":    {edit: asks, answers: map[string]string{"auth": `[true]`}},
		"the function of scopes is not there":   {edit: scoped, fails: true},
		"the function of scopes is away":        {edit: scoped, err: away, fails: true},
		"the function of scopes says an object": {edit: scoped, answers: map[string]string{"my_scopes": `{"docs.read":true}`}, fails: true},
		"the function of scopes says a null":    {edit: scoped, answers: map[string]string{"my_scopes": `["docs.read",null]`}, fails: true},
		"the function of scopes says nothing":   {edit: scoped, answers: map[string]string{"my_scopes": ``}, fails: true},
		"claims are not there":                  {edit: ruled(`claims.sub == "alice" || true`), claims: "-"},
		"claims are broken":                     {edit: ruled(`claims.sub == "alice" || true`), claims: `{"sub":"alice"`},
		"a claim is missing":                    {edit: ruled(`claims.tier == "pro"`)},
		"a claim is of another type":            {edit: ruled(`claims.tier > 3`), claims: `{"tier":"pro"}`},
		"a rule costs too much":                 {edit: ruled(loop), claims: many},
		"a rule that does not compile":          {edit: ruled(`claims.`)},
		"a rule that reads user_metadata":       {edit: ruled(`claims.user_metadata.admin`), claims: `{"user_metadata":{"admin":true}}`},
		"a rule that is no bool":                {edit: ruled(`1`)},
		"an allow without a rule":               {edit: func(_ *surfaces.Compiled, docs *surfaces.Tool) { docs.Allow = &surfaces.Allow{} }},
		"a permission without an authorizer":    {edit: func(_ *surfaces.Compiled, docs *surfaces.Tool) { docs.Permission = "docs.read" }},
		"context without a function":            {edit: ruled(`context.ok || true`)},
		"privileged without a rule":             {edit: func(_ *surfaces.Compiled, docs *surfaces.Tool) { docs.Privileged = true }},
		"an unknown level of assurance":         {edit: func(_ *surfaces.Compiled, docs *surfaces.Tool) { docs.AAL = "aal9" }, claims: `{"aal":"aal9"}`},
		"meta that is broken":                   {edit: func(_ *surfaces.Compiled, docs *surfaces.Tool) { docs.Meta = json.RawMessage(`{`) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			ep := b.policed(c.edit)
			claims := cmp.Or(c.claims, `{"sub":"alice"}`)
			if claims == "-" {
				claims = ""
			}
			b.admitAs(ep, oauth.ModeDirect, "alice", claims)
			b.runner.answers(func(ctx context.Context, call *call, fn *surfaces.Function, argument []byte) ([]byte, error) {
				if c.err != nil {
					return nil, c.err
				}
				return functions(c.answers)(ctx, call, fn, argument)
			})
			got := b.call("docs", "alice", "")
			if got.ran() || b.runner.count() != 0 {
				t.Fatalf("it ran: %s", got.body)
			}
			if got.status == http.StatusUnauthorized || got.header.Get("WWW-Authenticate") != "" {
				t.Errorf("a challenge for what no sign-in mends: %+v", got)
			}
			if c.fails != (got.status == http.StatusServiceUnavailable || strings.Contains(got.body, `"kind":"unavailable"`)) {
				t.Errorf("%+v", got)
			}
			list := bodyOf(t, b.send(modern("tools/list", "", "").as("alice")))
			if strings.Contains(list, `"docs"`) && !strings.HasPrefix(name, "allow") && !strings.HasPrefix(name, "an allow") {
				t.Errorf("it is listed: %s", list)
			}
			if (strings.Contains(list, `"open"`) == c.fails) && !strings.HasPrefix(name, "allow") {
				t.Errorf("the other tool: %s", list)
			}
			if logs := b.logs.String(); strings.Contains(got.body+list+logs, "secret detail") && !c.fails || strings.Contains(got.body+list, "secret detail") {
				t.Errorf("the app's words are told: %s %s", got.body, logs)
			}
			for _, inv := range b.recorder.all() {
				if inv.Outcome == events.OutcomeOK && inv.Method == methodCallTool {
					t.Errorf("recorded as %+v", inv)
				}
			}
		})
	}
}

// TestBrokenRuleOfTheSurfaceLeavesEveryToolOut: what cannot be decided for all
// is decided for none.
func TestBrokenRuleOfTheSurfaceLeavesEveryToolOut(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(p *surfaces.Policy){
		"visible": func(p *surfaces.Policy) { p.Visible = `claims.` },
		"allow":   func(p *surfaces.Policy) { p.Allow = &surfaces.Allow{Rule: `nobody`} },
		"empty":   func(p *surfaces.Policy) { p.Allow = &surfaces.Allow{} },
	} {
		b := setup(t)
		ep := b.policed(func(c *surfaces.Compiled, _ *surfaces.Tool) { edit(&c.Policy) })
		b.admitAs(ep, oauth.ModeDirect, "alice", `{}`)
		if list := b.tools("/acme/mcp", "alice"); len(list) != 0 {
			t.Errorf("%s: sees %v", name, list)
		}
		if got := b.call("open", "alice", ""); !got.unknown() || b.runner.count() != 0 {
			t.Errorf("%s: %+v", name, got)
		}
		compiled := &surfaces.Compiled{Tools: []surfaces.Tool{testTool("open")}}
		edit(&compiled.Policy)
		if shown := PreviewOf(compiled).Tools; len(shown) != 1 || shown[0] != nil {
			t.Errorf("%s: the preview shows %s", name, shown)
		}
	}
}

// TestPolicyKeepsItsOrder: what is asked first answers first.
func TestPolicyKeepsItsOrder(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ep := b.policed(func(c *surfaces.Compiled, docs *surfaces.Tool) {
		c.Access.AAL = ""
		c.Access.RequiredRoles = &surfaces.RequiredRoles{Claim: []string{"role"}, Roles: []string{"staff"}}
		c.Policy.Authorizer = function("auth", "checks")
		c.Policy.Visible = `claims.shown`
		c.Policy.Allow = &surfaces.Allow{Rule: `claims.allowed`, Reason: "Not on\nSundays."}
		docs.Scopes = []string{"crm.write"}
		docs.AAL = surfaces.AAL2
		docs.Visible = `claims.own`
		docs.Permission = "docs.read"
		docs.Allow = &surfaces.Allow{Rule: `args.limit < 50 && claims.mine`}
	})
	b.runner.answers(func(_ context.Context, c *call, _ *surfaces.Function, argument []byte) ([]byte, error) {
		var checks []check
		if err := json.Unmarshal(argument, &checks); err != nil || len(checks) == 0 || checks[0].Capability != "docs" || checks[0].Permission != "docs.read" {
			t.Errorf("asked %s: %v", argument, err)
		}
		if strings.Contains(string(c.caller.Claims), `"may":true`) {
			return []byte(` [ {"allowed":true,"more":{}} ] `), nil
		}
		return []byte(`[{"allowed":false,"reason":"Ask the\u0007 owner.","code":"NOT_OWNER"}]`), nil
	})
	all := []string{`"role":["x","staff"]`, `"aal":"aal2"`, `"shown":true`, `"own":true`, `"may":true`, `"allowed":true`, `"mine":true`}
	without := func(i int, instead ...string) string {
		return "{" + strings.Join(append(append(slices.Clone(all[:i]), all[i+1:]...), instead...), ",") + "}"
	}
	for name, c := range map[string]struct {
		claims    string
		scopes    []string
		arguments string
		listed    bool
		ok        func(called) bool
	}{
		"all is well": {claims: "{" + strings.Join(all, ",") + "}", listed: true, ok: called.ran},
		"no role":     {claims: without(0, `"role":"staffer"`), ok: func(c called) bool { return c.status == 403 && strings.Contains(c.body, "role_required") }},
		"no scope": {claims: without(1), scopes: []string{"-"}, ok: func(c called) bool {
			return c.status == 403 && strings.Contains(c.header.Get("WWW-Authenticate"), "insufficient_scope")
		}},
		"no second factor":     {claims: without(1, `"aal":"aal1"`), ok: func(c called) bool { return c.forbidden("aal2_required") }},
		"no aal":               {claims: without(1), ok: func(c called) bool { return c.forbidden("aal2_required") }},
		"the surface hides it": {claims: without(2, `"shown":false`), ok: called.unknown},
		"it hides itself":      {claims: without(3, `"own":false`), ok: called.unknown},
		"arguments first":      {claims: without(4), arguments: `{"limit":1000}`, ok: func(c called) bool { return strings.Contains(c.body, `\"kind\":\"invalid\"`) }},
		"no permission":        {claims: without(4), ok: func(c called) bool { return c.forbidden("NOT_OWNER", "Ask the owner.") }},
		"the surface refuses":  {claims: without(5, `"allowed":false`), listed: true, ok: func(c called) bool { return c.forbidden("NOT_ALLOWED", "Not on Sundays.") }},
		"it refuses itself":    {claims: without(6, `"mine":false`), listed: true, ok: func(c called) bool { return c.forbidden("NOT_ALLOWED", "rules do not allow") }},
		"it refuses arguments": {claims: "{" + strings.Join(all, ",") + "}", arguments: `{"limit":60}`, listed: true, ok: func(c called) bool { return c.forbidden("NOT_ALLOWED") }},
	} {
		scopes := []string{"crm.write"}
		if c.scopes != nil {
			scopes = nil
		}
		token := strings.ReplaceAll(name, " ", "-")
		b.admitAs(ep, oauth.ModeDirect, token, c.claims, scopes...)
		ran := b.runner.count()
		got := b.call("docs", token, cmp.Or(c.arguments, `{"limit":5}`))
		if !c.ok(got) {
			t.Errorf("%s: %+v", name, got)
		}
		if (b.runner.count() != ran) != (name == "all is well") {
			t.Errorf("%s: the tool ran, or did not", name)
		}
		if name == "no role" {
			continue
		}
		if list := b.tools("/acme/mcp", token); slices.Contains(list, "docs") != c.listed {
			t.Errorf("%s: sees %v", name, list)
		}
	}
}

// TestFactsAreFetchedOncePerRequest: a list of many tools, and a batch.
func TestFactsAreFetchedOncePerRequest(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ep := b.surface("acme", func(_ *tenants.Endpoint, c *surfaces.Compiled) {
		c.Policy.Context, c.Policy.Authorizer = function("ctx", ""), function("auth", "checks")
		c.Access.ScopesFrom = &surfaces.ScopesFrom{Function: function("my_scopes", "")}
		c.Tools = nil
		for i := range 5 {
			tool := testTool(fmt.Sprintf("tool_%d", i))
			tool.Visible, tool.Permission, tool.Scopes = `context.n == 1 && claims.sub == "alice"`, "p", []string{"own"}
			tool.Allow = &surfaces.Allow{Rule: `context.n == 1`}
			c.Tools = append(c.Tools, tool)
		}
	})
	session := &memorySession{claims: json.RawMessage(`{"sub":"alice"}`)}
	caller := b.admitAs(ep, oauth.ModeDirect, "alice", "")
	caller.Session = session // of whatever mode: it is asked for the claims
	b.runner.answers(func(_ context.Context, _ *call, fn *surfaces.Function, argument []byte) ([]byte, error) {
		switch fn.Name {
		case "ctx":
			return []byte(`{"n":1}`), nil
		case "my_scopes":
			return []byte(`"own other"`), nil
		}
		var checks []check
		if err := json.Unmarshal(argument, &checks); err != nil {
			return nil, err
		}
		return []byte("[" + strings.TrimSuffix(strings.Repeat(`{"allowed":true},`, len(checks)), ",") + "]"), nil
	})
	if got := b.tools("/acme/mcp", "alice"); len(got) != 5 {
		t.Fatalf("sees %v", got)
	}
	if got := b.runner.questions(); len(got) != 3 || len(session.asked) != 1 {
		t.Errorf("a list asks %q and %q", got, session.asked)
	}
	b.runner.mu.Lock()
	b.runner.asked = nil
	b.runner.mu.Unlock()
	batch := request{header: map[string]string{"MCP-Protocol-Version": "2025-03-26"}, token: "alice", body: "["}
	for i := range 5 {
		batch.body += fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"tool_%d","arguments":{"limit":%d}}},`, i, i, i+1)
	}
	batch.body = strings.TrimSuffix(batch.body, ",") + "]"
	body := bodyOf(t, b.send(batch))
	if strings.Count(body, `\"who\":\"alice\"`) != 5 {
		t.Fatalf("%s", body)
	}
	questions := b.runner.questions()
	if n := len(slices.DeleteFunc(slices.Clone(questions), func(q string) bool { return strings.HasPrefix(q, "auth ") })); n != 2 || len(questions) != 7 || len(session.asked) != 2 {
		t.Errorf("a batch asks %q and %q", questions, session.asked)
	}
	if !slices.ContainsFunc(questions, func(q string) bool { return strings.Contains(q, `"arguments":{"limit":3}`) }) {
		t.Errorf("the arguments are not asked about: %q", questions)
	}
}

// TestScopesOfAFunctionAreNeverChallengedFor: and access.require waits for them.
func TestScopesOfAFunctionAreNeverChallengedFor(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ep := b.policed(func(c *surfaces.Compiled, docs *surfaces.Tool) {
		c.Access.ScopesFrom = &surfaces.ScopesFrom{Function: function("my_scopes", "")}
		c.Access.Require = []string{"app.use"}
		docs.Scopes = []string{"docs.read", "crm.read"}
		docs.Visible = `"app.use" in scopes`
	})
	for _, who := range []string{"all", "docs-only", "use-only", "nothing"} {
		b.admitAs(ep, oauth.ModeDirect, who, `{}`, "crm.read")
	}
	b.runner.answers(func(_ context.Context, c *call, _ *surfaces.Function, _ []byte) ([]byte, error) {
		return []byte(map[string]string{
			"all": `["app.use","docs.read"]`, "docs-only": `["docs.read"]`, "use-only": `"app.use"`, "nothing": `[]`,
		}[c.caller.Key.Subject]), nil
	})
	if got := b.call("docs", "all", ""); !got.ran() {
		t.Errorf("all: %+v", got)
	}
	if got := b.call("docs", "use-only", ""); !got.forbidden("insufficient_scope", "docs.read") || strings.Contains(got.body, "crm.read") {
		t.Errorf("use-only: %+v", got)
	}
	for _, who := range []string{"docs-only", "nothing"} {
		for _, q := range []request{modern("tools/list", "", ""), modern("tools/call", "open", `"name":"open"`)} {
			res := b.send(q.as(who))
			if body := bodyOf(t, res); res.StatusCode != http.StatusForbidden || res.Header.Get("WWW-Authenticate") != "" || !strings.Contains(body, "insufficient_scope") {
				t.Errorf("%s: %d %s", who, res.StatusCode, body)
			}
		}
	}
	if n := b.runner.count(); n != 1 {
		t.Errorf("%d calls ran", n)
	}
}

// TestTheProjectsRefusalOfATokenStaysAChallenge, when it is one of the app's
// functions that is asked.
func TestTheProjectsRefusalOfATokenStaysAChallenge(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(c *surfaces.Compiled, docs *surfaces.Tool){
		"context": func(c *surfaces.Compiled, docs *surfaces.Tool) {
			c.Policy.Context, docs.Visible = function("f", ""), `context.ok`
		},
		"allow": func(c *surfaces.Compiled, docs *surfaces.Tool) {
			c.Policy.Context, docs.Allow = function("f", ""), &surfaces.Allow{Rule: `context.ok`}
		},
		"authorizer": func(c *surfaces.Compiled, docs *surfaces.Tool) {
			c.Policy.Authorizer, docs.Permission = function("f", "a"), "p"
		},
		"scopes": func(c *surfaces.Compiled, docs *surfaces.Tool) {
			c.Access.ScopesFrom, docs.Scopes = &surfaces.ScopesFrom{Function: function("f", "")}, []string{"own"}
		},
	} {
		b := setup(t)
		ep := b.policed(edit)
		b.admitAs(ep, oauth.ModeDirect, "alice", `{}`)
		b.runner.answers(func(_ context.Context, c *call, _ *surfaces.Function, _ []byte) ([]byte, error) {
			c.unauthorized = true
			return nil, &supabase.Error{Status: 401, Code: "PGRST303"}
		})
		if got := b.call("docs", "alice", ""); got.status != http.StatusUnauthorized || got.header.Get("WWW-Authenticate") == "" {
			t.Errorf("%s, call: %+v", name, got)
		}
		if res := b.send(modern("tools/list", "", "").as("alice")); name != "allow" && res.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s, list: %d", name, res.StatusCode)
		}
		if b.runner.count() != 0 {
			t.Errorf("%s: it ran", name)
		}
	}
}

// TestClaimsOfABridgeSession are those of the session at the project.
func TestClaimsOfABridgeSession(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ep := b.policed(func(c *surfaces.Compiled, docs *surfaces.Tool) {
		c.Access = surfaces.Access{Modes: []surfaces.Mode{surfaces.ModeOAuth}, Authorization: surfaces.AuthorizationBridge, AAL: surfaces.AAL2}
		docs.Visible = `claims.tier == tool.meta.tier`
	})
	session := func(token string, s *memorySession) {
		b.grant(ep, token, token, "client", everything())
		b.auth.callers["Bearer "+token].Session = s
	}
	session("alice", &memorySession{claims: json.RawMessage(`{"aal":"aal2","tier":"pro"}`)})
	session("bob", &memorySession{claims: json.RawMessage(`{"aal":"aal2","tier":"free"}`)})
	session("carol", &memorySession{claims: json.RawMessage(`{"aal":"aal1","tier":"pro"}`)})
	session("none", &memorySession{})
	session("ended", &memorySession{claimsErr: fault.New(fault.Unauthenticated, "session_ended", "x")})
	session("away", &memorySession{claimsErr: fault.New(fault.Unavailable, "away", "x").WithRetryAfter(2 * time.Second)})
	session("broken", &memorySession{claimsErr: errors.New("broken")})
	if got := b.call("docs", "alice", ""); !got.ran() {
		t.Errorf("alice: %+v", got)
	}
	if got := b.call("docs", "bob", ""); !got.unknown() {
		t.Errorf("bob: %+v", got)
	}
	for who, status := range map[string]int{"carol": 403, "none": 403, "broken": 403, "ended": 401, "away": 503} {
		got := b.call("docs", who, "")
		if got.status != status || (status == 401) != (got.header.Get("WWW-Authenticate") != "") {
			t.Errorf("%s: %+v", who, got)
		}
		if status == 403 && !strings.Contains(got.body, "aal2_required") || status == 503 && got.header.Get("Retry-After") != "2" {
			t.Errorf("%s: %+v", who, got)
		}
	}
	if n := b.runner.count(); n != 1 {
		t.Errorf("%d calls ran", n)
	}
}

// TestCallersWithoutClaims pass what asks for claims at the door, and no rule
// that reads them.
func TestCallersWithoutClaims(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ep := b.surface("acme", func(_ *tenants.Endpoint, c *surfaces.Compiled) {
		c.Access = surfaces.Access{
			Modes: []surfaces.Mode{surfaces.ModeBearer, surfaces.ModeAPIKey, surfaces.ModePublic}, AAL: surfaces.AAL2,
			RequiredRoles: &surfaces.RequiredRoles{Claim: []string{"role"}, Roles: []string{"staff"}},
		}
		for _, spec := range []struct{ name, visible, aal string }{
			{"plain", ``, ``}, {"claims", `claims.role == "staff" || true`, ``}, {"second", ``, surfaces.AAL2}, {"keys", `mode == "api-key"`, ``}, {"anybody", `mode != "x"`, ``},
		} {
			tool := testTool(spec.name)
			tool.Visible, tool.AAL, tool.Public = spec.visible, spec.aal, spec.name == "anybody" || spec.name == "claims"
			c.Tools = append(c.Tools, tool)
		}
		c.Tools = c.Tools[2:]
	})
	b.admitAs(ep, oauth.ModeAPIKey, "key", "")
	b.admitAs(ep, oauth.ModeBearer, "session", `{"role":"staff","aal":"aal2"}`)
	b.admitAs(ep, oauth.ModeBearer, "weak", `{"role":"staff","aal":"aal1"}`)
	for token, want := range map[string][]string{
		"key": {"plain", "keys", "anybody"}, "session": {"plain", "claims", "second", "anybody"}, "": {"anybody"},
	} {
		if got := b.tools("/acme/mcp", token); !slices.Equal(got, want) {
			t.Errorf("%q sees %v, want %v", token, got, want)
		}
	}
	if got := b.call("plain", "weak", ""); got.status != 403 || !strings.Contains(got.body, "aal2_required") {
		t.Errorf("weak: %+v", got)
	}
	if got := b.call("second", "key", ""); !got.unknown() {
		t.Errorf("a key has no second factor: %+v", got)
	}
	// Public callers are asked for a credential, in the one way there is.
	if got := b.call("plain", "", ""); got.status != 401 || got.header.Get("WWW-Authenticate") != "Bearer" {
		t.Errorf("public: %+v", got)
	}
	if got := b.call("nothing", "", ""); !got.unknown() {
		t.Errorf("public, nothing: %+v", got)
	}
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		if res := b.send(request{method: method}); res.StatusCode != http.StatusMethodNotAllowed || res.Header.Get("Allow") == "" {
			t.Errorf("%s: %d", method, res.StatusCode)
		}
	}
}

// TestAKeyIsNeverAskedToSignInForAScope: no sign-in changes a key.
func TestAKeyIsNeverAskedToSignInForAScope(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ep := b.policed(func(c *surfaces.Compiled, docs *surfaces.Tool) {
		c.Access.Modes = append(c.Access.Modes, surfaces.ModeAPIKey, surfaces.ModeBearer)
		docs.Scopes = []string{"crm.read"}
	})
	b.admitAs(ep, oauth.ModeAPIKey, "key", "")
	b.admitAs(ep, oauth.ModeAPIKey, "wide", "", "crm.read")
	b.admitAs(ep, oauth.ModeBearer, "session", `{}`)
	b.admitAs(ep, oauth.ModeDirect, "client", `{}`)
	if got := b.call("docs", "key", ""); !got.forbidden("insufficient_scope", "crm.read") {
		t.Errorf("key: %+v", got)
	}
	if got := b.call("docs", "wide", ""); !got.ran() {
		t.Errorf("key with the scope: %+v", got)
	}
	if got := b.call("docs", "session", ""); !got.ran() {
		t.Errorf("session: %+v", got)
	}
	if got := b.call("docs", "client", ""); got.status != 403 || !strings.Contains(got.header.Get("WWW-Authenticate"), `scope="crm.read"`) {
		t.Errorf("client: %+v", got)
	}
}

func TestPublicRequestsAreCounted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	public := func(slug string, rate *surfaces.PublicRate) *tenants.Endpoint {
		ep := b.surface(slug, func(_ *tenants.Endpoint, c *surfaces.Compiled) {
			c.Access = surfaces.Access{Modes: []surfaces.Mode{surfaces.ModePublic, surfaces.ModeOAuth}, Authorization: "direct", Public: rate}
			for i := range c.Tools {
				c.Tools[i].Public = true
			}
		})
		b.caller(ep, "alice-"+slug, "alice")
		return ep
	}
	first := public("acme", &surfaces.PublicRate{Calls: 3, Total: 5, Seconds: 30})
	public("beta", nil)
	from := func(q request, path, address string) *http.Response {
		q.path = path
		q.header["X-Test-Address"] = address
		return b.send(q)
	}
	list := func(path, address string) int { return from(modern("tools/list", "", ""), path, address).StatusCode }
	for range 3 {
		if got := list("/acme/mcp", "198.51.100.1"); got != 200 {
			t.Fatalf("within the rate: %d", got)
		}
	}
	res := from(modern("tools/list", "", ""), "/acme/mcp", "198.51.100.1")
	if body := bodyOf(t, res); res.StatusCode != http.StatusTooManyRequests || res.Header.Get("Retry-After") != "7" || !strings.Contains(res.Header.Get("Content-Type"), "problem") {
		t.Errorf("over the rate: %d %v %s", res.StatusCode, res.Header, body)
	}
	// Another address has its own; all of them share the total; other surfaces
	// and callers with a credential share nothing.
	for _, one := range []struct {
		address string
		status  int
	}{{"198.51.100.2", http.StatusOK}, {"198.51.100.2", http.StatusOK}, {"198.51.100.3", http.StatusTooManyRequests}} {
		if got := list("/acme/mcp", one.address); got != one.status {
			t.Errorf("the total, %s: %d, %q", one.address, got, b.limiter.taken)
		}
	}
	if list("/beta/mcp", "198.51.100.1") != 200 {
		t.Error("another surface is limited, too")
	}
	taken := len(b.limiter.taken)
	q := modern("tools/list", "", "").as("alice-acme")
	if got := from(q, "/acme/mcp", "198.51.100.1").StatusCode; got != 200 || len(b.limiter.taken) != taken {
		t.Errorf("a caller with a credential: %d", got)
	}
	if want := "1 of public call for " + first.Surface.String() + " 198.51.100.1"; b.limiter.taken[0] != want {
		t.Errorf("counted %q, want %q", b.limiter.taken[0], want)
	}
	// A batch counts each request; notifications and GET are none.
	batch := request{header: map[string]string{"MCP-Protocol-Version": "2025-03-26"}, body: `[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/x"}]`}
	if got := from(batch, "/beta/mcp", "198.51.100.9").StatusCode; got != 200 || !strings.HasPrefix(b.limiter.taken[len(b.limiter.taken)-1], "2 of public call") {
		t.Errorf("a batch: %d, %q", got, b.limiter.taken)
	}
	taken = len(b.limiter.taken)
	from(request{header: map[string]string{"MCP-Protocol-Version": "2025-03-26"}, body: `{"jsonrpc":"2.0","method":"notifications/x"}`}, "/beta/mcp", "198.51.100.9")
	if len(b.limiter.taken) != taken {
		t.Error("a notification is counted")
	}
	b.limiter.err = fault.New(fault.Unavailable, "", "Cannot count.").WithRetryAfter(time.Second)
	if got := list("/beta/mcp", "198.51.100.1"); got != 503 {
		t.Errorf("what cannot be counted: %d", got)
	}
}

// TestNobodyIsRecordedUnderAnothersName: sessions of the app and keys did not
// connect here, and say no more of themselves than with the very request.
func TestNobodyIsRecordedUnderAnothersName(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ep := b.policed(func(*surfaces.Compiled, *surfaces.Tool) {})
	clientless := func(mode oauth.Mode, token string) *oauth.Caller {
		c := b.admitAs(ep, mode, token, `{}`)
		c.Key.Client = ""
		return c
	}
	session := clientless(oauth.ModeBearer, "session")
	clientless(oauth.ModeExternal, "elsewhere")
	b.admitAs(ep, oauth.ModeAPIKey, "key", "")
	direct := b.admitAs(ep, oauth.ModeDirect, "client", `{}`)
	direct.Actor = "agent-7"
	external := b.admitAs(ep, oauth.ModeExternal, "abroad", `{}`)
	for _, token := range []string{"session", "elsewhere", "key", "client", "abroad"} {
		init := request{header: map[string]string{}, body: `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"Name of ` + token + `","version":"1"}}}`}
		b.send(init.as(token))
		b.send(legacy("2025-11-25", "tools/list", `{}`).as(token))
	}
	steps := b.steps.of(events.StepFirstCall)
	if len(steps) != 2 || steps[0].Client != direct.Key.Client || steps[0].ClientName != "Name of client" || steps[1].Client != external.Key.Client {
		t.Errorf("first calls %+v", steps)
	}
	if got := b.handler.clients.get(session.Key); got != (clientInfo{}) {
		t.Errorf("a session is remembered as %+v", got)
	}
	if len(b.clients.names) != 1 || !slices.Equal(b.clients.names[direct.Key], []string{"Name of client"}) {
		t.Errorf("names %v", b.clients.names)
	}
	for _, inv := range b.recorder.all() {
		if (inv.Actor == "agent-7") != (inv.Client == "client-client") {
			t.Errorf("recorded %+v", inv)
		}
	}
}
