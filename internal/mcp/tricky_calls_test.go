package mcp

// trickyCalls are functions that the Data API answers in an unlikely form, or
// does not find.
func trickyCalls() []trickyRow {
	// called is an entry of a surface file for one function.
	called := func(functions ...string) string {
		var tools string
		for _, f := range functions {
			tools += "\n  - tool: " + f + "\n    description: Calls it.\n    rpc: " + f
		}
		return tools
	}
	return []trickyRow{
		{
			number: 33, input: "functions f(int) and f(text)",
			refused: []trickyRefusal{{"  - tool: twice\n    description: Twice.\n    rpc: twice", 3, "there are 2 functions named twice"}},
		},
		{
			number: 34, input: "functions f(a) and f(a, b)",
			refused: []trickyRefusal{{"  - tool: longer\n    description: Longer.\n    rpc: longer", 3, "there are 2 functions named longer"}},
		},
		{
			number: 35, input: "an argument missing, or one too many", tools: called("said", "changing"),
			refused: []trickyRefusal{
				{"  - tool: said\n    description: Says it.\n    rpc: said\n    arguments: { word: {} }", 4, `"words"`},
				{"  - tool: unnamed\n    description: Has an argument without a name.\n    rpc: unnamed", 3, "without a name"},
				{"  - tool: whole_body\n    description: Takes the whole body.\n    rpc: whole_body", 3, "without a name"},
			},
			asks: []trickyAsk{
				{
					tool: "said", arguments: `{"words":"ab"}`, // what has a default is left out
					wire: wire("POST /rest/v1/rpc/said", `{"words":"ab"}`), gets: `{"result":"ab"}`,
				},
				{
					tool: "said", arguments: `{"times":2,"words":"ab"}`,
					wire: wire("POST /rest/v1/rpc/said", `{"words":"ab","times":2}`), gets: `{"result":"abab"}`, text: "abab",
				},
				{tool: "said", arguments: `{"times":2}`, fails: "invalid "},
				{tool: "said", arguments: `{"words":"ab","more":1}`, fails: "invalid "},
			},
			then: func(w *trickyWorld) { // another argument since the surface was published
				w.exec(`drop function public.changing(int); create function public.changing(a int, b int) returns int language sql as 'select a + b'`)
				w.reload()
				w.ask(trickyAsk{tool: "changing", arguments: `{"a":1}`, wire: wire("POST /rest/v1/rpc/changing", `{"a":1}`), fails: kindOutOfDate, told: "publish"})
			},
		},
		{
			number: 36, input: "a function that returns nothing", tools: called("nothing"),
			asks: []trickyAsk{{tool: "nothing", wire: wire("POST /rest/v1/rpc/nothing", "{}"), gets: `{"ok":true}`, text: "Done."}},
		},
		{
			number: 37, input: "a NULL row, value and set", tools: called("no_pair", "no_value", "no_values", "no_rows", "one_row"),
			asks: []trickyAsk{
				{tool: "no_pair", wire: wire("POST /rest/v1/rpc/no_pair", "{}"), gets: `{"id":null,"label":null}`},
				{tool: "no_value", wire: wire("POST /rest/v1/rpc/no_value", "{}"), gets: `{"result":null}`},
				{tool: "no_values", wire: wire("POST /rest/v1/rpc/no_values", "{}"), gets: `{"items":[]}`, text: "0 rows."},
				{tool: "no_rows", wire: wire("POST /rest/v1/rpc/no_rows", "{}"), gets: `{"items":[]}`, text: "0 rows."},
				{tool: "one_row", wire: wire("POST /rest/v1/rpc/one_row", "{}"), gets: `{"id":1,"label":"Beta, Inc","amount":1,"at":"2026-01-01T00:00:00+00:00"}`},
			},
		},
		{
			number: 38, input: "a function with OUT arguments, and one of record", tools: called("outs", "anything"),
			asks: []trickyAsk{
				{tool: "outs", wire: wire("POST /rest/v1/rpc/outs", "{}"), gets: `{"x":1,"Y z":"two"}`, text: "x: 1\nY z: two"},
				{tool: "anything", wire: wire("POST /rest/v1/rpc/anything", "{}"), gets: `{"a":1,"b":"b"}`},
			},
		},
		{
			number: 39, input: "text that reads as a filter", tools: called("said"),
			asks: []trickyAsk{
				{tool: "said", arguments: `{"words":"is.null"}`, wire: wire("POST /rest/v1/rpc/said", `{"words":"is.null"}`), gets: `{"result":"is.null"}`},
				{tool: "said", arguments: `{"words":"eq.x"}`, wire: wire("POST /rest/v1/rpc/said", `{"words":"eq.x"}`), gets: `{"result":"eq.x"}`},
			},
		},
		{
			number: 40, input: "RAISE, and PT402", tools: called("raises"),
			asks: []trickyAsk{
				{
					tool: "raises", arguments: `{"code":"P0001"}`, wire: wire("POST /rest/v1/rpc/raises", `{"code":"P0001"}`),
					fails: kindRefused, told: "The plan allows three projects.",
				},
				{
					tool: "raises", arguments: `{"code":"PT402"}`, wire: wire("POST /rest/v1/rpc/raises", `{"code":"PT402"}`),
					fails: kindRefused, told: "The plan allows three projects.",
				},
				{
					tool: "raises", arguments: `{"code":"PT404"}`, wire: wire("POST /rest/v1/rpc/raises", `{"code":"PT404"}`),
					fails: "not_found", told: "The plan allows three projects.",
				},
			},
		},
		{
			number: 41, input: "a function that writes and says it does not", tools: called("claims_to_read", "lets_write"),
			asks: []trickyAsk{
				{tool: "claims_to_read", wire: wire("POST /rest/v1/rpc/claims_to_read", "{}"), fails: kindUpstream},
				{tool: "lets_write", wire: wire("POST /rest/v1/rpc/lets_write", "{}"), fails: kindUpstream, told: "only reads"}, // 405 25006
			},
			then: func(w *trickyWorld) {
				if got := w.value(`select body from public.owned where id = 1`); got != "mine" {
					w.t.Errorf("it wrote %q", got)
				}
			},
		},
	}
}
