package supabase

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
)

func TestQueryQuotesByContext(t *testing.T) {
	t.Parallel()
	nasty := `x&role=eq.admin`
	injection := `),id.gt.0,(`
	for _, test := range []struct {
		name string
		q    Select
		want string // the query string after the server's one decoding
	}{
		{"columns and casts", Select{Columns: []string{SelectColumn("id", true), SelectColumn("a.b", false), SelectAlias("k", `q"x`, true)}},
			`select="id"::text,"a.b","k":"q\"x"::text`},
		{"top level is verbatim", Select{Where: []Condition{{Column: "name", Operator: "eq", Value: `say "hi", \ (x)`}}},
			`"name"=eq.say "hi", \ (x)`},
		{"ampersand stays in the value", Select{Where: []Condition{{Column: "name", Operator: "eq", Value: nasty}}},
			`"name"=eq.x&role=eq.admin`},
		{"empty string", Select{Where: []Condition{{Column: "name", Operator: "eq"}}}, `"name"=eq.`},
		{"negated", Select{Where: []Condition{{Column: "name", Operator: "is", Value: "null", Negate: true}}}, `"name"=not.is.null`},
		{"in quotes each element", Select{Where: []Condition{{Column: "name", Operator: "in", Values: []string{`a"b,c`, `back\slash`, `(x)`, `null`, ` lead`}}}},
			`"name"=in.("a\"b,c","back\\slash","(x)","null"," lead")`},
		{"in of nothing", Select{Where: []Condition{{Column: "name", Operator: "in"}}}, `"name"=in.()`},
		{"in of one empty string", Select{Where: []Condition{{Column: "name", Operator: "in", Values: []string{""}}}}, `"name"=eq.`},
		{"not in of one empty string", Select{Where: []Condition{{Column: "name", Operator: "in", Values: []string{""}, Negate: true}}}, `"name"=not.eq.`},
		{"or quotes values", Select{Where: []Condition{{Or: []Condition{
			{Column: "a", Operator: "gt", Value: injection},
			{And: []Condition{{Column: "a", Operator: "eq", Value: `q"\`}, {Column: "k", Operator: "in", Values: []string{"1", `2"`}}}},
			{Column: "a", Operator: "is", Value: "null"},
			{Column: "b", Operator: "is", Value: "null", Negate: true},
			{And: []Condition{{Column: "c", Operator: "lt", Value: "1"}}, Negate: true},
		}}}}, `or=("a".gt."),id.gt.0,(",and("a".eq."q\"\\","k".in.("1","2\"")),"a".is.null,"b".not.is.null,not.and("c".lt."1"))`},
		{"negated group on top", Select{Where: []Condition{{Or: []Condition{{Column: "a", Operator: "eq", Value: "1"}}, Negate: true}}}, `not.or=("a".eq."1")`},
		{"a star cannot become a wildcard", Select{Where: []Condition{{Column: "n", Operator: "ilike", Value: `%50\%*%`}}}, `"n"=ilike.%50\%_%`},
		{"reserved column names", Select{Where: []Condition{{Column: "order", Operator: "eq", Value: "1"}, {Column: "limit", Operator: "eq", Value: "2"}}},
			`"order"=eq.1&"limit"=eq.2`},
		{"timestamps keep their plus", Select{Where: []Condition{{Column: "at", Operator: "gt", Value: "2026-01-01T00:00:00+00:00"}}}, `"at"=gt.2026-01-01T00:00:00+00:00`},
		{"isdistinct", Select{Where: []Condition{{Column: "a", Operator: "isdistinct", Value: nasty}, {And: []Condition{{Column: "a", Operator: "isdistinct", Value: injection, Negate: true}}}}},
			`"a"=isdistinct.x&role=eq.admin&and=("a".not.isdistinct."),id.gt.0,(")`},
		{"arrays quote their elements", Select{Where: []Condition{{Column: "t", Operator: "cs", Values: []string{`a"b,c`, `back\slash`, `{x}`, `null`, ``, ` lead`}}}},
			`"t"=cs.{"a\"b,c","back\\slash","{x}","null",""," lead"}`},
		{"arrays in a tree are quoted whole", Select{Where: []Condition{{Or: []Condition{
			{Column: "t", Operator: "ov", Values: []string{`a"b`, `\`}}, {Column: "t", Operator: "cd", Values: []string{injection}, Negate: true}}}}},
			`or=("t".ov."{\"a\\\"b\",\"\\\\\"}","t".not.cd."{\"),id.gt.0,(\"}")`},
		{"the empty array", Select{Where: []Condition{{Column: "t", Operator: "cs"}, {And: []Condition{{Column: "t", Operator: "cd"}}}}}, `"t"=cs.{}&and=("t".cd."{}")`},
		{"JSON as it is", Select{Where: []Condition{{Column: "d", Operator: "cs", Value: `{"a":"x\"y"}`}, {Or: []Condition{{Column: "d", Operator: "cd", Value: `["),b.eq.1,("]`}}}}},
			`"d"=cs.{"a":"x\"y"}&or=("d".cd."[\"),b.eq.1,(\"]")`},
		{"web search", Select{Where: []Condition{{Column: "v", Operator: "wfts", Value: `"a b" -c or (d)`}, {Or: []Condition{{Column: "v", Operator: "wfts", Config: "english", Value: `say "x",y)`}}}}},
			`"v"=wfts."a b" -c or (d)&or=("v".wfts(english)."say \"x\",y)")`},
		{"negated web search", Select{Where: []Condition{{Column: "v", Operator: "wfts", Config: "simple", Value: "a", Negate: true}}}, `"v"=not.wfts(simple).a`},
		{"embeds", Select{Columns: []string{`"id"`}, Embeds: []Embed{
			{Alias: "notes", Relation: "notes", Hint: `odd"fk`, Columns: []string{`"id"::text`, `"body"`}, Order: []OrderBy{{Column: "at", Desc: true, NullsFirst: true}, {Column: "id"}}, Limit: 6},
			{Alias: "boss", Relation: "boss_id", Columns: []string{`"name"`}},
		}, Limit: 3}, `select="id","notes":"notes"!"odd\"fk"("id"::text,"body"),"boss":"boss_id"("name")&"notes".order="at".desc.nullsfirst,"id".asc.nullslast&"notes".limit=6&limit=3`},
		{"order and limit", Select{Order: []OrderBy{{Column: "a", Desc: true}, {Column: `b"`, NullsFirst: true}}, Limit: 21},
			`order="a".desc.nullslast,"b\"".asc.nullsfirst&limit=21`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			raw, err := test.q.query()
			if err != nil {
				t.Fatal(err)
			}
			if got := decodeQuery(t, raw); got != test.want {
				t.Errorf("query\n got %s\nwant %s", got, test.want)
			}
		})
	}
}

// decodeQuery undoes the transport's escaping pair by pair, as a server does.
func decodeQuery(t *testing.T, raw string) string {
	t.Helper()
	for _, c := range []byte(raw) {
		if c <= ' ' || c >= 0x7f || c == '"' || c == ';' || c == '\\' {
			t.Fatalf("byte %q is not escaped in %s", c, raw)
		}
	}
	out, err := url.QueryUnescape(raw)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestQuerySplitsIntoExactlyItsPairs(t *testing.T) {
	t.Parallel()
	raw, err := Select{Columns: []string{`"a"`}, Where: []Condition{{Column: "n", Operator: "eq", Value: `1&or=(x.eq.1);limit=0#?+%26`}}, Limit: 5}.query()
	if err != nil {
		t.Fatal(err)
	}
	values, err := url.ParseQuery(raw)
	if err != nil {
		t.Fatal(err)
	}
	if len(values) != 3 || values.Get(`"n"`) != `eq.1&or=(x.eq.1);limit=0#?+%26` || values.Get("limit") != "5" {
		t.Errorf("parsed as %v", values)
	}
}

func TestQueryRefusesWhatIsNotAConditionOrOperator(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]Condition{
		"empty":          {},
		"both":           {Column: "a", Operator: "eq", And: []Condition{{Column: "b", Operator: "eq"}}},
		"two groups":     {And: []Condition{{Column: "b", Operator: "eq"}}, Or: []Condition{{Column: "b", Operator: "eq"}}},
		"operator text":  {Column: "a", Operator: "eq.1&b=eq"},
		"not in list":    {Column: "a", Operator: "match", Value: "x"},
		"is with a word": {Column: "a", Operator: "is", Value: "null,b.eq.1"},
		"nested empty":   {Or: []Condition{{}}},
		"config text":    {Column: "a", Operator: "wfts", Config: "x).y,(", Value: "z"},
		"config schema":  {Column: "a", Operator: "wfts", Config: "pg_catalog.simple", Value: "z"},
		"config of eq":   {Column: "a", Operator: "eq", Config: "simple", Value: "z"},
		"not JSON":       {Column: "a", Operator: "cs", Value: `{"a":1},b`},
		"JSON and list":  {Column: "a", Operator: "cs", Value: `{}`, Values: []string{"x"}},
		"JSON overlaps":  {Column: "a", Operator: "ov", Value: `[1]`},
	} {
		if _, err := (Select{Where: []Condition{c}}).query(); err == nil {
			t.Errorf("%s: want an error", name)
		}
	}
}

func TestQueryRefusesEmbedsThatAreNotClear(t *testing.T) {
	t.Parallel()
	one := []string{`"id"`}
	for name, embeds := range map[string][]Embed{
		"no alias":        {{Relation: "notes", Columns: one}},
		"alias with dots": {{Alias: "a.b", Relation: "notes", Columns: one}},
		"no relation":     {{Alias: "a", Columns: one}},
		"no columns":      {{Alias: "a", Relation: "notes"}},
		"count":           {{Alias: "a", Relation: "count", Columns: one}},
		"same alias":      {{Alias: "a", Relation: "b", Columns: one}, {Alias: "a", Relation: "c", Columns: one}},
		"order of two":    {{Alias: "notes", Relation: "notes", Hint: "x", Columns: one, Limit: 2}, {Alias: "others", Relation: "notes", Hint: "y", Columns: one}},
	} {
		if _, err := (Select{Columns: one, Embeds: embeds}).query(); err == nil {
			t.Errorf("%s: want an error", name)
		}
	}
	clear := []Embed{{Alias: "places", Relation: "places", Hint: "x", Columns: one}, {Alias: "work", Relation: "places", Hint: "y", Columns: one, Limit: 2}}
	if _, err := (Select{Embeds: clear}).query(); err != nil {
		t.Error(err)
	}
}

// FuzzQueryKeepsValuesInTheirPlace reads the query back with a reader of its
// own: whatever the texts are, there are exactly these pairs, and every text is
// one value in its place.
func FuzzQueryKeepsValuesInTheirPlace(f *testing.F) {
	f.Add("a", "b")
	f.Add(`x&role=eq.admin`, `),id.gt.0,(`)
	f.Add(`"\`, "%00+;#")
	f.Add(`a"b,c`, `back\slash`)
	f.Add(`{"a","b"}`, `null`)
	f.Add("", "inner")
	f.Fuzz(func(t *testing.T, top, inTree string) {
		text, err := json.Marshal(map[string]string{top: inTree})
		if err != nil {
			t.Fatal(err)
		}
		raw, err := Select{
			Columns: []string{SelectColumn(top, true)},
			Embeds:  []Embed{{Alias: "e", Relation: "r" + top, Hint: "h" + inTree, Columns: []string{SelectAlias("k", inTree, false)}, Order: []OrderBy{{Column: inTree}}, Limit: 2}},
			Where: []Condition{
				{Column: "a", Operator: "eq", Value: top},
				{Column: "i", Operator: "isdistinct", Value: top, Negate: true},
				{Column: "w", Operator: "wfts", Config: "simple", Value: top},
				{Column: "t", Operator: "cs", Values: []string{top, inTree}},
				{Column: "d", Operator: "cd", Value: string(text)},
				{Or: []Condition{
					{Column: "b", Operator: "gt", Value: inTree},
					{Column: "c", Operator: "in", Values: []string{inTree, "x"}},
					{Column: "i", Operator: "isdistinct", Value: inTree},
					{Column: "w", Operator: "wfts", Value: inTree, Negate: true},
					{Column: "t", Operator: "ov", Values: []string{inTree, top}},
					{Column: "d", Operator: "cs", Value: string(text)},
				}},
			},
			Order: []OrderBy{{Column: top, Desc: true}},
		}.query()
		if err != nil {
			t.Fatal(err)
		}
		values, err := url.ParseQuery(raw)
		if err != nil || len(values) != 10 {
			t.Fatalf("pairs %v, %v", values, err)
		}
		for key, want := range map[string]string{`"a"`: "eq." + top, `"i"`: "not.isdistinct." + top, `"w"`: "wfts(simple)." + top, `"d"`: "cd." + string(text), `"e".limit`: "2"} {
			if got := values[key]; len(got) != 1 || got[0] != want {
				t.Fatalf("%s is %q, want %q", key, got, want)
			}
		}
		expect(t, values.Get(`"t"`), "cs.{", top, ",", inTree, "}")
		expect(t, values.Get("select"), "", top, `::text,`, "e", ":", "r"+top, "!", "h"+inTree, "(", "k", ":", inTree, ")")
		expect(t, values.Get(`"e".order`), "", inTree, ".asc.nullslast")
		expect(t, values.Get("order"), "", top, ".desc.nullslast")
		list := expect(t, values.Get("or"), "(", "b", ".gt.", inTree, ",", "c", ".in.(", inTree, ",", "x", "),", "i", ".isdistinct.", inTree,
			",", "w", ".not.wfts.", inTree, ",", "t", ".ov.", anything, ",", "d", ".cs.", string(text), ")")
		expect(t, list, "{", inTree, ",", top, "}")
	})
}

// anything stands for a quoted text that expect returns.
const anything = "\x00anything"

// expect reads a text made of literals and quoted texts in turn, beginning and
// ending with a literal.
func expect(t *testing.T, s string, parts ...string) (some string) {
	t.Helper()
	whole := s
	for i, part := range parts {
		if i%2 == 0 {
			rest, found := strings.CutPrefix(s, part)
			if !found {
				t.Fatalf("%q does not go on with %q in %q", s, part, whole)
			}
			s = rest
			continue
		}
		var value string
		value, s = unquoteOne(t, s)
		if part == anything {
			some = value
		} else if value != part {
			t.Fatalf("value %q, want %q in %q", value, part, whole)
		}
	}
	if s != "" {
		t.Fatalf("left over %q of %q", s, whole)
	}
	return some
}

// unquoteOne reads one quoted value the way the grammar does.
func unquoteOne(t *testing.T, s string) (value, rest string) {
	t.Helper()
	if s == "" || s[0] != '"' {
		t.Fatalf("no quote at %q", s)
	}
	var out []byte
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
			out = append(out, s[i])
		case '"':
			return string(out), s[i+1:]
		default:
			out = append(out, s[i])
		}
	}
	t.Fatalf("unclosed quote in %q", s)
	return "", ""
}

func BenchmarkQuery(b *testing.B) {
	q := Select{Columns: []string{`"id"::text`, `"name"`, `"status"`}, Where: []Condition{{Column: "status", Operator: "eq", Value: "open"}},
		Order: []OrderBy{{Column: "name"}, {Column: "id"}}, Limit: 21}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := q.query(); err != nil {
			b.Fatal(err)
		}
	}
}
