package mcp

import "strings"

// trickyValues are values that change when they are read as something else.
func trickyValues() []trickyRow {
	numbers := `
  - table: numbers
    operations: [list, get]
    columns: [id, exact, score, small, anything]
    filters: { id: [eq, gt, in], exact: [eq], score: [gte, eq], anything: [eq] }
    order: [id, exact, -score]`
	selected := `select="id"::text,"exact"::text,"score","small","anything"::text`
	first := `{"id":"9007199254740993","exact":"12345678901234567890.123456789","score":0.1,"small":1.5,"anything":"NaN"}`
	second := `{"id":"9007199254740994","exact":"1.10","score":"NaN","small":"Infinity","anything":"NaN"}`
	third := `{"id":"9007199254740995","exact":"-0.000000000000000000001","score":"-Infinity","small":"-Infinity","anything":"0"}`
	return []trickyRow{
		{
			number: 5, input: "bigint 9007199254740993", tools: numbers,
			asks: []trickyAsk{
				{
					tool: "numbers_get", arguments: `{"id":9007199254740993}`,
					wire: wire("GET /rest/v1/numbers", selected, `"id"=eq.9007199254740993`, "Accept: object"), gets: first,
				},
				{
					tool: "numbers_get", arguments: `{"id":"9007199254740994"}`,
					wire: wire("GET /rest/v1/numbers", selected, `"id"=eq.9007199254740994`, "Accept: object"), gets: second,
				},
				{
					tool: "numbers_list", arguments: `{"id_gt":9007199254740993,"id_in":["9007199254740994",9007199254740993]}`,
					wire: wire("GET /rest/v1/numbers", selected, `"id"=gt.9007199254740993`, `"id"=in.("9007199254740994","9007199254740993")`,
						`order="id".asc.nullslast`, "limit=21"),
					gets: lastPage(second), text: "9007199254740994\t1.10\t",
				},
				{
					tool: "numbers_get", arguments: `{"id":"99999999999999999999"}`,
					fails: "invalid /id", // more digits than any bigint
				},
				{
					tool: "numbers_get", arguments: `{"id":9999999999999999999}`,
					wire:  wire("GET /rest/v1/numbers", selected, `"id"=eq.9999999999999999999`, "Accept: object"),
					fails: "invalid /id",
				},
			},
			then: func(w *trickyWorld) {
				w.pagesThrough("numbers_list", `{"limit":1}`, "id", "9007199254740993 9007199254740994 9007199254740995")
			},
		},
		{
			number: 6, input: "numeric with more digits than a float", tools: numbers,
			asks: []trickyAsk{
				{
					tool: "numbers_list", arguments: `{"exact":"12345678901234567890.123456789"}`,
					wire: wire("GET /rest/v1/numbers", selected, `"exact"=eq.12345678901234567890.123456789`, `order="id".asc.nullslast`, "limit=21"),
					gets: lastPage(first),
				},
				{
					tool: "numbers_list", arguments: `{"exact":"-0.000000000000000000001"}`,
					wire: wire("GET /rest/v1/numbers", selected, `"exact"=eq.-0.000000000000000000001`, `order="id".asc.nullslast`, "limit=21"),
					gets: lastPage(third),
				},
				{tool: "numbers_list", arguments: `{"exact":12345678901234567890.123456789}`, fails: "invalid /exact"}, // a float in most clients
			},
			then: func(w *trickyWorld) {
				w.pagesThrough("numbers_list", `{"limit":1,"order":"exact"}`, "exact", "-0.000000000000000000001 1.10 12345678901234567890.123456789")
			},
		},
		{
			number: 7, input: "NaN and Infinity", tools: numbers,
			asks: []trickyAsk{
				{
					tool: "numbers_list", arguments: `{"order":"-score"}`, // NaN is above Infinity, as in Postgres
					wire: wire("GET /rest/v1/numbers", selected, `order="score".desc.nullsfirst,"id".desc.nullsfirst`, "limit=21"),
					gets: lastPage(second + "," + first + "," + third), text: "\tNaN\tInfinity\tNaN\n",
				},
				{
					tool: "numbers_list", arguments: `{"score_gte":0.1}`,
					wire: wire("GET /rest/v1/numbers", selected, `"score"=gte.0.1`, `order="id".asc.nullslast`, "limit=21"),
					gets: lastPage(first + "," + second),
				},
				{tool: "numbers_list", arguments: `{"score":"NaN"}`, fails: "invalid /score"},
				{tool: "numbers_list", arguments: `{"anything":"NaN"}`, fails: "invalid /anything"},
			},
			then: func(w *trickyWorld) {
				w.pagesThrough("numbers_list", `{"limit":1,"order":"-score"}`, "score", "NaN 0.1 -Infinity")
			},
		},
		{
			number: 8, input: "timestamptz", tools: timesTools,
			asks: []trickyAsk{
				{
					tool: "times_get", arguments: `{"id":1}`,
					wire: wire("GET /rest/v1/times", timesSelected, `"id"=eq.1`, "Accept: object"), gets: timesFirst,
				},
				{
					tool: "times_list", arguments: `{"at":"2026-01-02T04:04:05.120+01:00"}`,
					wire: wire("GET /rest/v1/times", timesSelected, `"at"=eq.2026-01-02T04:04:05.120+01:00`, `order="id".asc.nullslast`, "limit=21"),
					gets: lastPage(timesFirst),
				},
				{
					tool: "times_list", arguments: `{"at_gt":"2026-01-02T03:04:05.123456Z","at_lt":"2026-01-03"}`,
					wire: wire("GET /rest/v1/times", timesSelected, `"at"=gt.2026-01-02T03:04:05.123456Z`, `"at"=lt.2026-01-03`, `order="id".asc.nullslast`, "limit=21"),
					gets: lastPage(timesFifth),
				},
				{
					tool: "times_list", arguments: `{"at":"tomorrow's noon"}`,
					wire:  wire("GET /rest/v1/times", timesSelected, `"at"=eq.tomorrow's noon`, `order="id".asc.nullslast`, "limit=21"),
					fails: "invalid /at",
				},
			},
			then: func(w *trickyWorld) {
				w.pagesThrough("times_list", `{"limit":1,"order":"at"}`, "id", "1 4 5 2 3")
				// A database of another zone: the same instants, paged and found by what it says.
				defer w.roleSetting("timezone", "Asia/Kolkata")()
				w.pagesThrough("times_list", `{"limit":1,"order":"at"}`, "id", "1 4 5 2 3")
				w.ask(trickyAsk{
					tool: "times_list", arguments: `{"at":"2026-01-02T08:34:05.12+05:30"}`,
					wire: wire("GET /rest/v1/times", timesSelected, `"at"=eq.2026-01-02T08:34:05.12+05:30`, `order="id".asc.nullslast`, "limit=21"),
					gets: lastPage(strings.Replace(timesFirst, "2026-01-02T03:04:05.12+00:00", "2026-01-02T08:34:05.12+05:30", 1)),
				})
			},
		},
		{
			number: 9, input: "timestamp without zone, date, time, interval", tools: timesTools,
			asks: []trickyAsk{
				{
					tool: "times_list", arguments: `{"plain":"2026-01-02T03:04:05","day":"2026-02-03","clock":"04:05:00","zoned":"04:05:00+02","span":"1 day 02:03:00"}`,
					wire: wire("GET /rest/v1/times", timesSelected, `"plain"=eq.2026-01-02T03:04:05`, `"day"=eq.2026-02-03`, `"clock"=eq.04:05:00`,
						`"zoned"=eq.04:05:00+02`, `"span"=eq.1 day 02:03:00`, `order="id".asc.nullslast`, "limit=21"),
					gets: lastPage(timesFirst), text: "\t2026-01-02T03:04:05\t2026-02-03\t04:05:00\t04:05:00+02\t1 day 02:03:00",
				},
				{
					tool: "times_list", arguments: `{"day":"2026-02-30"}`,
					wire:  wire("GET /rest/v1/times", timesSelected, `"day"=eq.2026-02-30`, `order="id".asc.nullslast`, "limit=21"),
					fails: "invalid /day",
				},
			},
		},
		{
			number: 10, input: "infinity as a time", tools: timesTools,
			asks: []trickyAsk{
				{
					tool: "times_get", arguments: `{"id":2}`,
					wire: wire("GET /rest/v1/times", timesSelected, `"id"=eq.2`, "Accept: object"), gets: timesSecond,
				},
				{
					tool: "times_list", arguments: `{"at":"infinity","plain":"-infinity","day":"infinity"}`,
					wire: wire("GET /rest/v1/times", timesSelected, `"at"=eq.infinity`, `"plain"=eq.-infinity`, `"day"=eq.infinity`, `order="id".asc.nullslast`, "limit=21"),
					gets: lastPage(timesSecond),
				},
			},
			then: func(w *trickyWorld) { w.pagesThrough("times_list", `{"limit":1,"order":"-plain"}`, "id", "5 4 3 1 2") },
		},
		{
			number: 11, input: "jsonb: nested, JSON null and SQL NULL",
			tools: `
  - table: documents
    operations: [list, get, update]
    columns: [id, doc, raw]
    filters: { doc: [is, cs] }
    write: { doc: { null: true } }`,
			asks: []trickyAsk{
				{
					tool: "documents_get", arguments: `{"id":1}`,
					wire: wire("GET /rest/v1/documents", `select="id","doc","raw"`, `"id"=eq.1`, "Accept: object"),
					gets: `{"id":1,"doc":{"a":[1,{"b":null}],"n":12345678901234567890.5},"raw":{"z":1,"a":2}}`,
				},
				{
					tool: "documents_list",
					wire: wire("GET /rest/v1/documents", `select="id","doc","raw"`, `order="id".asc.nullslast`, "limit=21"),
					gets: lastPage(`{"id":1,"doc":{"a":[1,{"b":null}],"n":12345678901234567890.5},"raw":{"z":1,"a":2}},` +
						`{"id":2,"doc":null,"raw":null},{"id":3,"doc":null,"raw":null},{"id":4,"doc":"text","raw":0}`),
				},
				{
					tool: "documents_list", arguments: `{"doc_is":"null"}`,
					wire: wire("GET /rest/v1/documents", `select="id","doc","raw"`, `"doc"=is.null`, `order="id".asc.nullslast`, "limit=21"),
					gets: lastPage(`{"id":2,"doc":null,"raw":null}`),
				},
				{
					tool: "documents_list", arguments: `{"doc_contains":{"a":[{"b":null}]}}`,
					wire: wire("GET /rest/v1/documents", `select="id","doc","raw"`, `"doc"=cs.{"a":[{"b":null}]}`, `order="id".asc.nullslast`, "limit=21"),
					gets: lastPage(`{"id":1,"doc":{"a":[1,{"b":null}],"n":12345678901234567890.5},"raw":{"z":1,"a":2}}`),
				},
				{
					tool: "documents_list", arguments: `{"doc_contains":null}`,
					wire: wire("GET /rest/v1/documents", `select="id","doc","raw"`, `"doc"=cs.null`, `order="id".asc.nullslast`, "limit=21"),
					gets: lastPage(`{"id":3,"doc":null,"raw":null}`),
				},
				{
					tool: "documents_list", arguments: `{"doc_contains":"text"}`,
					wire: wire("GET /rest/v1/documents", `select="id","doc","raw"`, `"doc"=cs."text"`, `order="id".asc.nullslast`, "limit=21"),
					gets: lastPage(`{"id":4,"doc":"text","raw":0}`),
				},
				{ // a null that is written is SQL's
					tool: "documents_update", arguments: `{"id":4,"patch":{"doc":null}}`, once: true,
					wire: wire("PATCH /rest/v1/documents", `select="id","doc","raw"`, `"id"=eq.4`, oneObject, onlyOne, `{"doc":null}`),
					gets: `{"id":4,"doc":null,"raw":0}`,
				},
				{
					tool: "documents_list", arguments: `{"doc_is":"null"}`,
					wire: wire("GET /rest/v1/documents", `select="id","doc","raw"`, `"doc"=is.null`, `order="id".asc.nullslast`, "limit=21"),
					gets: lastPage(`{"id":2,"doc":null,"raw":null},{"id":4,"doc":null,"raw":0}`),
				},
				{
					tool: "documents_update", arguments: `{"id":4,"patch":{"doc":{"n":12345678901234567890.10,"a":[null]}}}`, once: true,
					wire: wire("PATCH /rest/v1/documents", `select="id","doc","raw"`, `"id"=eq.4`, oneObject, onlyOne, `{"doc":{"n":12345678901234567890.10,"a":[null]}}`),
					gets: `{"id":4,"doc":{"a":[null],"n":12345678901234567890.10},"raw":0}`,
				},
			},
		},
		{
			number: 12, input: "arrays",
			tools: `
  - table: lists
    operations: [list, get]
    columns: [id, tags, numbers, grid]
    filters: { tags: [cs, cd, ov], numbers: [cs, ov] }`,
			refused: []trickyRefusal{{"  - table: lists\n    columns: [id, tags]\n    filters: { tags: [eq] }", 3, "eq does not work on"}},
			asks: []trickyAsk{
				{
					tool: "lists_get", arguments: `{"id":1}`,
					wire: wire("GET /rest/v1/lists", `select="id","tags","numbers","grid"`, `"id"=eq.1`, "Accept: object"),
					gets: `{"id":1,"tags":["x","y z"],"numbers":["9007199254740993"],"grid":[[1,2],[3,4]]}`,
				},
				{
					tool: "lists_list", arguments: `{"tags_contains":["x","y z"]}`,
					wire: wire("GET /rest/v1/lists", `select="id","tags","numbers","grid"`, `"tags"=cs.{"x","y z"}`, `order="id".asc.nullslast`, "limit=21"),
					gets: lastPage(`{"id":1,"tags":["x","y z"],"numbers":["9007199254740993"],"grid":[[1,2],[3,4]]}`),
				},
				{
					tool: "lists_list", arguments: `{"tags_overlaps":["a\"b,c","back\\slash","{}",""],"tags_contains":["","{}"]}`,
					wire: wire("GET /rest/v1/lists", `select="id","tags","numbers","grid"`, `"tags"=cs.{"","{}"}`,
						`"tags"=ov.{"a\"b,c","back\\slash","{}",""}`, `order="id".asc.nullslast`, "limit=21"),
					gets: lastPage(`{"id":2,"tags":["a\"b,c","back\\slash","{}",""],"numbers":[],"grid":null}`),
				},
				{
					tool: "lists_list", arguments: `{"tags_contained_in":["x","NULL"]}`, // a NULL inside is never contained
					wire: wire("GET /rest/v1/lists", `select="id","tags","numbers","grid"`, `"tags"=cd.{"x","NULL"}`, `order="id".asc.nullslast`, "limit=21"),
					gets: lastPage(``),
				},
				{
					tool: "lists_list", arguments: `{"numbers_contains":["9007199254740993"]}`,
					wire: wire("GET /rest/v1/lists", `select="id","tags","numbers","grid"`, `"numbers"=cs.{"9007199254740993"}`, `order="id".asc.nullslast`, "limit=21"),
					gets: lastPage(`{"id":1,"tags":["x","y z"],"numbers":["9007199254740993"],"grid":[[1,2],[3,4]]}`),
				},
				{
					tool: "lists_list", arguments: `{"numbers_overlaps":[9999999999999999999]}`,
					wire: wire("GET /rest/v1/lists", `select="id","tags","numbers","grid"`, `"numbers"=ov.{"9999999999999999999"}`, `order="id".asc.nullslast`, "limit=21"),
					// Which of the values is told by the value in the database's message.
					fails: "invalid /numbers_overlaps",
				},
				{tool: "lists_list", arguments: `{"tags_contains":"{x}"}`, fails: "invalid /tags_contains"},
				{tool: "lists_list", arguments: `{"tags_contains":[["x"]]}`, fails: "invalid /tags_contains/0"},
				{tool: "lists_list", arguments: `{"tags_contains":[null]}`, fails: "invalid /tags_contains/0"},
			},
		},
		{
			number: 13, input: "bytea, money, range, point, inet",
			tools: `
  - table: kinds
    operations: [list, get]
    columns: [id, bytes, price, span, spot, address, whole, words, bits]
    filters: { bytes: [eq], price: [eq], span: [eq], address: [eq] }`,
			asks: []trickyAsk{
				{
					tool: "kinds_get", arguments: `{"id":1}`,
					wire: wire("GET /rest/v1/kinds", `select="id","bytes","price","span","spot","address","whole","words","bits"`, `"id"=eq.1`, "Accept: object"),
					gets: `{"id":1,"bytes":"\\x00ff","price":"$12.50","span":"[1,5)","spot":"(1,2)","address":"10.0.0.1/8",` +
						`"whole":"a11ce000-0000-4000-8000-000000000001","words":"'a' 'b'","bits":"101"}`,
				},
				{
					tool: "kinds_list", arguments: `{"bytes":"\\x00ff","price":"$12.50","span":"[1,5)","address":"10.0.0.1/8"}`,
					wire: wire("GET /rest/v1/kinds", `select="id","bytes","price","span","spot","address","whole","words","bits"`,
						`"bytes"=eq.\x00ff`, `"price"=eq.$12.50`, `"span"=eq.[1,5)`, `"address"=eq.10.0.0.1/8`, `order="id".asc.nullslast`, "limit=21"),
					gets: lastPage(`{"id":1,"bytes":"\\x00ff","price":"$12.50","span":"[1,5)","spot":"(1,2)","address":"10.0.0.1/8",` +
						`"whole":"a11ce000-0000-4000-8000-000000000001","words":"'a' 'b'","bits":"101"}`),
				},
				{
					tool: "kinds_list", arguments: `{"address":"10.0.0.1/99"}`,
					wire: wire("GET /rest/v1/kinds", `select="id","bytes","price","span","spot","address","whole","words","bits"`,
						`"address"=eq.10.0.0.1/99`, `order="id".asc.nullslast`, "limit=21"),
					fails: "invalid /address",
				},
			},
		},
		{
			number: 14, input: "a label that an enum has not",
			tools: `
  - table: kinds
    operations: [list]
    columns: [id, mood]
    filters: { mood: [eq, in] }`,
			asks: []trickyAsk{
				{
					tool: "kinds_list", arguments: `{"mood":"so-so, really"}`,
					wire: wire("GET /rest/v1/kinds", `select="id","mood"`, `"mood"=eq.so-so, really`, `order="id".asc.nullslast`, "limit=21"),
					gets: lastPage(`{"id":1,"mood":"so-so, really"}`),
				},
				{
					tool: "kinds_list", arguments: `{"mood_in":["so-so, really","ok"]}`,
					wire: wire("GET /rest/v1/kinds", `select="id","mood"`, `"mood"=in.("so-so, really","ok")`, `order="id".asc.nullslast`, "limit=21"),
					gets: lastPage(`{"id":1,"mood":"so-so, really"}`),
				},
				{tool: "kinds_list", arguments: `{"mood":"happy"}`, fails: "invalid /mood"},
				{tool: "kinds_list", arguments: `{"mood_in":["ok","happy"]}`, fails: "invalid /mood_in/1"},
			},
			then: func(w *trickyWorld) { // renamed after the surface was published
				w.exec(`alter type public.mood rename value 'sad' to 'blue'`)
				defer w.exec(`alter type public.mood rename value 'blue' to 'sad'`)
				w.ask(trickyAsk{
					tool: "kinds_list", arguments: `{"mood":"sad"}`,
					wire:  wire("GET /rest/v1/kinds", `select="id","mood"`, `"mood"=eq.sad`, `order="id".asc.nullslast`, "limit=21"),
					fails: "invalid /mood",
				})
			},
		},
	}
}

const (
	timesTools = `
  - table: times
    operations: [list, get]
    columns: [id, at, plain, day, clock, zoned, span]
    filters: { at: [eq, gt, lt], plain: [eq], day: [eq], clock: [eq], zoned: [eq], span: [eq] }
    order: [id, at, -plain]`
	timesSelected = `select="id","at","plain","day","clock","zoned","span"`
	timesFirst    = `{"id":1,"at":"2026-01-02T03:04:05.12+00:00","plain":"2026-01-02T03:04:05","day":"2026-02-03","clock":"04:05:00","zoned":"04:05:00+02","span":"1 day 02:03:00"}`
	timesSecond   = `{"id":2,"at":"infinity","plain":"-infinity","day":"infinity","clock":"24:00:00","zoned":null,"span":"-1 mons"}`
	timesFifth    = `{"id":5,"at":"2026-01-02T03:04:05.123457+00:00","plain":null,"day":null,"clock":null,"zoned":null,"span":null}`
)
