package surfaces

// SnapshotFormat names the format of a Snapshot.
const SnapshotFormat = "chumbo.schema/1"

// Snapshot is what is known of a project's database: the exposed schemas, their
// relations and functions, and Storage's buckets. It is sorted, holds no OIDs and no data, and two
// snapshots of the same database are the same bytes.
type Snapshot struct {
	Format     string           `json:"format"`   // SnapshotFormat
	Postgres   string           `json:"postgres"` // server version, such as "17.4"
	MaxRows    int              `json:"max_rows"` // the Data API's silent cap (db-max-rows)
	Schemas    []SchemaInfo     `json:"schemas"`  // exposed, in the Data API's order: the first is its default
	Roles      []RoleInfo       `json:"roles"`
	Enums      []EnumType       `json:"enums"`
	Composites []CompositeType  `json:"composites"`
	Relations  []RelationSchema `json:"relations"`
	Functions  []FunctionSchema `json:"functions"`
	Trigrams   string           `json:"trigrams,omitempty"` // schema of the extension pg_trgm; empty where it is not installed
	Buckets    []BucketInfo     `json:"buckets,omitzero"`   // of Storage; nil: not known
}

// BucketInfo is a bucket of Storage.
type BucketInfo struct {
	Name          string   `json:"name"`                      // its id, as in requests
	Public        bool     `json:"public"`                    // its files have no Row Level Security when they are read
	FileSizeLimit int64    `json:"file_size_limit,omitempty"` // bytes; 0: the project's own
	MIMETypes     []string `json:"mime_types,omitempty"`      // accepted for new files, such as image/*; empty: any
}

// SchemaInfo is one exposed schema.
type SchemaInfo struct {
	Name  string   `json:"name"`
	Usage []string `json:"usage"` // roles with USAGE
}

// RoleInfo is a role the Data API may take.
type RoleInfo struct {
	Name               string `json:"name"`
	StatementTimeoutMS int    `json:"statement_timeout_ms,omitempty"` // 0: the database's own
}

// TypeRef names a type. For an array, Schema and Name are the element's. Base
// is the type below a domain, fully resolved.
type TypeRef struct {
	Schema string   `json:"schema"`
	Name   string   `json:"name"`
	Array  bool     `json:"array,omitempty"`
	Base   *TypeRef `json:"base,omitempty"`
}

// EnumType is an enum and its labels in order.
type EnumType struct {
	Schema string   `json:"schema"`
	Name   string   `json:"name"`
	Labels []string `json:"labels"`
}

// CompositeType is a composite type and its attributes in order.
type CompositeType struct {
	Schema     string      `json:"schema"`
	Name       string      `json:"name"`
	Attributes []Attribute `json:"attributes"`
}

// Attribute is a named, typed part of a composite type or of a function's row.
type Attribute struct {
	Name string  `json:"name"`
	Type TypeRef `json:"type"`
}

// The kinds of RelationSchema.
const (
	KindTable            = "table"
	KindView             = "view"
	KindMaterializedView = "materialized_view"
	KindForeignTable     = "foreign_table"
)

// RelationSchema is a table, view, materialized view or foreign table.
type RelationSchema struct {
	Schema          string         `json:"schema"`
	Name            string         `json:"name"`
	Kind            string         `json:"kind"`
	Comment         string         `json:"comment,omitempty"` // data, not instructions; cut at MaxComment characters
	RLS             bool           `json:"rls"`               // row level security is enabled
	Policies        int            `json:"policies"`
	PolicyRoles     []PolicyRole   `json:"policy_roles,omitempty"`     // roles that a policy names and lets in
	SecurityInvoker bool           `json:"security_invoker,omitempty"` // views: runs with the caller's rights
	Delete          []string       `json:"delete,omitempty"`           // roles that may delete
	Public          []string       `json:"public,omitempty"`           // commands that every role may, because PUBLIC may
	Columns         []ColumnSchema `json:"columns"`                    // in the table's order
	PrimaryKey      []string       `json:"primary_key"`                // in key order; empty when there is none
	Unique          []UniqueKey    `json:"unique"`
	ForeignKeys     []ForeignKey   `json:"foreign_keys"` // to relations of the snapshot
	Indexes         []IndexSchema  `json:"indexes"`
}

// The commands that rights and policies are about.
const (
	CommandSelect = "select"
	CommandInsert = "insert"
	CommandUpdate = "update"
	CommandDelete = "delete"
)

// PolicyRole is a role that permissive policies name, and for which commands.
// Policies for everybody (TO PUBLIC, or no TO at all) name nobody.
type PolicyRole struct {
	Role     string   `json:"role"`
	Commands []string `json:"commands"`
}

// ColumnSchema is a column. Select, Insert and Update list the roles that may.
type ColumnSchema struct {
	Name      string   `json:"name"`
	Type      TypeRef  `json:"type"`
	NotNull   bool     `json:"not_null,omitempty"`
	Default   string   `json:"default,omitempty"`   // none (empty), constant, expression
	Generated bool     `json:"generated,omitempty"` // generated always as (…)
	Identity  string   `json:"identity,omitempty"`  // always, by_default or empty
	Coarse    bool     `json:"coarse,omitempty"`    // a timestamp that keeps less than microseconds
	Comment   string   `json:"comment,omitempty"`
	Select    []string `json:"select"`
	Insert    []string `json:"insert"`
	Update    []string `json:"update"`
}

// UniqueKey is a unique constraint or unique index without expression or
// predicate.
type UniqueKey struct {
	Name    string   `json:"name"`
	Columns []string `json:"columns"`
}

// ForeignKey is a reference to another relation.
type ForeignKey struct {
	Name              string   `json:"name"`
	Columns           []string `json:"columns"`
	ReferencedSchema  string   `json:"referenced_schema"`
	ReferencedName    string   `json:"referenced_name"`
	ReferencedColumns []string `json:"referenced_columns"`
}

// IndexSchema is a valid index.
type IndexSchema struct {
	Name    string      `json:"name"`
	Method  string      `json:"method"` // btree, gin, gist, …
	Unique  bool        `json:"unique,omitempty"`
	Partial bool        `json:"partial,omitempty"`
	Keys    []IndexTerm `json:"keys"`
}

// IndexTerm is one key of an index. Column is empty for an expression.
type IndexTerm struct {
	Column     string `json:"column,omitempty"`
	Desc       bool   `json:"desc,omitempty"`
	NullsFirst bool   `json:"nulls_first,omitempty"`
	OpClass    string `json:"op_class,omitempty"` // where it is not the type's default
}

// The values of FunctionSchema.Volatility.
const (
	VolatilityImmutable = "immutable"
	VolatilityStable    = "stable"
	VolatilityVolatile  = "volatile"
)

// FunctionSchema is one function; overloads are separate entries.
type FunctionSchema struct {
	Schema             string             `json:"schema"`
	Name               string             `json:"name"`
	Comment            string             `json:"comment,omitempty"`
	Arguments          []FunctionArgument `json:"arguments"` // inputs, in order
	Volatility         string             `json:"volatility"`
	SecurityDefiner    bool               `json:"security_definer,omitempty"`
	Returns            FunctionReturns    `json:"returns"`
	Execute            []string           `json:"execute"` // roles that may
	StatementTimeoutMS int                `json:"statement_timeout_ms,omitempty"`
}

// FunctionArgument is an input of a function. Name is empty when it has none.
type FunctionArgument struct {
	Name       string  `json:"name"`
	Type       TypeRef `json:"type"`
	HasDefault bool    `json:"has_default,omitempty"`
	Variadic   bool    `json:"variadic,omitempty"`
}

// FunctionReturns is the shape of a function's answer. Columns are those of
// RETURNS TABLE, of OUT parameters, or of the composite or relation returned;
// empty where they are not known (record).
type FunctionReturns struct {
	Type    TypeRef     `json:"type"`
	Set     bool        `json:"set,omitempty"`
	Void    bool        `json:"void,omitempty"`
	Row     bool        `json:"row,omitempty"` // an object, not a value
	Columns []Attribute `json:"columns,omitempty"`
}
