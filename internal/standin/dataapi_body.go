package standin

import (
	"bytes"
	"encoding/json"
	"maps"
	"mime"
	"net/http"
	"slices"
)

// rowsBody is the body of a write: a JSON array of objects, its text kept so
// that no number changes on the way.
type rowsBody struct {
	raw     []byte
	columns []string // keys of the first object, sorted
	count   int
	uniform bool // all objects have the same keys
}

// rows reads the body of a POST or PATCH: an object, an array of objects; a
// bare scalar counts as an empty array.
func (q *apiRequest) rows() (rowsBody, error) {
	if err := q.requireJSON(); err != nil {
		return rowsBody{}, err
	}
	trimmed := bytes.TrimSpace(q.body)
	if !json.Valid(trimmed) {
		return rowsBody{}, badBody("Empty or invalid json")
	}
	switch trimmed[0] {
	case '{':
		trimmed = slices.Concat([]byte("["), trimmed, []byte("]"))
	case '[':
	default:
		return rowsBody{raw: []byte("[]"), uniform: true}, nil
	}
	var objects []map[string]json.RawMessage
	if err := json.Unmarshal(trimmed, &objects); err != nil {
		return rowsBody{}, badBody("All object keys must match")
	}
	body := rowsBody{raw: trimmed, count: len(objects), uniform: true}
	for i, object := range objects {
		keys := slices.Sorted(maps.Keys(object))
		if i == 0 {
			body.columns = keys
		}
		body.uniform = body.uniform && slices.Equal(keys, body.columns)
	}
	return body, nil
}

// arguments reads the body of a POST call: an object, or the first object of
// an array; nothing is {}.
func (q *apiRequest) callBody() (raw []byte, names []string, err error) {
	if err := q.requireJSON(); err != nil {
		return nil, nil, err
	}
	raw = bytes.TrimSpace(q.body)
	if len(raw) == 0 {
		return []byte("{}"), nil, nil
	}
	if !json.Valid(raw) {
		return nil, nil, badBody("Empty or invalid json")
	}
	first := raw
	if raw[0] == '[' {
		var elements []json.RawMessage
		if json.Unmarshal(raw, &elements) == nil && len(elements) > 0 {
			first = elements[0]
		}
	}
	var object map[string]json.RawMessage
	isObject := json.Unmarshal(first, &object) == nil
	if !isObject {
		return raw, nil, nil // only a single unnamed parameter can take it
	}
	return first, slices.Sorted(maps.Keys(object)), nil
}

func (q *apiRequest) requireJSON() error {
	if q.contentType == "" {
		return nil
	}
	media, _, err := mime.ParseMediaType(q.contentType)
	switch {
	case err == nil && (media == "application/json" || media == "application/vnd.pgrst.object+json" || media == "application/vnd.pgrst.array+json"):
		return nil
	case err == nil && slices.Contains([]string{"text/csv", "application/x-www-form-urlencoded", "text/plain", "text/xml", "application/octet-stream"}, media):
		return notImplemented("bodies of type " + media)
	}
	return badBody("Content-Type not acceptable: " + q.contentType)
}

func badBody(message string) *apiError {
	return &apiError{status: http.StatusBadRequest, Code: "PGRST102", Message: message}
}
