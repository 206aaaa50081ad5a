package surfaces

import (
	"fmt"
	"strings"
	"testing"
)

func TestTypesTravelAsPostgresWritesThem(t *testing.T) {
	t.Parallel()
	ix := newIndex(loadSnapshot(t))
	pg := func(name string) TypeRef { return TypeRef{Schema: catalogSchema, Name: name} }
	array := func(r TypeRef) TypeRef { r.Array = true; return r }
	domain := func(base TypeRef) TypeRef { return TypeRef{Schema: "public", Name: "d", Base: &base} }
	for _, c := range []struct {
		typ         TypeRef
		sql         string
		json        JSONType
		asText      bool
		in, out     string
		eq, compare bool
	}{
		{pg("int4"), "int4", JSONInteger, false, `{"type":"integer","minimum":-2147483648,"maximum":2147483647}`, `{"type":"integer"}`, true, true},
		{pg("int8"), "int8", JSONString, true, `{"anyOf":[{"type":"integer"},{"type":"string","pattern":"^-?[0-9]{1,19}$"}]}`, `{"type":"string"}`, true, true},
		{pg("float8"), "float8", JSONNumber, false, `{"type":"number"}`, `{"anyOf":[{"type":"number"},{"type":"string"}]}`, true, true},
		{pg("bool"), "bool", JSONBoolean, false, `{"type":"boolean"}`, `{"type":"boolean"}`, true, false},
		{pg("timestamptz"), "timestamptz", JSONString, false, `{"type":"string"}`, `{"type":"string"}`, true, true},
		{pg("money"), "money", JSONString, false, `{"type":"string"}`, `{"type":"string"}`, true, true},
		{pg("jsonb"), "jsonb", JSONAny, false, `{}`, `{}`, false, false},
		{array(pg("text")), "text[]", JSONArray, false, `{"type":"array","items":{"type":"string"}}`, `{"type":"array","items":{}}`, false, false},
		{domain(domain(pg("int8"))), "int8", JSONString, true, `{"anyOf":[{"type":"integer"},{"type":"string","pattern":"^-?[0-9]{1,19}$"}]}`, `{"type":"string"}`, true, true},
		{domain(array(pg("int4"))), "int4[]", JSONArray, false, `{"type":"array","items":{"type":"integer","minimum":-2147483648,"maximum":2147483647}}`, `{"type":"array","items":{}}`, false, false},
		{TypeRef{Schema: "public", Name: "customer_status"}, "customer_status", JSONString, false, `{"type":"string","enum":["lead","active","archived"]}`, `{"type":"string"}`, true, true},
		{TypeRef{Schema: "public", Name: "address"}, "address", JSONAny, false, `{"type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}},"additionalProperties":false}`,
			`{"type":"object","properties":{"street":{"anyOf":[{"type":"string"},{"type":"null"}]},"city":{"anyOf":[{"type":"string"},{"type":"null"}]}}}`, false, false},
		{TypeRef{Schema: "extensions", Name: "vector"}, "vector", JSONAny, false, `{}`, `{}`, false, false},
		{TypeRef{Schema: "extensions", Name: "citext"}, "citext", JSONString, false, `{"type":"string"}`, `{"type":"string"}`, true, true},
	} {
		v := ix.typeOf(c.typ)
		if v.sql != c.sql || v.json != c.json || v.asText != c.asText || v.ordered() != c.compare || (v.json != JSONAny && v.json != JSONArray) != c.eq {
			t.Errorf("%+v is %+v", c.typ, v)
		}
		if got := string(v.input().raw()); got != c.in {
			t.Errorf("%s as an argument: %s, want %s", c.sql, got, c.in)
		}
		if got := string(v.output(false).raw()); got != c.out {
			t.Errorf("%s in a result: %s, want %s", c.sql, got, c.out)
		}
	}
}

func TestField61_ACompositeUsedTwiceIsInlined(t *testing.T) {
	t.Parallel()
	for _, tool := range compileAll(t) {
		if tool.Name != "payload" {
			continue
		}
		want := `{"type":"object","properties":{"body":{"description":"Body (any JSON value)."},"home":{"type":"object","description":"Home (an object of the database type address).","properties":{"street":{"type":"string"},"city":{"type":"string"}},"additionalProperties":false}},"required":["body"],"additionalProperties":false}`
		if string(tool.Input) != want {
			t.Errorf("payload takes %s", tool.Input)
		}
		return
	}
	t.Error("there is no tool payload")
}

func TestField61_CompositesAreInlinedToABoundedDepth(t *testing.T) {
	t.Parallel()
	snap := loadSnapshot(t)
	ix := newIndex(snap)
	of := func(name string) value { return ix.typeOf(TypeRef{Schema: "public", Name: name}) }
	in := string(of("leg").input().raw())
	stop := `{"type":"object","properties":{"name":{"type":"string"},"spot":{"type":"object","properties":{"lat":{"type":"number"},"lng":{"type":"number"}},"additionalProperties":false},` +
		`"reached":{"type":"string","description":"Reached (a date, YYYY-MM-DD)."},"steps":{"description":"Steps (a whole number; as text when it is long).","anyOf":[{"type":"integer"},{"type":"string","pattern":"^-?[0-9]{1,19}$"}]},` +
		`"fare":{"description":"Fare (a decimal number as text, such as \"12.50\").","anyOf":[{"type":"integer"},{"type":"string","pattern":"^-?[0-9]+(\\.[0-9]+)?$"}]}},"additionalProperties":false}`
	if want := `{"type":"object","properties":{"origin":` + stop + `,"destination":` + stop + `},"additionalProperties":false}`; in != want {
		t.Errorf("leg takes\n%s, want\n%s", in, want)
	}
	for _, s := range []*schema{of("route").input(), of("route").output(true)} {
		raw := string(s.raw())
		if !strings.Contains(raw, `"spot":{"type":"object","description":"An object of the database type public.point_on_map."}`) &&
			!strings.Contains(raw, `{"type":"object","description":"An object of the database type public.point_on_map."},{"type":"null"}`) {
			t.Errorf("the fourth level is inlined: %s", raw)
		}
		if err := CheckSchema(s.raw()); err != nil {
			t.Error(err)
		}
	}
	if out := string(of("stop").output(false).raw()); !strings.Contains(out, `"steps":{"anyOf":[{"type":"integer"},{"type":"null"}]}`) || !strings.Contains(out, `"fare":{"anyOf":[{"type":"number"},{"type":"string"},{"type":"null"}]}`) {
		t.Errorf("numbers within a composite are written by to_json: %s", out)
	}
	if in := string(of("odd_names").input().raw()); in != `{"type":"object","description":"An object of the database type public.odd_names."}` {
		t.Errorf("names that no client takes: %s", in)
	}
}

// TestField61_HostileCompositesStaySmall: a type within itself, which Postgres
// has through the row types of tables, and types that multiply.
func TestField61_HostileCompositesStaySmall(t *testing.T) {
	t.Parallel()
	snap := loadSnapshot(t)
	ref := func(name string, array bool) TypeRef { return TypeRef{Schema: "public", Name: name, Array: array} }
	snap.Composites = append(snap.Composites, CompositeType{Schema: "public", Name: "node", Attributes: []Attribute{
		{Name: "name", Type: TypeRef{Schema: catalogSchema, Name: "text"}}, {Name: "children", Type: ref("node", true)}, {Name: "next", Type: ref("node", false)},
	}})
	for i := range 4 {
		wide := CompositeType{Schema: "public", Name: fmt.Sprintf("wide_%d", i)}
		for j := range 90 {
			wide.Attributes = append(wide.Attributes, Attribute{Name: fmt.Sprintf("a%d", j), Type: ref(fmt.Sprintf("wide_%d", i+1), false)})
		}
		snap.Composites = append(snap.Composites, wide)
	}
	ix := newIndex(snap)
	const inner = `{"type":"object","description":"An object of the database type public.node."}`
	want := `{"type":"object","properties":{"name":{"type":"string"},"children":{"type":"array","description":"Children (a list).","items":` + inner + `},"next":` + inner + `},"additionalProperties":false}`
	if got := string(ix.typeOf(ref("node", false)).input().raw()); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for _, s := range []*schema{ix.typeOf(ref("wide_0", false)).input(), ix.typeOf(ref("wide_0", false)).output(true)} {
		if n := len(s.raw()); n > 100_000 {
			t.Errorf("%d bytes", n)
		}
	}
	used := newUsed()
	used.typ(ix, ref("node", false)) // ends
}
