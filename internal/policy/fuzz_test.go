package policy

import (
	"encoding/json"
	"errors"
	"testing"
)

// FuzzCompile compiles whatever there is: a rule, or an *Error, never both and
// never a panic; and no rule ever reads user_metadata.
func FuzzCompile(f *testing.F) {
	for _, seed := range []string{
		`claims.app_metadata.tier == "pro"`, `args.l.all(x, x.y in scopes)`, `[1].map(x, [x, x])`, `claims.user_metadata`, `tool.meta.a.b ? true : now > now`,
		`"a".matches("(")`, "\x00", `{"a": 1}.a == 1`, `.claims`, "`x`", `claims["user_metadata"]`, `r"\u" == b"\xff"`, `has(claims.a.b)`, `1u - 2u > 3u`, `type(null) == null_type`,
	} {
		f.Add(seed, `{"app_metadata":{"tier":"pro"},"user_metadata":{"secret":1}}`)
	}
	f.Fuzz(func(t *testing.T, expression, data string) {
		for _, kind := range []Kind{Visible, Allow} {
			rule, err := Compile(kind, expression)
			if err != nil {
				var e *Error
				if rule != nil || !errors.As(err, &e) || e.Message == "" || e.Line < 0 || e.Column < 0 {
					t.Fatalf("%v and %#v", rule, err)
				}
				continue
			}
			_, _ = rule.Holds(t.Context(), Read(Input{Claims: json.RawMessage(data), Arguments: json.RawMessage(data), Context: json.RawMessage(data)}), aliceTool())
		}
	})
}

// FuzzHolds asks rules over any JSON: an error and true never come together,
// an absent or broken fact always refuses, and the text of an error holds
// nothing of the facts.
func FuzzHolds(f *testing.F) {
	for _, seed := range []string{`{}`, `null`, `{"a":{"b":[1,2.5,"x",null,true]}}`, `{"a":1e400}`, `{"a":9223372036854775808}`, `[]`, `{"a":{"b":{}},"user_metadata":{"b":1}}`, ``, `{"a`} {
		f.Add([]byte(seed), []byte(`{"id":7}`))
	}
	var rules []*Rule
	for _, expression := range []string{
		`claims.a.b == args.a.b`, `has(claims.a) && claims.a.b.exists(x, x == args.id)`, `claims == args`, `args.a.b < claims.a.b`,
		`claims.exists(k, k == "user_" + "metadata")`, `size(claims) > size(args)`, `true || claims.a`, `string(args.id).matches("^[0-9]+$")`,
	} {
		rules = append(rules, mustCompile(f, Allow, expression))
	}
	const neverHolds = 4
	f.Fuzz(func(t *testing.T, claims, args []byte) {
		isObject := func(data []byte) bool {
			var o map[string]json.RawMessage
			return json.Unmarshal(data, &o) == nil && o != nil
		}
		for i, rule := range rules {
			holds, err := rule.Holds(t.Context(), Read(Input{Claims: claims, Arguments: args}), nil)
			switch {
			case holds && err != nil:
				t.Fatalf("rule %d holds with %v", i, err)
			case holds && (rule.Uses().Claims && !isObject(claims) || rule.Uses().Args && !isObject(args)):
				t.Fatalf("rule %d holds over what cannot be read", i)
			case holds && i == neverHolds:
				t.Fatal("user_metadata is there")
			}
		}
	})
}
