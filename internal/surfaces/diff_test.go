package surfaces

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const diffFile = `version: 1
title: CRM
instructions: Customers.
access: { mode: oauth, authorization: direct, require: [email], advertise: [email], origins: [https://a.example.test, https://b.example.test] }
tools:
  - table: customers
    columns: [id, name, status, visits, updated_at]
    filters: { status: [eq], name: [ilike] }
    order: [name, -updated_at]
    limit: { default: 10, max: 50 }
  - tool: archive
    description: Archives a customer.
    rpc: archive_customer
    arguments:
      id: The customer.
      reason: { description: Why., max_length: 200, enum: [spam, left] }
    scopes: [email]
  - tool: summary
    description: Counts.
    rpc: summary
`

func mustBuild(t *testing.T, src string, snap *Snapshot) *Compiled {
	t.Helper()
	b := Build([]byte(src), snap, known())
	if b.Compiled == nil {
		t.Fatalf("refused: %v\n%s", b.Problems, src)
	}
	return b.Compiled
}

// edited is the file with one text for another, which must be there.
func edited(t *testing.T, src string, edits ...string) string {
	t.Helper()
	for i := 0; i < len(edits); i += 2 {
		if !strings.Contains(src, edits[i]) {
			t.Fatalf("%q is not in the file", edits[i])
		}
		src = strings.Replace(src, edits[i], edits[i+1], 1)
	}
	return src
}

func lines(changes []Change) []string {
	var out []string
	for _, c := range changes {
		out = append(out, string(c.Class)+" "+c.Summary)
	}
	return out
}

func TestDiffKnowsItsNewTools(t *testing.T) {
	t.Parallel()
	none, one := &Compiled{}, &Compiled{Tools: []Tool{{Name: "a"}}}
	if added, gone := Diff(none, one), Diff(one, none); len(added) != 1 || !added[0].NewTool() || len(gone) != 1 || gone[0].NewTool() {
		t.Errorf("%v, back %v", added, gone)
	}
}

func TestDiffClassesWhatAFileChangesForClients(t *testing.T) {
	t.Parallel()
	const archiveTool = "  - tool: archive\n    description: Archives a customer.\n    rpc: archive_customer\n    arguments:\n      id: The customer.\n      reason: { description: Why., max_length: 200, enum: [spam, left] }\n    scopes: [email]\n"
	for name, c := range map[string]struct {
		edits []string
		want  []string // among the changes there, and back
		back  []string
	}{
		"a tool goes, a tool comes": {
			[]string{archiveTool, ""},
			[]string{"breaks archive: the tool is gone; calls are refused"}, []string{"safe archive: new tool"},
		},
		"a tool is renamed": {
			[]string{"tool: archive\n", "tool: retire\n"},
			[]string{"breaks archive: is named retire now; calls by the old name are refused"},
			[]string{"breaks retire: is named archive now; calls by the old name are refused"},
		},
		"a renamed tool is compared, too": {
			[]string{"tool: archive\n    description: Archives a customer.", "tool: retire\n    description: Retires a customer."},
			[]string{"breaks archive: is named retire now; calls by the old name are refused", "behaviour retire: the description changed"}, nil,
		},
		"tools in another order": {
			[]string{archiveTool, "", "    rpc: summary\n", "    rpc: summary\n" + archiveTool},
			[]string{"safe the tools are listed in another order"}, []string{"safe the tools are listed in another order"},
		},
		"an argument is required": {
			[]string{"{ description: Why., max", "{ description: Why., required: true, max"},
			[]string{"breaks archive: argument reason is required now"}, []string{"safe archive: argument reason is optional now"},
		},
		"an argument goes": {
			[]string{"      reason: { description: Why., max_length: 200, enum: [spam, left] }\n", ""},
			[]string{"breaks archive: argument reason is gone; calls that send it are refused"}, []string{"safe archive: argument reason is new and optional"},
		},
		"an enum narrows": {
			[]string{"enum: [spam, left]", "enum: [spam]"},
			[]string{"breaks archive: argument reason no longer takes left"}, []string{"safe archive: argument reason also takes left"},
		},
		"an enum appears": {
			[]string{", enum: [spam, left]", ""},
			[]string{"safe archive: argument reason takes any value now"}, []string{"breaks archive: argument reason takes only spam, left now"},
		},
		"a bound tightens": {
			[]string{"max_length: 200", "max_length: 100"},
			[]string{"breaks archive: argument reason is at most 100 characters now"}, []string{"safe archive: argument reason is at most 200 characters now"},
		},
		"a bound appears": {
			[]string{"max_length: 200, enum: [spam, left]", "min_length: 2, max_length: 200, enum: [spam, left]"},
			[]string{"breaks archive: argument reason is at least 2 characters now"}, []string{"safe archive: argument reason is no longer at least 2 characters"},
		},
		"a pattern appears": {
			[]string{"max_length: 200, enum: [spam, left]", "max_length: 200, enum: [spam, left], pattern: '^[a-z]+$'"},
			[]string{"breaks archive: argument reason must match another pattern now"}, []string{"safe archive: argument reason need not match a pattern any more"},
		},
		"an argument is described otherwise": {
			[]string{"description: Why.", "description: The reason."},
			[]string{"behaviour archive: the description of argument reason changed"}, nil,
		},
		"a tool needs another scope": {
			[]string{"    scopes: [email]\n", "    scopes: [email, profile]\n"},
			[]string{"breaks archive: needs the scope profile now; who does not have it no longer sees it"}, []string{"safe archive: no longer needs the scope profile"},
		},
		"a column goes": {
			[]string{"[id, name, status, visits, updated_at]", "[id, name, status, updated_at]"},
			[]string{"breaks customers_list: items[].visits is gone from the result", "breaks customers_get: visits is gone from the result"},
			[]string{"safe customers_list: items[].visits is new in the result", "safe customers_get: visits is new in the result"},
		},
		"columns in another order": {
			[]string{"[id, name, status, visits, updated_at]", "[id, status, name, visits, updated_at]"},
			[]string{"behaviour customers_list: the columns come in another order"}, nil,
		},
		"a filter goes": {
			[]string{"status: [eq], ", ""},
			[]string{"breaks customers_list: argument status is gone; calls that send it are refused"}, []string{"safe customers_list: argument status is new and optional"},
		},
		"a filter is required": {
			[]string{"status: [eq]", "status: { operators: [eq], required: true }"},
			[]string{"breaks customers_list: argument status is required now"}, nil,
		},
		"an order goes": {
			[]string{"order: [name, -updated_at]", "order: [name]"},
			[]string{"breaks customers_list: argument order is gone; calls that send it are refused"}, []string{"safe customers_list: argument order is new and optional"},
		},
		"one of more orders goes": {
			[]string{"order: [name, -updated_at]", "order: [name, -updated_at, id]"},
			[]string{"safe customers_list: argument order also takes id"}, []string{"breaks customers_list: argument order no longer takes id"},
		},
		"the default order changes": {
			[]string{"order: [name, -updated_at]", "order: [-updated_at, name]"},
			[]string{"behaviour customers_list: rows come by -updated_at unless the call says otherwise, it was name"}, nil,
		},
		"an order sorts otherwise": {
			[]string{"order: [name,", "order: [{ column: name, nulls: first },"},
			[]string{"behaviour customers_list: the order name sorts otherwise; pages begun before cannot be continued"}, nil,
		},
		"the largest page shrinks": {
			[]string{"max: 50", "max: 20"},
			[]string{"breaks customers_list: a page has at most 20 rows now, it was 50; calls that ask for more are refused"},
			[]string{"safe customers_list: a page may have 50 rows now, it was 20"},
		},
		"the default page changes": {
			[]string{"default: 10", "default: 20"},
			[]string{"behaviour customers_list: a page has 20 rows unless the call says otherwise, it was 10"}, nil,
		},
		"a budget changes": {
			[]string{"    rpc: summary\n", "    rpc: summary\n    budget: 20000\n"},
			[]string{"behaviour summary: a result has at most 20000 bytes now, it was 16384"}, nil,
		},
		"guidance appears": {
			[]string{"    rpc: summary\n", "    rpc: summary\n    guidance: { before: Mind. }\n"},
			[]string{"behaviour summary: the guidance around its result changed"}, nil,
		},
		"a result becomes text": {
			[]string{"    rpc: summary\n", "    rpc: summary\n    result: text\n    template: '{{#items}}{{status}}{{/items}}'\n"},
			[]string{"breaks summary: its result is text only now: structured content is gone"}, []string{"behaviour summary: its result is hybrid now, it was text"},
		},
		"a result is structured": {
			[]string{"    rpc: summary\n", "    rpc: summary\n    result: structured\n"},
			[]string{"behaviour summary: its result is structured now, it was hybrid"}, nil,
		},
		"hints change": {
			[]string{"    rpc: archive_customer\n", "    rpc: archive_customer\n    annotations: { destructive: false, idempotent: true }\n"},
			[]string{"behaviour archive: is no longer destructive", "behaviour archive: is idempotent now"},
			[]string{"behaviour archive: is destructive now: clients may ask before each call", "behaviour archive: is no longer idempotent: clients may not repeat a call by themselves"},
		},
		"another function": {
			[]string{"    rpc: summary\n", "    rpc: ids\n"},
			[]string{"behaviour summary: calls ids now, it was summary", "breaks summary: argument since is gone; calls that send it are refused"}, nil,
		},
		"texts": {
			[]string{"title: CRM", "title: Sales", "instructions: Customers.", "instructions: People.", "description: Counts.", "description: Sums."},
			[]string{`behaviour the title is "Sales" now, it was "CRM"`, "behaviour the instructions for models changed", "behaviour summary: the description changed"}, nil,
		},
		"public is new": {
			[]string{"mode: oauth", "mode: [oauth, public], public: { confirm: true, calls: 60, per: 1m }", "    rpc: summary\n", "    rpc: summary\n    public: true\n"},
			[]string{"safe access mode public is new", "safe summary: is public now: callers without a token may call it"},
			[]string{"breaks access mode public is gone: callers without a token are refused", "breaks summary: is no longer public: callers without a token are refused"},
		},
		"a scope is required of every token": {
			[]string{"require: [email]", "require: [email, profile]"},
			[]string{"breaks every token needs the scope profile now"}, []string{"safe tokens no longer need the scope profile"},
		},
		"a scope is advertised": {
			[]string{"advertise: [email]", "advertise: [email, profile]"},
			[]string{"behaviour clients are told to ask for the scope profile"}, []string{"behaviour clients are no longer told to ask for the scope profile"},
		},
		"roles": {
			[]string{"require: [email]", "require: [email], roles: [authenticated, clerk]"},
			[]string{"safe users with the role clerk are admitted now"}, []string{"breaks users with the role clerk are refused now"},
		},
		"anonymous users": {
			[]string{"require: [email]", "require: [email], anonymous_users: true"},
			[]string{"safe anonymous users are admitted now"}, []string{"breaks anonymous users are refused now"},
		},
		"an origin goes": {
			[]string{", https://b.example.test", ""},
			[]string{"breaks browsers at https://b.example.test are refused now"}, []string{"safe browsers at https://b.example.test may call now"},
		},
		"any origin": {
			[]string{", origins: [https://a.example.test, https://b.example.test]", ""},
			[]string{"safe browsers at any origin may call now"}, []string{"breaks only browsers at https://a.example.test, https://b.example.test may call now; it was any"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before, after := mustBuild(t, diffFile, loadSnapshot(t)), mustBuild(t, edited(t, diffFile, c.edits...), loadSnapshot(t))
			for _, way := range []struct {
				from, to *Compiled
				want     []string
			}{{before, after, c.want}, {after, before, c.back}} {
				got := lines(Diff(way.from, way.to))
				for _, want := range way.want {
					if !slices.Contains(got, want) {
						t.Errorf("%q is not among %q", want, got)
					}
				}
				if vague := slices.ContainsFunc(got, func(s string) bool {
					return strings.Contains(s, "changed in") || strings.HasSuffix(s, "how it works changed")
				}); vague {
					t.Errorf("vague words: %q", got)
				}
			}
		})
	}
}

func TestDiffClassesWhatTheSchemaChangesForClients(t *testing.T) {
	t.Parallel()
	column := func(s *Snapshot, name string) *ColumnSchema {
		for i := range s.Relations {
			if s.Relations[i].Name == "customers" {
				return s.Relations[i].column(name)
			}
		}
		return nil
	}
	for name, c := range map[string]struct {
		edit func(*Snapshot)
		want []string
	}{
		"a column may be null": {
			func(s *Snapshot) { column(s, "visits").NotNull = false },
			[]string{"breaks customers_list: items[].visits may be null in the result now", "breaks customers_get: visits may be null in the result now"},
		},
		"a column has another JSON type": {
			func(s *Snapshot) { column(s, "visits").Type.Name = "text" },
			[]string{"breaks customers_list: items[].visits is string in the result now, it was integer"},
		},
		"a column has another type that travels the same": {
			func(s *Snapshot) { column(s, "name").Type.Name = "varchar" },
			[]string{"behaviour customers_list: column name is varchar now, it was text", "behaviour customers_list: argument name_ilike filters a column of type varchar now, it was text"},
		},
		"an argument has another type": {
			func(s *Snapshot) { fn(s, "archive_customer").Arguments[0].Type.Name = "bool" },
			[]string{"breaks archive: argument id is boolean now, it was integer or string"},
		},
		"an argument may be text, too": {
			func(s *Snapshot) { fn(s, "archive_customer").Arguments[0].Type.Name = "uuid" },
			[]string{"breaks archive: argument id is string now, it was integer or string"},
		},
		"a label goes and another comes": {
			func(s *Snapshot) { s.Enums[0].Labels = []string{"lead", "active", "lost"} },
			[]string{"breaks customers_list: argument status no longer takes archived", "safe customers_list: argument status also takes lost"},
		},
		"a function writes": {
			func(s *Snapshot) { fn(s, "summary").Volatility = VolatilityVolatile },
			[]string{"behaviour summary: is no longer read-only: clients may ask before each call", "behaviour summary: is destructive now: clients may ask before each call", "behaviour summary: the function may write now"},
		},
		"a function returns one row": {
			func(s *Snapshot) { fn(s, "summary").Returns.Set = false },
			[]string{"breaks summary: items is gone from the result", "behaviour summary: the function returns one row now, it was rows"},
		},
		"an argument has no default": {
			func(s *Snapshot) { fn(s, "summary").Arguments[0].HasDefault = false },
			[]string{"breaks summary: argument since is required now"},
		},
		"the Data API's cap on rows is lower": {
			func(s *Snapshot) { s.MaxRows = 31 },
			[]string{"breaks customers_list: a page has at most 30 rows now, it was 50; calls that ask for more are refused"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			snap := loadSnapshot(t)
			c.edit(snap)
			got := lines(Diff(mustBuild(t, diffFile, loadSnapshot(t)), mustBuild(t, diffFile, snap)))
			for _, want := range c.want {
				if !slices.Contains(got, want) {
					t.Errorf("%q is not among %q", want, got)
				}
			}
		})
	}
}

func TestDiffPutsTheGravestFirst(t *testing.T) {
	t.Parallel()
	before := mustBuild(t, diffFile, loadSnapshot(t))
	after := mustBuild(t, edited(t, diffFile, "title: CRM", "title: Sales", "max: 50", "max: 60", "status: [eq], ", "", "require: [email], ", ""), loadSnapshot(t))
	changes := Diff(before, after)
	if !slices.IsSortedFunc(changes, func(a, b Change) int { return gravity[b.Class] - gravity[a.Class] }) || WorstChange(changes) != ChangeBreaks {
		t.Errorf("changes are %q", lines(changes))
	}
	if first := changes[0]; first.Capability != "customers_list" {
		t.Errorf("first is %+v", first)
	}
	if WorstChange(nil) != ChangeSafe || Diff(nil, after) != nil {
		t.Error("a first publication has changes")
	}
}

// corpus compiles every accepted file.
func corpus(t *testing.T) map[string]*Compiled {
	t.Helper()
	all := map[string]*Compiled{"diff": mustBuild(t, diffFile, loadSnapshot(t)), "few writes": mustBuild(t, diffWrites, loadSnapshot(t))}
	for _, name := range []string{"full", "minimal", "text", "names", "public", "views", "doors", "external", "policy", "writes"} {
		src, err := os.ReadFile("testdata/compile/" + name + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		all[name] = mustBuild(t, string(src), loadSnapshot(t))
	}
	return all
}

func TestDiffIsEmptyOnlyForTheSame(t *testing.T) {
	t.Parallel()
	all := corpus(t)
	for a, x := range all {
		for b, y := range all {
			if got := Diff(x, y); (len(got) == 0) != (a == b) {
				t.Errorf("%s to %s: %q", a, b, lines(got))
			}
		}
	}
}

// TestDiffSeesEveryField changes each value of each compiled form, one at a
// time, and expects a word about it in both directions.
func TestDiffSeesEveryField(t *testing.T) {
	t.Parallel()
	all, seen := corpus(t), map[string]int{}
	for _, name := range []string{"diff", "public", "text", "doors", "external", "policy", "few writes"} {
		whole := all[name]
		for i := range whole.Tools { // one at a time: each change costs the whole document
			one := *whole
			one.Tools = whole.Tools[i : i+1]
			if i > 0 {
				one.Access, one.Policy = Access{Modes: whole.Access.Modes}, Policy{}
			}
			seesEveryField(t, fmt.Sprintf("%s %d ", name, i), &one, seen)
		}
	}
}

// oftenEnough is how many values of one field are changed.
const oftenEnough = 6

var position = regexp.MustCompile(`\[\d+\]`)

// seesEveryField changes every field of a compiled form in turn, but those that
// were seen often enough.
func seesEveryField(t *testing.T, name string, c *Compiled, seen map[string]int) {
	t.Helper()
	raw, err := marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var doc any
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	base := decoded(t, doc)
	if got := Diff(base, decoded(t, doc)); len(got) != 0 {
		t.Errorf("%s differs from itself: %q", name, lines(got))
	}
	tried := 0
	mutate(doc, func(v any) { doc = v }, "", func(path string) {
		field := position.ReplaceAllString(path, "[]")
		if seen[field]++; seen[field] > oftenEnough {
			tried++
			return
		}
		other := decoded(t, doc)
		if other == nil || sameJSON(formless(base), formless(other)) {
			return // no such form, or a default written out
		}
		tried++
		for _, got := range [][]Change{Diff(base, other), Diff(other, base)} {
			if len(got) == 0 {
				t.Errorf("%s%s: nothing is told", name, path)
			}
			for _, ch := range got {
				if strings.ContainsAny(ch.Summary, "\n\r") || ch.Summary == "" || strings.Contains(ch.Summary, "%!") {
					t.Errorf("%s%s: summary is %q", name, path, ch.Summary)
				}
			}
		}
	})
	if tried < 20 {
		t.Errorf("%s: only %d changes were tried", name, tried)
	}
}

// decoded is a document as a compiled form; nil where it is none.
func decoded(t *testing.T, doc any) *Compiled {
	t.Helper()
	raw, err := marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	var c Compiled
	if json.Unmarshal(raw, &c) != nil {
		return nil
	}
	return &c
}

// mutate changes every value of a document in turn, calls try, and puts the
// value back.
func mutate(v any, set func(any), path string, try func(path string)) {
	with := func(changed any) {
		set(changed)
		try(path)
		set(v)
	}
	switch v := v.(type) {
	case string:
		with(v + "x")
	case float64:
		with(v + 1)
		with(max(v-1, 0))
	case bool:
		with(!v)
	case []any:
		for i := range v {
			with(slices.Delete(slices.Clone(v), i, i+1))
			mutate(v[i], func(c any) { v[i] = c }, fmt.Sprintf("%s[%d]", path, i), try)
		}
		if len(v) > 1 {
			back := slices.Clone(v)
			slices.Reverse(back)
			with(back)
		}
	case map[string]any:
		for key, member := range v {
			delete(v, key)
			try(path + "." + key + " gone")
			v[key] = member
			mutate(member, func(c any) { v[key] = c }, path+"."+key, try)
		}
	}
}
