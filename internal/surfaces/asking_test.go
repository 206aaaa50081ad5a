package surfaces

import (
	"strings"
	"testing"
)

// TestQuestionsAndConfirmThatCannotBeAskedAreRefused: each entry is good but for
// the one thing that its words name.
func TestQuestionsAndConfirmThatCannotBeAskedAreRefused(t *testing.T) {
	t.Parallel()
	const input = "input: { type: object, properties: { a: { type: string }, b: { type: integer }, list: { type: array, items: {} }, either: { anyOf: [ { type: string }, { type: integer } ] }, " +
		"grade: { type: integer, enum: [1, 2] }, any: {}, o: { type: object } }, required: [a] }"
	edge := func(rest string) string { return "function: f, description: D., " + input + ", " + rest }
	question := func(rest string) string { return edge("questions: { q: { " + rest + " } }") }
	for entry, words := range map[string]string{
		edge("confirm: \"{{nobody}}\""):                                           "unknown argument \"nobody\"",
		edge("confirm: \"{{list}}\""):                                             "not a single text, number or switch",
		edge("confirm: \"{{o}}\""):                                                "not a single text, number or switch",
		edge("confirm: \"{{any}}\""):                                              "not a single text, number or switch",
		edge("confirm: \"{{#list}}x{{/list}}\""):                                  "only {{name}} of an argument",
		edge("confirm: \"{{}}\""):                                                 "only {{name}} of an argument",
		edge("confirm: \"{{a\""):                                                  "{{ without }}",
		edge("confirm: \"" + strings.Repeat("x", 501) + "\""):                     "at most 500",
		edge("confirm: \"a\\u202eb\""):                                            "U+202E",
		edge("confirm: [a]"):                                                      "must be text",
		edge("questions: {}"):                                                     "from 1 to 10 are asked at once",
		edge("questions: [a]"):                                                    "must be a mapping",
		edge("questions: { \"a b\": { message: M, arguments: [a] } }"):            "cannot be the key of a question",
		edge("questions: { confirm: { message: M, arguments: [a] } }"):            "write confirm beside questions",
		edge("questions: { create: { q: { message: M } } }"):                      "not given by operation",
		question("arguments: [a]"):                                                "has no message",
		question("message: M"):                                                    "has no arguments",
		question("message: M, arguments: []"):                                     "from 1 to 20 arguments",
		question("message: M, arguments: [nobody]"):                               "there is no argument \"nobody\"",
		question("message: M, arguments: [list]"):                                 "cannot be asked of a person",
		question("message: M, arguments: [either]"):                               "cannot be asked of a person",
		question("message: M, arguments: [any]"):                                  "cannot be asked of a person",
		question("message: M, arguments: [grade]"):                                "a choice can be of texts alone",
		question("message: M, arguments: [a], other: 1"):                          "unknown key \"other\"",
		question("message: \"{{a}}?\", arguments: [a]"):                           "asked for at the same time",
		question("message: \"{{nobody}}?\", arguments: [a]"):                      "unknown argument",
		question("message: \"" + strings.Repeat("x", 501) + "\", arguments: [a]"): "at most 500",
		edge("questions: { q: { message: M, arguments: [a] }, r: { message: M, arguments: [a, b] } }"):                                                                                   "an argument is asked for once",
		edge("questions: { q: { message: M, arguments: [a] }, r: { message: \"{{a}}\", arguments: [b] } }"):                                                                              "asked for at the same time",
		edge("questions: { " + manyQuestions(11) + " }"):                                                                                                                                 "from 1 to 10",
		"function: f, description: D., questions: { q: { message: M, arguments: [a] } }":                                                                                                 "there is no argument",
		"function: f, description: D., input: { type: object, properties: { a: { type: string } }, additionalProperties: true }, questions: { q: { message: M, arguments: [a] } }":       "leave additionalProperties out",
		"function: f, description: D., schema: authored, input: { type: object, properties: { a: { type: string } } }, questions: { q: { message: M, arguments: [a] } }":                 "let the function ask by itself",
		"function: f, description: D., input: { type: object, properties: { a: { type: string, enum: [" + manyLabels(3000) + "] } } }, questions: { q: { message: M, arguments: [a] } }": "the form of this question is",

		"table: customers, columns: [id, name], confirm: Sure?":                                                                        "this table has none",
		"table: customers, columns: [id, name], confirm: {}":                                                                           "empty mapping",
		"table: customers, columns: [id, name], confirm: { create: Sure? }":                                                            "create is not among the operations",
		"table: customers, columns: [id, name], questions: { q: { message: M, arguments: [id] } }":                                     "they need the operation create",
		"table: notes, operations: [update], columns: [id, body], write: [body], confirm: \"{{patch}}\"":                               "not a single text",
		"table: notes, operations: [update], columns: [id, body], write: [body], confirm: \"{{body}}\"":                                "unknown argument",
		"table: customers, operations: [list], columns: [id, status], filters: { status: [in] }, confirm: { list: \"{{status_in}}\" }": "not a single text",
		"storage: documents, confirm: Sure?":                                                                                           "this bucket has none",
		"storage: documents, confirm: { get: Sure? }":                                                                                  "write read",
		"storage: documents, confirm: { read: \"{{x}}\" }":                                                                             "unknown argument",
		"storage: documents, questions: { q: { message: M, arguments: [path] } }":                                                      "write confirm",
		"rpc: greet, confirm: \"{{nam}}\"":                                                                                             "did you mean \"name\"",
	} {
		refusedEntry(t, entry, words)
	}
}

func manyQuestions(n int) string {
	return strings.TrimSuffix(strings.Join(numberedWords("q", n), ": { message: M, arguments: [a] }, ")+": { message: M, arguments: [a] }", ", ")
}

func manyLabels(n int) string { return strings.Join(numberedWords("label", n), ", ") }

func numberedWords(word string, n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = word + strings.Repeat("x", i%7) + string(rune('a'+i%26)) + string(rune('a'+i/26%26)) + string(rune('a'+i/676%26))
	}
	return list
}

// TestWhatAPersonAnswersNoModelCanSet: the argument is not in the input, whose
// schema takes no other, and it is in the schema of the answer alone.
func TestWhatAPersonAnswersNoModelCanSet(t *testing.T) {
	t.Parallel()
	asked := 0
	for _, tool := range compileAll(t) {
		root, _ := membersOf(tool.Input)
		arguments, _ := membersOf(root.get("properties"))
		for _, q := range tool.Questions {
			if string(root.get("additionalProperties")) != "false" {
				t.Errorf("%s takes other arguments", tool.Name)
			}
			answers, _ := membersOf(q.Schema)
			form, _ := membersOf(q.Form)
			for _, name := range q.Arguments {
				asked++
				if arguments.get(name) != nil || strings.Contains(string(root.get("required")), `"`+name+`"`) {
					t.Errorf("%s: a model may set %s", tool.Name, name)
				}
				check, _ := membersOf(answers.get("properties"))
				field, _ := membersOf(form.get("properties"))
				if check.get(name) == nil || field.get(name) == nil {
					t.Errorf("%s: %s is not asked for", tool.Name, name)
				}
			}
			if string(answers.get("additionalProperties")) != "false" {
				t.Errorf("%s: an answer may bring more than was asked", tool.Name)
			}
			for _, raw := range [][]byte{q.Schema, q.Form} {
				if err := CheckSchema(raw); err != nil {
					t.Errorf("%s: %v", tool.Name, err)
				}
			}
		}
	}
	if asked < 6 {
		t.Errorf("only %d arguments were looked at", asked)
	}
}

// TestApprovalPageIsOfBridges, and worth a word where it is missing or idle.
func TestApprovalPageIsOfBridges(t *testing.T) {
	t.Parallel()
	file := func(access, entry string) string {
		return "version: 1\ntitle: T\naccess: { " + access + " }\ntools:\n  - { rpc: greet, " + entry + " }\n"
	}
	const bridge, confirm, plain = "mode: oauth, authorization: bridge", "confirm: Really?", "tool: greet"
	for name, c := range map[string]struct {
		access, entry string
		line          int
		words         string
		refused       bool
	}{
		"direct":                 {"mode: oauth, authorization: direct, approval_page: true", confirm, 3, "belongs to authorization: bridge", true},
		"no OAuth":               {"mode: bearer, approval_page: true", confirm, 3, "belongs to authorization: bridge", true},
		"no switch":              {bridge + ", approval_page: yes", confirm, 3, "must be true or false", true},
		"nothing to approve":     {bridge + ", approval_page: true", plain, 3, "nothing to approve", false},
		"nobody to approve":      {bridge, confirm, 5, "gets the link of a page", false},
		"a page":                 {bridge + ", approval_page: true", confirm, 0, "", false},
		"nothing is asked there": {bridge, plain, 0, "", false},
	} {
		b := Build([]byte(file(c.access, c.entry)), loadSnapshot(t), known())
		if (b.Compiled == nil) != c.refused || c.words != "" && !mentions(b.Problems, c.line, c.words) || c.words == "" && len(b.Problems) > 0 {
			t.Errorf("%s: compiled %t, %v", name, b.Compiled != nil, b.Problems)
		}
		if name == "a page" && !b.Compiled.Access.ApprovalPage {
			t.Error("the page is not served")
		}
	}
}
