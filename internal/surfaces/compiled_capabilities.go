package surfaces

import "encoding/json"

// Question asks a person for arguments of a tool that models cannot set: they
// are not in the tool's input, and what the person answers fills them in.
type Question struct {
	Key       string          `json:"key"`       // of the input request
	Message   string          `json:"message"`   // template over the arguments that the model gave
	Arguments []string        `json:"arguments"` // filled in, by name
	Schema    json.RawMessage `json:"schema"`    // of the answer as it is checked: an object of Arguments
	Form      json.RawMessage `json:"form"`      // of the answer as clients show it: flat, primitive types (MCP elicitation)
}

// FunctionPlan calls an Edge Function by POST with the arguments as its body.
// Its tool's arguments are whatever Input says.
//
// The body is the arguments' JSON. With Asks it is an envelope instead
// (application/vnd.chumbo.call+json): {"arguments", "inputResponses",
// "requestState", "clientCapabilities"}, where the second and third are those of
// a call that goes on after questions and else absent.
type FunctionPlan struct {
	Slug     string `json:"slug"`
	Timeout  int    `json:"timeout"`            // seconds until it must have answered whole
	Stream   bool   `json:"stream,omitempty"`   // may answer text/event-stream; clients hear of its progress
	Asks     bool   `json:"asks,omitempty"`     // may answer with inputRequests
	Authored bool   `json:"authored,omitempty"` // of a tool: Input is as its author wrote it
}

// FilePlace is a part of a bucket.
type FilePlace struct {
	Bucket string `json:"bucket"`
	Prefix string `json:"prefix,omitempty"` // folder, without slashes around it; paths are below it
}

func (p FilePlace) relation() Relation {
	name := p.Bucket
	if p.Prefix != "" {
		name += "/" + p.Prefix
	}
	return Relation{Schema: "storage", Name: name}
}

// FilesPlan lists the files and folders of one folder. Its tool's arguments are
// folder, search, limit and cursor.
type FilesPlan struct {
	Place        FilePlace `json:"place"`
	DefaultLimit int       `json:"default_limit"`
	MaxLimit     int       `json:"max_limit"`
	ReadTool     string    `json:"read_tool,omitempty"` // the read tool of the same place
}

// ReadFilePlan reads one file. Its tool's argument is path. Text that fits the
// budget is text; other content of at most Inline bytes is a blob; anything
// larger is a link that lives 60 s.
type ReadFilePlan struct {
	Place  FilePlace `json:"place"`
	Inline int       `json:"inline"` // bytes; 0: never a blob
}

// UploadFilePlan writes one file. Its tool's arguments are path, content_type
// and exactly one of text and base64.
type UploadFilePlan struct {
	Place     FilePlace `json:"place"`
	Overwrite bool      `json:"overwrite,omitempty"` // an existing file is replaced; else it is a conflict
	Types     []string  `json:"types,omitempty"`     // media types accepted, such as image/png or text/*; empty: any
	MaxBytes  int       `json:"max_bytes"`           // of the content, decoded
}

// Resource is one declared resource, or resource template where it has
// Variables. Exactly one of Text, Blob, Row, Rows, File and Function is set.
type Resource struct {
	Gate
	URI         string     `json:"uri"` // or template: literal text, {name} and {+name} (RFC 6570)
	Variables   []Variable `json:"variables,omitempty"`
	Name        string     `json:"name"` // unique among resources
	Title       string     `json:"title"`
	Description string     `json:"description,omitempty"`
	MIMEType    string     `json:"mime_type,omitempty"` // empty: as what is read says
	Budget      int        `json:"budget"`              // bytes of text, and of a blob as base64

	Text     *string       `json:"text,omitempty"`
	Blob     []byte        `json:"blob,omitempty"`
	Row      *GetPlan      `json:"row,omitempty"`  // by its key; Variables are the key's columns by name
	Rows     *ListPlan     `json:"rows,omitempty"` // the first page, no arguments; Variables are among its filters' arguments
	File     *ReadFilePlan `json:"file,omitempty"` // FilePath, or the one variable below Place
	FilePath string        `json:"file_path,omitempty"`
	Function *FunctionPlan `json:"function,omitempty"` // its arguments are the variables, and "uri"
}

// Variable is one expression of a resource template.
type Variable struct {
	Name     string      `json:"name"`
	Path     bool        `json:"path,omitempty"` // {+name}: may hold slashes
	Complete *Completion `json:"complete,omitempty"`
}

// Completion is where suggestions for a value come from: one of the two is set.
type Completion struct {
	Values []string     `json:"values,omitempty"` // those that begin with what was typed, in this order
	Column *ValueColumn `json:"column,omitempty"`
}

// ValueColumn is a column whose values are suggested, as the caller sees them.
type ValueColumn struct {
	Relation Relation `json:"relation"`
	Column   Column   `json:"column"`
}

// Prompt is one declared prompt: its messages, or the function that says them.
type Prompt struct {
	Gate
	Name        string           `json:"name"`
	Title       string           `json:"title"`
	Description string           `json:"description,omitempty"`
	Arguments   []PromptArgument `json:"arguments,omitempty"`
	Budget      int              `json:"budget"` // bytes of all messages
	Messages    []PromptMessage  `json:"messages,omitempty"`
	Function    *FunctionPlan    `json:"function,omitempty"` // its arguments are the prompt's, typed
}

// PromptArgument is one argument of a prompt. Clients send text; Schema says
// what the text must read as.
type PromptArgument struct {
	Name        string          `json:"name"`
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description,omitempty"`
	Required    bool            `json:"required,omitempty"`
	Type        JSONType        `json:"type"`   // string, integer, number or boolean: what functions get
	Schema      json.RawMessage `json:"schema"` // of the value in its type
	Complete    *Completion     `json:"complete,omitempty"`
}

// PromptMessage is one message: exactly one of Text, Resource and Image is set.
type PromptMessage struct {
	Role     string       `json:"role"`               // user or assistant
	Text     string       `json:"text,omitempty"`     // template over the arguments
	Resource string       `json:"resource,omitempty"` // URI of a resource of this surface, a template over the arguments; read as the caller
	Image    *PromptImage `json:"image,omitempty"`
}

// PromptImage is an image of a message.
type PromptImage struct {
	MIMEType string `json:"mime_type"`
	Data     []byte `json:"data"`
}
