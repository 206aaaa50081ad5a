package standin

import (
	"errors"
	"regexp"
	"testing"
)

// FuzzQuery holds the parser to two promises whatever it is given: it ends
// without panicking, and what it refuses it refuses as the Data API does.
func FuzzQuery(f *testing.F) {
	for _, seed := range []string{
		"id=eq.1", "select=*,a:b->c->>d::text,rel!hint!inner(*)", "or=(a.eq.\"1\",and(b.gt.2,not.c.is.null))",
		"order=a.desc.nullslast,\"b\"", "rel.limit=1&rel.or=(x.in.(1,\"2\"))", "not.and=(a.like(any).{x,y})",
		"a=in.(\"\\\"\\\\\",,)&limit=-1", "select=%22a.b%22&%22order%22=eq.1", "a=fts(english).x&columns=a,b&on_conflict=c",
		"or=((((((((((", "select=a->-1->>2", "a.b.c=eq.1",
	} {
		f.Add(seed, false)
		f.Add(seed, true)
	}
	f.Fuzz(func(t *testing.T, raw string, isCall bool) {
		q := &apiRequest{method: "GET", where: map[string][]condition{}, order: map[string][]orderTerm{}, window: map[string]window{}}
		err := q.parseQuery(raw, isCall)
		if err == nil {
			return
		}
		var refused *apiError
		if !errors.As(err, &refused) || refused.status < 400 || refused.Code == "" {
			t.Errorf("%q: %v", raw, err)
		}
	})
}

// FuzzCondition holds SQL generation to its promise: whatever the filter, its
// values are parameters and its names are quoted, so that the SQL has nothing
// of the input in it but quoted names.
func FuzzCondition(f *testing.F) {
	f.Add("a", "eq.1")
	f.Add(`a"b`, "in.(x,y)")
	f.Add("a->b->>c", "not.is.null")
	f.Add("x", "fts(english).cat & dog")
	f.Fuzz(func(t *testing.T, key, value string) {
		_, field, err := filterKey(key)
		if err != nil {
			return
		}
		c, err := parseFilter(field, value)
		if err != nil {
			return
		}
		b := &statement{}
		s := source{rel: &relation{}, from: "t", alias: "t"}
		sql := s.condition(b, c)
		// Everything else is ours: operators, functions, $1. None of it has
		// a digit but for the parameters, or a quote, semicolon or backslash.
		if rest := outsideQuotes(sql); !ownSQL.MatchString(rest) {
			t.Errorf("%q = %q leaks into %s", key, value, sql)
		}
	})
}

var ownSQL = regexp.MustCompile(`^(?:[ .,()~*<>=@&|:_A-Za-z-]|\$[0-9]+)*$`)

// outsideQuotes drops everything in double quotes.
func outsideQuotes(sql string) string {
	var out []rune
	inside := false
	for _, r := range sql {
		if r == '"' {
			inside = !inside
			continue
		}
		if !inside {
			out = append(out, r)
		}
	}
	return string(out)
}

func TestSimilarNames(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		a, b  string
		close bool
	}{{"customer", "customers", true}, {"Customers", "customers", true}, {"orders", "customers", false}, {"", "", true}} {
		if got := similarity(tc.a, tc.b) >= 0.75; got != tc.close {
			t.Errorf("similarity(%q, %q) = %v, want close %v", tc.a, tc.b, similarity(tc.a, tc.b), tc.close)
		}
	}
}
