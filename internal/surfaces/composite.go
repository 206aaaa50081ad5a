package surfaces

import "slices"

// Schemas have no references, so a composite type stands in each place where it
// is used, down to maxNesting of them in each other and maxAttributes in all.
const (
	maxNesting    = 3
	maxAttributes = 200
)

// nesting is the composite types that a schema being written is inside of.
type nesting struct {
	path []string // schema.name, the outermost first
	left *int     // attributes that may still be written
}

func newNesting() nesting { return nesting{left: ptr(maxAttributes)} }

// object fills an object with the attributes of the type. What is nested too
// deep, within itself, too large, or has names that clients refuse, is an
// object of anything, and says of what.
func (t *rowType) object(in nesting, s *schema, of func(string, value, nesting) *schema) *schema {
	odd := func(a Attribute) bool { return !argumentName.MatchString(a.Name) }
	if len(t.attributes) == 0 || len(in.path) >= maxNesting || *in.left < len(t.attributes) || slices.Contains(in.path, t.key) || slices.ContainsFunc(t.attributes, odd) {
		return &schema{Type: "object", Description: "An object of the database type " + oneLine(t.key, 128) + "."}
	}
	*in.left -= len(t.attributes)
	inner := nesting{path: append(slices.Clone(in.path), t.key), left: in.left}
	for _, a := range t.attributes {
		s.Properties.add(a.Name, of(a.Name, t.ix.typeOf(a.Type), inner))
	}
	return s
}

// inside is how a value travels within a composite: to_json writes it, and
// nothing is cast, so that bigint and numeric are numbers there.
func (v value) inside() value {
	switch v.sql {
	case "int8":
		v.json = JSONInteger
	case "numeric":
		v.json = JSONNumber // or "NaN"
	}
	return v
}
