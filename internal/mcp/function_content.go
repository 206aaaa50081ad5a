package mcp

import (
	"encoding/base64"
	"encoding/json"
	"mime"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// readContents reads one ResourceContents: text or a blob.
func readContents(value token, uri string) (*mcp.ResourceContents, error) {
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
	return c, nil
}

// Of what is sent beside the text and data of an answer, in bytes: all of it
// counts, or an answer of nothing but frames would have no bound.
const (
	textFrame     = len(`{"type":"text","text":""},`)
	contentsFrame = len(`{"uri":"","mimeType":"","_meta":},`)
)

// addContents counts one ResourceContents.
func (m *mcpAnswer) addContents(c *mcp.ResourceContents) {
	m.text += contentsFrame + wireSize(c.URI) + wireSize(c.Text) + sizeOfMeta(c.Meta)
	m.blobs += len(c.Blob)
}

func sizeOfMeta(meta mcp.Meta) int {
	n := 0
	for key, value := range meta {
		if raw, ok := value.(json.RawMessage); ok {
			n += wireSize(key) + wireSizeJSON(raw)
		}
	}
	return n
}

// readBlock reads one block of content. Its keys are kept, also those that are
// not known here.
func (m *mcpAnswer) readBlock(value token) (mcp.Content, error) {
	if len(value) == 0 || value[0] != '{' {
		return nil, errShape
	}
	var kind, said string
	if readText(memberOf(value, "type"), maxAuthorText, &kind) != nil {
		return nil, errShape
	}
	err := checkCommon(value)
	encoded := 0 // bytes of base64 as it was said: what it stands for counts as blobs
	switch {
	case err != nil:
		return nil, err
	case kind == "text":
		text := memberOf(value, "text")
		if err := readText(text, len(text), &said); err != nil {
			return nil, err
		}
		if len(members(value, 0)) == 2 { // nothing else to keep
			m.text += textFrame + wireSize(said)
			return &mcp.TextContent{Text: said}, nil
		}
	case kind == "image", kind == "audio":
		part := memberOf(value, "data")
		data, err := readBase64(part)
		if err != nil {
			return nil, err
		}
		if err := readMedia(memberOf(value, "mimeType"), &said); err != nil || !strings.HasPrefix(strings.ToLower(said), kind+"/") {
			return nil, errShape
		}
		m.blobs += len(data)
		encoded = len(part)
	case kind == "resource":
		part := memberOf(value, "resource")
		c, err := readContents(part, "")
		if err != nil {
			return nil, err
		}
		m.blobs += len(c.Blob)
		encoded = len(memberOf(part, "blob"))
	case kind == "resource_link":
		if err := checkLink(value); err != nil {
			return nil, err
		}
	default:
		return nil, errShape
	}
	raw := withoutReserved(value)
	m.text += wireSizeJSON(raw) - encoded
	return &rawContent{raw: raw}, nil
}

// checkLink checks a link to a resource: clients drop the whole answer for a
// member of another type, also one that they could do without.
func checkLink(link token) error {
	var uri, name, media string
	if readText(memberOf(link, "uri"), maxAnswerURI, &uri) != nil || !isURI(uri) || readText(memberOf(link, "name"), maxAuthorText, &name) != nil {
		return errShape
	}
	for _, f := range members(link, 0) {
		value := link[f.start:f.end]
		fits := true
		switch f.key {
		case "title", "description":
			fits = isString(value)
		case "mimeType":
			fits = readMedia(value, &media) == nil
		case "size":
			fits = isNumber(value)
		case "icons":
			fits = value[0] == '['
			for _, icon := range elements(value) {
				fits = fits && isString(memberOf(icon, "src"))
			}
		}
		if !fits {
			return errShape
		}
	}
	return nil
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
	if annotations[0] != '{' {
		return errShape
	}
	for _, f := range members(annotations, 0) {
		value := annotations[f.start:f.end]
		fits := true
		switch f.key {
		case "audience":
			fits = value[0] == '['
			for _, role := range elements(value) {
				said, _ := text(role)
				fits = fits && (said == "user" || said == "assistant")
			}
		case "priority":
			n, err := strconv.ParseFloat(string(value), 64)
			fits = isNumber(value) && err == nil && n >= 0 && n <= 1
		case "lastModified":
			said, _ := text(value)
			_, err := time.Parse(time.RFC3339, said)
			fits = err == nil
		}
		if !fits {
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

// withoutReserved is the block compact, without the keys of its _meta, and of
// that of what it embeds, that the protocol keeps for itself.
func withoutReserved(block token) token {
	out := []byte{'{'}
	for _, f := range members(block, 0) {
		value := block[f.start:f.end]
		switch {
		case f.key == "_meta":
			if value = keptMeta(value); value == nil {
				continue
			}
		case f.key == "resource" && value[0] == '{':
			value = withoutReserved(value)
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
// 3) and holds nothing that none can. Of those, what runs as a program where it
// is opened is none.
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
	switch strings.ToLower(scheme) {
	case "javascript", "vbscript":
		return false
	}
	return !strings.ContainsFunc(rest, func(r rune) bool { return r <= ' ' || r == 0x7F || isHidden(r) })
}
