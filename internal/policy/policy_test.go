package policy

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"
)

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

func aliceInput() Input {
	return Input{
		Claims: json.RawMessage(`{"sub":"alice","email":"alice@example.test","aal":"aal1","app_metadata":{"tier":"pro","roles":["admin","sales"],"level":3,"big":9007199254740993,"half":0.5},
			"user_metadata":{"role":"admin"},"user\u005fmetadata":{"role":"admin"}}`),
		Context:   json.RawMessage(`{"org":"acme","limits":{"rows":10},"user_metadata":1}`),
		Arguments: json.RawMessage(`{"id":7,"name":"Ada","tags":["a","b"],"nested":{"user_metadata":"x"}}`),
		Scopes:    []string{"crm.read", "crm.write"}, Client: "client-1", Mode: "bridge", Subject: "alice", Issuer: "https://a.example.test/auth/v1",
		Actor: "agent-7", Now: noon,
	}
}

func aliceTool() *Tool {
	return &Tool{Name: "customers_list", Meta: json.RawMessage(`{"tier":"pro","rank":2}`), Permission: "customers.read", ReadOnly: true}
}

func mustCompile(t testing.TB, kind Kind, expression string) *Rule {
	t.Helper()
	r, err := Compile(kind, expression)
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return r
}

func TestRulesReadTheirNames(t *testing.T) {
	t.Parallel()
	for expression, want := range map[string]bool{
		`claims.app_metadata.tier == 'pro'`:                                                    true,
		`claims["app_metadata"]["tier"] == tool.meta.tier`:                                     true,
		`'admin' in claims.app_metadata.roles`:                                                 true,
		`claims.app_metadata.roles.exists(r, r == "sales")`:                                    true,
		`claims.app_metadata.roles.all(r, r == "sales")`:                                       false,
		`claims.app_metadata.level >= 2.5 && claims.app_metadata.level == 3.0`:                 true,
		`claims.app_metadata.big == 9007199254740993`:                                          true,
		`claims.app_metadata.big == 9007199254740992`:                                          false,
		`claims.app_metadata.half + 0.5 == 1.0`:                                                true,
		`has(claims.app_metadata.nothing) || has(claims.nothing)`:                              false,
		`!has(tool.meta.nothing) && tool.meta.rank < claims.app_metadata.level`:                true,
		`"crm.read" in scopes && size(scopes) == 2`:                                            true,
		`client == "client-1" && mode == "bridge" && subject == "alice" && actor == "agent-7"`: true,
		`issuer.startsWith("https://a.example.test/")`:                                         true,
		`tool.name == "customers_list" && tool.read_only && !tool.destructive`:                 true,
		`tool.permission.startsWith("customers.")`:                                             true,
		`context.org == "acme" && context.limits.rows * 2 == 20`:                               true,
		`args.id == 7 && args.name.matches("^A") && args.tags[1] == "b"`:                       true,
		`now < timestamp("2027-01-01T00:00:00Z") && now.getHours() == 12`:                      true,
		`args.name in ["Ada", "Bob"]`:                                                          true,
		`args.tags.map(x, x) == ["a", "b"] && args.tags.filter(x, x != "a").size() == 1`:       true,
		`["a", "b"].map(x, x + x) == ["aa", "bb"]`:                                             true,
		`[{"id": 7}].map(o, o.id).exists(i, i == args.id)`:                                     true,
		`[1].exists(tool, tool == 2)`:                                                          false,
		`[{"name": "x"}].exists(tool, tool.name == "x")`:                                       true,
		`true`: true,
		`claims.aal == "aal2" ? true : tool.read_only`: true,
	} {
		got, err := mustCompile(t, Allow, expression).Holds(t.Context(), Read(aliceInput()), aliceTool())
		if err != nil || got != want {
			t.Errorf("%s is %v, %v; want %v", expression, got, err, want)
		}
	}
}

func TestWhatCannotBeDecidedIsAnError(t *testing.T) {
	t.Parallel()
	for _, expression := range []string{
		`claims.nothing == "x"`, `!(claims.app_metadata.banned)`, `claims.app_metadata.tier > 3`, `claims.app_metadata.tier.x == 1`,
		`context.nothing`, `args.tags[9] == "x"`, `1 / args.zero == 1`, `args.id / 0 == 1`, `args.nothing.matches("x")`,
		`args.name`, `claims.app_metadata`, `timestamp(args.name) < now`, `args.id.matches("x")`, `int(args.name) == 1`,
	} {
		r := mustCompile(t, Allow, expression)
		if got, err := r.Holds(t.Context(), Read(aliceInput()), aliceTool()); got || err == nil {
			t.Errorf("%s is %v without an error", expression, got)
		} else if strings.Contains(err.Error(), "Ada") || strings.Contains(err.Error(), "alice") {
			t.Errorf("%s: the error quotes the request: %v", expression, err)
		}
	}
}

func TestRuleRefusesWhereWhatItReadsIsAbsent(t *testing.T) {
	t.Parallel()
	for expression, drop := range map[string]func(*Input){
		`claims.sub == "alice" || true`: func(in *Input) { in.Claims = nil },
		`true || claims.sub == "alice"`: func(in *Input) { in.Claims = nil },
		`!has(claims.banned)`:           func(in *Input) { in.Claims = nil },
		`!has(.claims.banned)`:          func(in *Input) { in.Claims = nil },
		`true || has(claims.x)`:         func(in *Input) { in.Claims = json.RawMessage(`[]`) },
		`true || size(claims) > 0`:      func(in *Input) { in.Claims = json.RawMessage(`null`) },
		`true || size(claims) > 1`:      func(in *Input) { in.Claims = json.RawMessage(`{"a":1`) },
		`true || size(claims) > 2`:      func(in *Input) { in.Claims = json.RawMessage(`{} {}`) },
		`true || size(claims) > 3`:      func(in *Input) { in.Claims = json.RawMessage(`{"n":1e999}`) },
		`true || size(claims) > 4`:      func(in *Input) { in.Claims = json.RawMessage(``) },
		`true || context.org == "acme"`: func(in *Input) { in.Context = nil },
		`context == null || true`:       func(in *Input) { in.Context = json.RawMessage(`{`) },
		`true || args.id == 7`:          func(in *Input) { in.Arguments = nil },
		`true || args.id == 8`:          func(in *Input) { in.Arguments = json.RawMessage(`7`) },
	} {
		in := aliceInput()
		drop(&in)
		if got, err := mustCompile(t, Allow, expression).Holds(t.Context(), Read(in), aliceTool()); got || err == nil {
			t.Errorf("%s is %v without what it reads", expression, got)
		}
	}
	// JSON's null is a context that is there.
	in := aliceInput()
	in.Context = json.RawMessage(`null`)
	if got, err := mustCompile(t, Visible, `context == null`).Holds(t.Context(), Read(in), aliceTool()); !got || err != nil {
		t.Errorf("null is %v, %v", got, err)
	}
}

func TestUserMetadataIsNotThere(t *testing.T) {
	t.Parallel()
	for _, expression := range []string{
		`claims["user_" + "metadata"].role == "admin"`, `claims.exists(k, k.startsWith("user_m"))`,
		`claims[string(b"user") + "_" + "metadata"] != null`, `claims.exists(k, type(claims[k]) == map && "role" in claims[k] && claims[k].role == "admin")`,
	} {
		got, _ := mustCompile(t, Visible, expression).Holds(t.Context(), Read(aliceInput()), aliceTool())
		if got {
			t.Errorf("%s holds", expression)
		}
	}
	// Inside other facts the app decides what it means.
	got, err := mustCompile(t, Allow, `context["user_" + "metadata"] == 1 && args.nested["user_" + "metadata"] == "x"`).Holds(t.Context(), Read(aliceInput()), aliceTool())
	if !got || err != nil {
		t.Errorf("other facts: %v, %v", got, err)
	}
}

func TestCompileRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind         Kind
		expression   string
		says         string
		line, column int
	}{
		{Visible, ``, "empty", 0, 0},
		{Visible, "  \n", "empty", 0, 0},
		{Visible, strings.Repeat("a", MaxExpression+1), "at most 2000", 0, 0},
		{Visible, `claims.`, "Syntax", 1, 8},
		{Visible, `claim.x == 1`, `"claim"`, 1, 1},
		{Visible, "true &&\n  nobody", `"nobody"`, 2, 3},
		{Visible, `tool.nothing == 1`, `"tool"`, 1, 1},
		{Visible, `args.id == 1`, "visible rule", 1, 1},
		{Visible, `size(scopes)`, "type int", 1, 1},
		{Visible, `"x"`, "type string", 1, 1},
		{Visible, `now + 1 == now`, "overload", 1, 5},
		{Visible, `mode == 1`, "overload", 1, 6},
		{Visible, `scopes.filter(s, s == "x").size() == 1 ? "a" : "b"`, "type string", 1, 1},
		{Visible, `"a".matches("(")`, "", 1, 13},
		{Visible, `claims.user_metadata.role == "admin"`, "user_metadata", 1, 7},
		{Visible, `has(claims.user_metadata)`, "user_metadata", 1, 4},
		{Visible, `claims["user_metadata"].role == "admin"`, "user_metadata", 1, 8},
		{Visible, `claims['user\u005fmetadata'].x`, "user_metadata", 1, 8},
		{Visible, `"user_metadata" in claims`, "user_metadata", 1, 1},
		{Visible, `claims.exists(k, k == "user_metadata")`, "user_metadata", 1, 23},
		{Visible, `["user_metadata"].exists(k, claims[k].role == "admin")`, "user_metadata", 1, 2},
		{Visible, `[1].exists(user_metadata, true)`, "user_metadata", 1, 0},
		{Visible, `{"user_metadata": 1}.size() == 1`, "user_metadata", 1, 2},
		{Visible, `claims[string(b"user_metadata")] == 1`, "user_metadata", 1, 15},
		{Visible, `context.user_metadata.role == "admin"`, "user_metadata", 1, 8},
		{Visible, strings.Repeat("(", 300) + "true" + strings.Repeat(")", 300), "", 0, 0},
		{Visible, strings.Repeat("!(", 300) + "true" + strings.Repeat(")", 300), "", 0, 0},
		{Visible, strings.Repeat("[1].all(x,", 60) + "true" + strings.Repeat(")", 60), "", 0, 0},
		{Visible, `[1].map(x, claims).size() == 1`, "loop", 1, 12},
		{Visible, `[claims].map(x, [x, x]).size() == 1`, "loop", 1, 17},
		{Visible, `[claims].map(x, x.a + x.a).size() == 1`, "loop", 1, 0},
		{Visible, `[claims].map(x, [1].map(y, x)).size() == 1`, "loop", 1, 0},
		{Visible, `[claims].exists(x, [[x, x]].exists(y, y == y))`, "loop", 1, 22},
		{Visible, `[claims].exists(x, {"a": x} == {"a": x})`, "loop", 1, 26},
		{Visible, `[claims].exists(x, [x.a] == [1])`, "loop", 1, 22},
		{Kind("other"), `true`, "kind", 0, 0},
	} {
		_, err := Compile(c.kind, c.expression)
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("%.60q: %v, want a refusal", c.expression, err)
			continue
		}
		if !strings.Contains(e.Message, c.says) || c.line != 0 && e.Line != c.line || c.column != 0 && e.Column != c.column {
			t.Errorf("%.60q: %d:%d %s", c.expression, e.Line, e.Column, e.Message)
		}
	}
}

func TestUses(t *testing.T) {
	t.Parallel()
	for expression, want := range map[string]Uses{
		`true`:                                 {},
		`mode == "bridge"`:                     {},
		`claims.sub == "x"`:                    {Claims: true},
		`.claims.sub == "x"`:                   {Claims: true},
		`has(claims.x)`:                        {Claims: true},
		`[1].exists(x, claims.n == x)`:         {Claims: true},
		`claims.email == "x"`:                  {Claims: true, Email: true},
		`claims["email"] == "x"`:               {Claims: true, Email: true},
		`has(claims.email)`:                    {Claims: true, Email: true},
		`claims.app_metadata.email == "x"`:     {Claims: true},
		`context.email == "x"`:                 {Context: true},
		`args.id == 1 && "x" in scopes`:        {Args: true, Scopes: true},
		`tool.meta.tier == claims.x`:           {Meta: true, Claims: true},
		`tool.meta.x == tool.name`:             {Meta: true, Tool: true},
		`tool.name == "x"`:                     {Tool: true},
		`tool.read_only || context.x`:          {Tool: true, Context: true},
		`scopes.exists(s, s == context.scope)`: {Scopes: true, Context: true},
	} {
		if got := mustCompile(t, Allow, expression).Uses(); got != want {
			t.Errorf("%s: %+v, want %+v", expression, got, want)
		}
	}
}

func TestFactsAreParsedOnceAndOnlyWhenRead(t *testing.T) {
	t.Parallel()
	in := aliceInput()
	in.Context = json.RawMessage(`{broken`)
	f := Read(in)
	if ok, err := mustCompile(t, Allow, `subject == "alice"`).Holds(t.Context(), f, nil); !ok || err != nil {
		t.Fatalf("%v, %v", ok, err)
	}
	if f.shared.claims.parsed != nil || f.args.done || f.shared.context.done {
		t.Error("something is parsed that nobody reads")
	}
	claims := mustCompile(t, Allow, `claims.sub == "alice"`)
	call := f.With(json.RawMessage(`{"id":8}`))
	for range 2 {
		if ok, err := claims.Holds(t.Context(), call, nil); !ok || err != nil {
			t.Fatalf("%v, %v", ok, err)
		}
	}
	if f.shared.claims.parsed == nil || f.args.done || call.args.done {
		t.Error("claims are not parsed once for all calls")
	}
	if ok, _ := mustCompile(t, Allow, `args.id == 8`).Holds(t.Context(), call, nil); !ok {
		t.Error("the call reads other arguments")
	}
	if ok, _ := mustCompile(t, Allow, `args.id == 7`).Holds(t.Context(), f, nil); !ok {
		t.Error("the first call reads the other's arguments")
	}
	f.SetClaims(NewClaims(json.RawMessage(`{"sub":"bob"}`)))
	f.SetContext(json.RawMessage(`{"org":"b"}`))
	if ok, _ := mustCompile(t, Allow, `claims.sub == "bob" && context.org == "b"`).Holds(t.Context(), call, nil); !ok {
		t.Error("what is set later is not read")
	}
	// A rule about the tool without a tool cannot be decided.
	if ok, err := mustCompile(t, Allow, `tool.name == ""`).Holds(t.Context(), f, nil); ok || err == nil {
		t.Error("no tool has a name")
	}
}

func TestToolMadeReadyIsSharedByAll(t *testing.T) {
	t.Parallel()
	tool := aliceTool()
	if err := tool.Ready(); err != nil {
		t.Fatal(err)
	}
	if err := (&Tool{Meta: json.RawMessage(`{`)}).Ready(); err == nil {
		t.Error("broken meta is ready")
	}
	bare := &Tool{}
	if err := bare.Ready(); err != nil {
		t.Error(err)
	}
	if ok, err := mustCompile(t, Visible, `tool.meta == null`).Holds(t.Context(), Read(Input{}), bare); !ok || err != nil {
		t.Errorf("no meta: %v, %v", ok, err)
	}
	// Alice's claims and Bob's, the same rule, the same tool, at once.
	r := mustCompile(t, Visible, `claims.tier == tool.meta.tier`)
	var group sync.WaitGroup
	for i := range 8 {
		alice := i%2 == 0
		group.Go(func() {
			claims := `{"tier":"free"}`
			if alice {
				claims = `{"tier":"pro"}`
			}
			for range 200 {
				if ok, err := r.Holds(context.Background(), Read(Input{Claims: json.RawMessage(claims)}), tool); ok != alice || err != nil {
					t.Errorf("alice %v: %v, %v", alice, ok, err)
					return
				}
			}
		})
	}
	group.Wait()
}

// list is n times the number 1, as JSON.
func list(n int) string { return "[" + strings.TrimSuffix(strings.Repeat("1,", n), ",") + "]" }

const threeLoops = `args.l.all(x, args.l.all(y, args.l.all(z, x + y + z > 0)))`

func TestCostIsBounded(t *testing.T) {
	t.Parallel()
	in := Input{Arguments: json.RawMessage(`{"l":` + list(3000) + `,"s":"` + strings.Repeat("a", 100_000) + `"}`)}
	for _, expression := range []string{
		threeLoops,
		`args.l.exists(x, args.l.filter(y, x * y == 2).size() > 0)`,
		`args.l.exists(x, args.s.contains("b"))`,
		`args.l.all(x, args.s.matches("(a*)*b|a$"))`,
		`args.l.all(x, args.l == args.l)`,
		`args.l.all(x, !(2 in args.l))`,
		`[string(args.s)]` + strings.Repeat(`.map(x, x + x)`, 25) + `.size() == 1`,
		`args.l.all(x, size(args.s) > 0)`,
		`args.l.all(x, bytes(args.s) != b"a")`,
	} {
		r, err := compile(Allow, expression, maxCost/20)
		if err != nil {
			t.Fatal(err)
		}
		if ok, err := r.Holds(t.Context(), Read(in), nil); ok || !errors.Is(err, errCost) {
			t.Errorf("%s: %v, %v", expression, ok, err)
		}
	}
	if ok, err := mustCompile(t, Allow, threeLoops).Holds(t.Context(), Read(in), nil); ok || !errors.Is(err, errCost) {
		t.Errorf("by its own bound: %v, %v", ok, err)
	}
}

func TestWithoutABoundOnlyTheContextEndsARule(t *testing.T) {
	t.Parallel()
	r, err := compile(Allow, threeLoops, 0)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	ok, err := r.Holds(ctx, Read(Input{Arguments: json.RawMessage(`{"l":` + list(3000) + `}`)}), nil)
	if ok || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, %v", ok, err)
	}
}

func TestAMebibyteOfArgumentsIsFineWhenReadOnce(t *testing.T) {
	t.Parallel()
	in := Input{Arguments: json.RawMessage(`{"l":` + list(500_000) + `}`)}
	for _, expression := range []string{`args.l.all(x, x == 1)`, `!(2 in args.l)`, `args.l == args.l`} {
		if ok, err := mustCompile(t, Allow, expression).Holds(t.Context(), Read(in), nil); !ok || err != nil {
			t.Errorf("%s: %v, %v", expression, ok, err)
		}
	}
	in = Input{Arguments: json.RawMessage(`{"s":"` + strings.Repeat("a", 1<<20) + `"}`)}
	for _, expression := range []string{`!args.s.contains("b")`, `args.s.matches("^[a-z]+$")`, `args.s == args.s`, `size(args.s) == 1048576`} {
		if ok, err := mustCompile(t, Allow, expression).Holds(t.Context(), Read(in), nil); !ok || err != nil {
			t.Errorf("%s: %v, %v", expression, ok, err)
		}
	}
}

func TestRulesOfARequestHaveABoundTogether(t *testing.T) {
	t.Parallel()
	r := mustCompile(t, Allow, `args.l.all(x, x == 1)`)
	f := Read(Input{Arguments: json.RawMessage(`{"l":` + list(1000) + `}`)})
	if ok, err := r.Holds(t.Context(), f.With(f.in.Arguments), nil); !ok || err != nil || f.shared.spent < 1000 {
		t.Fatalf("%v, %v after %d", ok, err, f.shared.spent)
	}
	f.shared.spent = maxSpent - 1
	if ok, err := r.Holds(t.Context(), f.With(f.in.Arguments), nil); !ok || err != nil {
		t.Errorf("the last one: %v, %v", ok, err)
	}
	if ok, err := mustCompile(t, Allow, `true`).Holds(t.Context(), f.With(nil), nil); ok || !errors.Is(err, errSpent) {
		t.Errorf("one more: %v, %v", ok, err)
	}
}

func TestEndedContextRefuses(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ok, err := mustCompile(t, Allow, `args.l.all(x, x == 1)`).Holds(ctx, Read(Input{Arguments: json.RawMessage(`{"l":` + list(100_000) + `}`)}), nil)
	if ok || !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %v", ok, err)
	}
}
