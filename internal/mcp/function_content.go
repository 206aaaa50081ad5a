package mcp

import (
	"encoding/base64"
	"encoding/json"
	"mime"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// readContents reads one ResourceContents: text or a blob.
func (m *mcpAnswer) readContents(value token, uri string) (*mcp.ResourceContents, error) {
	c := &mcp.ResourceContents{URI: uri}
	text, blob := false, false
	for _, f := range members(value, 0) {
		part := value[f.start:f.end]
		var err error
		switch f.key {
		case "uri":
			err = readText(part, maxAnswerURI, &c.URI)
		case "mimeType":
			err = readMedia(part, &c.MIMEType)
		case "text":
			text = true
			err = readText(part, len(part), &c.Text)
		case "blob":
			blob = true
			c.Blob, err = readBase64(part)
		case "_meta":
			c.Meta, err = readMetaOf(part)
		}
		if err != nil {
			return nil, err
		}
	}
	if text == blob || !isURI(c.URI) {
		return nil, errShape
	}
	m.text += wireSize(c.Text)
	m.blobs += len(c.Blob)
	return c, nil
}

// readBlock reads one block of content. Its keys are kept, also those that are
// not known here.
func (m *mcpAnswer) readBlock(value token) (mcp.Content, error) {
	if len(value) == 0 || value[0] != '{' {
		return nil, errShape
	}
	var kind, said, uri, name string
	if readText(memberOf(value, "type"), maxAuthorText, &kind) != nil {
		return nil, errShape
	}
	err := checkCommon(value)
	switch {
	case err != nil:
		return nil, err
	case kind == "text":
		text := memberOf(value, "text")
		if err := readText(text, len(text), &said); err != nil {
			return nil, err
		}
		m.text += wireSize(said)
		if len(members(value, 0)) == 2 { // nothing else to keep
			return &mcp.TextContent{Text: said}, nil
		}
	case kind == "image", kind == "audio":
		data, err := readBase64(memberOf(value, "data"))
		if err != nil {
			return nil, err
		}
		if err := readMedia(memberOf(value, "mimeType"), &said); err != nil {
			return nil, err
		}
		m.blobs += len(data)
	case kind == "resource":
		if _, err := m.readContents(memberOf(value, "resource"), ""); err != nil {
			return nil, err
		}
	case kind == "resource_link":
		if readText(memberOf(value, "uri"), maxAnswerURI, &uri) != nil || !isURI(uri) || readText(memberOf(value, "name"), maxAuthorText, &name) != nil {
			return nil, errShape
		}
		m.text += wireSizeJSON(value)
	default:
		return nil, errShape
	}
	return &rawContent{raw: withoutReserved(value)}, nil
}

// checkCommon checks what every block of content may have.
func checkCommon(block token) error {
	if meta := memberOf(block, "_meta"); meta != nil && meta[0] != '{' {
		return errShape
	}
	annotations := memberOf(block, "annotations")
	if annotations == nil {
		return nil
	}
	var said struct {
		Audience     []string `json:"audience"`
		Priority     *float64 `json:"priority"`
		LastModified *string  `json:"lastModified"`
	}
	if json.Unmarshal(annotations, &said) != nil || said.Priority != nil && (*said.Priority < 0 || *said.Priority > 1) {
		return errShape
	}
	for _, role := range said.Audience {
		if role != "user" && role != "assistant" {
			return errShape
		}
	}
	return nil
}

// rawContent is a block of content exactly as it was said.
type rawContent struct {
	mcp.TextContent // for what only the SDK's own types have
	raw             token
}

// MarshalJSON implements mcp.Content.
func (c *rawContent) MarshalJSON() ([]byte, error) { return c.raw, nil }

// withoutReserved is the block compact, without the keys of its _meta that the
// protocol keeps for itself.
func withoutReserved(block token) token {
	out := []byte{'{'}
	for _, f := range members(block, 0) {
		value := block[f.start:f.end]
		if f.key == "_meta" {
			if value = keptMeta(value); value == nil {
				continue
			}
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(appendString(out, f.key), ':')
		out = appendToken(out, value)
	}
	return append(out, '}')
}

// keptMeta is an object of _meta without reserved keys; nil where none is left.
func keptMeta(meta token) token {
	out := []byte{'{'}
	for _, f := range members(meta, 0) {
		if reservedKey(f.key) {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(appendString(out, f.key), ':')
		out = appendToken(out, meta[f.start:f.end])
	}
	if len(out) == 1 {
		return nil
	}
	return append(out, '}')
}

// reservedKey reports whether the key of a _meta has a prefix that the protocol
// keeps for itself (MCP, basic: a label of it is mcp or modelcontextprotocol).
func reservedKey(key string) bool {
	prefix, _, ok := strings.Cut(key, "/")
	if !ok {
		return false
	}
	for label := range strings.SplitSeq(strings.ToLower(prefix), ".") {
		if label == "mcp" || label == "modelcontextprotocol" {
			return true
		}
	}
	return false
}

func readMetaOf(value token) (mcp.Meta, error) {
	if value[0] != '{' {
		return nil, errShape
	}
	kept := keptMeta(value)
	if kept == nil {
		return nil, nil
	}
	meta := mcp.Meta{}
	for _, f := range members(kept, 0) {
		meta[f.key] = json.RawMessage(kept[f.start:f.end]) // no digit of a number is lost
	}
	return meta, nil
}

// readText reads a string of at most n bytes.
func readText(value token, n int, into *string) error {
	s, ok := text(value)
	if !ok || len(s) > n {
		return errShape
	}
	*into = s
	return nil
}

func readBool(value token, into *bool) error {
	switch string(value) {
	case "true":
		*into = true
	case "false":
		*into = false
	default:
		return errShape
	}
	return nil
}

func readBase64(value token) ([]byte, error) {
	s, ok := text(value)
	if !ok || len(s) > base64.StdEncoding.EncodedLen(4*maxBlobs) {
		return nil, errShape
	}
	data, err := base64.StdEncoding.Strict().DecodeString(s)
	if err != nil || strings.ContainsAny(s, "\r\n") {
		return nil, errShape
	}
	return data, nil
}

// readMedia reads a media type.
func readMedia(value token, into *string) error {
	if err := readText(value, 255, into); err != nil {
		return err
	}
	media, _, err := mime.ParseMediaType(*into)
	if err != nil || !strings.Contains(media, "/") {
		return errShape
	}
	return nil
}

// isURI reports whether the text begins as an absolute URI (RFC 3986 section
// 3) and holds nothing that none can.
func isURI(s string) bool {
	scheme, rest, ok := strings.Cut(s, ":")
	if !ok || scheme == "" || rest == "" {
		return false
	}
	for i, c := range []byte(scheme) {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		other := c >= '0' && c <= '9' || c == '+' || c == '-' || c == '.'
		if !letter && (i == 0 || !other) {
			return false
		}
	}
	return !strings.ContainsFunc(rest, func(r rune) bool { return r <= ' ' || r == 0x7F || isHidden(r) })
}
