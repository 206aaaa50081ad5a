package surfaces

// ResourceSpec is one entry of resources as written: exactly one of Text, Blob,
// Rows, File and Function is set.
type ResourceSpec struct {
	OperationSpec // what it is called, and who may read it

	URI      Text            `json:"uri"`
	MIMEType Text            `json:"mime_type,omitzero"`
	Public   bool            `json:"public"`
	Budget   int             `json:"budget"`
	Text     *string         `json:"text,omitempty"` // as it stands
	Blob     []byte          `json:"blob,omitempty"`
	Rows     *RowsSpec       `json:"rows,omitempty"`
	File     *FileSpec       `json:"file,omitempty"`
	Function *EdgeCallSpec   `json:"function,omitempty"`
	Complete completionSpecs `json:"complete,omitempty"`

	variables []Variable
	public    place
	tool      *ToolSpec // what it would be as a tool, for the rules of both
}

// RowsSpec are rows of a table or view as written.
type RowsSpec struct {
	Table   Text        `json:"table"`
	Columns []Text      `json:"columns"`
	Key     []Text      `json:"key,omitempty"`
	Order   []OrderSpec `json:"order,omitempty"` // one at most
	Limit   int         `json:"limit,omitzero"`
	Filters []Text      `json:"filters,omitempty"` // the variables, where they narrow rows

	filters, limit place
}

// FileSpec is a file, or all files of a folder, as written.
type FileSpec struct {
	FilePlaceSpec
	Path   Text `json:"path,omitzero"` // empty: the variable is
	Inline int  `json:"inline"`        // bytes
}

// CompletionSpec is where suggestions come from as written: Values, or a column
// of a table (empty: the resource's own).
type CompletionSpec struct {
	Name   Text   `json:"-"`
	Values []Text `json:"values,omitempty"`
	Table  Text   `json:"table,omitzero"`
	Column Text   `json:"column,omitzero"`
	at     place
}

type completionSpecs []CompletionSpec

// MarshalJSON writes an object by name, so that order does not count.
func (s completionSpecs) MarshalJSON() ([]byte, error) {
	m := make(map[string]CompletionSpec, len(s))
	for _, c := range s {
		m[c.Name.Value] = c
	}
	return marshal(m)
}

// PromptSpec is one entry of prompts as written: Messages or Function.
type PromptSpec struct {
	OperationSpec // what it is called, and who may use it

	Public    bool                 `json:"public"`
	Budget    int                  `json:"budget"`
	Arguments []PromptArgumentSpec `json:"arguments,omitempty"`
	Messages  []MessageSpec        `json:"messages,omitempty"`
	Function  *EdgeCallSpec        `json:"function,omitempty"`

	public place
	tool   *ToolSpec
}

// PromptArgumentSpec is one argument of a prompt as written.
type PromptArgumentSpec struct {
	ArgumentSpec
	Argument Text            `json:"argument"` // its name
	Title    Text            `json:"title,omitzero"`
	Kind     JSONType        `json:"kind"`
	Format   Text            `json:"format,omitzero"`
	Complete *CompletionSpec `json:"complete,omitempty"`
}

// MessageSpec is one message of a prompt as written: exactly one of Text,
// Resource and Image is set.
type MessageSpec struct {
	Role     Text         `json:"role"`
	Text     Text         `json:"text,omitzero"`
	Resource Text         `json:"resource,omitzero"`
	Image    *PromptImage `json:"image,omitempty"`
	at       place
}

// others are the resources and prompts as tools: what says who sees and may use
// something is said of all of them in one way.
func (f *File) others() []*ToolSpec {
	var list []*ToolSpec
	for _, s := range f.Resources {
		list = append(list, s.tool)
	}
	for _, s := range f.Prompts {
		list = append(list, s.tool)
	}
	return list
}
