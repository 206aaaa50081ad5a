package mcp

import (
	"encoding/base64"
	"encoding/json"
	"mime"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Media types between Chumbo and an app's Edge Functions.
const (
	mediaCall   = "application/vnd.chumbo.call+json"   // the envelope of a function that asks (surfaces.FunctionPlan)
	mediaResult = "application/vnd.chumbo.result+json" // an MCP result
	mediaEvents = "text/event-stream"
)

// Bounds of an MCP result beside the budget of what it answers.
const (
	maxBlobs       = 1 << 20  // bytes of images, audio and blobs together, decoded
	maxAnswerURI   = 2048     // characters of a URI in it
	maxAnswerState = 8 << 10  // bytes of the function's own state
	maxAnswerAsks  = 16 << 10 // bytes of what it asks
)

// functionAnswer is what an Edge Function answered with success, whole. The
// result that ends a stream is one of mediaResult.
type functionAnswer struct {
	media string // lower case, without parameters; empty where none was said
	body  []byte
}

// answerKind is what an MCP result answers.
type answerKind int

const (
	toolAnswer answerKind = iota
	promptAnswer
	resourceAnswer
)

// mcpAnswer is an MCP result as an Edge Function said it, checked. Of the three
// kinds only the parts of one are set; one that asks has requests and nothing
// else but its state.
type mcpAnswer struct {
	content    []mcp.Content // of a tool
	structured token
	isError    bool

	description string // of a prompt
	messages    []*mcp.PromptMessage

	contents []*mcp.ResourceContents // of a resource

	meta     mcp.Meta            // without keys that the protocol keeps for itself
	requests mcp.InputRequestMap // what it asks; nil where it asks nothing
	state    string

	text  int // bytes of text and structure, on the wire
	blobs int // bytes of images, audio and blobs, decoded
}

// fits reports whether the answer is within a budget of text and structure, and
// within what may be sent of anything else.
func (m *mcpAnswer) fits(budget int) bool { return m.text <= budget && m.blobs <= maxBlobs }

// size is how many bytes it takes on the wire, about.
func (m *mcpAnswer) size() int { return m.text + base64.StdEncoding.EncodedLen(m.blobs) }

// isJSONMedia reports whether the media type is JSON's, or one made of it.
func isJSONMedia(media string) bool {
	return media == "application/json" || strings.HasPrefix(media, "application/") && strings.HasSuffix(media, "+json")
}

// isTextMedia reports whether files of the media type are meant to be read as
// text.
func isTextMedia(media string) bool {
	if strings.HasPrefix(media, "text/") {
		return true
	}
	for _, suffix := range []string{"json", "xml", "yaml"} {
		if strings.HasSuffix(media, "+"+suffix) || media == "application/"+suffix || media == "application/x-"+suffix {
			return true
		}
	}
	switch media {
	case "application/javascript", "application/x-ndjson", "application/toml", "application/sql", "application/graphql":
		return true
	}
	return false
}

// prompt reads the answer of a function that is a prompt: an MCP result,
// {messages} in plain JSON, text, an image or audio. Every other answer is
// errShape.
func (a functionAnswer) prompt(asks bool) (*mcpAnswer, error) {
	m := &mcpAnswer{}
	var block mcp.Content
	switch {
	case isJSONMedia(a.media):
		return readMCPAnswer(promptAnswer, a.body, "", asks)
	case a.media == mediaEvents:
		return nil, errShape
	case strings.HasPrefix(a.media, "text/"):
		block = m.says(a.plainText())
	default:
		if block = m.shows(a.media, a.body); block == nil {
			return nil, errShape
		}
	}
	m.messages = []*mcp.PromptMessage{{Role: "user", Content: block}}
	return m, nil
}

// resource reads the answer of a function that is the resource of the URI: an
// MCP result, text, or anything else as a blob. An answer that is neither is
// errShape.
func (a functionAnswer) resource(uri string, asks bool) (*mcpAnswer, error) {
	if a.media == mediaResult {
		return readMCPAnswer(resourceAnswer, a.body, uri, asks)
	}
	if a.media == "" || a.media == mediaEvents {
		return nil, errShape
	}
	m, c := &mcpAnswer{}, &mcp.ResourceContents{URI: uri, MIMEType: a.media}
	if isTextMedia(a.media) && utf8.Valid(a.body) {
		c.Text = string(a.body)
		m.text = wireSize(c.Text)
	} else {
		c.Blob = blobOf(a.body)
		m.blobs = len(c.Blob)
	}
	m.contents = []*mcp.ResourceContents{c}
	return m, nil
}

// blobOf is a blob that is there even where it is empty.
func blobOf(data []byte) []byte {
	if data == nil {
		return []byte{}
	}
	return data
}

// plainText is the body as text, without what cannot be seen.
func (a functionAnswer) plainText() string {
	return withoutHidden(strings.ReplaceAll(strings.ToValidUTF8(string(a.body), "\uFFFD"), "\r\n", "\n"))
}

func (m *mcpAnswer) says(text string) mcp.Content {
	m.text += wireSize(text)
	return &mcp.TextContent{Text: text}
}

// shows is content of an image or of audio; nil for other media types.
func (m *mcpAnswer) shows(media string, data []byte) mcp.Content {
	c := mediaContent(media, data)
	if c != nil {
		m.blobs += len(data)
	}
	return c
}

// mediaContent is an image or audio as content; nil for other media types.
func mediaContent(media string, data []byte) mcp.Content {
	switch {
	case strings.HasPrefix(media, "image/"):
		return &mcp.ImageContent{MIMEType: media, Data: data}
	case strings.HasPrefix(media, "audio/"):
		return &mcp.AudioContent{MIMEType: media, Data: data}
	}
	return nil
}

// readMCPAnswer reads an MCP result (MCP, schema: CallToolResult,
// GetPromptResult, ReadResourceResult) strictly: what a client could stumble
// over is errShape. uri is of the contents of a resource that name none; asks
// says whether the function may ask people.
func readMCPAnswer(kind answerKind, body []byte, uri string, asks bool) (*mcpAnswer, error) {
	if checkJSON(body) != nil {
		return nil, errShape
	}
	m := &mcpAnswer{}
	ok := false
	for _, f := range members(body, 0) {
		value := token(body[f.start:f.end])
		var err error
		switch {
		case f.key == "_meta":
			m.meta, err = readMetaOf(value)
		case f.key == "inputRequests" && asks:
			err = m.readRequests(value)
			ok = true
		case f.key == "requestState" && asks:
			err = readText(value, maxAnswerState, &m.state)
		case f.key == "inputRequests", f.key == "requestState":
			err = errShape
		case kind == toolAnswer:
			err = m.readTool(f.key, value, &ok)
		case kind == promptAnswer:
			err = m.readPrompt(f.key, value, &ok)
		default:
			err = m.readResource(f.key, value, uri, &ok)
		}
		if err != nil {
			return nil, err
		}
	}
	said := m.content != nil || m.structured != nil || m.isError || m.messages != nil || m.contents != nil
	switch {
	case !ok, m.requests != nil && said, m.requests == nil && m.state != "":
		return nil, errShape
	case m.isError: // never structured
		m.structured = nil
	case m.structured != nil && len(m.content) == 0:
		m.content = []mcp.Content{m.says(string(m.structured))}
	}
	if m.structured != nil {
		m.text += wireSizeJSON(m.structured)
	}
	return m, nil
}

// readTool reads a member of a CallToolResult. Others than those known are left
// out.
func (m *mcpAnswer) readTool(key string, value token, ok *bool) error {
	switch key {
	case "content":
		if value[0] != '[' {
			return errShape
		}
		m.content = []mcp.Content{}
		for _, element := range elements(value) {
			block, err := m.readBlock(element)
			if err != nil {
				return err
			}
			m.content = append(m.content, block)
		}
		*ok = true
	case "structuredContent":
		if isNull(value) {
			return nil
		}
		m.structured = appendToken(nil, value)
		*ok = true
	case "isError":
		return readBool(value, &m.isError)
	}
	return nil
}

// readPrompt is readTool for a GetPromptResult.
func (m *mcpAnswer) readPrompt(key string, value token, ok *bool) error {
	switch key {
	case "description":
		return readText(value, maxAuthorText, &m.description)
	case "messages":
		if value[0] != '[' {
			return errShape
		}
		m.messages = []*mcp.PromptMessage{}
		for _, element := range elements(value) {
			var role string
			if err := readText(memberOf(element, "role"), maxAuthorText, &role); err != nil || role != "user" && role != "assistant" {
				return errShape
			}
			block, err := m.readBlock(memberOf(element, "content"))
			if err != nil {
				return err
			}
			m.messages = append(m.messages, &mcp.PromptMessage{Role: mcp.Role(role), Content: block})
		}
		*ok = true
	}
	return nil
}

// readResource is readTool for a ReadResourceResult.
func (m *mcpAnswer) readResource(key string, value token, uri string, ok *bool) error {
	if key != "contents" {
		return nil
	}
	if value[0] != '[' {
		return errShape
	}
	m.contents = []*mcp.ResourceContents{}
	for _, element := range elements(value) {
		c, err := m.readContents(element, uri)
		if err != nil {
			return err
		}
		m.contents = append(m.contents, c)
	}
	*ok = true
	return nil
}

// readContents reads one ResourceContents: text or a blob.
func (m *mcpAnswer) readContents(value token, uri string) (*mcp.ResourceContents, error) {
	c := &mcp.ResourceContents{URI: uri}
	text, blob := false, false
	for _, f := range members(value, 0) {
		part := token(value[f.start:f.end])
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
		value := token(block[f.start:f.end])
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

// readRequests reads what a function asks (MCP 2026-07-28, MRTR): requests by
// key, each with a method that can be asked. What they say is checked where
// they are passed on.
func (m *mcpAnswer) readRequests(value token) error {
	if len(value) > maxAnswerAsks || value[0] != '{' {
		return errShape
	}
	asked := []byte{'{'}
	for _, f := range members(value, 0) { // written anew: the SDK fails on what is no object, and on params left out
		request := token(value[f.start:f.end])
		params := memberOf(request, "params")
		switch {
		case params == nil:
			params = token("{}")
		case params[0] != '{':
			return errShape
		}
		method := memberOf(request, "method")
		if !isString(method) {
			return errShape
		}
		if len(asked) > 1 {
			asked = append(asked, ',')
		}
		asked = append(appendString(asked, f.key), `:{"method":`...)
		asked = append(append(asked, method...), `,"params":`...)
		asked = append(append(asked, params...), '}')
	}
	if json.Unmarshal(append(asked, '}'), &m.requests) != nil || len(m.requests) == 0 {
		return errShape
	}
	return nil
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
		if !letter && (i == 0 || !(c >= '0' && c <= '9' || c == '+' || c == '-' || c == '.')) {
			return false
		}
	}
	return !strings.ContainsFunc(rest, func(r rune) bool { return r <= ' ' || r == 0x7F || isHidden(r) })
}
