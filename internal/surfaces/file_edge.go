package surfaces

import (
	"encoding/json"

	"go.yaml.in/yaml/v4"
)

// EdgeSpec is a function entry as written: a tool that calls an Edge Function.
type EdgeSpec struct {
	OperationSpec
	EdgeCallSpec
	Input       SchemaText     `json:"input"`
	Output      SchemaText     `json:"output,omitzero"`
	Authored    bool           `json:"authored,omitzero"` // Input is sent as it is written
	Annotations AnnotationSpec `json:"annotations"`
	Stream      bool           `json:"stream,omitzero"`
	Privileged  bool           `json:"privileged,omitzero"`

	privileged, stream, timeout place
}

// EdgeCallSpec is how an Edge Function is called, for tools, resources and
// prompts.
type EdgeCallSpec struct {
	Slug    Text `json:"slug"`
	Timeout int  `json:"timeout"`       // seconds
	Asks    bool `json:"asks,omitzero"` // it may answer with questions of its own
}

// SchemaText is a JSON Schema as a file writes it. In the digest it is text:
// clients read its members in the order in which they are written.
type SchemaText struct {
	raw  json.RawMessage // compact
	node *yaml.Node
	at   place
}

// MarshalJSON writes the schema as text.
func (s SchemaText) MarshalJSON() ([]byte, error) { return marshal(string(s.raw)) }

// IsZero reports whether nothing is written.
func (s SchemaText) IsZero() bool { return len(s.raw) == 0 }

// FilePlaceSpec is a part of a bucket as written, for tools and resources.
type FilePlaceSpec struct {
	Bucket Text `json:"bucket"`
	Prefix Text `json:"prefix,omitzero"`        // folder, without slashes around it
	Public bool `json:"public_bucket,omitzero"` // the builder knows that anybody may read the bucket

	public place
}

// StorageSpec is a storage entry as written: tools over the files of a bucket.
type StorageSpec struct {
	FilePlaceSpec
	Operations []Text         `json:"operations"`
	By         operationSpecs `json:"by"`
	Base       Text           `json:"base"`        // the name string: stands for the bucket's in tool names
	Noun       Text           `json:"title"`       // the title string, for all operations
	About      Text           `json:"description"` // the description string, for all operations

	Limit     LimitSpec `json:"limit,omitzero"`     // of list
	Inline    int       `json:"inline"`             // of read: bytes
	Types     []Text    `json:"types,omitempty"`    // of upload
	MaxBytes  int       `json:"max_bytes,omitzero"` // of upload
	Overwrite bool      `json:"overwrite,omitzero"` // of upload

	maxBytes place // zero where it is not written
}

// QuestionSpec is one question as written.
type QuestionSpec struct {
	Key       Text   `json:"key"`
	Message   Text   `json:"message"`
	Arguments []Text `json:"arguments"`
	at        place
}
