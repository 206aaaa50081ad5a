package surfaces

import "strings"

// index finds things in a snapshot by name.
type index struct {
	snap       *Snapshot
	relations  map[string]*RelationSchema   // schema.name
	functions  map[string][]*FunctionSchema // schema.name
	enums      map[string][]string          // schema.name
	composites map[string][]Attribute       // schema.name; every relation is one, too
	known      map[string]bool              // roles whose rights the snapshot has
	usage      map[string][]string          // schema to roles
	buckets    map[string]*BucketInfo       // nil: not known
}

func newIndex(snap *Snapshot) *index {
	ix := &index{snap: snap, relations: map[string]*RelationSchema{}, functions: map[string][]*FunctionSchema{},
		enums: map[string][]string{}, composites: map[string][]Attribute{}, known: map[string]bool{}, usage: map[string][]string{}}
	for i := range snap.Relations {
		r := &snap.Relations[i]
		ix.relations[r.Schema+"."+r.Name] = r
		ix.composites[r.Schema+"."+r.Name] = r.attributes()
	}
	for i := range snap.Functions {
		f := &snap.Functions[i]
		ix.functions[f.Schema+"."+f.Name] = append(ix.functions[f.Schema+"."+f.Name], f)
	}
	for _, c := range snap.Composites {
		ix.composites[c.Schema+"."+c.Name] = c.Attributes
	}
	for _, e := range snap.Enums {
		ix.enums[e.Schema+"."+e.Name] = e.Labels
	}
	for _, r := range snap.Roles {
		ix.known[r.Name] = true
	}
	if snap.Buckets != nil {
		ix.buckets = map[string]*BucketInfo{}
	}
	for i := range snap.Buckets {
		ix.buckets[snap.Buckets[i].Name] = &snap.Buckets[i]
	}
	for _, s := range snap.Schemas {
		ix.usage[s.Name] = s.Usage
	}
	return ix
}

// defaultSchema is the schema that names without one stand for.
func (ix *index) defaultSchema() string {
	if len(ix.snap.Schemas) == 0 {
		return "public"
	}
	return ix.snap.Schemas[0].Name
}

// shown is a name as it is written in a surface file.
func (ix *index) shown(schema, name string) string {
	if schema == ix.defaultSchema() {
		return name
	}
	return schema + "." + name
}

// profile is the schema to name in requests; empty for the default one.
func (ix *index) profile(schema string) string {
	if schema == ix.defaultSchema() {
		return ""
	}
	return schema
}

// find resolves "name" or "schema.name". A name in the default schema wins, so
// that a table whose own name has a dot can be named. The key of things is
// unambiguous: a snapshot with two readings of one key is refused.
func find[T any](ix *index, text string, things map[string]T) (T, bool) {
	if thing, ok := things[ix.defaultSchema()+"."+text]; ok {
		return thing, true
	}
	thing, ok := things[text]
	return thing, ok
}

// names lists what could have been written, for suggestions.
func names[T any](ix *index, things map[string]T) []string {
	list := make([]string, 0, len(things))
	prefixes := make([]string, len(ix.snap.Schemas))
	for i, s := range ix.snap.Schemas {
		prefixes[i] = s.Name + "."
	}
	for key := range things {
		for i, prefix := range prefixes {
			if name, ok := strings.CutPrefix(key, prefix); ok {
				list = append(list, ix.shown(ix.snap.Schemas[i].Name, name))
				break
			}
		}
	}
	return list
}

// elsewhere finds a name that stands in another exposed schema.
func elsewhere[T any](ix *index, text string, things map[string]T) string {
	for _, s := range ix.snap.Schemas {
		if _, ok := things[s.Name+"."+text]; ok {
			return s.Name + "." + text
		}
	}
	return ""
}

// column returns the column of that name, or nil.
func (r *RelationSchema) column(name string) *ColumnSchema {
	for i := range r.Columns {
		if r.Columns[i].Name == name {
			return &r.Columns[i]
		}
	}
	return nil
}

// attributes are the relation's columns as those of its row type.
func (r *RelationSchema) attributes() []Attribute {
	attributes := make([]Attribute, len(r.Columns))
	for i, c := range r.Columns {
		attributes[i] = Attribute{Name: c.Name, Type: c.Type}
	}
	return attributes
}

func (r *RelationSchema) columnNames() []string {
	names := make([]string, len(r.Columns))
	for i, c := range r.Columns {
		names[i] = c.Name
	}
	return names
}
