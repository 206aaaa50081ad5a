package surfaces

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestField62_TheDialectRefusesWhatSomeClientDoesNotRead(t *testing.T) {
	t.Parallel()
	within := func(inner string) string {
		return `{"type":"object","properties":{"a":` + inner + `},"additionalProperties":false}`
	}
	for name, raw := range map[string]string{
		"no object":                  `[]`,
		"another root":               `{"type":"array","items":{}}`,
		"no root type":               `{"properties":{}}`,
		"alternatives at the root":   `{"type":"object","anyOf":[{"type":"object"},{"type":"object"}]}`,
		"a dialect":                  `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object"}`,
		"a reference":                within(`{"$ref":"#/properties/b"}`),
		"definitions":                `{"type":"object","$defs":{"x":{"type":"string"}}}`,
		"definitions of draft-07":    `{"type":"object","definitions":{"x":{"type":"string"}}}`,
		"a list of types":            within(`{"type":["string","null"]}`),
		"an unknown type":            within(`{"type":"int"}`),
		"nullable":                   within(`{"type":"string","nullable":true}`),
		"a tuple":                    within(`{"type":"array","prefixItems":[{"type":"string"}],"items":{}}`),
		"a list of items":            within(`{"type":"array","items":[{"type":"string"}]}`),
		"a list without items":       within(`{"type":"array"}`),
		"one alternative":            within(`{"anyOf":[{"type":"string"}]}`),
		"oneOf":                      within(`{"oneOf":[{"type":"string"},{"type":"null"}]}`),
		"a format":                   within(`{"type":"string","format":"date-time"}`),
		"a constant":                 within(`{"const":1}`),
		"a schema that is a boolean": within(`true`),
		"a name with a space":        `{"type":"object","properties":{"a b":{}}}`,
		"a name that is too long":    `{"type":"object","properties":{"` + strings.Repeat("a", 65) + `":{}}}`,
		"a member required only":     `{"type":"object","properties":{"a":{}},"required":["b"]}`,
		"something deep":             within(`{"type":"array","items":{"type":"object","properties":{"x":{"$ref":"#"}}}}`),
		"something in alternatives":  within(`{"anyOf":[{"type":"string"},{"type":"array"}]}`),
		"other properties":           `{"type":"object","additionalProperties":{"type":"string"}}`,
		"too deep":                   within(strings.Repeat(`{"type":"array","items":`, 30) + `{}` + strings.Repeat(`}`, 30)),
	} {
		if err := checkDialect(json.RawMessage(raw), dialect); err == nil {
			t.Errorf("%s is accepted: %s", name, raw)
		}
	}
	for _, raw := range []string{
		`{"type":"object"}`, within(`{}`), within(`{"anyOf":[{"type":"string","pattern":"^x$"},{"type":"null"}],"description":"D.","default":"x"}`),
		within(`{"type":"array","items":{"type":"object","properties":{"properties":{"type":"integer","minimum":1}},"required":["properties"],"minProperties":1},"maxItems":3}`),
	} {
		if err := checkDialect(json.RawMessage(raw), dialect); err != nil {
			t.Errorf("%s: %v", raw, err)
		}
	}
}

// TestField105_NamesOfColumnsNeverBreakASchema: a column that no client takes
// as a property is returned without a promise, and refused as an argument.
func TestField105_NamesOfColumnsNeverBreakASchema(t *testing.T) {
	t.Parallel()
	snap := loadSnapshot(t)
	relationOf(t, snap, "articles").column("title").Name = "the title"
	relationOf(t, snap, "teams").column("name").Name = "né"
	const file = `version: 1
title: Club
access: { mode: oauth, authorization: bridge }
tools:
  - table: articles
    columns: [id, the title]
    filters: { the title: [eq, ilike] }
    search: { columns: [the title] }
    embed: { team: { table: teams, columns: [id, né] } }
`
	b := Build([]byte(file), snap, known())
	if b.Compiled == nil || !mentions(b.Problems, 6, "no output schema tells of it") || !mentions(b.Problems, 9, "no output schema tells of it") {
		t.Fatal(b.Problems)
	}
	list := b.Compiled.Tools[0]
	if names := columnNames(list.List.Columns); strings.Join(names, ",") != "id,the title" || len(list.List.Embeds[0].Columns) != 2 {
		t.Errorf("returned: %v, %v", names, list.List.Embeds)
	}
	if f := list.List.Filters; len(f) != 2 || f[0].Argument != "the_title" || f[1].Argument != "the_title_ilike" {
		t.Errorf("filters: %+v", f)
	}
	for _, raw := range []json.RawMessage{list.Input, list.Output, b.Compiled.Tools[1].Output} {
		if err := checkDialect(raw, dialect); err != nil {
			t.Errorf("%v: %s", err, raw)
		}
	}
}

// TestField60_OptionalArgumentsMayBeLeftOutAndAreNeverNull: of tools that read
// and tools that call functions. What writes has null where a file says so.
func TestField60_OptionalArgumentsMayBeLeftOutAndAreNeverNull(t *testing.T) {
	t.Parallel()
	looked := 0
	for _, tool := range compileAll(t) {
		if tool.List == nil && tool.Get == nil && tool.RPC == nil {
			continue
		}
		var in shape
		if err := json.Unmarshal(tool.Input, &in); err != nil {
			t.Fatal(err)
		}
		must := map[string]bool{}
		if tool.Get != nil {
			for _, k := range tool.Get.Key {
				must[k.Name] = true
			}
		}
		if tool.List != nil {
			for _, f := range tool.List.Filters {
				must[f.Argument] = f.Required
			}
		}
		if tool.RPC != nil {
			for _, a := range tool.RPC.Arguments {
				must[a.Name] = a.Required
			}
		}
		required := map[string]bool{}
		for _, name := range in.Required {
			required[name] = true
		}
		for name, p := range in.Properties {
			looked++
			if required[name] != must[name] {
				t.Errorf("%s: %s is required: %t, want %t", tool.Name, name, required[name], must[name])
			}
			if p.kinds()["null"] != nil || p.Items != nil && p.Items.kinds()["null"] != nil {
				t.Errorf("%s: %s takes null", tool.Name, name)
			}
		}
	}
	if looked < 80 {
		t.Errorf("only %d arguments were looked at", looked)
	}
}

func TestField69_AHeavyToolIsNamed(t *testing.T) {
	t.Parallel()
	snap := loadSnapshot(t)
	for i := range snap.Enums {
		if snap.Enums[i].Name == "customer_status" {
			for range 600 {
				snap.Enums[i].Labels = append(snap.Enums[i].Labels, "a label that is long and many "+strings.Repeat("x", len(snap.Enums[i].Labels)%9)+string(rune('a'+len(snap.Enums[i].Labels)%26))+string(rune(0x4e00+len(snap.Enums[i].Labels))))
			}
		}
	}
	const file = "version: 1\ntitle: T\naccess: { mode: oauth, authorization: bridge }\ntools:\n  - { table: customers, columns: [id, name], filters: { status: { operators: eq, hidden_ok: true } } }\n"
	b := Build([]byte(file), snap, known())
	if b.Compiled == nil || !mentions(b.Problems, 5, "customers_list takes about") || mentions(b.Problems, 5, "customers_get takes about") {
		t.Errorf("%v", b.Problems)
	}
}
