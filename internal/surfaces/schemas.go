package surfaces

import _ "embed"

//go:embed schema/surface-v1.json
var fileSchema []byte

//go:embed schema/schema-snapshot-v1.json
var snapshotSchema []byte

// FileSchema is the JSON Schema of the surface file (draft 2020-12), for
// editors. The parser is the authority; a test keeps the two together.
func FileSchema() []byte { return fileSchema }

// SnapshotSchema is the JSON Schema of the schema snapshot (draft 2020-12).
func SnapshotSchema() []byte { return snapshotSchema }
