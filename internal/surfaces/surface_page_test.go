package surfaces

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/chumbo-dev/chumbo/docs"
)

// schemaOfFiles is the JSON Schema of surface files, as JSON.
func schemaOfFiles(t *testing.T) map[string]any {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(FileSchema()))
	decoder.UseNumber()
	var root map[string]any
	if err := decoder.Decode(&root); err != nil {
		t.Fatal(err)
	}
	return root
}

// places are the keys of a surface file, each with the keys around it, such as
// .tools.filters.*.hidden_ok, and " by operation" where a value may be so.
type places map[string]bool

// byOperation reports whether a schema is that of a mapping by operation.
func byOperation(schema map[string]any) bool {
	properties, _ := schema["properties"].(map[string]any)
	for name := range properties {
		if !slices.Contains(operationKeys.known, name) && !slices.Contains(fileOperations.known, name) {
			return false
		}
	}
	return len(properties) > 0
}

// below are the schemas of what is in a value, and of the value itself.
func below(schema map[string]any) (properties map[string]any, others, items map[string]any, alternatives []any) {
	properties, _ = schema["properties"].(map[string]any)
	others, _ = schema["additionalProperties"].(map[string]any)
	items, _ = schema["items"].(map[string]any)
	alternatives, _ = schema["anyOf"].([]any)
	return properties, others, items, alternatives
}

// of adds every place that a schema has.
func (p places) of(schema map[string]any, at string) {
	if byOperation(schema) {
		p[at+" by operation"] = true
		return
	}
	properties, others, items, alternatives := below(schema)
	for name, s := range properties {
		p[at+"."+name] = true
		p.of(s.(map[string]any), at+"."+name)
	}
	p.of2(others, at+".*")
	p.of2(items, at)
	for _, s := range alternatives {
		p.of2(s.(map[string]any), at)
	}
}

func (p places) of2(schema map[string]any, at string) {
	if schema != nil {
		p.of(schema, at)
	}
}

// in adds the places that a value uses.
func (p places) in(schema map[string]any, value any, at string) {
	if schema == nil {
		return
	}
	properties, others, items, alternatives := below(schema)
	mapping, isMapping := value.(map[string]any)
	if byOperation(schema) {
		for name := range mapping {
			if properties[name] == nil {
				return
			}
		}
		if len(mapping) > 0 {
			p[at+" by operation"] = true
		}
		for name, v := range mapping {
			p.in(properties[name].(map[string]any), v, at)
		}
		return
	}
	for name, v := range mapping {
		if s, known := properties[name].(map[string]any); known {
			p[at+"."+name] = true
			p.in(s, v, at+"."+name)
		} else {
			p.in(others, v, at+".*")
		}
	}
	if list, ok := value.([]any); ok {
		for _, v := range list {
			p.in(items, v, at)
		}
	}
	for _, a := range alternatives {
		s := a.(map[string]any)
		closed, _ := s["properties"].(map[string]any)
		fits := s["additionalProperties"] != false || !slices.ContainsFunc(slices.Collect(maps.Keys(mapping)), func(name string) bool { return closed[name] == nil })
		if !isMapping || fits {
			p.in(s, value, at)
		}
	}
}

// TestSurfaceFilePageShowsEveryKeyInItsPlace: a key that means something in
// several places has an example in each, with a call below it, and what may be
// given by operation is shown so.
func TestSurfaceFilePageShowsEveryKeyInItsPlace(t *testing.T) {
	t.Parallel()
	schema, known, shown := schemaOfFiles(t), places{}, places{}
	known.of(schema, "")
	examples, err := docs.Examples("surface-file.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range examples {
		if len(e.Calls) == 0 {
			continue
		}
		var doc any
		if err := yaml.Unmarshal([]byte(e.File), &doc); err != nil {
			t.Fatalf("%s: %v", e, err)
		}
		shown.in(schema, textKeys(doc), "")
	}
	// An order inside an embed may have it as any order, and it says nothing there.
	delete(known, ".tools.embed.*.order.hidden_ok")
	for _, place := range slices.Sorted(maps.Keys(known)) {
		if !shown[place] {
			t.Errorf("docs/surface-file.md has no example of %s with a call below it", strings.TrimPrefix(place, "."))
		}
	}
	if len(known) < 150 {
		t.Errorf("only %d places were looked for", len(known))
	}
}

// pageRow is a row of a table of keys.
type pageRow struct{ given, says string }

// pageKeys are the rows of the first table under a heading of the page, by key.
func pageKeys(t *testing.T, page, heading string) map[string]pageRow {
	t.Helper()
	_, section, found := strings.Cut(page, "\n## "+heading+"\n")
	if !found {
		t.Fatalf("there is no section %s", heading)
	}
	_, table, _ := strings.Cut(section, "\n| key |")
	table, _, _ = strings.Cut(table, "\n\n")
	rows := map[string]pageRow{}
	for _, m := range regexp.MustCompile("(?m)^\\| (`[^|]*`) \\|([^|]*)\\|(.*)\\|$").FindAllStringSubmatch(table, -1) {
		for _, key := range regexp.MustCompile("`([a-z_]+)`").FindAllStringSubmatch(m[1], -1) {
			rows[key[1]] = pageRow{strings.TrimSpace(m[2]), m[3]}
		}
	}
	return rows
}

// bounds are the numbers that a key's schema sets, as a page writes them: of
// text those that somebody may reach.
func bounds(schema map[string]any) []string {
	found := map[string]bool{}
	number := func(key string, least int) {
		if n, ok := schema[key].(json.Number); ok {
			if i, err := strconv.Atoi(n.String()); err == nil && i >= least {
				found[thousands(i)] = true
			}
		}
	}
	number("maxLength", 1000)
	for _, key := range []string{"maximum", "maxItems", "maxProperties"} {
		number(key, 2)
	}
	if schema["type"] == "integer" {
		number("minimum", 2)
	}
	properties, others, _, alternatives := below(schema)
	inside := []any{}
	for name, s := range properties {
		if schema["type"] == "object" && name != "claim" && name != "context" { // paths of names, told of once
			inside = append(inside, s)
		}
	}
	if others != nil {
		inside = append(inside, others)
	}
	for _, s := range append(inside, alternatives...) {
		for _, n := range bounds(s.(map[string]any)) {
			found[n] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

func thousands(n int) string {
	if n < 1000 {
		return strconv.Itoa(n)
	}
	return thousands(n/1000) + fmt.Sprintf(",%03d", n%1000)
}

// TestSurfaceFilePageAgreesWithTheSchema: the tables have the keys that the JSON
// Schema has, which of them are needed, the same defaults and the same bounds.
func TestSurfaceFilePageAgreesWithTheSchema(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../docs/surface-file.md")
	if err != nil {
		t.Fatal(err)
	}
	page, schema := string(raw), schemaOfFiles(t)
	tools := schema["properties"].(map[string]any)["tools"].(map[string]any)["items"].(map[string]any)["anyOf"].([]any)
	// kinds are the keys of all kinds of an entry, of which uri or prompt is needed.
	kinds := func(list, needed string) any {
		properties := map[string]any{}
		for _, kind := range schema["properties"].(map[string]any)[list].(map[string]any)["items"].(map[string]any)["anyOf"].([]any) {
			maps.Copy(properties, kind.(map[string]any)["properties"].(map[string]any))
		}
		return map[string]any{"properties": properties, "required": []any{needed}}
	}
	// Told of once, for all of them.
	elsewhere := map[string][]string{
		"The file": {"access", "tools", "resources", "prompts"}, "A resource": {"scopes", "visible", "allow", "permission", "aal", "meta", "public", "complete", "timeout", "asks"},
		"A prompt": {"scopes", "visible", "allow", "permission", "aal", "meta", "public", "timeout", "asks"}, "access": {"visible", "allow", "public"}, "A table tool": {"visible", "allow", "write", "confirm", "questions"},
		"A function tool": {"scopes", "visible", "allow", "permission", "aal", "meta", "public", "result", "template", "guidance", "budget", "input", "output", "questions", "confirm"},
		"A storage tool":  {"scopes", "visible", "allow", "permission", "aal", "meta", "public", "guidance", "budget", "confirm"},
		"An rpc tool":     {"confirm", "questions", "scopes", "visible", "allow", "permission", "aal", "meta", "public", "result", "template", "guidance", "budget", "arguments", "input"},
	}
	for heading, schema := range map[string]any{
		"The file": schema, "access": schema["properties"].(map[string]any)["access"], "A table tool": tools[0], "An rpc tool": tools[1],
		"A function tool": tools[2], "A storage tool": tools[3],
		"A resource": kinds("resources", "uri"), "A prompt": kinds("prompts", "prompt"),
	} {
		rows := pageKeys(t, page, heading)
		object := schema.(map[string]any)
		properties := object["properties"].(map[string]any)
		if keys, listed := slices.Sorted(maps.Keys(properties)), slices.Sorted(maps.Keys(rows)); !slices.Equal(keys, listed) {
			t.Errorf("%s lists %v, the schema has %v", heading, listed, keys)
			continue
		}
		required, _ := object["required"].([]any)
		for _, key := range required {
			if rows[key.(string)].given != "required" {
				t.Errorf("%s: %v is required, the page says %q", heading, key, rows[key.(string)].given)
			}
		}
		for key, s := range properties {
			if slices.Contains(elsewhere[heading], key) {
				continue
			}
			s, row := s.(map[string]any), rows[key]
			if given, has := s["default"]; has {
				text := fmt.Sprint(given)
				if list, ok := given.([]any); ok {
					text = strings.ReplaceAll(fmt.Sprint(list), " ", ", ")
				}
				if !strings.HasPrefix(row.given, "`"+text+"`") {
					t.Errorf("%s: %s is %s by default, the page says %q", heading, key, text, row.given)
				}
			}
			_, own, _ := strings.Cut(page, "\n### "+key+"\n")
			own, _, _ = strings.Cut(own, "\n##")
			for _, n := range bounds(s) {
				if !regexp.MustCompile(`\b` + n + `\b`).MatchString(row.given + row.says + own) {
					t.Errorf("%s: %s is bounded by %s, of which the page says nothing", heading, key, n)
				}
			}
		}
	}
}
