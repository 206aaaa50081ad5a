package mcp

import (
	"encoding/base64"
	"encoding/json"
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
	body = pairedText(body)
	m := &mcpAnswer{}
	ok := false
	for _, f := range members(body, 0) {
		value := body[f.start:f.end]
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
	m.text += sizeOfMeta(m.meta)
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
		c, err := readContents(element, uri)
		if err != nil {
			return err
		}
		m.addContents(c)
		m.contents = append(m.contents, c)
	}
	*ok = true
	return nil
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
		request := value[f.start:f.end]
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
