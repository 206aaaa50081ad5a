package surfaces

import (
	"strings"
	"testing"
)

func TestDerivedNamesAreSafeForEveryClient(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("very_", 20) + "long"
	for base, want := range map[string]string{
		"customers": "customers_list", "public.user.events": "public_user_events_list", "do thing": "do_thing_list",
		"Größe": "Gr_e_list", "a--b": "a--b_list", " x ": "x_list",
	} {
		if got := derivedName(base, "_list"); got != want {
			t.Errorf("%q becomes %q, want %q", base, got, want)
		}
	}
	for _, base := range []string{long, long + "er", "日本", "", "表"} {
		if got := derivedName(base, "_list"); !toolName.MatchString(got) {
			t.Errorf("%q becomes %q", base, got)
		}
	}
	if derivedName(long, "") == derivedName(long+"er", "") || derivedName("日本", "") == derivedName("表", "") {
		t.Error("two names become one")
	}
}

// TestCollidingNamesNameTheKeyThatMends: functions are named by another key than
// tables and buckets.
func TestCollidingNamesNameTheKeyThatMends(t *testing.T) {
	t.Parallel()
	for entry, key := range map[string]string{"function: ping, description: Again.": "tool", "storage: documents, operations: list": "name", "table: customers, columns: [id], operations: list": "name"} {
		b := Build([]byte("version: 1\ntitle: T\naccess: { mode: oauth, authorization: bridge }\ntools:\n  - { "+entry+" }\n  - { "+entry+" }\n"), loadSnapshot(t), known())
		if !mentions(b.Problems, 6, "choose a name with the key "+key) {
			t.Errorf("%s: %v", entry, b.Problems)
		}
	}
}

func TestFilterArgumentsNeverCollide(t *testing.T) {
	t.Parallel()
	taken := map[string]bool{"order": true, "limit": true, "cursor": true}
	seen := map[string]bool{}
	for _, c := range [][2]string{{"status", "in"}, {"status_in", "eq"}, {"status in", "eq"}, {"order", "eq"}, {"limit", "gt"}, {"order_eq", "eq"}, {strings.Repeat("x", 80), "eq"}, {strings.Repeat("x", 80), "in"}} {
		name := filterArgument(c[0], c[1], taken)
		if seen[name] || !argumentName.MatchString(name) || name == "order" || name == "limit" || name == "cursor" {
			t.Errorf("%v becomes %q", c, name)
		}
		seen[name] = true
	}
}

func TestIndexServesAnOrderForwardsOrBackwards(t *testing.T) {
	t.Parallel()
	name, id := Column{Name: "name", Nullable: true}, Column{Name: "id"}
	order := func(desc, nullsFirst bool) Order {
		return Order{Keys: []OrderTerm{{Column: name, Desc: desc, NullsFirst: nullsFirst}, {Column: id, Desc: desc, NullsFirst: desc}}}
	}
	btree := func(terms ...IndexTerm) IndexSchema { return IndexSchema{Method: "btree", Keys: terms} }
	plain := btree(IndexTerm{Column: "name"}, IndexTerm{Column: "id"})
	for what, c := range map[string]struct {
		index IndexSchema
		order Order
		want  bool
	}{
		"plain, ascending":               {plain, order(false, false), true},
		"plain, descending":              {plain, order(true, true), true},
		"plain, descending, nulls last":  {plain, order(true, false), false},
		"plain, ascending, nulls first":  {plain, order(false, true), false},
		"the key is missing":             {btree(IndexTerm{Column: "name"}), order(false, false), false},
		"another first column":           {btree(IndexTerm{Column: "id"}, IndexTerm{Column: "name"}), order(false, false), false},
		"mixed directions":               {btree(IndexTerm{Column: "name"}, IndexTerm{Column: "id", Desc: true, NullsFirst: true}), order(false, false), false},
		"descending nulls last, as made": {btree(IndexTerm{Column: "name", Desc: true}, IndexTerm{Column: "id", Desc: true, NullsFirst: true}), order(true, false), true},
		"partial":                        {IndexSchema{Method: "btree", Partial: true, Keys: plain.Keys}, order(false, false), false},
		"hash":                           {IndexSchema{Method: "hash", Keys: plain.Keys}, order(false, false), false},
		"unique but nullable":            {IndexSchema{Method: "btree", Unique: true, Keys: plain.Keys[:1]}, order(false, false), false},
	} {
		if got := serves(c.index, c.order); got != c.want {
			t.Errorf("%s: %t, want %t", what, got, c.want)
		}
	}
	unique := IndexSchema{Method: "btree", Unique: true, Keys: []IndexTerm{{Column: "id"}}}
	if !serves(unique, Order{Keys: []OrderTerm{{Column: id}, {Column: name}}}) {
		t.Error("a unique column that is never null needs no more columns")
	}
	if got := orderColumns(order(true, false)); got != "name desc nulls last, id desc" {
		t.Errorf("suggested columns are %q", got)
	}
	if got := orderColumns(order(true, true)); got != "name, id" {
		t.Errorf("suggested columns are %q", got)
	}
}
