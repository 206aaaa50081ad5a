package surfaces

import (
	"strings"
	"testing"
)

// TestWhatContradictsItselfIsRefused: each entry is good but for the one thing
// that its words name.
func TestWhatContradictsItselfIsRefused(t *testing.T) {
	t.Parallel()
	for entry, words := range map[string]string{
		// Results.
		"table: customers, columns: [id, name], result: text":                                                    "result: text needs a template",
		"table: customers, columns: [id, name], result: { get: text }, template: { list: \"{{has_more}}\" }":     "result: text needs a template",
		"table: customers, columns: [id, name], template: \"{{name}}\"":                                          "a template is used with result: text only",
		"table: customers, columns: [id, name], result: { list: structured }, template: { list: \"{{items}}\" }": "a template is used with result: text only",
		"rpc: greet, result: text":                                                                     "result: text needs a template",
		"rpc: greet, template: \"{{result}}\"":                                                         "a template is used with result: text only",
		"rpc: ids, result: text, template: \"x\", description: D":                                      "a list of plain values",
		"table: customers, columns: [id], budget: 511":                                                 "from 512 to 1048576",
		"table: customers, columns: [id], budget: 1048577":                                             "from 512 to 1048576",
		"table: customers, columns: [id], guidance: { before: \"" + strings.Repeat("x", 1001) + "\" }": "at most 1000",
		"table: customers, columns: [id, score], shorten: [score]":                                     "is not text",
		// Reads.
		"table: customers, columns: [id, status], filters: { status: { operators: [eq, in], required: true } }": "a required filter has exactly one operator",
		"table: customers, columns: [id], limit: { max: 101 }":                                                  "from 1 to 100",
		"table: customers, columns: [id], limit: { default: 0 }":                                                "from 1 to 100",
		"table: customers, columns: [id, organization_id], key: [organization_id]":                              "alter table public.customers add unique (organization_id);",
		"table: notes, columns: [id, request_id], key: [request_id]":                                            "alter column request_id set not null;",
		"table: notes, operations: [get], columns: [body]":                                                      "get reads a row by",
		"table: customers, operations: [get], columns: [id, name], search: [name]":                              "list is not among the operations",
		"table: customers, columns: [id, tags], search: [tags]":                                                 "cannot be searched by",
		"table: customers, columns: [id, name], search: [a, b, c, d, e, f, g, h, i]":                            "search looks in 9 columns; at most 8",
		"table: customers, columns: [id, name], search: { columns: [name], mode: web, config: \"english)\" }":   "cannot be the name of a text search configuration",
		"table: customers, columns: [id], search: { mode: web }":                                                "list the columns to search",
		"table: customers, columns: [id], embed: { notes: { table: notes } }":                                   "list the columns to return of each row",
		"table: customers, columns: [id], embed: { notes: { columns: [id] } }":                                  "name the table whose rows go into",
		"table: customers, columns: [id], embed: { \"1st\": { table: notes, columns: [id] } }":                  "cannot be the name of an embed",
		"table: customers, columns: [id], embed: { notes: { table: notes, columns: [id], order: [id, body] } }": "an embed has one order",
		"table: customers, columns: [id], embed: { notes: { table: notes, columns: [id], order: [bodi] } }":     "has no column \"bodi\" (in order)",
		"table: customers, columns: [id], embed: { notes: { table: notes, columns: [id], limit: 51 } }":         "from 1 to 50",
		"table: customers, columns: [id], embed: { notes: { table: notes, columns: [id], limit: 0 } }":          "from 1 to 50",
		// Functions.
		"rpc: greet, arguments: [name], input: { type: object, properties: { name: { type: string } } }": "give arguments or input, not both",
		"rpc: greet, arguments: { name: { enum: [] } }":                                                  "enum lists nothing",
		"rpc: greet, input: { type: object, properties: { name: { type: integer } } }":                   "does not travel as \"integer\"",
		"rpc: greet, input: { type: object, properties: { name: { type: string } }, required: [nam] }":   "not among the properties",
		"rpc: greet, input: { type: object, properties: { name: { } }, additionalProperties: true }":     "additionalProperties must be false",
		"rpc: greet, annotations: { destructive: true }":                                                 "both read_only and destructive",
		"rpc: greet, privileged: true, allow: \"true\"":                                                  "so it is not privileged",
		// Tools.
		"table: customers, rpc: greet, columns: [id]":                                      "make two entries",
		"table: customers, columns: [id], scopes: { update: [crm.write] }":                 "update is not among the operations",
		"table: customers, columns: [id], title: {}":                                       "empty mapping",
		"table: customers, columns: [id], operations: []":                                  "operations is an empty list",
		"table: customers, columns: []":                                                    "columns is an empty list",
		"table: customers, columns: [id, id]":                                              "twice",
		"table: customers, columns: [id], name: { list: customers, get: customers }":       "is taken by the tool on line",
		"rpc: greet, tool: " + strings.Repeat("n", 65):                                     "cannot be the name of a tool",
		"table: customers, columns: [id], name: { list: " + strings.Repeat("n", 65) + " }": "cannot be the name of a tool",
	} {
		b := Build(writeFile(entry), loadSnapshot(t), known())
		said := false
		for _, p := range b.Problems {
			said = said || p.Severity == SeverityError && p.Line == 5 && strings.Contains(p.Message, words)
		}
		if b.Compiled != nil || !said {
			t.Errorf("%s: compiled %t, %v", entry, b.Compiled != nil, b.Problems)
		}
	}
}
