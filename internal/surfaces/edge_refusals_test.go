package surfaces

import (
	"fmt"
	"strings"
	"testing"
)

// refusedEntry says that a file with one entry is refused at its line, in words.
func refusedEntry(t *testing.T, entry, words string) {
	t.Helper()
	b := Build(writeFile(entry), loadSnapshot(t), known())
	for _, p := range b.Problems {
		if p.Severity == SeverityError && p.Line == 5 && strings.Contains(p.Message, words) {
			if b.Compiled != nil {
				t.Errorf("%s: compiled with %v", entry, b.Problems)
			}
			return
		}
	}
	t.Errorf("%s: compiled %t, want %q, got %v", entry, b.Compiled != nil, words, b.Problems)
}

// TestFunctionToolsThatCannotWorkAreRefused: each entry is good but for the one
// thing that its words name.
func TestFunctionToolsThatCannotWorkAreRefused(t *testing.T) {
	t.Parallel()
	input := func(root string) string {
		return "function: f, description: D., input: { type: object, " + root + " }"
	}
	property := func(schema string) string { return input("properties: { a: { " + schema + " } }") }
	for entry, words := range map[string]string{
		"function: 1st, description: D.":                             "is not the name of an Edge Function",
		"function: a/b, description: D.":                             "is not the name of an Edge Function",
		"function: \"\", description: D.":                            "must not be empty",
		"function: " + strings.Repeat("f", 65) + ", description: D.": "at most 64",
		"function: f": "description is missing",
		"function: f, rpc: greet, description: D.":                                          "make two entries",
		"function: f, table: customers":                                                     "make two entries",
		"function: f, storage: documents":                                                   "make two entries",
		"function: f, description: D., timeout: 0s":                                         "from 1s to 150s",
		"function: f, description: D., timeout: 151s":                                       "from 1s to 150s",
		"function: f, description: D., timeout: 1.5s":                                       "a whole number and its unit",
		"function: f, description: D., timeout: 30":                                         "a whole number and its unit",
		"function: f, description: D., stream: yes":                                         "must be true or false",
		"function: f, description: D., asks: maybe":                                         "must be true or false",
		"function: f, description: D., arguments: [a]":                                      "nothing is known of an Edge Function's arguments",
		"function: f, description: D., task: { respond: now }":                              "task is not yet supported",
		"function: f, description: D., schema: mine":                                        "write schema: authored",
		"function: f, description: D., schema: authored":                                    "write input",
		"function: f, description: D., privileged: true":                                    "needs an allow rule of its own",
		"function: f, description: D., result: text":                                        "result: text needs a template",
		"function: f, description: D., tool: \"a b\"":                                       "cannot be the name of a tool",
		"function: f, description: D., annotations: { read_only: true, destructive: true }": "both read_only and destructive",
		"function: f, description: D., result: text, template: \"{{b}}\", output: { type: object, properties: { a: { type: string } } }": "unknown name \"b\"",
		"function: f, description: D., output: { type: array }":                                                                          "output must have type: object at its root",
		"function: f, description: D., output: { type: object, oneOf: [] }":                                                              "not possible at the root of an output",
		"function: f, description: D., output: { type: object, properties: { a: { type: string, x-mcp-header: A } } }":                   "leave it out of output",
		"function: f, description: D., input: [a]":                                                                                       "must be a mapping",
		"function: f, description: D., input: { properties: {} }":                                                                        "input must have type: object at its root",
		"function: f, description: D., input: { type: [object] }":                                                                        "input must have type: object at its root",

		input("anyOf: [ {}, {} ]"):                                                   "not possible at the root of an input",
		input("$ref: \"#\""):                                                         "not possible at the root of an input",
		input("$schema: x"):                                                          "for schema: authored alone",
		input("propertyes: {}"):                                                      "unknown key \"propertyes\"",
		input("properties: { \"a b\": {} }"):                                         "cannot be the name of a property",
		input("properties: { a: { type: string } }, required: [b]"):                  "required but not among the properties",
		input("additionalProperties: { type: string }"):                              "additionalProperties must be true or false",
		property("type: strin"):                                                      "did you mean \"string\"",
		property("type: [string, \"null\"]"):                                         "must be one word",
		property("type: string, minimum: 1"):                                         "minimum is of integer and number",
		property("minLength: 1"):                                                     "minLength is of string",
		property("type: array"):                                                      "so it needs items",
		property("type: array, items: [ { type: string } ]"):                         "must be a mapping",
		property("type: array, items: { type: string, x-mcp-header: A }"):            "along properties alone",
		property("anyOf: [ { type: string } ]"):                                      "at least two schemas",
		property("anyOf: [ { type: string, x-mcp-header: A }, { type: \"null\" } ]"): "along properties alone",
		property("type: string, enum: []"):                                           "enum must be a list",
		property("type: string, enum: [a, a]"):                                       "is listed twice",
		property("type: integer, enum: [a]"):                                         "not of type integer",
		property("type: integer, enum: [[1]]"):                                       "must be a single value",
		property("type: integer, const: 1.5"):                                        "not of type integer",
		property("type: string, default: \"a\\u202eb\""):                             "U+202E",
		property("default: { \"a\\u202e\": 1 }"):                                     "the key holds the character U+202E",
		property("type: boolean, default: 1"):                                        "not of type boolean",
		property("type: string, pattern: \"(\""):                                     "not a regular expression",
		property("type: string, format: phone"):                                      "unknown format",
		property("type: string, maxLength: -1"):                                      "whole number from 0",
		property("type: number, minimum: \"1\""):                                     "must be a number",
		property("type: number, maximum: 12345678901234567890"):                      "not a number that JSON keeps exactly",
		property("type: number, multipleOf: 0"):                                      "more than 0",
		property("type: number, multipleOf: -1"):                                     "more than 0",
		property("type: string, nullable: true"):                                     "write anyOf",
		property("oneOf: []"):                                                        "write anyOf",
		property("$ref: \"#/properties/b\""):                                         "write the schema out",
		property("type: number, x-mcp-header: A"):                                    "not of type string, integer or boolean",
		property("type: string, x-mcp-header: \"A B\""):                              "cannot be the name of a header",
		property("type: string, x-mcp-header: \"A:\""):                               "cannot be the name of a header",
		input("properties: { a: { type: string, x-mcp-header: Region }, b: { type: object, properties: { c: { type: string, x-mcp-header: rEGION } } } }"): "the header of another argument",
		"rpc: greet, stream: true":                                  "only an Edge Function streams",
		"table: customers, columns: [id], asks: true":               "asks by itself",
		"rpc: greet, schema: authored":                              "comes from the database",
		"table: customers, columns: [id], timeout: 5s":              "statement timeout",
		"table: customers, columns: [id], output: { type: object }": "comes from the database",
	} {
		refusedEntry(t, entry, words)
	}
}

// TestAuthoredSchemasThatCannotBeCheckedAreRefused: each is refused where it is
// wrong.
func TestAuthoredSchemasThatCannotBeCheckedAreRefused(t *testing.T) {
	t.Parallel()
	for schema, words := range map[string]string{
		"properties: {}": "type: object at its root, also where it is authored",
		"type: [object]": "type: object at its root, also where it is authored",
		"type: object, $ref: \"#/$defs/a\", $defs: { a: {} }":                                                        "$ref is not possible at the root",
		"type: object, $schema: \"http://json-schema.org/draft-07/schema#\"":                                         "an authored schema is of draft 2020-12",
		"type: object, properties: { a: { $ref: \"https://example.test/x\" } }":                                      "within its schema alone",
		"type: object, properties: { a: { $ref: \"file:///etc/passwd\" } }":                                          "within its schema alone",
		"type: object, properties: { a: { $ref: \"other.json#/a\" } }":                                               "within its schema alone",
		"type: object, properties: { a: { $ref: \"#/$defs/b\" } }":                                                   "leads nowhere",
		"type: object, properties: { a: { $ref: \"#b\" } }":                                                          "leads nowhere",
		"type: object, properties: { a: { $ref: \"#/$defs/%62\" } }, $defs: { b: {}, \"%62\": {} }":                  "leads nowhere",
		"type: object, properties: { a: { $ref: \"#\" } }":                                                           "refers to itself",
		"type: object, $defs: { a: { items: { $ref: \"#/$defs/a\" } } }, properties: { a: { $ref: \"#/$defs/a\" } }": "refers to itself",
		"type: object, properties: { a: { $dynamicRef: \"#a\" } }":                                                   "cannot be checked when the file is published",
		"type: object, foo: { $dynamicRef: \"#a\" }, properties: { a: { $ref: \"#/foo\" } }":                         "cannot be checked when the file is published",
		"type: object, properties: { a: { $id: \"https://example.test/\" } }":                                        "possible at the root alone",
		"type: object, foo: { $id: \"https://example.test/\" }, properties: { a: { $ref: \"#/foo\" } }":              "cannot be checked when the file is published",
		"type: object, properties: { a: { $schema: x } }":                                                            "possible at the root alone",
		"type: object, properties: { a: { type: strin } }":                                                           "not valid in JSON Schema 2020-12",
		"type: object, properties: { a: { minLength: -1 } }":                                                         "not valid in JSON Schema 2020-12",
		"type: object, required: a":                                                                                  "not valid in JSON Schema 2020-12",
		"type: object, properties: { a: { pattern: \"(\" } }":                                                        "not valid",
		"type: object, x-mcp-header: A":                                                                              "along properties alone",
		"type: object, properties: { a: { x-mcp-header: A } }":                                                       "not of type string, integer or boolean",
		"type: object, properties: { a: { items: { type: string, x-mcp-header: A } } }":                              "along properties alone",
		"type: object, allOf: [ { properties: { a: { type: string, x-mcp-header: A } } } ]":                          "along properties alone",
		"type: object, $defs: { a: { type: string, x-mcp-header: A } }":                                              "along properties alone",
		"type: object, properties: { a: { type: string, x-mcp-header: A }, b: { type: string, x-mcp-header: a } }":   "the header of another argument",
		"type: object, description: \"" + strings.Repeat("x", MaxAuthoredSchema) + "\"":                              "bytes of JSON; at most 65536",
	} {
		refusedEntry(t, "function: f, description: D., schema: authored, input: { "+schema+" }", words)
	}
}

// TestAuthoredSchemasAreSentAsTheyStand, names of properties that look like
// keywords among them.
func TestAuthoredSchemasAreSentAsTheyStand(t *testing.T) {
	t.Parallel()
	const schema = `{"type":"object","$id":"https://example.test/s","properties":{"$ref":{"const":{"$ref":"x","x-mcp-header":1}},"x-mcp-header":{"default":[1,0.5,null,true]}},"zeta":{},"alpha":{"deep":[{}]},"$defs":{"a/b":{"$anchor":"c"}},"not":{"$ref":"#/$defs/a~1b"},"if":{"$ref":"#c"}}`
	b := Build(writeFile("function: f, description: D., schema: authored, input: "+schema), loadSnapshot(t), known())
	if b.Compiled == nil || string(b.Compiled.Tools[0].Input) != schema {
		t.Fatalf("%v\n%s", b.Problems, b.Compiled.Tools[0].Input)
	}
}

// TestSchemasMadeToCostAreRefusedSoon: each step doubles what is looked at for
// one value.
func TestSchemasMadeToCostAreRefusedSoon(t *testing.T) {
	t.Parallel()
	var defs strings.Builder
	for i := range 60 {
		fmt.Fprintf(&defs, "a%d: { allOf: [ { $ref: \"#/$defs/a%d\" }, { $ref: \"#/$defs/a%d\" } ] }, ", i, i+1, i+1)
	}
	refusedEntry(t, "function: f, description: D., schema: authored, input: { type: object, $defs: { "+defs.String()+"a60: {} }, properties: { a: { $ref: \"#/$defs/a0\" } } }",
		"would take too long")
	refusedEntry(t, "function: f, description: D., schema: authored, input: { type: object, properties: { a: { anyOf: [ "+strings.Repeat("{}, ", maxExpanded)+"{} ] } } }", "would take too long")
	var file strings.Builder
	file.WriteString(hostileHead)
	for i := 0; i < MaxCapabilities && file.Len() < MaxFileBytes-2_000; i++ {
		fmt.Fprintf(&file, "  - { function: f, tool: t%d, title: T%d, description: D%d., input: { type: object, properties: { %s } } }\n", i, i, i, manyProperties(60))
	}
	if b := Build([]byte(file.String()), loadSnapshot(t), known()); b.Compiled == nil {
		t.Errorf("%v", b.Problems[:min(3, len(b.Problems))])
	}
}

func manyProperties(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "p%d: { type: string }, ", i)
	}
	return b.String()
}

// TestFunctionToolsWarnOfWhatTheFunctionMustDo: some of it nobody sees in the file.
func TestFunctionToolsWarnOfWhatTheFunctionMustDo(t *testing.T) {
	t.Parallel()
	const oauth = "mode: oauth, authorization: direct"
	const public = "mode: [oauth, public], authorization: direct, public: { confirm: true, calls: 60, per: 1m }"
	const external = "mode: oauth, authorization: external, issuer: \"https://login.example.test\", audience: a"
	for name, c := range map[string]struct{ access, entry, words string }{
		"a public tool":                  {public, "public: true", "callers without a token are sent to the function without a session, so it must be deployed with verify_jwt = false"},
		"a tool that is not public":      {public, "public: false", ""},
		"another issuer":                 {external, "asks: true", "callers with a token of another issuer"},
		"a stream without its time":      {oauth, "stream: true", "the whole stream must end within timeout, which is 30s"},
		"a stream with its time":         {oauth, "stream: true, timeout: 150s", ""},
		"a stream with very little time": {oauth, "stream: true, timeout: 2s", "the whole stream must end within 2s"},
		"a question before a read":       {oauth, "annotations: { read_only: true }, confirm: Sure?", "the tool is read_only, and a person is asked before each call all the same"},
		"an authored schema":             {oauth, "schema: authored, input: { type: object }", "clients of older ones are told { type: object } alone"},
		"an authored root":               {oauth, "schema: authored, input: { type: object, anyOf: [ {} ] }", "of alternatives at the root: Claude"},
		"an authored list":               {oauth, "schema: authored, input: { type: object, properties: { a: { type: array } } }", "of lists without items: VS Code leaves the tool out"},
		"an authored name":               {oauth, "schema: authored, input: { type: object, properties: { \"a b\": {} } }", "of property names of other characters: VS Code leaves the tool out"},
	} {
		file := "version: 1\ntitle: T\naccess: { " + c.access + " }\ntools:\n  - { function: f, description: D., " + c.entry + " }\n"
		b := Build([]byte(file), loadSnapshot(t), known())
		told := false
		for _, p := range b.Problems {
			told = told || p.Line == 5
		}
		if b.Compiled == nil || c.words != "" && !mentions(b.Problems, 5, c.words) || c.words == "" && told {
			t.Errorf("%s: %v", name, b.Problems)
		}
	}
}

// TestPrivilegedFunctionToolsAreNeverPublic: an allow rule alone would not do.
func TestPrivilegedFunctionToolsAreNeverPublic(t *testing.T) {
	t.Parallel()
	b := Build([]byte("version: 1\ntitle: T\naccess: { mode: public, public: { confirm: true, calls: 60, per: 1m } }\ntools:\n"+
		"  - { function: f, description: D., public: true, privileged: true, allow: \"true\" }\n"), loadSnapshot(t), known())
	if b.Compiled != nil || !mentions(b.Problems, 5, "never public") {
		t.Errorf("%v", b.Problems)
	}
}
