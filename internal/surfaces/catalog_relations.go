package surfaces

// catalogRelation is a row of pg_class with all that belongs to it.
type catalogRelation struct {
	Schema          string              `json:"schema"`
	Name            string              `json:"name"`
	Kind            string              `json:"kind"` // r p v m f
	Comment         string              `json:"comment"`
	RLS             bool                `json:"rls"`
	Policies        int                 `json:"policies"`
	PolicyRoles     []PolicyRole        `json:"policy_roles"`
	SecurityInvoker bool                `json:"security_invoker"`
	Delete          []string            `json:"delete"`
	Public          []string            `json:"public"`
	Columns         []catalogColumn     `json:"columns"`
	Constraints     []catalogConstraint `json:"constraints"`
	Indexes         []catalogIndex      `json:"indexes"`
}

type catalogColumn struct {
	Name      string   `json:"name"`
	Type      uint32   `json:"type"`
	NotNull   bool     `json:"not_null"`
	Default   string   `json:"default"`
	Generated bool     `json:"generated"`
	Identity  string   `json:"identity"` // a d
	Coarse    bool     `json:"coarse"`
	Comment   string   `json:"comment"`
	Select    []string `json:"select"`
	Insert    []string `json:"insert"`
	Update    []string `json:"update"`
}

// catalogConstraint is a primary key, or a foreign key to a relation that is
// described too.
type catalogConstraint struct {
	Name       string   `json:"name"`
	Kind       string   `json:"kind"` // p f
	Schema     string   `json:"schema"`
	Relation   string   `json:"relation"`
	Columns    []string `json:"columns"`
	Referenced []string `json:"referenced"`
}

type catalogIndex struct {
	Name    string            `json:"name"`
	Method  string            `json:"method"`
	Unique  bool              `json:"unique"`
	Primary bool              `json:"primary"`
	Partial bool              `json:"partial"`
	Keys    []catalogIndexKey `json:"keys"`
}

type catalogIndexKey struct {
	Column string `json:"column"`
	Option int    `json:"option"` // bits of indoption
	Class  string `json:"class"`
}

var (
	relationKinds = map[string]string{"r": KindTable, "p": KindTable, "v": KindView, "m": KindMaterializedView, "f": KindForeignTable}
	identityKinds = map[string]string{"a": "always", "d": "by_default"}
)

func (c *catalogReader) relation(r *catalogRelation) RelationSchema {
	out := RelationSchema{
		Schema: r.Schema, Name: r.Name, Kind: relationKinds[r.Kind], Comment: r.Comment, RLS: r.RLS, Policies: r.Policies,
		PolicyRoles: r.PolicyRoles, SecurityInvoker: r.SecurityInvoker, Delete: r.Delete, Public: r.Public,
	}
	for _, column := range r.Columns {
		out.Columns = append(out.Columns, ColumnSchema{
			Name: column.Name, Type: c.typeRef(column.Type), NotNull: column.NotNull, Default: column.Default, Generated: column.Generated,
			Identity: identityKinds[column.Identity], Coarse: column.Coarse, Comment: column.Comment, Select: column.Select, Insert: column.Insert, Update: column.Update,
		})
	}
	for _, k := range r.Constraints {
		if k.Kind == "p" {
			out.PrimaryKey = k.Columns
			continue
		}
		out.ForeignKeys = append(out.ForeignKeys, ForeignKey{
			Name: k.Name, Columns: notNil(k.Columns), ReferencedSchema: k.Schema, ReferencedName: k.Relation, ReferencedColumns: notNil(k.Referenced),
		})
	}
	for _, x := range r.Indexes {
		out.addIndex(x)
	}
	return out
}

// addIndex keeps an index, and the unique key that it is.
func (r *RelationSchema) addIndex(x catalogIndex) {
	index := IndexSchema{Name: x.Name, Method: x.Method, Unique: x.Unique, Partial: x.Partial}
	key := UniqueKey{Name: x.Name, Columns: []string{}}
	plain := true
	for _, k := range x.Keys {
		const desc, nullsFirst = 1, 2
		index.Keys = append(index.Keys, IndexTerm{Column: k.Column, Desc: k.Option&desc != 0, NullsFirst: k.Option&nullsFirst != 0, OpClass: k.Class})
		key.Columns = append(key.Columns, k.Column)
		plain = plain && k.Column != ""
	}
	r.Indexes = append(r.Indexes, index)
	if x.Unique && !x.Primary && !x.Partial && plain {
		r.Unique = append(r.Unique, key)
	}
}
