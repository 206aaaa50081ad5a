package mcp

// trickyNames are inputs whose names are grammar somewhere else.
func trickyNames() []trickyRow {
	return []trickyRow{
		{
			number: 1, input: `table "Weird Table", column "a.b"`,
			tools: `
  - table: Weird Table
    operations: [list, get, create, update, delete]
    columns: [a.b, note]
    filters: { a.b: [eq, in] }
    write: { create: [a.b, note], update: [note] }`,
			asks: []trickyAsk{
				{
					tool: "Weird_Table_list", arguments: `{"a_b":1}`,
					wire: wire("GET /rest/v1/Weird%20Table", `select="a.b","note"`, `"a.b"=eq.1`, `order="a.b".asc.nullslast`, "limit=21"),
					gets: lastPage(`{"a.b":1,"note":"dot"}`), text: "a.b\tnote\n1\tdot\n",
				},
				{
					tool: "Weird_Table_list", arguments: `{"a_b_in":[2,3]}`,
					wire: wire("GET /rest/v1/Weird%20Table", `select="a.b","note"`, `"a.b"=in.("2","3")`, `order="a.b".asc.nullslast`, "limit=21"),
					gets: lastPage(`{"a.b":2,"note":"two"}`),
				},
				{
					tool: "Weird_Table_get", arguments: `{"a.b":2}`,
					wire: wire("GET /rest/v1/Weird%20Table", `select="a.b","note"`, `"a.b"=eq.2`, "Accept: object"),
					gets: `{"a.b":2,"note":"two"}`,
				},
				{
					tool: "Weird_Table_create", arguments: `{"a.b":3,"note":"three"}`, once: true,
					wire: wire("POST /rest/v1/Weird%20Table", `select="a.b","note"`, oneObject, oneCreated, `{"a.b":3,"note":"three"}`),
					gets: `{"a.b":3,"note":"three"}`,
				},
				{
					tool: "Weird_Table_update", arguments: `{"a.b":3,"patch":{"note":"changed"}}`, once: true,
					wire: wire("PATCH /rest/v1/Weird%20Table", `select="a.b","note"`, `"a.b"=eq.3`, oneObject, onlyOne, `{"note":"changed"}`),
					gets: `{"a.b":3,"note":"changed"}`,
				},
				{
					tool: "Weird_Table_delete", arguments: `{"a.b":3}`, once: true,
					wire: wire("DELETE /rest/v1/Weird%20Table", `select="a.b","note"`, `"a.b"=eq.3`, oneObject, onlyOne),
					gets: `{"a.b":3,"note":"changed"}`, text: "Deleted.",
				},
			},
		},
		{
			number: 2, input: "columns named order, limit, select, or, and, columns, on_conflict",
			tools: `
  - table: reserved
    operations: [list, get, create, delete]
    columns: [select, order, limit, or, and, columns, on_conflict]
    search: [order, limit, or]
    write: [select, order, limit, or, and, columns, on_conflict]
    filters: { select: [eq], order: [eq, is], limit: [eq], or: [eq], and: [eq], columns: [eq], on_conflict: [eq] }
    order: [order, select]`,
			asks: []trickyAsk{
				{
					tool: "reserved_list", arguments: `{"select":1,"order_eq":"x","limit_eq":"y","or":"o","and":"a","columns":"c","on_conflict":"k","limit":5}`,
					wire: wire("GET /rest/v1/reserved", `select="select","order","limit","or","and","columns","on_conflict"`,
						`"select"=eq.1`, `"order"=eq.x`, `"limit"=eq.y`, `"or"=eq.o`, `"and"=eq.a`, `"columns"=eq.c`, `"on_conflict"=eq.k`,
						`order="order".asc.nullslast,"select".asc.nullslast`, "limit=6"),
					gets: lastPage(`{"select":1,"order":"x","limit":"y","or":"o","and":"a","columns":"c","on_conflict":"k"}`),
				},
				{
					tool: "reserved_list", arguments: `{"or":"nothing has it"}`,
					wire: wire("GET /rest/v1/reserved", `select="select","order","limit","or","and","columns","on_conflict"`,
						`"or"=eq.nothing has it`, `order="order".asc.nullslast,"select".asc.nullslast`, "limit=21"),
					gets: lastPage(``),
				},
				{
					tool: "reserved_list", arguments: `{"search":"\"x),or.(\\"}`, // in a logic tree
					wire: wire("GET /rest/v1/reserved", `select="select","order","limit","or","and","columns","on_conflict"`,
						`or=("order".ilike."%\"x),or.(\\\\%","limit".ilike."%\"x),or.(\\\\%","or".ilike."%\"x),or.(\\\\%")`,
						`order="order".asc.nullslast,"select".asc.nullslast`, "limit=21"),
					gets: lastPage(``),
				},
				{
					tool: "reserved_create", arguments: `{"select":3,"order":"o","limit":"l","or":"r","and":"n","columns":"c","on_conflict":"f"}`, once: true,
					wire: wire("POST /rest/v1/reserved", `select="select","order","limit","or","and","columns","on_conflict"`, oneObject, oneCreated,
						`{"select":3,"order":"o","limit":"l","or":"r","and":"n","columns":"c","on_conflict":"f"}`),
					gets: `{"select":3,"order":"o","limit":"l","or":"r","and":"n","columns":"c","on_conflict":"f"}`,
				},
				{
					tool: "reserved_delete", arguments: `{"select":3}`, once: true,
					wire: wire("DELETE /rest/v1/reserved", `select="select","order","limit","or","and","columns","on_conflict"`, `"select"=eq.3`, oneObject, onlyOne),
					gets: `{"select":3,"order":"o","limit":"l","or":"r","and":"n","columns":"c","on_conflict":"f"}`,
				},
				{
					tool: "reserved_get", arguments: `{"select":2}`,
					wire: wire("GET /rest/v1/reserved", `select="select","order","limit","or","and","columns","on_conflict"`, `"select"=eq.2`, "Accept: object"),
					gets: `{"select":2,"order":"z","limit":null,"or":null,"and":null,"columns":null,"on_conflict":null}`,
				},
			},
			then: func(w *trickyWorld) { w.pagesThrough("reserved_list", `{"order":"order","limit":1}`, "select", "1 2") },
		},
		{
			number: 3, input: "columns in upper case",
			tools: `
  - table: spelled
    operations: [list, get]
    columns: [Id, Order, order]
    filters: { Order: [eq], order: [eq] }`,
			refused: []trickyRefusal{
				{"  - table: spelled\n    columns: [id, Order]", 2, `"Id"`},
				{"  - table: Spelled\n    columns: [Id]", 1, `"spelled"`},
			},
			asks: []trickyAsk{
				{
					tool: "spelled_list", arguments: `{"Order":"upper"}`,
					wire: wire("GET /rest/v1/spelled", `select="Id","Order","order"`, `"Order"=eq.upper`, `order="Id".asc.nullslast`, "limit=21"),
					gets: lastPage(`{"Id":1,"Order":"upper","order":"lower"}`),
				},
				{
					tool: "spelled_list", arguments: `{"order_eq":"upper"}`,
					wire: wire("GET /rest/v1/spelled", `select="Id","Order","order"`, `"order"=eq.upper`, `order="Id".asc.nullslast`, "limit=21"),
					gets: lastPage(``),
				},
				{tool: "spelled_get", arguments: `{"id":1}`, fails: "invalid "},
			},
			then: func(w *trickyWorld) { // spelled otherwise since the surface was published
				w.exec(`alter table public.spelled rename column "Order" to "ORDER"`)
				defer w.exec(`alter table public.spelled rename column "ORDER" to "Order"`)
				w.ask(trickyAsk{
					tool: "spelled_get", arguments: `{"Id":1}`,
					wire:  wire("GET /rest/v1/spelled", `select="Id","Order","order"`, `"Id"=eq.1`, oneObject),
					fails: kindOutOfDate,
				})
			},
		},
		{
			number: 4, input: "a primary key of two columns",
			tools: `
  - table: enrollments
    operations: [list, get, update]
    columns: [course, person, grade]
    write: [grade]`,
			// An upsert would need the whole key, too; there is none.
			refused: []trickyRefusal{{"  - table: enrollments\n    operations: [upsert]\n    columns: [course]", 2, "offer create and update"}},
			asks: []trickyAsk{
				{
					tool: "enrollments_get", arguments: `{"course":"b,c","person":7}`,
					wire: wire("GET /rest/v1/enrollments", `select="course","person","grade"`, `"person"=eq.7`, `"course"=eq.b,c`, "Accept: object"),
					gets: `{"course":"b,c","person":7,"grade":2}`,
				},
				{tool: "enrollments_get", arguments: `{"person":7}`, fails: "invalid "},
				{
					tool: "enrollments_update", arguments: `{"person":7,"course":"b,c","patch":{"grade":2}}`, once: true,
					wire: wire("PATCH /rest/v1/enrollments", `select="course","person","grade"`, `"person"=eq.7`, `"course"=eq.b,c`, oneObject, onlyOne,
						`{"grade":2}`),
					gets: `{"course":"b,c","person":7,"grade":2}`,
				},
				{tool: "enrollments_update", arguments: `{"person":7,"patch":{"grade":2}}`, fails: "invalid "},
				{tool: "enrollments_update", arguments: `{"person":7,"course":null,"patch":{"grade":2}}`, fails: "invalid /course"},
				{
					tool: "enrollments_get", arguments: `{"course":"b,c","person":8}`,
					wire:  wire("GET /rest/v1/enrollments", `select="course","person","grade"`, `"person"=eq.8`, `"course"=eq.b,c`, "Accept: object"),
					fails: "not_found",
				},
				{
					tool: "enrollments_list",
					wire: wire("GET /rest/v1/enrollments", `select="course","person","grade"`, `order="person".asc.nullslast,"course".asc.nullslast`, "limit=21"),
					gets: lastPage(`{"course":"art","person":7,"grade":1},{"course":"b,c","person":7,"grade":2},{"course":"art","person":8,"grade":3}`),
				},
			},
			then: func(w *trickyWorld) { w.pagesThrough("enrollments_list", `{"limit":1}`, "grade", "1 2 3") },
		},
		{
			number: 47, input: "the same name twice in select",
			refused: []trickyRefusal{
				{"  - table: labels\n    columns: [id, label, label]", 2, "twice"},
				{"  - table: messages\n    columns: [id, body]\n    embed: { body: { table: accounts, columns: [id] } }", 3, "body"},
				{"  - table: messages\n    columns: [id]\n    embed: { account: { table: accounts, columns: [id, email, id] } }", 3, "twice"},
			},
		},
		{
			number: 48, input: "a table and columns of other scripts",
			tools: `
  - table: größe
    name: sizes
    operations: [list]
    columns: [название, 大小]
    filters: { 大小: [gt], название: [eq, in] }
    order: [大小, -название]`,
			refused: []trickyRefusal{{"  - table: größe\n    operations: [get]\n    columns: [название]", 1, "cannot be the name of an argument"}},
			asks: []trickyAsk{
				{
					tool: "sizes_list", arguments: `{"x85d650":"größer","x50db74_gt":0}`,
					wire: wire("GET /rest/v1/gr%C3%B6%C3%9Fe", `select="название","大小"`, `"название"=eq.größer`, `"大小"=gt.0`,
						`order="大小".asc.nullslast,"название".asc.nullslast`, "limit=21"),
					gets: lastPage(`{"название":"größer","大小":1}`), text: "название\t大小\ngrößer\t1\n",
				},
				{
					tool: "sizes_list", arguments: `{"x85d650_in":["日本","nichts"],"order":"-название"}`,
					wire: wire("GET /rest/v1/gr%C3%B6%C3%9Fe", `select="название","大小"`, `"название"=in.("日本","nichts")`,
						`order="название".desc.nullsfirst`, "limit=21"),
					gets: lastPage(`{"название":"日本","大小":2}`),
				},
			},
			then: func(w *trickyWorld) {
				w.pagesThrough("sizes_list", `{"limit":1}`, "название", "größer 日本")
			},
		},
	}
}
