package surfaces

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

func TestFileSchemaAcceptsWhatTheCompilerAccepts(t *testing.T) {
	t.Parallel()
	schema := compileSchema(t, FileSchema())
	files, err := filepath.Glob("testdata/compile/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, path := range files {
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(path)
		if name == "syntax.yaml" {
			continue // not readable as data
		}
		var doc any
		if err := yaml.Unmarshal(src, &doc); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		_, problems := Parse(src)
		err = schema.Validate(textKeys(doc))
		if (err == nil) == HasErrors(problems) {
			t.Errorf("%s: the schema says %v, the parser %v", name, err, problems)
		}
		checked++
	}
	if checked < 8 {
		t.Errorf("only %d files were checked", checked)
	}
}

// textKeys are a document's mappings as editors see them: the key null is a
// name like any other.
func textKeys(v any) any {
	switch v := v.(type) {
	case map[any]any:
		m := map[string]any{}
		for key, value := range v {
			if key == nil {
				key = "null"
			}
			m[fmt.Sprint(key)] = textKeys(value)
		}
		return m
	case map[string]any:
		for key, value := range v {
			v[key] = textKeys(value)
		}
	case []any:
		for i, value := range v {
			v[i] = textKeys(value)
		}
	}
	return v
}

// TestFileSchemaAndParserKnowTheSameKeys walks both.
func TestFileSchemaAndParserKnowTheSameKeys(t *testing.T) {
	t.Parallel()
	var root map[string]any
	if err := json.Unmarshal(FileSchema(), &root); err != nil {
		t.Fatal(err)
	}
	at := func(path ...any) any {
		var v any = root
		for _, p := range path {
			switch p := p.(type) {
			case string:
				v = v.(map[string]any)[p]
			case int:
				v = v.([]any)[p]
			}
		}
		return v
	}
	tool := func(i int, path ...any) any {
		return at(append([]any{"properties", "tools", "items", "anyOf", i}, path...)...)
	}
	for name, c := range map[string]struct {
		schema any
		keys   keys
	}{
		"file":            {root, fileKeys},
		"access":          {at("properties", "access"), accessKeys},
		"introspection":   {at("properties", "access", "properties", "introspection"), introspectionKeys},
		"keys":            {at("properties", "access", "properties", "keys"), functionKeys},
		"context":         {at("properties", "context"), functionKeys},
		"authorizer":      {at("properties", "authorizer"), functionKeys},
		"public":          {at("properties", "access", "properties", "public"), publicKeys},
		"scopes_from":     {at("properties", "access", "properties", "scopes_from", "anyOf", 0), scopesFromKeys},
		"required_roles":  {at("properties", "access", "properties", "required_roles", "anyOf", 2), requiredRolesKeys},
		"access.allow":    {at("properties", "access", "properties", "allow", "anyOf", 1), allowKeys},
		"table.allow":     {tool(0, "properties", "allow", "anyOf", 1), allowKeys},
		"rpc.allow":       {tool(1, "properties", "allow", "anyOf", 1), allowKeys},
		"visible":         {tool(0, "properties", "visible", "anyOf", 1), operationKeys},
		"allow":           {tool(0, "properties", "allow", "anyOf", 2), operationKeys},
		"permission":      {tool(0, "properties", "permission", "anyOf", 1), operationKeys},
		"aal":             {tool(0, "properties", "aal", "anyOf", 1), operationKeys},
		"table":           {tool(0), tableKeys},
		"rpc":             {tool(1), rpcKeys},
		"filter":          {tool(0, "properties", "filters", "additionalProperties", "anyOf", 2), filterKeys},
		"search":          {tool(0, "properties", "search", "anyOf", 2), searchKeys},
		"embed":           {tool(0, "properties", "embed", "additionalProperties"), embedKeys},
		"write":           {tool(0, "properties", "write", "anyOf", 2, "additionalProperties", "anyOf", 2), writeKeys},
		"set":             {tool(0, "properties", "set", "anyOf", 0, "additionalProperties", "anyOf", 1), setKeys},
		"order":           {tool(0, "properties", "order", "anyOf", 0, "anyOf", 1), orderKeys},
		"limit":           {tool(0, "properties", "limit"), limitKeys},
		"guidance":        {tool(0, "properties", "guidance"), guidanceKeys},
		"operation":       {tool(0, "properties", "title", "anyOf", 1), operationKeys},
		"scopes":          {tool(0, "properties", "scopes", "anyOf", 2), operationKeys},
		"annotations":     {tool(1, "properties", "annotations"), annotationKeys},
		"argument":        {tool(1, "properties", "arguments", "anyOf", 2, "additionalProperties", "anyOf", 2), argumentKeys},
		"input":           {tool(1, "properties", "input"), inputKeys},
		"function":        {tool(2), edgeKeys},
		"storage":         {tool(3), storageKeys},
		"file.confirm":    {tool(3, "properties", "confirm", "anyOf", 1), fileOperations},
		"file.scopes":     {tool(3, "properties", "scopes", "anyOf", 2), fileOperations},
		"file.allow":      {tool(3, "properties", "allow", "anyOf", 2), fileOperations},
		"confirm":         {tool(0, "properties", "confirm", "anyOf", 1), operationKeys},
		"table.question":  {tool(0, "properties", "questions", "additionalProperties"), questionKeys},
		"question":        {tool(2, "properties", "questions", "additionalProperties"), questionKeys},
		"schema":          {at("$defs", "value"), schemaKeys},
		"text resource":   {at("properties", "resources", "items", "anyOf", 0), resourceKeys["text"]},
		"blob resource":   {at("properties", "resources", "items", "anyOf", 1), resourceKeys["blob"]},
		"rows":            {at("properties", "resources", "items", "anyOf", 2), resourceKeys["table"]},
		"file resource":   {at("properties", "resources", "items", "anyOf", 3), resourceKeys["storage"]},
		"edge resource":   {at("properties", "resources", "items", "anyOf", 4), resourceKeys["function"]},
		"complete":        {at("properties", "resources", "items", "anyOf", 2, "properties", "complete", "additionalProperties", "anyOf", 2), columnKeys},
		"rows.order":      {at("properties", "resources", "items", "anyOf", 2, "properties", "order", "anyOf", 0, "anyOf", 1), orderKeys},
		"prompt":          {at("properties", "prompts", "items", "anyOf", 0), promptKeys},
		"edge prompt":     {at("properties", "prompts", "items", "anyOf", 1), promptFunctionKeys},
		"prompt.allow":    {at("properties", "prompts", "items", "anyOf", 0, "properties", "allow", "anyOf", 1), allowKeys},
		"prompt argument": {at("properties", "prompts", "items", "anyOf", 0, "properties", "arguments", "items"), promptArgumentKeys},
		"prompt complete": {at("properties", "prompts", "items", "anyOf", 0, "properties", "arguments", "items", "properties", "complete", "anyOf", 2), columnKeys},
		"message":         {at("properties", "prompts", "items", "anyOf", 0, "properties", "messages", "items"), messageKeys},
		"image":           {at("properties", "prompts", "items", "anyOf", 0, "properties", "messages", "items", "properties", "image"), imageKeys},
		"property":        {tool(1, "properties", "input", "properties", "properties", "additionalProperties"), propertyKeys},
	} {
		object := c.schema.(map[string]any)
		if object["additionalProperties"] != false {
			t.Errorf("%s: the schema allows unknown keys", name)
		}
		var inSchema []string
		for key := range object["properties"].(map[string]any) {
			inSchema = append(inSchema, key)
		}
		slices.Sort(inSchema)
		if parsed := slices.Sorted(slices.Values(c.keys.known)); !slices.Equal(inSchema, parsed) {
			t.Errorf("%s: the schema has %v, the parser %v", name, inSchema, parsed)
		}
		for later := range c.keys.later {
			if slices.Contains(inSchema, later) {
				t.Errorf("%s: %s is not yet supported, but the schema has it", name, later)
			}
		}
	}
}

func TestEveryLaterKeySaysWhatToDoInstead(t *testing.T) {
	t.Parallel()
	for _, k := range []map[string]string{fileKeys.later, accessKeys.later, laterTool, laterOperations, edgeKeys.later, storageKeys.later, edgeKeys.never, storageKeys.never, neverData, neverFiles, schemaKeys.never} {
		for key, instead := range k {
			if instead == "" {
				t.Errorf("%s: nothing to do instead", key)
			}
		}
	}
}

// TestSnapshotSchemaAndTypesKnowTheSameKeys walks the schema and the structs.
func TestSnapshotSchemaAndTypesKnowTheSameKeys(t *testing.T) {
	t.Parallel()
	var root map[string]any
	if err := json.Unmarshal(SnapshotSchema(), &root); err != nil {
		t.Fatal(err)
	}
	compareKeys(t, "snapshot", root, root, reflect.TypeFor[Snapshot](), 0)
}

func compareKeys(t *testing.T, path string, root, schema map[string]any, typ reflect.Type, depth int) {
	t.Helper()
	if ref, ok := schema["$ref"].(string); ok {
		schema = root["$defs"].(map[string]any)[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any)
	}
	switch typ.Kind() {
	case reflect.Pointer:
		if depth < 8 {
			compareKeys(t, path, root, schema, typ.Elem(), depth+4)
		}
		return
	case reflect.Slice:
		compareKeys(t, path+"[]", root, schema["items"].(map[string]any), typ.Elem(), depth)
		return
	case reflect.Struct:
	default:
		return
	}
	properties := schema["properties"].(map[string]any)
	required, _ := schema["required"].([]any)
	for i := range typ.NumField() {
		name, options, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
		p, ok := properties[name].(map[string]any)
		if !ok {
			t.Errorf("%s: the schema lacks %s", path, name)
			continue
		}
		if (options == "omitempty" || options == "omitzero") == slices.Contains(required, any(name)) {
			t.Errorf("%s.%s: required in one, not in the other", path, name)
		}
		compareKeys(t, path+"."+name, root, p, typ.Field(i).Type, depth)
	}
	if len(properties) != typ.NumField() {
		t.Errorf("%s: the schema has %d keys, the type %d", path, len(properties), typ.NumField())
	}
}
