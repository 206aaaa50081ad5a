package surfaces

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/policy"
)

// ruleFile is a file with one tool that has these keys.
func ruleFile(head, tool string) []byte {
	return []byte("version: 1\ntitle: T\n" + head + "\ntools:\n  - rpc: greet\n" + tool)
}

const bridgeHead = "access: { mode: oauth }"

func TestRulesAreRefusedAtTheirPlace(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tool         string
		line, column int
	}{
		"plain":                  {"    visible: 1 == 1 && nope\n", 6, 24},
		"quoted":                 {"    visible: \"1 == 1 && nope\"\n", 6, 25},
		"in a mapping":           {"    allow: { rule: '1 == 1 && nope' }\n", 6, 31},
		"behind wide characters": {"    meta: ü\n    visible: '\"ü\" == \"\" && nope'\n", 7, 28},
		"escaped":                {"    visible: \"'a' == \\\"a\\\" && nope\"\n", 6, 14},
		"of several lines":       {"    visible: |\n      1 == 1 &&\n      nope\n", 6, 14},
	} {
		compiled, problems := Compile(ruleFile(bridgeHead, c.tool), loadSnapshot(t), known())
		if compiled != nil || len(problems) != 1 {
			t.Errorf("%s: %v", name, problems)
			continue
		}
		if p := problems[0]; p.Line != c.line || p.Column != c.column || !strings.Contains(p.Message, `"nope"`) {
			t.Errorf("%s: at %d:%d, want %d:%d: %s", name, p.Line, p.Column, c.line, c.column, p.Message)
		}
	}
}

func TestRulesThatCannotBeAskedAreRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		head, tool, words string
	}{
		"user_metadata":              {bridgeHead, "    visible: claims.user_metadata.admin == true\n", "user_metadata"},
		"user_metadata by index":     {bridgeHead, "    allow: claims['user_metadata']['admin'] == true\n", "user_metadata"},
		"user_metadata at the top":   {"access: { mode: oauth, visible: \"claims.user_metadata.a == 1\" }", "", "user_metadata"},
		"arguments of a list":        {bridgeHead, "    visible: args.name == ''\n", "args"},
		"no bool":                    {bridgeHead, "    allow: \"'yes'\"\n", "not true or false"},
		"context from nowhere":       {bridgeHead, "    visible: context.a == 1\n", "write context: { rpc"},
		"too long":                   {bridgeHead, "    visible: \"" + strings.Repeat("a", policy.MaxExpression+1) + "\"\n", "at most 2000"},
		"a permission nobody knows":  {bridgeHead, "    permission: a.b\n", "write authorizer: { rpc"},
		"aal2 of keys":               {"access: { mode: api-key }", "    aal: aal2\n", "nobody could call this tool"},
		"privileged without a cause": {bridgeHead, "    privileged: true\n    allow: 'true'\n", "leave privileged out"},
		"a reason without a rule":    {bridgeHead, "    allow: { reason: No. }\n", "allow needs rule"},
		"large meta":                 {bridgeHead, "    meta: \"" + strings.Repeat("a", MaxMeta) + "\"\n", "at most 4096"},
		"meta with a rounded number": {bridgeHead, "    meta: { a: [9007199254740993] }\n", "keeps exactly"},
		"meta that hides text":       {bridgeHead, "    meta: \"a\\u202Eb\"\n", "U+202E"},
	} {
		compiled, problems := Compile(ruleFile(c.head, c.tool), loadSnapshot(t), known())
		if compiled != nil || !mentions(problems, 0, c.words) {
			t.Errorf("%s: compiled %t, want %q: %v", name, compiled != nil, c.words, problems)
		}
	}
}

func TestRulesThatDeserveALookAreNoted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		head, tool, words string
	}{
		"email":                  {bridgeHead, "    visible: claims.email == 'alice@example.test'\n", "users change their email"},
		"claims that nobody has": {"access: { mode: api-key }", "    visible: claims.sub == 'a'\n", "refuses everybody"},
		"email as a role":        {"access: { mode: oauth, required_roles: { claim: email, roles: [alice@example.test] } }", "", "users change their email"},
	} {
		compiled, problems := Compile(ruleFile(c.head, c.tool), loadSnapshot(t), known())
		if compiled == nil || !mentions(problems, 0, c.words) {
			t.Errorf("%s: compiled %t, want %q: %v", name, compiled != nil, c.words, problems)
		}
	}
}

// TestOnlyMarkedToolsRunWithAnotherOnesRights: SECURITY DEFINER goes past Row
// Level Security, so somebody must have meant it and said who may.
func TestOnlyMarkedToolsRunWithAnotherOnesRights(t *testing.T) {
	t.Parallel()
	file := func(access, tool string) []byte {
		return []byte("version: 1\ntitle: T\naccess: { " + access + " }\ntools:\n  - { rpc: purge_customer, description: D." + tool + " }\n")
	}
	for tool, words := range map[string]string{
		"":                                    "SECURITY DEFINER",
		", allow: 'true'":                     "SECURITY DEFINER",
		", privileged: false, allow: 'true'":  "SECURITY DEFINER",
		", privileged: true":                  "needs an allow rule of its own",
		", privileged: true, visible: 'true'": "needs an allow rule of its own",
	} {
		access := "mode: oauth, allow: 'true'" // of the surface, which is not the tool's own
		if c, problems := Compile(file(access, tool), loadSnapshot(t), known()); c != nil || !mentions(problems, 5, words) {
			t.Errorf("%q: compiled %t, %v", tool, c != nil, problems)
		}
	}
	public := file("mode: [oauth, public], "+publicRateOf, ", privileged: true, allow: 'true', public: true")
	if c, problems := Compile(public, loadSnapshot(t), known()); c != nil || !mentions(problems, 5, "never public") {
		t.Errorf("public: compiled %t, %v", c != nil, problems)
	}
	c, problems := Compile(file("mode: oauth", ", privileged: true, allow: \"args.id == '1'\""), loadSnapshot(t), known())
	if c == nil || !c.Tools[0].Privileged || c.Tools[0].Allow == nil {
		t.Fatalf("marked and ruled: %v", problems)
	}
	_, blocking := risks(loadSnapshot(t), c)
	if len(blocking) != 0 {
		t.Errorf("what is marked still stops publishing: %v", blocking)
	}
	var told bool
	for _, f := range Posture(loadSnapshot(t), []*Compiled{c}) {
		if f.Kind == FindingFunctionDefiner && f.Object == "public.purge_customer" {
			told = f.Used && f.Severity == FindingWarning && strings.Contains(f.Summary, "deliberate")
		}
	}
	if !told {
		t.Error("posture does not say that it is deliberate")
	}
	unmarked := *c
	unmarked.Tools = append([]Tool{}, c.Tools[0], c.Tools[0])
	unmarked.Tools[0].Privileged = false
	if _, blocking := risks(loadSnapshot(t), &unmarked); len(blocking) != 1 {
		t.Errorf("another tool uses it unmarked: %v", blocking)
	}
}

func TestMetaIsJSONAndItsKeysMayBeOperations(t *testing.T) {
	t.Parallel()
	table := func(operations, meta string) []byte {
		return []byte("version: 1\ntitle: T\n" + bridgeHead + "\ntools:\n  - { table: customers, columns: [id], operations: " + operations + ", meta: " + meta + " }\n")
	}
	for meta, want := range map[string][2]string{
		"{ list: 1, get: 2 }":           {"1", "2"},
		"{ list: { get: 1 } }":          {`{"get":1}`, ""},
		"{ list: 1, other: 2 }":         {`{"list":1,"other":2}`, `{"list":1,"other":2}`},
		"{}":                            {"{}", "{}"},
		"[1, -2.5, '3', null, true, a]": {`[1,-2.5,"3",null,true,"a"]`, `[1,-2.5,"3",null,true,"a"]`},
		"2026-01-01":                    {`"2026-01-01"`, `"2026-01-01"`},
		"<b>":                           {`"<b>"`, `"<b>"`},
	} {
		c, problems := Compile(table("[list, get]", meta), loadSnapshot(t), known())
		if c == nil {
			t.Errorf("%s: %v", meta, problems)
			continue
		}
		if got := [2]string{string(c.Tools[0].Meta), string(c.Tools[1].Meta)}; got != want {
			t.Errorf("%s: %q, want %q", meta, got, want)
		}
	}
	// get is no operation of this table, so the mapping is a value.
	if c, problems := Compile(table("[list]", "{ list: 1, get: 2 }"), loadSnapshot(t), known()); c == nil || string(c.Tools[0].Meta) != `{"get":2,"list":1}` {
		t.Errorf("of one operation: %v", problems)
	}
}

func TestFunctionsThatChumboCallsMustFit(t *testing.T) {
	t.Parallel()
	text, jsonb := TypeRef{Schema: catalogSchema, Name: "text"}, TypeRef{Schema: catalogSchema, Name: "jsonb"}
	array := TypeRef{Schema: catalogSchema, Name: "text", Array: true}
	domain := TypeRef{Schema: "public", Name: "document", Base: &jsonb}
	everybody := []string{"anon", "authenticated"}
	for name, c := range map[string]struct {
		head  string
		fn    FunctionSchema
		words string // empty: it fits
	}{
		"a key":                      {"access: { mode: api-key, keys: { rpc: f } }", FunctionSchema{Arguments: []FunctionArgument{{Name: "k", Type: text}}, Returns: FunctionReturns{Type: jsonb}, Execute: []string{"anon"}}, ""},
		"a key and more":             {"access: { mode: api-key, keys: { rpc: f } }", FunctionSchema{Arguments: []FunctionArgument{{Name: "d", Type: jsonb, HasDefault: true}, {Name: "k", Type: text}}, Returns: FunctionReturns{Type: domain}, Execute: everybody}, ""},
		"two keys":                   {"access: { mode: api-key, keys: { rpc: f } }", FunctionSchema{Arguments: []FunctionArgument{{Name: "k", Type: text}, {Name: "l", Type: text}}, Returns: FunctionReturns{Type: jsonb}, Execute: everybody}, "exactly one"},
		"no key":                     {"access: { mode: api-key, keys: { rpc: f } }", FunctionSchema{Returns: FunctionReturns{Type: jsonb}, Execute: everybody}, "exactly one"},
		"a key without a name":       {"access: { mode: api-key, keys: { rpc: f } }", FunctionSchema{Arguments: []FunctionArgument{{Type: text}}, Returns: FunctionReturns{Type: jsonb}, Execute: everybody}, "exactly one"},
		"many keys":                  {"access: { mode: api-key, keys: { rpc: f } }", FunctionSchema{Arguments: []FunctionArgument{{Name: "k", Type: array, Variadic: true}}, Returns: FunctionReturns{Type: jsonb}, Execute: everybody}, "exactly one"},
		"a key for users":            {"access: { mode: api-key, keys: { rpc: f } }", FunctionSchema{Arguments: []FunctionArgument{{Name: "k", Type: text}}, Returns: FunctionReturns{Type: jsonb}, Execute: []string{"authenticated"}}, "grant execute on function public.f(text) to anon"},
		"a key, many answers":        {"access: { mode: api-key, keys: { rpc: f } }", FunctionSchema{Arguments: []FunctionArgument{{Name: "k", Type: text}}, Returns: FunctionReturns{Type: jsonb, Set: true}, Execute: everybody}, "must return"},
		"scopes as an array":         {"access: { mode: oauth, authorization: direct, scopes_from: { rpc: f } }", FunctionSchema{Returns: FunctionReturns{Type: array}, Execute: []string{"authenticated"}}, ""},
		"scopes as rows":             {"access: { mode: oauth, authorization: direct, scopes_from: { rpc: f } }", FunctionSchema{Returns: FunctionReturns{Type: text, Set: true}, Execute: everybody}, ""},
		"scopes as text":             {"access: { mode: oauth, authorization: direct, scopes_from: { rpc: f } }", FunctionSchema{Returns: FunctionReturns{Type: text}, Execute: everybody}, "must return"},
		"scopes of whom":             {"access: { mode: oauth, authorization: direct, scopes_from: { rpc: f } }", FunctionSchema{Arguments: []FunctionArgument{{Name: "who", Type: text}}, Returns: FunctionReturns{Type: array}, Execute: everybody}, "without arguments"},
		"context as a row":           {bridgeHead + "\ncontext: { rpc: f }", FunctionSchema{Returns: FunctionReturns{Row: true}, Execute: []string{"authenticated"}}, ""},
		"context as rows":            {bridgeHead + "\ncontext: { rpc: f }", FunctionSchema{Returns: FunctionReturns{Row: true, Set: true}, Execute: everybody}, "must return"},
		"context of nothing":         {bridgeHead + "\ncontext: { rpc: f }", FunctionSchema{Returns: FunctionReturns{Void: true}, Execute: everybody}, "must return"},
		"context for keys":           {"access: { mode: [oauth, api-key] }\ncontext: { rpc: f }", FunctionSchema{Returns: FunctionReturns{Type: jsonb}, Execute: []string{"authenticated"}}, "anon may not execute"},
		"an authorizer":              {bridgeHead + "\nauthorizer: { rpc: f }", FunctionSchema{Arguments: []FunctionArgument{{Name: "c", Type: jsonb}}, Returns: FunctionReturns{Type: jsonb}, Execute: everybody}, ""},
		"an authorizer of text":      {bridgeHead + "\nauthorizer: { rpc: f }", FunctionSchema{Arguments: []FunctionArgument{{Name: "c", Type: text}}, Returns: FunctionReturns{Type: jsonb}, Execute: everybody}, "exactly one"},
		"an authorizer that counts":  {bridgeHead + "\nauthorizer: { rpc: f }", FunctionSchema{Arguments: []FunctionArgument{{Name: "c", Type: jsonb}}, Returns: FunctionReturns{Type: text}, Execute: everybody}, "must return"},
		"an authorizer out of reach": {bridgeHead + "\nauthorizer: { rpc: f }", FunctionSchema{Arguments: []FunctionArgument{{Name: "c", Type: jsonb}}, Returns: FunctionReturns{Type: jsonb}}, "may not execute"},
		"one that is not there":      {bridgeHead + "\nauthorizer: { rpc: g }", FunctionSchema{}, "there is no function"},
	} {
		snap := loadSnapshot(t)
		c.fn.Schema, c.fn.Name, c.fn.Volatility = "public", "f", VolatilityStable
		snap.Functions = append(snap.Functions, c.fn)
		compiled, problems := Compile(ruleFile(c.head, ""), snap, known())
		if (compiled != nil) != (c.words == "") || !mentions(problems, 0, c.words) && c.words != "" {
			t.Errorf("%s: compiled %t, want %q: %v", name, compiled != nil, c.words, problems)
		}
		if len(c.fn.Arguments) > 0 && compiled != nil {
			f := called(compiled)[0]
			if last := c.fn.Arguments[len(c.fn.Arguments)-1]; f.Argument != last.Name {
				t.Errorf("%s: the argument is %q", name, f.Argument)
			}
		}
		snap.Functions = append(snap.Functions, c.fn)
		if compiled, problems := Compile(ruleFile(c.head, ""), snap, known()); compiled != nil {
			t.Errorf("%s, overloaded: %v", name, problems)
		}
	}
	if c, problems := Compile([]byte("version: 1\ntitle: T\n"+bridgeHead+"\ncontext: { rpc: f }\n"), nil, known()); c != nil || !mentions(problems, 4, "chumbo import") {
		t.Errorf("without a snapshot: compiled %t, %v", c != nil, problems)
	}
}

// TestDigestCountsDoorsAndRules: and what Chumbo calls for them.
func TestDigestCountsDoorsAndRules(t *testing.T) {
	t.Parallel()
	base := string(ruleFile("access: { mode: [oauth, api-key], keys: { rpc: check_key } }\ncontext: { rpc: chumbo_context }", "    visible: context.a == 1\n"))
	seen := map[string]string{digestOf(t, base, loadSnapshot(t)): "unchanged"}
	for _, edit := range [][2]string{
		{"context.a == 1", "context.a == 2"}, {"visible: context.a == 1", "allow: context.a == 1"}, {"context.a == 1", "context.a == 1\n    meta: 1"},
		{"context.a == 1", "context.a == 1\n    meta: 1.5"}, {", keys: { rpc: check_key }", ""}, {"check_key }", "check_key }, documentation: 'https://example.test'"},
		{"check_key }", "check_key }, required_roles: a"}, {"check_key }", "check_key }, required_roles: { claim: role, roles: a }"}, {"check_key }", "check_key }, aal: aal2"},
	} {
		d := digestOf(t, edited(t, base, edit[0], edit[1]), loadSnapshot(t))
		if twin := seen[d]; twin != "" {
			t.Errorf("%s has the digest of %s", edit[1], twin)
		}
		seen[d] = edit[1]
	}
	snap := loadSnapshot(t)
	newIndex(snap).functions["public.check_key"][0].Arguments[0].Name = "secret"
	if twin := seen[digestOf(t, base, snap)]; twin != "" {
		t.Error("the argument that is sent has another name, and the digest is the same")
	}
}

// TestFormat1IsStillServed: what was published before there were rules.
func TestFormat1IsStillServed(t *testing.T) {
	t.Parallel()
	const old = `{"format":1,"title":"CRM","access":{"modes":["oauth"],"authorization":"bridge","roles":["authenticated"]},"tools":[]}`
	var c Compiled
	if err := json.Unmarshal([]byte(old), &c); err != nil || !KnownFormat(c.Format) || !c.Access.Bridged() {
		t.Fatalf("%+v: %v", c, err)
	}
	now := mustBuild(t, "version: 1\ntitle: CRM\naccess: { mode: oauth }\n", loadSnapshot(t))
	if changes := Diff(&c, now); now.Format != Format || len(changes) != 0 {
		t.Errorf("format %d, changes %v", now.Format, lines(changes))
	}
}
