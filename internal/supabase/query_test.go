package supabase

import (
	"net/url"
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
	} {
		if _, err := (Select{Where: []Condition{c}}).query(); err == nil {
			t.Errorf("%s: want an error", name)
		}
	}
}

func FuzzQueryKeepsValuesInTheirPlace(f *testing.F) {
	f.Add("a", "b")
	f.Add(`x&role=eq.admin`, `),id.gt.0,(`)
	f.Add(`"\`, "%00+;#")
	f.Fuzz(func(t *testing.T, top, inTree string) {
		raw, err := Select{Where: []Condition{
			{Column: "a", Operator: "eq", Value: top},
			{Or: []Condition{{Column: "b", Operator: "gt", Value: inTree}, {Column: "c", Operator: "in", Values: []string{inTree, "x"}}}},
		}}.query()
		if err != nil {
			t.Fatal(err)
		}
		values, err := url.ParseQuery(raw)
		if err != nil || len(values) != 2 {
			t.Fatalf("pairs %v, %v", values, err)
		}
		if got := values.Get(`"a"`); got != "eq."+top {
			t.Fatalf("top level %q", got)
		}
		rest := values.Get("or")
		for _, want := range []string{`("b".gt.`, `,"c".in.(`, `,`, `))`} {
			if len(rest) < len(want) || rest[:len(want)] != want {
				t.Fatalf("%q does not start with %q", rest, want)
			}
			rest = rest[len(want):]
			if want == `))` || want == `,"c".in.(` || want == `("b".gt.` || want == "," {
				if want == `))` {
					break
				}
				value, after := unquoteOne(t, rest)
				if value != inTree && value != "x" {
					t.Fatalf("value %q", value)
				}
				rest = after
			}
		}
		if rest != "" {
			t.Fatalf("left over %q", rest)
		}
	})
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
