package mcp

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
)

// sameArguments is a digest that is the same for the same arguments: members
// sorted by key, texts decoded, no space between (after RFC 8785). Digits of
// numbers stay as they are written, since 10 and 1e1 need not be the same to
// whoever reads them. The data passed checkJSON; nil is no arguments.
func sameArguments(data []byte) ([]byte, error) {
	data = bytes.TrimSpace(data)
	if len(data) == 0 || isNull(data) {
		data = []byte("{}")
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	sorted, err := json.Marshal(value) // maps are written in the order of their keys
	if err != nil {
		return nil, err
	}
	if bytes.Contains(sorted, []byte("\uFFFD")) || bytes.Contains(sorted, []byte(`\ufffd`)) {
		sorted = append(sorted, data...) // text that is no text decodes to one and the same
	}
	sum := sha256.Sum256(sorted)
	return sum[:], nil
}
