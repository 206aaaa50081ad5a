package surfaces

// value is what is known of a type: how its values travel, and what they may
// be.
type value struct {
	sql    string // base type name; "int4[]" for an array
	json   JSONType
	asText bool
	labels []string // of an enum
	item   *value   // of an array
	opaque bool     // a composite, a pseudo-type or an extension's type
	row    *rowType // of a composite
}

// rowType is a composite type, whose attributes are looked up when a schema is
// written.
type rowType struct {
	ix         *index
	key        string // schema.name
	attributes []Attribute
}

// catalogSchema is where Postgres keeps its own types.
const catalogSchema = "pg_catalog"

// typeOf says how values of a type travel, following Postgres's to_json:
// numbers and booleans as such, json as itself, arrays and rows as such, all
// else as text. Types of extensions may bring a cast to json, so nothing is
// promised of them.
func (ix *index) typeOf(t TypeRef) value {
	for t.Base != nil && !t.Array {
		t = *t.Base
	}
	if t.Array {
		element := t
		element.Array = false
		item := ix.typeOf(element)
		return value{sql: item.sql + "[]", json: JSONArray, item: &item}
	}
	if t.Schema == catalogSchema {
		return catalogType(t.Name)
	}
	if labels, ok := ix.enums[t.Schema+"."+t.Name]; ok {
		return value{sql: ownName(t), json: JSONString, labels: labels}
	}
	if t.Name == "citext" {
		return value{sql: t.Name, json: JSONString}
	}
	v := value{sql: ownName(t), json: JSONAny, opaque: true}
	if attributes, ok := ix.composites[t.Schema+"."+t.Name]; ok {
		v.row = &rowType{ix: ix, key: t.Schema + "." + t.Name, attributes: attributes}
	}
	return v
}

// builtin are Postgres's own types of which more is known than how they travel.
var builtin = map[string]bool{
	"int2": true, "int4": true, "int8": true, "numeric": true, "float4": true, "float8": true, "bool": true, "uuid": true, "bytea": true,
	"text": true, "varchar": true, "bpchar": true, "name": true, "json": true, "jsonb": true, "tsvector": true,
	"date": true, "timestamp": true, "timestamptz": true, "time": true, "timetz": true, "interval": true,
}

// ownName is the name of a type that is none of Postgres's own: with its schema
// where it would be taken for one.
func ownName(t TypeRef) string {
	if builtin[t.Name] || unordered[t.Name] {
		return t.Schema + "." + t.Name
	}
	return t.Name
}

func catalogType(name string) value {
	v := value{sql: name, json: JSONString}
	switch name {
	case "int2", "int4":
		v.json = JSONInteger
	case "int8", "numeric":
		v.asText = true
	case "float4", "float8":
		v.json = JSONNumber
	case "bool":
		v.json = JSONBoolean
	case "json", "jsonb":
		v.json = JSONAny
	case "record", "anyelement", "anyarray", "anycompatible":
		v.json, v.opaque = JSONAny, true
	}
	return v
}

func (v value) isText() bool {
	switch v.sql {
	case "text", "varchar", "bpchar", "citext", "name":
		return v.json == JSONString
	}
	return false
}

// ordered reports whether "greater than" makes sense to a person, and Postgres
// knows it.
func (v value) ordered() bool {
	return (v.json == JSONString || v.json == JSONInteger || v.json == JSONNumber) && !unordered[v.sql]
}

// listable reports whether lists of it can be compared: an array of plain
// values that have an order.
func (v value) listable() bool {
	return v.json == JSONArray && v.item.json != JSONArray && v.item.json != JSONAny && !unordered[v.item.sql]
}

// output is the schema of a value in a result: its JSON type and nothing that
// data could break. Floats may be "NaN" or "Infinity" as text; an array may
// have any number of dimensions.
func (v value) output(nullable bool) *schema { return v.outputIn(nullable, newNesting()) }

func (v value) outputIn(nullable bool, in nesting) *schema {
	var s *schema
	switch {
	case v.row != nil:
		s = v.row.object(in, outputObject(), func(_ string, v value, in nesting) *schema { return v.inside().outputIn(true, in) })
	case v.json == JSONAny:
		return &schema{}
	case v.json == JSONArray:
		s = &schema{Type: "array", Items: &schema{}}
	case v.json == JSONNumber:
		s = &schema{AnyOf: []*schema{{Type: "number"}, {Type: "string"}}}
	default:
		s = &schema{Type: string(v.json)}
	}
	if nullable {
		return s.orNull()
	}
	return s
}

const (
	integerText = `^-?[0-9]{1,19}$`
	numericText = `^-?[0-9]+(\.[0-9]+)?$`
	uuidText    = `^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$`
	maxText     = 1000 // characters of a filter value; URLs have limits
)

// input is the schema of a value as an argument.
func (v value) input() *schema { return v.inputIn(newNesting()) }

func (v value) inputIn(in nesting) *schema {
	switch {
	case v.sql == "int8":
		return &schema{AnyOf: []*schema{{Type: "integer"}, {Type: "string", Pattern: integerText}}}
	case v.sql == "numeric":
		return &schema{AnyOf: []*schema{{Type: "integer"}, {Type: "string", Pattern: numericText}}}
	case v.sql == "int2":
		return &schema{Type: "integer", Minimum: ptr(-1 << 15), Maximum: ptr(1<<15 - 1)}
	case v.sql == "int4":
		return &schema{Type: "integer", Minimum: ptr(-1 << 31), Maximum: ptr(1<<31 - 1)}
	case v.sql == "uuid":
		return &schema{Type: "string", Pattern: uuidText}
	case len(v.labels) > 0:
		return &schema{Type: "string", Enum: v.labels}
	case v.json == JSONArray:
		return &schema{Type: "array", Items: v.item.inputIn(in)}
	case v.row != nil:
		return v.row.object(in, inputObject(), func(name string, v value, in nesting) *schema {
			s := v.inputIn(in)
			if hint := v.hint(); hint != "" && v.row == nil {
				s.Description = sentence(humanize(name), hint, "")
			}
			return s
		})
	case v.json == JSONAny:
		return &schema{}
	}
	return &schema{Type: string(v.json)}
}

// hint tells a model how to write a value of the type, where that is not
// plain.
func (v value) hint() string {
	switch v.sql {
	case "int8":
		return "a whole number; as text when it is long"
	case "numeric":
		return "a decimal number as text, such as \"12.50\""
	case "date":
		return "a date, YYYY-MM-DD"
	case "timestamptz":
		return "a time with zone, such as 2026-01-31T12:00:00Z"
	case "timestamp":
		return "a time without zone, such as 2026-01-31T12:00:00"
	case "time", "timetz":
		return "a time of day, such as 12:30:00"
	case "interval":
		return "a duration, such as 2 days or 01:30:00"
	case "uuid":
		return "a UUID"
	case "bytea":
		return "bytes in hexadecimal, such as \\x00ff"
	case "json", "jsonb":
		return "any JSON value"
	}
	switch {
	case v.json == JSONArray:
		return "a list"
	case v.row != nil:
		return "an object of the database type " + v.sql
	case v.opaque:
		return "a value of the database type " + v.sql
	}
	return ""
}

// column makes a plan's column of a schema's.
func (ix *index) column(rel *RelationSchema, c *ColumnSchema) Column {
	v := ix.typeOf(c.Type)
	nullable := !c.NotNull || rel.Kind == KindView || rel.Kind == KindMaterializedView || rel.Kind == KindForeignTable
	return Column{Name: c.Name, SQLType: v.sql, JSON: v.json, AsText: v.asText, Nullable: nullable}
}
