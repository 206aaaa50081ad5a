package standin

import (
	"net/url"
	"strings"
	"testing"
)

func startOdd(t testing.TB, change func(*Options)) *Project {
	t.Helper()
	return startCRM(t, func(o *Options) {
		o.Schema = oddTypes + oddSchema
		if change != nil {
			change(o)
		}
	})
}

// query encodes key, value pairs as a client must.
func query(pairs ...string) string {
	var parts []string
	for i := 0; i+1 < len(pairs); i += 2 {
		parts = append(parts, url.QueryEscape(pairs[i])+"="+url.QueryEscape(pairs[i+1]))
	}
	return strings.Join(parts, "&")
}

// TestReadsFindTheRows pins which rows a query finds: the three quoting
// contexts, the operators, and the order.
func TestReadsFindTheRows(t *testing.T) {
	t.Parallel()
	c := as(t, startOdd(t, nil), AliceEmail)
	things := func(pairs ...string) string { return "things?select=id&order=id&" + query(pairs...) }
	cases := []struct{ name, path, want string }{
		// Context A: the top level takes everything after the dot as it is.
		{"comma", things("name", "eq.Beta, Inc"), "1"},
		{"parentheses", things("name", "eq.(x)"), "2"},
		{"quotes are characters", things("name", `eq."q"`), "3"},
		{"quoting finds nothing", things("name", `eq."(x)"`), ""},
		{"backslash", things("name", `eq.back\slash`), "4"},
		{"empty string", things("name", "eq."), "6"},
		{"the word null", things("name", "eq.null"), "7"},
		{"not", things("name", "not.eq.null"), "1,2,3,4,5,6,8"},
		{"repeated keys are both held to", things("rank", "gt.5", "rank", "lt.20"), "1"},
		// Context B: lists.
		{"list of quoted", things("name", `in.("Beta, Inc","(x)","\"q\"","back\\slash")`), "1,2,3,4"},
		{"list of raw", things("name", "in.(null,100%)"), "5,7"},
		{"raw keeps a leading space", things("name", "in.(100%, null)"), "5"},
		{"empty list", things("name", "in.()"), ""},
		{"empty string in a list is the empty list", things("name", `in.("")`), ""},
		{"not in the empty list", things("name", "not.in.()"), "1,2,3,4,5,6,7,8"},
		// Context C: logic.
		{"or with quoted values", things("or", `(name.eq."Beta, Inc",name.eq."\"q\"",name.eq."(x)")`), "1,2,3"},
		{"and in or", things("or", `(name.eq."null",and(rank.eq."20",id.lt."3"))`), "2,7"},
		{"list in logic", things("or", `(name.in.("(x)","100%"),id.eq.1)`), "1,2,5"},
		{"not in logic", things("and", `(rank.not.is.null,not.or(id.eq.1,id.eq.2))`), "4,6,7,8"},
		{"not.or as key", things("not.or", `(id.lt.7,name.is.null)`), "7,8"},
		{"array in logic", things("or", `(tags.cs.{x},id.eq.8)`), "1,4,8"},
		{"repeated or", things("or", "(id.eq.1,id.eq.2)", "or", "(id.eq.2,id.eq.3)"), "2"},
		// Operators.
		{"like: a star is a percent sign", things("name", "like.B*c"), "1"},
		{"like: an escaped percent sign", things("name", `like.*\%`), "5"},
		{"ilike knows letters", things("name", "ilike.üML*"), "8"},
		{"match finds a star", things("name", `match.r\*$`), "8"},
		{"like any", things("name", "like(any).{B*,1*}"), "1,5"},
		{"is null", things("rank", "is.null"), "3,5"},
		{"is, any case", things("rank", "is.NULL"), "3,5"},
		{"is not_null", things("rank", "is.not_null"), "1,2,4,6,7,8"},
		{"isdistinct", things("rank", "isdistinct.20"), "1,3,5,6,8"},
		{"contains", things("tags", `cs.{x,"y z"}`), "1"},
		{"overlaps", things("tags", "ov.{x,q}"), "1,4"},
		{"contained", things("tags", "cd.{x}"), "2,4"},
		{"full text", things("name", "fts(simple).inc"), "1"},
		{"web search", things("name", "wfts.beta"), "1"},
		{"web search with a configuration", things("name", `wfts(simple)."beta inc" -x`), "1"},
		{"web search in logic", things("or", `(name.wfts(simple)."\"beta inc\" -x",id.eq.99)`), "1"},
		{"contains in logic, quoted whole", things("or", `(tags.cs."{\"y z\"}",tags.ov."{\"q\"}")`), "1"},
		{"contains, quoted elements", things("tags", `cs.{"x","y z"}`), "1"},
		{"contains the empty list", things("tags", `cs.{}`), "1,2,4"},
		{"contains JSON", things("doc", `cs.{"a":{"b":"x"}}`), "1"},
		{"contained in JSON", things("doc", `cd.{"a.b":1,"c":2}`), "2"},
		{"contains JSON in logic", things("or", `(doc.cs."{\"n\":[20]}",id.eq.4)`), "1,4"},
		{"isdistinct in logic", things("and", `(rank.isdistinct."20",rank.not.isdistinct."10")`), "1"},
		{"enum", things("mood", "eq.sad"), "2"},
		{"json text", things("doc->a->>b", "eq.x"), "1"},
		{"json index", things("doc->n->0", "eq.10"), "1"},
		{"json odd key", things(`doc->"a.b"`, "eq.1"), "2"},
		{"json path of an array column", things("tags->>0", "eq.x"), "1,4"},
		{"sql null only", things("doc", "is.null"), "4,5,6,7,8"},
		{"time with an encoded plus", things("at", "eq.2026-01-02T03:04:05.12+00:00"), "1"},
		{"big integer", things("big", "eq.9007199254740993"), "1"},
		{"NaN is above infinity", "things?select=id&order=ratio.desc,id&limit=2", "1,2"},
		// Control parameters.
		{"limit that is no number is ignored", things("limit", "abc"), "1,2,3,4,5,6,7,8"},
		{"keys without a value are dropped", "things?select=id&order=id&id", "1,2,3,4,5,6,7,8"},
		{"the first select wins", "things?select=id&select=name&order=id&limit=1", "1"},
		{"nulls last by default", "things?select=id&order=rank,id", "8,6,1,2,4,7,3,5"},
		{"nulls first when descending", "things?select=id&order=rank.desc,id", "3,5,2,4,7,1,6,8"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			got := c.get(tc.path)
			if got.status != 200 || ids(t, got.body) != tc.want {
				t.Errorf("GET %s = %d %s, want rows %s", tc.path, got.status, got.body, tc.want)
			}
		})
	}
}

// ids is the list of ids of a body like [{"id":1},…].
func ids(t testing.TB, body string) string {
	t.Helper()
	s := compact(t, body)
	s = strings.NewReplacer(`[`, "", `]`, "", `{"id":`, "", `}`, "").Replace(s)
	return s
}

// TestKeysetPagesInAllFourOrders walks every order to the end, row by row,
// with the conditions that a keyset client sends.
func TestKeysetPagesInAllFourOrders(t *testing.T) {
	t.Parallel()
	c := as(t, startOdd(t, nil), AliceEmail)
	cases := []struct{ order, notNull, null, want string }{
		{"rank.asc.nullslast,id.asc", `or=(rank.gt."V",and(rank.eq."V",id.gt."K"),rank.is.null)`, `and=(rank.is.null,id.gt."K")`, "8,6,1,2,4,7,3,5"},
		{"rank.asc.nullsfirst,id.asc", `or=(rank.gt."V",and(rank.eq."V",id.gt."K"))`, `or=(rank.not.is.null,and(rank.is.null,id.gt."K"))`, "3,5,8,6,1,2,4,7"},
		{"rank.desc.nullslast,id.asc", `or=(rank.lt."V",and(rank.eq."V",id.gt."K"),rank.is.null)`, `and=(rank.is.null,id.gt."K")`, "2,4,7,1,6,8,3,5"},
		{"rank.desc.nullsfirst,id.asc", `or=(rank.lt."V",and(rank.eq."V",id.gt."K"))`, `or=(rank.not.is.null,and(rank.is.null,id.gt."K"))`, "3,5,2,4,7,1,6,8"},
	}
	ranks := map[string]string{"1": "10", "2": "20", "4": "20", "6": "5", "7": "20", "8": "1"}
	for _, tc := range cases {
		var walked []string
		condition := ""
		for range 9 {
			got := c.get("things?select=id&limit=1&order=" + tc.order + "&" + condition)
			if got.status != 200 {
				t.Fatalf("%s: %d %s", tc.order, got.status, got.body)
			}
			id := ids(t, got.body)
			if id == "" {
				break
			}
			walked = append(walked, id)
			rank, known := ranks[id]
			form := tc.null
			if known {
				form = tc.notNull
			}
			key, value, _ := strings.Cut(strings.NewReplacer("V", rank, "K", id).Replace(form), "=")
			condition = query(key, value)
		}
		if got := strings.Join(walked, ","); got != tc.want {
			t.Errorf("%s: walked %s, want %s", tc.order, got, tc.want)
		}
	}
}

// TestValuesKeepTheirText pins how PostgreSQL writes values as JSON.
func TestValuesKeepTheirText(t *testing.T) {
	t.Parallel()
	c := as(t, startOdd(t, nil), AliceEmail)
	cases := []struct{ name, path, want string }{
		{"big and exact numbers", "things?select=big,amount&id=eq.1", `[{"big":9007199254740993,"amount":12345678901234567890.123456789}]`},
		{"trailing zero, Infinity", "things?select=amount,ratio,at&id=eq.2", `[{"amount":1.10,"ratio":"Infinity","at":"infinity"}]`},
		{"NaN", "things?select=amount&id=eq.3", `[{"amount":"NaN"}]`},
		{"times", "things?select=at,local&id=eq.1", `[{"at":"2026-01-02T03:04:05.12+00:00","local":"2026-01-02T03:04:05"}]`},
		{"json null and sql null look alike", "things?select=doc&id=in.(3,4)&order=id", `[{"doc":null},{"doc":null}]`},
		{"array, bytea, enum", "things?select=tags,raw,mood&id=eq.1", `[{"tags":["x","y z"],"raw":"\\x00ff","mood":"happy"}]`},
		{"alias and cast", "things?select=key:id::text&id=eq.1", `[{"key":"1"}]`},
		{"json path names", "things?select=doc->a->>b,doc->n->1,first:tags->0&id=eq.1", `[{"b":"x","n":20,"first":"x"}]`},
		{"quoted names", "Weird%20Table?" + query("select", `"a.b","order","Upper"`, `"a.b"`, "eq.y", `"order"`, "eq.8"), `[{"a.b":"y","order":8,"Upper":"V"}]`},
		{"reserved names inside logic", "Weird%20Table?" + query("select", "id", "and", "(order.eq.7)"), `[{"id":1}]`},
		{"legacy count", "things?select=count", `[{"count":8}]`},
		{"nulls stripped", "things?select=id,rank&id=eq.3", `[{"id":3}]`},
	}
	for _, tc := range cases {
		var headers []string
		if tc.name == "nulls stripped" {
			headers = []string{"Accept", "application/vnd.pgrst.array+json;nulls=stripped"}
		}
		if got := c.get(tc.path, headers...); got.status != 200 || compact(t, got.body) != tc.want {
			t.Errorf("%s: %d %s, want %s", tc.name, got.status, got.body, tc.want)
		}
	}
}

// TestEmbeds pins one level of foreign key embeds.
func TestEmbeds(t *testing.T) {
	t.Parallel()
	c := as(t, startOdd(t, nil), AliceEmail)
	cases := []struct {
		name, path string
		status     int
		code       string
		want       string
	}{
		{"to one by foreign key", "people?select=name,people_home(town)&order=id", 200, "", `[{"name":"Ada","people_home":{"town":"Porto"}},{"name":"Ben","people_home":{"town":"Porto"}},{"name":"Cleo","people_home":null}]`},
		{"to one by hint and alias", "people?select=id,work:places!people_work(town)&id=eq.1", 200, "", `[{"id":1,"work":{"town":"Faro"}}]`},
		{"to one by column", "people?select=id,home_id(town)&id=eq.1", 200, "", `[{"id":1,"home_id":{"town":"Porto"}}]`},
		{"to many", "places?select=town,people!people_home(name)&order=id&people.order=name.desc", 200, "", `[{"town":"Porto","people":[{"name":"Ben"},{"name":"Ada"}]},{"town":"Faro","people":[]}]`},
		{"self, the one", "people?select=name,boss:boss_id(name)&id=eq.2", 200, "", `[{"name":"Ben","boss":{"name":"Ada"}}]`},
		{"self, the many", "people?select=name,team:people!boss_id(name)&id=eq.1&team.order=id", 200, "", `[{"name":"Ada","team":[{"name":"Ben"},{"name":"Cleo"}]}]`},
		{"inner drops parents", "people?select=id,places!people_work!inner(town)&order=id", 200, "", `[{"id":1,"places":{"town":"Faro"}},{"id":3,"places":{"town":"Faro"}}]`},
		{"a filter shapes the embed", "places?select=id,people!people_home(id)&people.name=eq.Ada&order=id", 200, "", `[{"id":1,"people":[{"id":1}]},{"id":2,"people":[]}]`},
		{"a limit of the embed", "places?select=id,people!people_home(id)&people.limit=1&people.order=id&id=eq.1", 200, "", `[{"id":1,"people":[{"id":1}]}]`},
		{"parents by presence", "people?select=id,people_work(id)&people_work=not.is.null&order=id", 200, "", `[{"id":1,"people_work":{"id":2}},{"id":3,"people_work":{"id":2}}]`},
		{"parents by absence", "people?select=id,people_work(id)&people_work=is.null", 200, "", `[{"id":2,"people_work":null}]`},
		{"order and limit by a quoted alias", `places?` + query("select", `"town","folk":"people"!"people_home"("name")`, `"folk".order`, `"name".desc.nullslast`, `"folk".limit`, "1", "order", "id"), 200, "", `[{"town":"Porto","folk":[{"name":"Ben"}]},{"town":"Faro","folk":[]}]`},
		{"one to one, either way", "people?select=id,badges(code)&order=id&limit=2", 200, "", `[{"id":1,"badges":{"code":"A"}},{"id":2,"badges":null}]`},
		{"one to one, from the other side", "badges?select=code,people(name)", 200, "", `[{"code":"A","people":{"name":"Ada"}}]`},
		{"self, the many, by a quoted hint and alias", `people?` + query("select", `"team":"people"!"boss_id"("id")`, "id", "eq.1", `"team".order`, `"id".desc`, `"team".limit`, "1"), 200, "", `[{"team":[{"id":3}]}]`},
		{"self, the many, not by the foreign key", "people?select=people!people_boss(id)", 400, "PGRST200", ""},
		{"self, the one, not with a hint", "people?select=boss_id!people_boss(id)", 400, "PGRST200", ""},
		{"self and unique links nothing", "badges?select=next_code(code)", 400, "PGRST200", ""},
		{"a hint goes with the relation's name only", "people?select=people_home!home_id(town)", 400, "PGRST200", ""},
		{"a word in front of a bare hint is the word", "people?select=places!left_home(town)", 400, "PGRST100", ""},
		{"a quoted hint is a hint", `people?` + query("select", `places!"inner"(town)`), 400, "PGRST200", ""},
		{"a relation named count is none", "people?select=count(id)", 400, "PGRST100", ""},
		{"a path that means two embeds", "places?select=people:people!people_home(id),work:people!people_work(id)&people.limit=1", 400, "PGRST127", ""},
		{"ambiguous", "people?select=places(town)", 300, "PGRST201", ""},
		{"no relationship", "people?select=things(id)", 400, "PGRST200", ""},
		{"not selected", "people?select=id&places.town=eq.Porto", 400, "PGRST108", ""},
		{"bad operator on an embed", "people?select=people_home(town)&people_home=eq.1", 400, "PGRST120", ""},
		{"two levels", "people?select=people_home(people(id))", 400, "PGRST127", ""},
		{"spread", "people?select=...people_home(town)", 400, "PGRST127", ""},
		{"of a view", "distinct_names?select=people(id)", 400, "PGRST127", ""},
	}
	for _, tc := range cases {
		got := c.get(tc.path)
		if got.status != tc.status || got.code() != tc.code {
			t.Errorf("%s: %d %s, want %d %s", tc.name, got.status, got.body, tc.status, tc.code)
		}
		if tc.want != "" && compact(t, got.body) != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, compact(t, got.body), tc.want)
		}
	}
	capped := as(t, startOdd(t, func(o *Options) { o.MaxRows = 1 }), AliceEmail)
	if got := capped.get("places?select=id,people!people_home(id)&people.order=id"); compact(t, got.body) != `[{"id":1,"people":[{"id":1}]}]` {
		t.Errorf("max-rows of an embed: %s", got.body)
	}
	if got := c.get("people?select=places(town)"); !strings.Contains(got.body, `"details":[{`) {
		t.Errorf("PGRST201 has no list of details: %s", got.body)
	}
}

// TestWindows pins status and Content-Range of pages.
func TestWindows(t *testing.T) {
	t.Parallel()
	c := as(t, startOdd(t, func(o *Options) { o.MaxRows = 5 }), AliceEmail)
	const exact = "count=exact"
	cases := []struct {
		name, path, prefer, rng string
		status                  int
		contentRange, code      string
	}{
		{"max-rows caps silently", "things", "", "", 200, "0-4/*", ""},
		{"and with a count", "things", exact, "", 206, "0-4/8", ""},
		{"whole of a known total", "things?id=lt.3", exact, "", 200, "0-1/2", ""},
		{"planned answers too", "things?limit=1", "count=planned", "", 206, "0-0/8", ""},
		{"limit and offset", "things?limit=2&offset=3", "", "", 200, "3-4/*", ""},
		{"limit 0", "things?limit=0", "", "", 200, "*/*", ""},
		{"negative limit", "things?limit=-1", "", "", 416, "", "PGRST103"},
		{"offset past the end, no total", "things?offset=100", "", "", 200, "*/*", ""},
		{"offset past a known end", "things?offset=100", exact, "", 416, "", "PGRST103"},
		{"offset at a known end", "things?offset=8", exact, "", 206, "*/8", ""},
		{"Range", "things", "", "1-2", 200, "1-2/*", ""},
		{"Range and limit intersect", "things?limit=1", "", "1-2", 200, "*/*", ""},
		{"open Range", "things", "", "6-", 200, "6-7/*", ""},
		{"upside down Range", "things", "", "5-2", 416, "", "PGRST103"},
	}
	for _, tc := range cases {
		var headers []string
		if tc.prefer != "" {
			headers = append(headers, "Prefer", tc.prefer)
		}
		if tc.rng != "" {
			headers = append(headers, "Range-Unit", "items", "Range", tc.rng)
		}
		got := c.get(tc.path, headers...)
		if got.status != tc.status || got.header.Get("Content-Range") != tc.contentRange || got.code() != tc.code {
			t.Errorf("%s: %d %q %s, want %d %q %s", tc.name, got.status, got.header.Get("Content-Range"), got.code(), tc.status, tc.contentRange, tc.code)
		}
		if tc.prefer != "" && tc.status < 300 && got.header.Get("Preference-Applied") != tc.prefer {
			t.Errorf("%s: Preference-Applied %q", tc.name, got.header.Get("Preference-Applied"))
		}
	}
	head := c.do("HEAD", "things?limit=1", "", "Prefer", exact)
	if head.status != 206 || head.body != "" || head.header.Get("Content-Range") != "0-0/8" {
		t.Errorf("HEAD: %d %q %q", head.status, head.header.Get("Content-Range"), head.body)
	}
}
