package surfaces

import "encoding/json"

// Weight estimates the tokens a tool costs in a client's context: its name,
// description and schemas as JSON, at four bytes a token.
func Weight(t *Tool) int {
	raw, err := marshal(struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Input       json.RawMessage `json:"inputSchema"`
		Output      json.RawMessage `json:"outputSchema,omitempty"`
	}{t.Name, t.Description, t.Input, t.Output})
	if err != nil {
		return 0 // a schema that is no JSON is listed by nobody
	}
	return (len(raw) + bytesPerTok - 1) / bytesPerTok
}
