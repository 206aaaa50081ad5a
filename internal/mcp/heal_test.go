package mcp

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

const healSchema = `{"type":"object","required":["id"],"additionalProperties":false,"properties":{
	"id":{"anyOf":[{"type":"integer"},{"type":"string","pattern":"^-?[0-9]{1,19}$"}]},
	"n":{"type":"integer","minimum":0,"maximum":100},"f":{"type":"number"},"b":{"type":"boolean"},
	"s":{"type":"string","maxLength":9},"e":{"type":"string","enum":["a","b"]},
	"list":{"type":"array","items":{"type":"string"},"maxItems":3},"numbers":{"type":"array","items":{"type":"integer"}},
	"o":{"type":"object"},"any":{},"maybe":{"anyOf":[{"type":"integer"},{"type":"null"}]},
	"patch":{"type":"object","minProperties":1,"additionalProperties":false,"properties":{
		"n":{"type":"integer"},"tags":{"type":"array","items":{"type":"string"}},"s":{"type":"string"},"patch":{"type":"object"}}}}}`

func healTool(t testing.TB, update bool) *tool {
	t.Helper()
	schema, err := compileSchema([]byte(healSchema))
	if err != nil {
		t.Fatal(err)
	}
	spec := &surfaces.Tool{Name: "t"}
	if update {
		spec.Update = &surfaces.UpdatePlan{Patch: "patch"}
	}
	return &tool{spec: spec, input: schema}
}

func TestTextOfJSONIsReadWhereTheSchemaTakesNoText(t *testing.T) {
	t.Parallel()
	tool := healTool(t, true)
	for given, want := range map[string]string{
		`{"id":1,"n":"5"}`:                            `{"id":1,"n":5}`,
		`{ "n" : " 5 " , "id":"1"}`:                   `{ "n" : 5 , "id":"1"}`,
		`{"id":1,"n":"5.0"}`:                          `{"id":1,"n":5.0}`,
		`{"id":1,"f":"-1.25e2","b":"true"}`:           `{"id":1,"f":-1.25e2,"b":true}`,
		`{"id":1,"list":"[\"x\", \"\\\"y\\\"\"]"}`:    `{"id":1,"list":["x", "\"y\""]}`,
		`{"id":1,"\u006e":"\u0035"}`:                  `{"id":1,"\u006e":5}`,
		`{"id":1,"o":"{\"a\":[1]}"}`:                  `{"id":1,"o":{"a":[1]}}`,
		`{"id":1,"maybe":"null"}`:                     `{"id":1,"maybe":null}`,
		`{"id":1,"patch":{"n":"5","tags":"[]"}}`:      `{"id":1,"patch":{"n":5,"tags":[]}}`,
		`{"id":1,"patch":"{\"n\":5}"}`:                `{"id":1,"patch":{"n":5}}`,
		`{"id":1,"n":"7","s":"8","any":"9","e":"a"}`:  `{"id":1,"n":7,"s":"8","any":"9","e":"a"}`,
		`{"id":1,"n":"7","patch":{"s":"{}","n":"8"}}`: `{"id":1,"n":7,"patch":{"s":"{}","n":8}}`,
	} {
		got, err := tool.fitting([]byte(given))
		if err != nil || string(got) != want {
			t.Errorf("%s: %s, %v, want %s", given, got, err, want)
		}
	}
}

func TestWhatFitsOrCannotBeMendedStaysAsItIs(t *testing.T) {
	t.Parallel()
	tool := healTool(t, true)
	for _, fits := range []string{`{"id":"12"}`, `{"id":1,"any":"[1]","s":"{}","list":["[1]"]}`, `{"id":1,"o":{"n":"5"}}`} {
		if got, err := tool.fitting([]byte(fits)); err != nil || string(got) != fits {
			t.Errorf("%s: %s, %v", fits, got, err)
		}
	}
	for _, given := range []string{
		`{"id":" 12 "}`,                             // takes text: not this one
		`{"n":"5"}`,                                 // something else is wrong as well
		`{"id":1,"n":"500"}`,                        // not in range
		`{"id":1,"n":"5.5"}`,                        // no integer
		`{"id":1,"n":"\"5\""}`,                      // text inside text
		`{"id":1,"n":"[5]"}`,                        // of a type the schema does not take
		`{"id":1,"n":"5 6"}`,                        // no JSON
		`{"id":1,"n":"0x5"}`,                        //
		`{"id":1,"n":""}`,                           //
		`{"id":1,"n":"1e999999999"}`,                // beyond reckoning
		`{"id":1,"b":"True"}`,                       //
		`{"id":1,"numbers":["5"]}`,                  // not inside a list
		`{"id":1,"numbers":"[\"5\"]"}`,              // nor inside what came out of text
		`{"id":1,"patch":"{\"n\":\"5\"}"}`,          //
		`{"id":1,"patch":{"patch":"{\"n\":}"}}`,     //
		`{"id":1,"patch":"{\"n\":5,\"n\":6}"}`,      // a key twice
		`{"id":1,"o":"{\"a\":1,\"a\":2}"}`,          //
		`{"id":1,"patch":"{}"}`,                     // says nothing
		`{"id":1,"other":"5"}`,                      //
		`{"id":1,"list":"[\"a\",\"b\",\"c\",\"d\"]`, //
		`"{\"id\":1}"`,
		`{"id":1,"o":"{\"a\":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}"}`,
		`{"id":1,"o":"{\"a\":\"` + strings.Repeat("x", maxHealed) + `\"}"}`,
	} {
		if !json.Valid([]byte(given)) {
			continue
		}
		got, err := tool.fitting([]byte(given))
		want := validateArguments(tool.input, []byte(given))
		if err == nil || got != nil || want == nil || err.Error() != want.Error() {
			t.Errorf("%.80s: %s, %v, want %v", given, got, err, want)
		}
	}
	// Other tools have no patch: inside an object nothing is mended.
	if got, err := healTool(t, false).fitting([]byte(`{"id":1,"patch":{"n":"5"}}`)); err == nil {
		t.Errorf("without a patch: %s", got)
	}
}

func TestHealingDoubtsForTextAndAgainstAllElse(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string]string{
		`{}`: `"`, `true`: `"`, `{"type":"string"}`: `"`, `{"enum":["a",5]}`: `"`, `{"not":{"type":"string"}}`: `"`,
		`{"$ref":"#/properties/y"}`: `"`, `{"type":"integer"}`: `-0`, `{"type":["number","null"]}`: `-0n`,
		`{"anyOf":[{"type":"object"},{"type":"array"}]}`: `{[`, `{"oneOf":[{"type":"boolean"},{}]}`: `"tf`,
		`{"type":"integer","anyOf":[{"type":"string"}]}`: `-0`,
	} {
		compiled, err := compileSchema([]byte(`{"properties":{"x":` + schema + `,"y":{"type":"integer"}}}`))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, first := range []byte(`"-0{[tfn`) {
			if takes(compiled.Properties["x"], first) {
				got += string(first)
			}
		}
		if got != want {
			t.Errorf("%s takes %s, want %s", schema, got, want)
		}
	}
}

// TestRulesAndAuthorizersSeeHealedArguments: what decides and what runs look at
// the same value, so that no spelling of it slips by.
func TestRulesAndAuthorizersSeeHealedArguments(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.caller(b.surface("acme", func(_ *tenants.Endpoint, c *surfaces.Compiled) {
		c.Policy.Authorizer = &surfaces.Function{Relation: surfaces.Relation{Name: "authorizer"}, Argument: "checks"}
		c.Tools[0].Allow = &surfaces.Allow{Rule: `args.limit < 10 && !("when" in args)`}
		c.Tools[0].Permission = "zebras.read"
	}), "alice", "alice")
	var asked []string
	b.runner.answer = func(_ context.Context, _ *call, _ *surfaces.Function, argument []byte) ([]byte, error) {
		asked = append(asked, string(argument))
		return []byte(`[{"allowed":true}]`), nil
	}
	var ran []string
	b.runner.do(func(_ context.Context, _ *call, _ *surfaces.Tool, arguments []byte) (*mcp.CallToolResult, error) {
		ran = append(ran, string(arguments))
		return &mcp.CallToolResult{}, nil
	})
	call := func(arguments string) string {
		return bodyOf(t, b.send(modern("tools/call", "zebra_list", `"name":"zebra_list","arguments":`+arguments).as("alice")))
	}
	if body := call(`{"limit":"50"}`); !strings.Contains(body, codeNotAllowed) || len(ran) != 0 {
		t.Fatalf("text that hides a number: %s", body)
	}
	if body := call(`{"limit":"5"}`); strings.Contains(body, "isError") || !slices.Equal(ran, []string{`{"limit":5}`}) {
		t.Fatalf("ran %q: %s", ran, body)
	}
	for i, want := range []string{`"arguments":{"limit":50}`, `"arguments":{"limit":5}`} {
		if len(asked) != 2 || !strings.Contains(asked[i], want) {
			t.Errorf("the authorizer was asked %q", asked)
		}
	}
	if body := call(`{"limit":"5000"}`); !strings.Contains(body, "invalid") || !strings.Contains(body, "got string, want integer") || len(ran) != 1 || len(asked) != 2 {
		t.Errorf("what stays wrong is told as it was given: %s", body)
	}
}

// FuzzHeal holds that mending changes nothing but text into the JSON it holds,
// where no text is taken, and that its result is arguments again.
func FuzzHeal(f *testing.F) {
	for _, seed := range []string{
		`{"id":1,"n":"5"}`, `{"patch":{"n":"5","tags":"[\"a\"]","s":"7"},"list":" [\"x\"]"}`, `{"patch":"{\"n\":5}"}`, `{"n":"5","n":"6"}`,
		`{"o":"{\"a\":1,\"a\":2}","maybe":"null"}`, `["5"]`, `{"\u006e":"\u0035 "}`, `{"b":"true","b ":"x\ud800"}`,
	} {
		f.Add(seed)
	}
	tool := healTool(f, true)
	f.Fuzz(func(t *testing.T, given string) {
		if checkJSON([]byte(given)) != nil {
			return
		}
		got := heal(tool.input, "patch", []byte(given))
		if got == nil {
			return
		}
		if err := checkJSON(got); err != nil {
			t.Fatalf("%q became %q: %v", given, got, err)
		}
		var before, after map[string]json.RawMessage
		if json.Unmarshal([]byte(given), &before) != nil || json.Unmarshal(got, &after) != nil || len(before) != len(after) {
			t.Fatalf("%q became %q", given, got)
		}
		sameButText(t, tool.input, before, after, true)
	})
}

func sameButText(t *testing.T, schema *jsonschema.Schema, before, after map[string]json.RawMessage, top bool) {
	t.Helper()
	for name, was := range before {
		is := after[name]
		if string(was) == string(is) {
			continue
		}
		property := schema.Properties[name]
		var said string
		if property != nil && json.Unmarshal(was, &said) == nil {
			if strings.Trim(said, " \t\r\n") != string(is) || takes(property, '"') {
				t.Fatalf("%s became %s", was, is)
			}
			continue
		}
		var inner, healed map[string]json.RawMessage
		if !top || name != "patch" || json.Unmarshal(was, &inner) != nil || json.Unmarshal(is, &healed) != nil {
			t.Fatalf("%s: %s became %s", name, was, is)
		}
		sameButText(t, property, inner, healed, false)
	}
}

func BenchmarkHeal(b *testing.B) {
	tool := healTool(b, true)
	given := []byte(`{"id":1,"list":"[\"a\"]","patch":{"n":"5"},"o":"{\"a\":\"` + strings.Repeat("x", 1000) + `\"}"}`)
	b.ReportAllocs()
	for b.Loop() {
		if heal(tool.input, "patch", given) == nil {
			b.Fatal("nothing was mended")
		}
	}
}
