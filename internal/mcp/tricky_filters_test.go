package mcp

import (
	"net/http"
	"strings"
)

// trickyFilters are values that are grammar in one of the three places where
// the Data API reads values.
func trickyFilters() []trickyRow {
	tools := `
  - table: labels
    operations: [list]
    columns: [id, label]
    filters: { label: [eq, in, ilike, like, neq], amount: { operators: [eq], hidden_ok: true }, at: { operators: [eq, gt], hidden_ok: true } }
  - tool: said
    description: Says it.
    rpc: said`
	// listed asks the list for rows by one pair of the query.
	listed := func(arguments, pair, rows string) trickyAsk {
		return trickyAsk{
			tool: "labels_list", arguments: arguments,
			wire: wire("GET /rest/v1/labels", `select="id","label"`, pair, `order="id".asc.nullslast`, "limit=21"), gets: lastPage(rows),
		}
	}
	refused := func(arguments, pair, fails string) trickyAsk {
		a := listed(arguments, pair, "")
		a.gets, a.fails = "", fails
		return a
	}
	return []trickyRow{
		{
			number: 23, input: `a NUL character, and bytes that are no UTF-8`, tools: tools,
			asks: []trickyAsk{
				refused(`{"label":"a\u0000b"}`, "\"label\"=eq.a\x00b", "invalid /label"),
				refused(`{"label_in":["x","\u0000"]}`, "\"label\"=in.(\"x\",\"\x00\")", "invalid /label_in"),
				{tool: "said", arguments: `{"words":"a\u0000b"}`, wire: wire("POST /rest/v1/rpc/said", `{"words":"a\u0000b"}`), fails: "invalid /words"},
			},
			then: func(w *trickyWorld) {
				for _, era := range []string{version20260728, version20250618} {
					w.forget()
					if got := w.send(era, "labels_list", "{\"label\":\"\xff\"}"); got.status != http.StatusBadRequest || len(w.requests()) > 0 {
						w.t.Errorf("invalid UTF-8 (%s): %d %s; over the wire went %q", era, got.status, got.raw, w.requests())
					}
				}
			},
		},
		{
			number: 24, input: `Beta, Inc and (x) and "q" and \`, tools: tools,
			asks: []trickyAsk{
				listed(`{"label":"Beta, Inc"}`, `"label"=eq.Beta, Inc`, `{"id":1,"label":"Beta, Inc"}`),
				listed(`{"label":"(x)"}`, `"label"=eq.(x)`, `{"id":2,"label":"(x)"}`),
				listed(`{"label":"\"q\""}`, `"label"=eq."q"`, `{"id":3,"label":"\"q\""}`),
				listed(`{"label":"\\"}`, `"label"=eq.\`, `{"id":4,"label":"\\"}`),
				listed(`{"label":" lead"}`, `"label"=eq. lead`, `{"id":13,"label":" lead"}`),
				listed(`{"label":"x&label=neq.x#y"}`, `"label"=eq.x&label=neq.x#y`, `{"id":12,"label":"x&label=neq.x#y"}`),
				listed(`{"label_in":["Beta, Inc","(x)","\"q\"","\\"]}`, `"label"=in.("Beta, Inc","(x)","\"q\"","\\")`,
					`{"id":1,"label":"Beta, Inc"},{"id":2,"label":"(x)"},{"id":3,"label":"\"q\""},{"id":4,"label":"\\"}`),
				listed(`{"label_in":["x),id.gt.(0"]}`, `"label"=in.("x),id.gt.(0")`, ``),
				listed(`{"label_ilike":"BETA, i"}`, `"label"=ilike.%BETA, i%`, `{"id":1,"label":"Beta, Inc"}`),
			},
			// Inside a logic tree, which the condition behind a cursor is, too.
			then: func(w *trickyWorld) {
				w.publish(strings.ReplaceAll(tools, "columns: [id, label]", "columns: [id, label]\n    order: [label]"), "")
				w.pagesThrough("labels_list", `{"limit":1,"label_neq":"no such"}`, "id",
					w.value(`select string_agg(id::text, ' ' order by label, id) from public.labels where label is not null`))
			},
		},
		{
			number: 25, input: "100% and * with like", tools: tools,
			asks: []trickyAsk{
				listed(`{"label_ilike":"100%"}`, `"label"=ilike.%100\%%`, `{"id":5,"label":"100%"}`),
				listed(`{"label_like":"a*b"}`, `"label"=like.%a_b%`, `{"id":7,"label":"a*b"}`), // one character, never many
				listed(`{"label_like":"\\"}`, `"label"=like.%\\%`, `{"id":4,"label":"\\"}`),
				listed(`{"label_like":"_"}`, `"label"=like.%\_%`, ``),
			},
		},
		{
			number: 26, input: "an empty string", tools: tools,
			asks: []trickyAsk{
				listed(`{"label":""}`, `"label"=eq.`, `{"id":9,"label":""}`),
				listed(`{"label_in":[""]}`, `"label"=eq.`, `{"id":9,"label":""}`),
				listed(`{"label_in":["","(x)"]}`, `"label"=in.("","(x)")`, `{"id":2,"label":"(x)"},{"id":9,"label":""}`),
				listed(`{"label_in":[]}`, `"label"=in.()`, ``),
			},
		},
		{
			number: 27, input: "the text null", tools: tools,
			asks: []trickyAsk{
				listed(`{"label":"null"}`, `"label"=eq.null`, `{"id":11,"label":"null"}`),
				listed(`{"label_in":["null"]}`, `"label"=in.("null")`, `{"id":11,"label":"null"}`),
				{tool: "labels_list", arguments: `{"amount":"null"}`, fails: "invalid /amount"},
				{tool: "labels_list", arguments: `{"label":null}`, fails: "invalid /label"},
				refused(`{"at":"null"}`, `"at"=eq.null`, "invalid /at"),
			},
		},
		{
			number: 28, input: "an offset with a plus", tools: tools,
			asks: []trickyAsk{
				listed(`{"at":"2026-01-01T00:00:00.000001+00:00"}`, `"at"=eq.2026-01-01T00:00:00.000001+00:00`, `{"id":2,"label":"(x)"}`),
				listed(`{"at_gt":"2026-01-01T02:00:00+02:00"}`, `"at"=gt.2026-01-01T02:00:00+02:00`, `{"id":2,"label":"(x)"}`),
			},
		},
	}
}
