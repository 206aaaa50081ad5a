package surfaces

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
)

// FileVersion is the version of the surface file format this version reads.
const FileVersion = 1

// Limits of a surface file.
const (
	MaxFileBytes    = 256 << 10
	MaxFileDepth    = 32
	MaxCapabilities = 200
)

// File is a surface file as parsed, with every default applied. Marshalled as
// JSON it is the part of the digest that the builder wrote: formatting,
// comments and the order of keys are gone.
type File struct {
	Version      int         `json:"version"`
	Title        Text        `json:"title"`
	Instructions Text        `json:"instructions"`
	Access       AccessSpec  `json:"access"`
	Tools        []*ToolSpec `json:"tools"`

	// What came later is left out where it is not written: a file that says
	// nothing new keeps its digest.
	Context    *FunctionSpec   `json:"context,omitempty"`
	Authorizer *FunctionSpec   `json:"authorizer,omitempty"`
	Resources  []*ResourceSpec `json:"resources,omitempty"`
	Prompts    []*PromptSpec   `json:"prompts,omitempty"`
}

// Text is a string and where it stands.
type Text struct {
	Value string
	at    place
}

// MarshalJSON writes the string alone.
func (t Text) MarshalJSON() ([]byte, error) { return marshal(t.Value) }

// IsZero reports whether nothing is written, for what is left out then.
func (t Text) IsZero() bool { return t.Value == "" }

// AccessSpec is the access section as written.
type AccessSpec struct {
	Modes          []Text `json:"mode"`
	Authorization  Text   `json:"authorization"`
	Advertise      []Text `json:"advertise"`
	Require        []Text `json:"require"`
	Roles          []Text `json:"roles"`
	AnonymousUsers bool   `json:"anonymous_users"`
	Origins        []Text `json:"origins"`

	Issuer        Text               `json:"issuer,omitzero"`
	Audience      []Text             `json:"audience,omitempty"`
	Clients       []Text             `json:"clients,omitempty"`
	Introspection *IntrospectionSpec `json:"introspection,omitempty"`
	Keys          *FunctionSpec      `json:"keys,omitempty"`
	Public        *PublicSpec        `json:"public,omitempty"`
	Isolation     Text               `json:"isolation,omitzero"`     // client, or nothing
	SessionCheck  int                `json:"session_check,omitzero"` // seconds
	ScopesFrom    *ScopesFromSpec    `json:"scopes_from,omitempty"`
	RequiredRoles *RequiredRolesSpec `json:"required_roles,omitempty"`
	AAL           Text               `json:"aal,omitzero"`
	Documentation Text               `json:"documentation,omitzero"`
	ApprovalPage  bool               `json:"approval_page,omitzero"`
	Visible       Text               `json:"visible,omitzero"`
	Allow         *AllowSpec         `json:"allow,omitempty"`

	at            place
	authorization place            // of the key, or of access where it is missing
	given         map[string]place // of every key that is written
	unclear       bool             // mode or authorization is not known
}

func (a AccessSpec) has(mode Mode) bool {
	for _, m := range a.Modes {
		if m.Value == string(mode) {
			return true
		}
	}
	return false
}

// ToolSpec is one entry of tools: exactly one of Table, RPC, Function and
// Storage is set.
type ToolSpec struct {
	Table        *TableSpec   `json:"table,omitempty"`
	RPC          *RPCSpec     `json:"rpc,omitempty"`
	Function     *EdgeSpec    `json:"function,omitempty"`
	Storage      *StorageSpec `json:"storage,omitempty"`
	Public       bool         `json:"public"`
	GuidanceText GuidanceDoc  `json:"guidance"`
	Budget       int          `json:"budget"`
	at           place
	public       place
	as           string // resource or prompt, of which this says who may use it; empty for a tool
}

// GuidanceDoc is the guidance section as written.
type GuidanceDoc struct {
	Before Text `json:"before"`
	After  Text `json:"after"`
}

// The operations on a table, and what calls a function.
const (
	opList   = "list"
	opGet    = "get"
	opCreate = "create"
	opUpdate = "update"
	opDelete = "delete"
	opRPC    = "rpc"

	opFunction = "function" // an Edge Function
	opRead     = "read"     // a file
	opUpload   = "upload"
)

// TableSpec is a table entry as written.
type TableSpec struct {
	Table      Text           `json:"name"`
	Operations []Text         `json:"operations"`
	Columns    []Text         `json:"columns"`
	Key        []Text         `json:"key"`
	Filters    filterSpecs    `json:"filters"`
	Order      []OrderSpec    `json:"order"`
	Shorten    []Text         `json:"shorten"`
	Limit      LimitSpec      `json:"limit"`
	Base       Text           `json:"base"` // the name string: stands for the table's in tool names
	By         operationSpecs `json:"by"`
	Noun       Text           `json:"title"`       // the title string, for all operations
	About      Text           `json:"description"` // the description string, for all operations

	Search *SearchSpec `json:"search,omitempty"`
	Embed  embedSpecs  `json:"embed,omitempty"`
}

// OperationSpec is what one operation says of itself.
type OperationSpec struct {
	Operation   string `json:"-"`
	Name        Text   `json:"name"`
	Title       Text   `json:"title"`
	Description Text   `json:"description"`
	Scopes      []Text `json:"scopes"`
	Result      Text   `json:"result"`
	Template    Text   `json:"template"`

	Visible    Text            `json:"visible,omitzero"`
	Allow      *AllowSpec      `json:"allow,omitempty"`
	Permission Text            `json:"permission,omitzero"`
	AAL        Text            `json:"aal,omitzero"`
	Meta       json.RawMessage `json:"meta,omitempty"`

	// Of the operations that write.
	Write       writeSpecs `json:"write,omitzero"`        // nil where the file does not say
	Set         setSpecs   `json:"set,omitempty"`         // create and update
	Guard       Text       `json:"guard,omitzero"`        // update and delete
	Dedupe      Text       `json:"dedupe,omitzero"`       // create
	MaxAffected int        `json:"max_affected,omitzero"` // update and delete; 0: one row by its key

	// What a person is asked before it runs.
	Confirm   Text           `json:"confirm,omitzero"`
	Questions []QuestionSpec `json:"questions,omitempty"` // create, rpc and function

	at          place
	maxAffected place
}

// operationSpecs are in the order of operations, one each.
type operationSpecs []*OperationSpec

// MarshalJSON writes an object by operation, so that order does not count.
func (s operationSpecs) MarshalJSON() ([]byte, error) {
	m := make(map[string]*OperationSpec, len(s))
	for _, o := range s {
		m[o.Operation] = o
	}
	return marshal(m)
}

// FilterSpec is one column of filters.
type FilterSpec struct {
	Column    Text   `json:"-"`
	Operators []Text `json:"operators"`
	Required  bool   `json:"required"`
	HiddenOK  bool   `json:"hidden_ok"`
}

type filterSpecs []FilterSpec

// MarshalJSON writes an object by column, so that order does not count, nor
// that of operators.
func (s filterSpecs) MarshalJSON() ([]byte, error) {
	m := make(map[string]FilterSpec, len(s))
	for _, f := range s {
		f.Operators = slices.Clone(f.Operators)
		slices.SortFunc(f.Operators, func(x, y Text) int {
			return cmp.Compare(slices.Index(filterOperators, x.Value), slices.Index(filterOperators, y.Value))
		})
		m[f.Column.Value] = f
	}
	return marshal(m)
}

// OrderSpec is one order on offer.
type OrderSpec struct {
	Column   Text   `json:"column"`
	Desc     bool   `json:"desc"`
	Nulls    string `json:"nulls"` // first or last
	HiddenOK bool   `json:"hidden_ok"`
}

// SearchSpec is the search of a list as written.
type SearchSpec struct {
	Columns  []Text `json:"columns"`
	Mode     Text   `json:"mode"` // contains or web
	Config   Text   `json:"config,omitzero"`
	HiddenOK bool   `json:"hidden_ok,omitzero"`
	at       place
}

// EmbedSpec is one embed as written.
type EmbedSpec struct {
	Name    Text        `json:"-"`
	Table   Text        `json:"table"`
	Via     Text        `json:"via,omitzero"`  // a foreign key's name or column, where several could be meant
	Kind    Text        `json:"kind,omitzero"` // one or many, where a table refers to itself
	Columns []Text      `json:"columns"`
	Order   []OrderSpec `json:"order,omitempty"` // of many; the first counts
	Limit   int         `json:"limit,omitzero"`  // of many
	at      place
	limit   place
}

type embedSpecs []EmbedSpec

// MarshalJSON writes an object by name, so that order does not count.
func (s embedSpecs) MarshalJSON() ([]byte, error) {
	m := make(map[string]EmbedSpec, len(s))
	for _, e := range s {
		m[e.Name.Value] = e
	}
	return marshal(m)
}

// WriteSpec is a column that callers may write, narrowed as an argument is.
// Name is the column's.
type WriteSpec struct {
	ArgumentSpec
	Null bool `json:"null,omitzero"` // null is accepted as a value
}

type writeSpecs []WriteSpec

// MarshalJSON writes an object by column, so that order does not count.
func (s writeSpecs) MarshalJSON() ([]byte, error) {
	m := make(map[string]WriteSpec, len(s))
	for _, w := range s {
		m[w.Name.Value] = w
	}
	return marshal(m)
}

// SetSpec is a column that is set for the caller: exactly one source.
type SetSpec struct {
	Column  Text            `json:"-"`
	Claim   []string        `json:"claim,omitempty"`
	Context []string        `json:"context,omitempty"`
	Value   json.RawMessage `json:"value,omitempty"`
	at      place           // of the source
}

type setSpecs []SetSpec

// MarshalJSON writes an object by column, so that order does not count.
func (s setSpecs) MarshalJSON() ([]byte, error) {
	m := make(map[string]SetSpec, len(s))
	for _, one := range s {
		m[one.Column.Value] = one
	}
	return marshal(m)
}

// LimitSpec is the page size of a list.
type LimitSpec struct {
	Default int `json:"default"`
	Max     int `json:"max"`
	at      place
}

// RPCSpec is an rpc entry as written.
type RPCSpec struct {
	OperationSpec
	Function    Text           `json:"function"`
	Arguments   argumentSpecs  `json:"arguments"`
	Declared    bool           `json:"declared"` // the file names the arguments; else all are offered
	Annotations AnnotationSpec `json:"annotations"`
	Privileged  bool           `json:"privileged,omitzero"`
	privileged  place
}

// AnnotationSpec are the annotations as written; nil is not written.
type AnnotationSpec struct {
	ReadOnly    *bool `json:"read_only"`
	Destructive *bool `json:"destructive"`
	Idempotent  *bool `json:"idempotent"`
	OpenWorld   *bool `json:"open_world"`
	at          place
}

// ArgumentSpec is one argument of a function as the file narrows it.
type ArgumentSpec struct {
	Name        Text   `json:"-"`
	Description Text   `json:"description"`
	Required    bool   `json:"required"`
	Type        Text   `json:"type"`
	Enum        []Text `json:"enum"`
	Pattern     Text   `json:"pattern"`
	MinLength   *int   `json:"min_length"`
	MaxLength   *int   `json:"max_length"`
	Minimum     *int   `json:"minimum"`
	Maximum     *int   `json:"maximum"`
	MaxItems    *int   `json:"max_items"`
	at          place
}

type argumentSpecs []ArgumentSpec

// MarshalJSON writes an object by argument, so that order does not count.
func (s argumentSpecs) MarshalJSON() ([]byte, error) {
	m := make(map[string]ArgumentSpec, len(s))
	for _, a := range s {
		m[a.Name.Value] = a
	}
	return marshal(m)
}

// marshal is json.Marshal without HTML escapes, so that what models read is
// what was written.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}
