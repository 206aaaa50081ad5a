package supabase

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/egress"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/seal"
)

var byID = []Condition{{Column: "id", Operator: "eq", Value: "1"}}

func TestWritesSendExactlyTheAllowedHeaders(t *testing.T) {
	t.Parallel()
	c := newTestClient()
	columns := []string{`"id"::text`, `"name"`}
	base := map[string]string{"Apikey": "sb_publishable_test", "Authorization": "Bearer alice-token"}
	const object, rows = "application/vnd.pgrst.object+json", "application/json"
	for _, test := range []struct {
		name, method, query, body, accept, prefer string
		send                                      func(s Session) (Answer, error)
	}{
		{"insert", "POST", `select="id"::text,"name"`, `{"name":"x"}`, object, "handling=strict, return=representation",
			func(s Session) (Answer, error) {
				return c.Insert(t.Context(), s, Insert{Profile: "crm", Relation: "Weird Table", Row: []byte(`{"name":"x"}`), Columns: columns})
			}},
		{"insert, nothing read", "POST", "", `{}`, object, "handling=strict, return=minimal",
			func(s Session) (Answer, error) {
				return c.Insert(t.Context(), s, Insert{Profile: "crm", Relation: "Weird Table", Row: []byte(`{}`)})
			}},
		{"update one", "PATCH", `select="id"::text,"name"&"id"=eq.1`, `{"name":"x"}`, object, "handling=strict, max-affected=1, return=representation",
			func(s Session) (Answer, error) {
				return c.Update(t.Context(), s, Change{Profile: "crm", Relation: "Weird Table", Where: byID, Patch: []byte(`{"name":"x"}`), Max: 1, Columns: columns})
			}},
		{"update many", "PATCH", `"id"=eq.1`, `{"name":"x"}`, rows, "handling=strict, max-affected=20, return=minimal",
			func(s Session) (Answer, error) {
				return c.Update(t.Context(), s, Change{Profile: "crm", Relation: "Weird Table", Where: byID, Patch: []byte(`{"name":"x"}`), Max: 20})
			}},
		{"delete one", "DELETE", `"id"=eq.1`, "", object, "handling=strict, max-affected=1, return=minimal",
			func(s Session) (Answer, error) {
				return c.Delete(t.Context(), s, Change{Profile: "crm", Relation: "Weird Table", Where: byID, Max: 1})
			}},
		{"delete many", "DELETE", `select="id"::text,"name"&"id"=eq.1`, "", rows, "handling=strict, max-affected=5, return=representation, count=exact",
			func(s Session) (Answer, error) {
				return c.Delete(t.Context(), s, Change{Profile: "crm", Relation: "Weird Table", Where: byID, Max: 5, Columns: columns})
			}},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := newFakeProject(t, answer(200, nil, `{"id":"1"}`))
			if _, err := test.send(AsUser(p.project(), seal.NewSecret("alice-token"))); err != nil {
				t.Fatal(err)
			}
			requests, bodies := p.seen()
			r := requests[0]
			if len(requests) != 1 || r.Method != test.method || r.URL.EscapedPath() != "/rest/v1/Weird%20Table" || bodies[0] != test.body {
				t.Errorf("%d requests; %s %s %q", len(requests), r.Method, r.URL, bodies[0])
			}
			if got := decodeQuery(t, r.URL.RawQuery); got != test.query {
				t.Errorf("query %s, want %s", got, test.query)
			}
			want := map[string]string{"Accept": test.accept, "Prefer": test.prefer, "Content-Profile": "crm"}
			for k, v := range base {
				want[k] = v
			}
			if test.body != "" {
				want["Content-Type"] = "application/json"
			}
			wantHeaders(t, r, want)
		})
	}
}

func TestWritesThatSayTooLittleAreNotSent(t *testing.T) {
	t.Parallel()
	p := newFakeProject(t, answer(200, nil, `[]`))
	c, s := newTestClient(), AsAnon(p.project())
	patch := []byte(`{"a":1}`)
	for name, where := range map[string][]Condition{
		"none":                       nil,
		"empty condition":            {{}},
		"empty group":                {{And: []Condition{}}},
		"group of empty groups":      {{And: []Condition{{Or: []Condition{}}}}},
		"not in nothing":             {{Column: "a", Operator: "in", Negate: true}},
		"contains nothing":           {{Column: "a", Operator: "cs"}},
		"contains no members":        {{Column: "a", Operator: "cs", Value: " { } "}},
		"overlaps not with nothing":  {{Column: "a", Operator: "ov", Negate: true}},
		"like anything":              {{Column: "a", Operator: "ilike", Value: "%%"}},
		"not a web search":           {{Column: "a", Operator: "wfts", Value: " ", Negate: true}},
		"or with something true":     {{Or: []Condition{byID[0], {Column: "a", Operator: "in", Negate: true}}}},
		"not and with a false one":   {{And: []Condition{byID[0], {Column: "a", Operator: "in"}}, Negate: true}},
		"not not":                    {{Or: []Condition{{Column: "a", Operator: "in"}}, Negate: true}},
		"no operator":                {{Column: "a"}},
		"an operator from elsewhere": {{Column: "a", Operator: "eq.1&b=eq"}},
	} {
		for _, max := range []int{1, 10} {
			if _, err := c.Update(t.Context(), s, Change{Relation: "t", Where: where, Patch: patch, Max: max}); err == nil {
				t.Errorf("update where %s was sent", name)
			}
			if _, err := c.Delete(t.Context(), s, Change{Relation: "t", Where: where, Max: max}); err == nil {
				t.Errorf("delete where %s was sent", name)
			}
		}
	}
	for _, max := range []int{0, -1} {
		if _, err := c.Update(t.Context(), s, Change{Relation: "t", Where: byID, Patch: patch, Max: max}); err == nil {
			t.Errorf("update of at most %d rows was sent", max)
		}
	}
	for _, text := range []string{"", " ", "null", "5", `"x"`, `[{"a":1}]`, `[]`, `{"a":1`, `{"a":1}{"a":2}`, `{"a":1},`, "{}"} {
		if _, err := c.Update(t.Context(), s, Change{Relation: "t", Where: byID, Patch: []byte(text), Max: 1}); err == nil {
			t.Errorf("patch %s was sent", text)
		}
		if _, err := c.Insert(t.Context(), s, Insert{Relation: "t", Row: []byte(text)}); err == nil && text != "{}" {
			t.Errorf("row %s was sent", text)
		}
	}
	for _, name := range []string{"", "..", "a/b"} {
		_, err1 := c.Insert(t.Context(), s, Insert{Relation: name, Row: patch})
		_, err2 := c.Delete(t.Context(), s, Change{Relation: name, Where: byID, Max: 1})
		if err1 == nil || err2 == nil {
			t.Errorf("relation %q was written to", name)
		}
	}
	if _, err := c.Delete(t.Context(), Session{project: p.project()}, Change{Relation: "t", Where: byID, Max: 1}); !fault.Is(err, fault.Internal) {
		t.Errorf("a user without a token: %v", err)
	}
	if requests, _ := p.seen(); len(requests) != 1 { // the row {}
		t.Errorf("%d requests were sent, want one", len(requests))
	}
}

func TestAnswersOfChanges(t *testing.T) {
	t.Parallel()
	const confirmed = "return=representation, handling=strict, max-affected=3"
	for _, test := range []struct {
		name, method, applied, contentRange string
		max                                 int
		bounded                             bool
		affected                            int
	}{
		{"patch", "PATCH", confirmed, "0-1/*", 3, true, 2},
		{"patch of none", "PATCH", confirmed, "*/*", 3, true, 0},
		{"patch with a total", "PATCH", confirmed, "0-1/2", 3, true, 2},
		{"delete", "DELETE", confirmed, "*/3", 3, true, 3},
		{"delete without a total", "DELETE", confirmed, "*/*", 3, true, -1},
		{"no range", "PATCH", confirmed, "", 3, true, -1},
		{"nonsense", "PATCH", confirmed, "5-1/*", 3, true, -1},
		{"negative", "DELETE", confirmed, "*/-4", 3, true, -1},
		{"an old server", "PATCH", "return=representation", "0-6/*", 3, false, 7},
		{"another number", "PATCH", "max-affected=33", "0-6/*", 3, false, 7},
		{"one, by the representation", "PATCH", "", "", 1, true, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := newFakeProject(t, answer(200, map[string]string{"Preference-Applied": test.applied, "Content-Range": test.contentRange}, `[]`))
			change := Change{Relation: "t", Where: byID, Patch: []byte(`{"a":1}`), Max: test.max, Columns: []string{`"id"`}}
			send := newTestClient().Update
			if test.method == "DELETE" {
				send = newTestClient().Delete
			}
			a, err := send(t.Context(), AsAnon(p.project()), change)
			if err != nil || a.Bounded != test.bounded || a.Affected != test.affected || string(a.Body) != "[]" {
				t.Errorf("%+v, %v", a, err)
			}
		})
	}
}

// TestAChangeThatWasMadeIsToldBesideItsError: an answer too large to read is an
// error, but its status says that the rows are changed.
func TestAChangeThatWasMadeIsToldBesideItsError(t *testing.T) {
	t.Parallel()
	p := newFakeProject(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Preference-Applied", "handling=strict, max-affected=9")
		w.Header().Set("Content-Range", "*/2")
		w.Header().Set("Content-Length", strconv.Itoa(maxData+1))
		_, _ = io.WriteString(w, "[")
	})
	a, err := newTestClient().Delete(t.Context(), AsAnon(p.project()), Change{Relation: "t", Where: byID, Max: 9, Columns: []string{`"id"`}})
	if err == nil || a.Status != 200 || !a.Bounded || a.Affected != 2 {
		t.Errorf("%+v, %v", a, err)
	}
}

// sentTo remembers the requests of a client that reaches nobody.
type sentTo struct{ requests []*http.Request }

var errNobody = errors.New("nobody there")

func (s *sentTo) Do(r *http.Request, _ egress.Options) (*http.Response, error) {
	s.requests = append(s.requests, r)
	return nil, errNobody
}

// FuzzAChangeHasAConditionAndABound builds changes of every shape and looks at
// what would go out: never without a filter of its own, never without a bound.
func FuzzAChangeHasAConditionAndABound(f *testing.F) {
	f.Add([]byte{0}, "a", "x")
	f.Add([]byte{1, 2, 0, 7}, "select", "")
	f.Add([]byte{2, 1, 101}, "a", "not.in.() with a value beside")
	f.Add([]byte{2, 2, 2, 2}, "", "%")
	f.Add([]byte{9, 13, 4, 0, 200}, "order", "{}")
	f.Add([]byte{255, 3, 8, 1, 1, 1}, "columns", `),id.gt.0,(`)
	operators := []string{"eq", "in", "cs", "ov", "cd", "is", "like", "wfts", "isdistinct", "neq", "", "match"}
	f.Fuzz(func(t *testing.T, shape []byte, column, value string) {
		next := func() int {
			if len(shape) == 0 {
				return 0
			}
			n := int(shape[0])
			shape = shape[1:]
			return n
		}
		var condition func(depth int) Condition
		condition = func(depth int) Condition {
			n := next()
			c := Condition{Negate: n&1 == 1}
			if depth < 4 && n&2 == 2 {
				var members []Condition
				for range n >> 3 & 3 {
					members = append(members, condition(depth+1))
				}
				if n&4 == 4 {
					c.And = members
				} else {
					c.Or = members
				}
				return c
			}
			c.Column, c.Operator = column, operators[(n>>2)%len(operators)]
			if n&64 == 64 {
				c.Value = value
			} else if n&128 == 128 {
				c.Values = []string{value}
			}
			return c
		}
		change := Change{Relation: "t", Patch: []byte(`{"a":1}`), Max: next() - 1}
		for range next() & 3 {
			change.Where = append(change.Where, condition(0))
		}
		out := &sentTo{}
		c := &Client{out: out, agent: "chumbo/test"}
		session := AsAnon(Project{ID: id.New[id.ProjectKind](), APIOrigin: "http://project.test", PublishableKey: "k"})
		_, err1 := c.Update(t.Context(), session, change)
		_, err2 := c.Delete(t.Context(), session, change)
		if err1 == nil || err2 == nil {
			t.Fatal("nobody answered")
		}
		for _, r := range out.requests {
			checkHeld(t, r)
		}
	})
}

// checkHeld fails for a change that would touch every row, or any number.
func checkHeld(t *testing.T, r *http.Request) {
	t.Helper()
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		t.Fatal(err)
	}
	narrow := false
	for key, texts := range values {
		isGroup := slices.Contains([]string{"and", "or", "not.and", "not.or"}, key)
		if !isGroup && (len(key) < 3 || key[0] != '"') {
			t.Fatalf("key %q is no filter", key)
		}
		for _, text := range texts {
			everything := slices.Contains([]string{"not.in.()", "cs.{}", "not.ov.{}", "()", "like.%", "like."}, text) || isGroup && strings.Trim(text, "()") == ""
			narrow = narrow || !everything
		}
	}
	if !narrow {
		t.Fatalf("%s %s narrows nothing", r.Method, r.URL)
	}
	prefer := r.Header.Get("Prefer")
	_, rest, found := strings.Cut(prefer, "handling=strict, max-affected=")
	bound, _, _ := strings.Cut(rest, ",")
	n, err := strconv.Atoi(bound)
	if !found || err != nil || n < 1 || (n == 1) != (r.Header.Get("Accept") == acceptObject) {
		t.Fatalf("Prefer %q, Accept %q", prefer, r.Header.Get("Accept"))
	}
}
