package surfaces

import "testing"

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
		{TypeRef{Schema: "public", Name: "address"}, "address", JSONAny, false, `{"type":"object"}`, `{}`, false, false},
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
		want := `{"type":"object","properties":{"body":{"description":"Body (any JSON value)."},"home":{"type":"object","description":"Home (an object of the database type address)."}},"required":["body"],"additionalProperties":false}`
		if string(tool.Input) != want {
			t.Errorf("payload takes %s", tool.Input)
		}
		return
	}
	t.Error("there is no tool payload")
}
