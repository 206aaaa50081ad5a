package mcp

import (
	"math/big"
	"strings"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

const threeRows = `[{"id":"1","name":"a","status":null},{"id":"2","name":"b","status":null},{"id":"3","name":"c","status":null}]`

// firstCursor is the cursor of a first page of two of threeRows.
func firstCursor(t *testing.T, r *toolRunner, c *call, tool *surfaces.Tool, arguments string) string {
	t.Helper()
	l := runTool(t, r, c, tool, arguments).list(t)
	if l.NextCursor == nil {
		t.Fatal("no cursor")
	}
	return *l.NextCursor
}

func TestACursorBelongsToItsList(t *testing.T) {
	t.Parallel()
	p := answering(threeRows)
	r := newTestRunner(t, p)
	c := runCall()
	cursor := firstCursor(t, r, c, listTool(), `{"limit":2,"status":"open","order":"name"}`)

	otherTool, otherKeys := listTool(), listTool()
	otherTool.Name = "leads_list"
	otherKeys.List.Orders[1].Keys[0].Desc = true
	otherSurface := runCall()
	otherProject := runCall()
	otherProject.endpoint.Surface = c.endpoint.Surface
	for _, test := range []struct {
		name      string
		call      *call
		tool      *surfaces.Tool
		arguments string
		good      bool
	}{
		{"same", c, listTool(), `{"limit":2,"status":"open","order":"name","cursor":"` + cursor + `"}`, true},
		{"another limit", c, listTool(), `{"limit":50,"status":"open","order":"name","cursor":"` + cursor + `"}`, true},
		{"arguments written otherwise", c, listTool(), `{ "cursor" : "` + cursor + `", "order":"n\u0061me", "status" : "\u006fpen" }`, true},
		{"another caller", otherProject, listTool(), `{"status":"open","order":"name","cursor":"` + cursor + `"}`, true},
		{"another filter value", c, listTool(), `{"status":"closed","order":"name","cursor":"` + cursor + `"}`, false},
		{"without the filter", c, listTool(), `{"order":"name","cursor":"` + cursor + `"}`, false},
		{"with one more filter", c, listTool(), `{"status":"open","name_ilike":"x","order":"name","cursor":"` + cursor + `"}`, false},
		{"another order", c, listTool(), `{"status":"open","cursor":"` + cursor + `"}`, false},
		{"the order turned around", c, otherKeys, `{"status":"open","order":"name","cursor":"` + cursor + `"}`, false},
		{"another tool", c, otherTool, `{"status":"open","order":"name","cursor":"` + cursor + `"}`, false},
		{"another surface", otherSurface, listTool(), `{"status":"open","order":"name","cursor":"` + cursor + `"}`, false},
		{"changed", c, listTool(), `{"status":"open","order":"name","cursor":"` + "A" + cursor[1:] + `"}`, false},
		{"cut", c, listTool(), `{"status":"open","order":"name","cursor":"` + cursor[:len(cursor)-2] + `"}`, false},
		{"empty", c, listTool(), `{"status":"open","order":"name","cursor":""}`, false},
		{"not base64", c, listTool(), `{"status":"open","order":"name","cursor":"%%%"}`, false},
		{"very long", c, listTool(), `{"status":"open","order":"name","cursor":"` + strings.Repeat("A", 5000) + `"}`, false},
		{"a number", c, listTool(), `{"status":"open","order":"name","cursor":7}`, false},
	} {
		before := len(p.selects)
		got := runTool(t, r, test.call, test.tool, test.arguments)
		if test.good {
			if got.isError || len(p.selects) != before+1 {
				t.Errorf("%s: %s", test.name, got.text)
			}
			continue
		}
		if got.kind() != "invalid_cursor" || !strings.Contains(got.text, "Start again without cursor") {
			t.Errorf("%s: %s", test.name, got.text)
		}
		if len(p.selects) != before {
			t.Errorf("%s: the project was asked", test.name)
		}
	}
}

func TestACursorOfOtherKeysIsInvalid(t *testing.T) {
	t.Parallel()
	c := runCall()
	cursor := firstCursor(t, newTestRunner(t, answering(threeRows)), c, listTool(), `{"limit":2}`)
	if got := runTool(t, newTestRunner(t, answering(threeRows)), c, listTool(), `{"cursor":"`+cursor+`"}`); got.kind() != "invalid_cursor" {
		t.Error(got.text)
	}
}

func TestACursorShowsNothingOfTheRow(t *testing.T) {
	t.Parallel()
	rows := strings.ReplaceAll(threeRows, `"b"`, `"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"`)
	cursor := firstCursor(t, newTestRunner(t, answering(rows)), runCall(), listTool(), `{"limit":2,"order":"name"}`)
	plain, err := decodeBase64(cursor)
	if err != nil || strings.Contains(string(plain), "bbbb") {
		t.Errorf("%q, %v", plain, err)
	}
}

func TestLongOrderValuesAreReadAgainAsTheCaller(t *testing.T) {
	t.Parallel()
	table := &memoryTable{}
	for i := range 5 {
		table.rows = append(table.rows, map[string]any{"id": big.NewInt(int64(i)), "name": strings.Repeat("n", 600) + string(rune('a'+i)), "status": "s"})
	}
	p := &scripted{onSelect: table.answer}
	r := newTestRunner(t, p)
	c := runCall()
	first := runTool(t, r, c, listTool(), `{"limit":2,"order":"name"}`).list(t)
	if len(*first.NextCursor) > surfaces.MaxCursor {
		t.Fatalf("cursor of %d characters", len(*first.NextCursor))
	}
	second := runTool(t, r, c, listTool(), argumentsText(t, first)).list(t)
	if len(second.Items) != 2 || second.Items[0]["id"] != "2" || second.Items[1]["id"] != "3" {
		t.Fatalf("items %v", second.Items)
	}
	if q := p.selects[1]; !q.Single || len(q.Where) != 1 || q.Where[0].Column != "id" || q.Where[0].Value != "1" {
		t.Errorf("the row is read by %+v", q)
	}
	table.rows = append(table.rows[:1], table.rows[2:]...) // gone, or never this caller's to see
	if got := runTool(t, r, c, listTool(), argumentsText(t, first)); got.kind() != "invalid_cursor" {
		t.Error(got.text)
	}
}

func TestARowWithoutAUsableKeySaysSo(t *testing.T) {
	t.Parallel()
	long := `"` + strings.Repeat("k", 600) + `"`
	rows := strings.NewReplacer(`"1"`, long, `"2"`, long).Replace(threeRows)
	got := runTool(t, newTestRunner(t, answering(rows)), runCall(), listTool(), `{"limit":1}`)
	l := got.list(t)
	if !*l.HasMore || l.NextCursor != nil || l.NextCall != nil || !strings.Contains(got.text, "cannot be reached in this order") {
		t.Errorf("%s", got.text)
	}
}

func TestAfterRowNeverSpeaksOfNullKeys(t *testing.T) {
	t.Parallel()
	key := []surfaces.Column{idColumn}
	got := afterRow([]surfaces.OrderTerm{term(nameColumn, false, false), term(idColumn, true, false)}, []token{token(`"v"`), token(`"7"`)}, key)
	want := supabase.Condition{Or: []supabase.Condition{
		{Column: "name", Operator: "gt", Value: "v"},
		{And: []supabase.Condition{{Column: "name", Operator: "eq", Value: "v"}, {Column: "id", Operator: "lt", Value: "7"}}},
		{Column: "name", Operator: "is", Value: "null"},
	}}
	if g, w := conditionText(got), conditionText(want); g != w {
		t.Errorf("got %s\nwant %s", g, w)
	}
	if got := afterRow([]surfaces.OrderTerm{term(nameColumn, false, false)}, []token{nullToken}, key); conditionText(got) != "and(name.is.null,name.not.is.null)" {
		t.Errorf("after the last null: %s", conditionText(got))
	}
}

func conditionText(c supabase.Condition) string {
	list, word := c.And, "and"
	if len(c.Or) > 0 {
		list, word = c.Or, "or"
	}
	if c.Column != "" {
		not := ""
		if c.Negate {
			not = "not."
		}
		return c.Column + "." + not + c.Operator + "." + c.Value
	}
	parts := make([]string, len(list))
	for i, m := range list {
		parts[i] = conditionText(m)
	}
	return word + "(" + strings.Join(parts, ",") + ")"
}

func FuzzOpenCursor(f *testing.F) {
	r := newTestRunner(f, answering(`[]`))
	scope := newCursorScope(id.New[id.SurfaceKind]().String(), "t", listTool().List.Orders[1], nil, nil)
	good := r.sealCursor(scope, []token{token(`"a"`), token(`"1"`)}, []token{token(`"1"`)})
	f.Add(good)
	f.Add("")
	f.Add("AAAA")
	f.Fuzz(func(t *testing.T, cursor string) {
		p, err := r.openCursor(scope, cursor, 2, 1)
		if err == nil && strings.TrimSpace(cursor) != good {
			// base64 leaves a few bits of the last character unread.
			a, _ := decodeBase64(cursor)
			b, _ := decodeBase64(good)
			if string(a) != string(b) {
				t.Fatalf("%q was opened as %q", cursor, p.values)
			}
		}
	})
}

func FuzzSealedTokensComeBack(f *testing.F) {
	r := newTestRunner(f, answering(`[]`))
	scope := newCursorScope("s", "t", listTool().List.Orders[0], nil, nil)
	f.Add("a", "1")
	f.Add("\"\\\u2028", "\x00")
	f.Fuzz(func(t *testing.T, a, b string) {
		order := []token{appendString(nil, a), appendString(nil, b)}
		cursor := r.sealCursor(scope, order, order[1:])
		if cursor == "" {
			return
		}
		p, err := r.openCursor(scope, cursor, 2, 1)
		if err != nil {
			t.Fatal(err)
		}
		want := order
		if p.byKey {
			want = order[1:]
		}
		for i := range want {
			if string(p.values[i]) != string(want[i]) {
				t.Fatalf("%q became %q", want[i], p.values[i])
			}
		}
	})
}

// FuzzCursorScope holds that what a cursor is bound to is never in doubt: values
// of one filter cannot read as those of two, nor as a search.
func FuzzCursorScope(f *testing.F) {
	f.Add("a", "b")
	f.Add("", "\x00\x00\x00\x01a")
	f.Add("search", "contains")
	f.Fuzz(func(t *testing.T, a, b string) {
		filter := func(operator string, values ...string) boundFilter {
			return boundFilter{filter: surfaces.Filter{Argument: a, Column: surfaces.Column{Name: b}, Operator: operator}, values: values}
		}
		search := func(text string) *boundSearch {
			return &boundSearch{search: &surfaces.Search{Argument: a, Mode: surfaces.SearchWeb, Columns: []surfaces.Column{{Name: b}}}, text: text}
		}
		seen := map[string]int{}
		for i, scope := range []cursorScope{
			newCursorScope("s", "t", surfaces.Order{}, nil, nil),
			newCursorScope("s", "t", surfaces.Order{}, []boundFilter{filter("in")}, nil),
			newCursorScope("s", "t", surfaces.Order{}, []boundFilter{filter("in", a)}, nil),
			newCursorScope("s", "t", surfaces.Order{}, []boundFilter{filter("in", a, b)}, nil),
			newCursorScope("s", "t", surfaces.Order{}, []boundFilter{filter("in", a+b)}, search(a)),
			newCursorScope("s", "t", surfaces.Order{}, []boundFilter{filter("in", a), filter("eq", b)}, nil),
			newCursorScope("s", "t", surfaces.Order{}, []boundFilter{filter("in", a, a, b, "eq", b)}, nil),
			newCursorScope("s", "t", surfaces.Order{}, nil, search(a)),
			newCursorScope("s", "t", surfaces.Order{}, nil, search(a+"x")),
		} {
			if other, have := seen[string(scope.ad)]; have {
				t.Fatalf("%q, %q: %d is bound to the same as %d", a, b, i, other)
			}
			seen[string(scope.ad)] = i
		}
	})
}
