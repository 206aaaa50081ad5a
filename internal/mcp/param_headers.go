package mcp

import (
	"bytes"
	"net/http"
	"strings"

	"github.com/chumbo-dev/chumbo/internal/fault"
)

// paramHeader is an argument that clients repeat in a header, for what stands
// between them and us (MCP 2026-07-28, x-mcp-header in a tool's input).
type paramHeader struct {
	path []string // of properties, from the arguments
	name string   // Mcp-Param-…
}

const (
	headerKeyword   = "x-mcp-header"
	maxParamHeaders = 64 // of one tool
	maxParamDepth   = 16
)

// paramHeaders are the arguments of an input schema that headers repeat.
func paramHeaders(schema []byte) []paramHeader {
	if !bytes.Contains(schema, []byte(headerKeyword)) {
		return nil
	}
	return appendParamHeaders(nil, schema, nil)
}

func appendParamHeaders(list []paramHeader, schema token, path []string) []paramHeader {
	properties := memberOf(schema, "properties")
	if len(path) >= maxParamDepth {
		return list
	}
	for _, f := range members(properties, 0) {
		property := properties[f.start:f.end]
		if len(property) == 0 || property[0] != '{' {
			continue
		}
		at := append(append([]string(nil), path...), f.key)
		if name, ok := text(memberOf(property, headerKeyword)); ok && name != "" && len(list) < maxParamHeaders {
			list = append(list, paramHeader{path: at, name: "Mcp-Param-" + name})
		}
		list = appendParamHeaders(list, property, at)
	}
	return list
}

// repeated checks the headers of a call of a tool that its caller may see.
func (x *exchange) repeated(c *call, m *message, r *revision) error {
	t := r.tools[m.name]
	if m.method != methodCallTool || t == nil || c.protocol < version20260728 {
		return nil
	}
	return checkParams(t.headers, m, x.r.Header)
}

// checkParams compares the headers with the arguments of a call: each repeats
// its argument, and is not there without it. A value that no header can have is
// left to the input schema.
func checkParams(headers []paramHeader, m *message, h http.Header) error {
	if len(headers) == 0 {
		return nil
	}
	arguments := memberOf(m.params, "arguments")
	for _, p := range headers {
		value := arguments
		for _, name := range p.path {
			value = memberOf(value, name)
		}
		values := h.Values(p.name)
		if value == nil || isNull(value) {
			if len(values) > 0 {
				return refuse(fault.CodeHeaderMismatch, "%s is given, but its argument is not.", p.name)
			}
			continue
		}
		if isContainer(value) && len(values) == 0 {
			continue
		}
		if len(values) != 1 {
			return refuse(fault.CodeHeaderMismatch, "The %s header is required, once: it repeats its argument.", p.name)
		}
		said, ok := decodeHeader(values[0])
		if !ok {
			return refuse(fault.CodeHeaderMismatch, "%s is not valid Base64.", p.name)
		}
		if !repeats(said, value) {
			return refuse(fault.CodeHeaderMismatch, "%s differs from its argument.", p.name)
		}
	}
	return nil
}

// repeats reports whether a header says what the argument is: texts and booleans
// to the letter, numbers by what they are.
func repeats(said string, value token) bool {
	switch {
	case isString(value):
		return said == stringOf(value)
	case isNumber(value):
		trimmed := []byte(strings.TrimSpace(said))
		if !isNumber(trimmed) {
			return false
		}
		one, other := exactNumber(trimmed), exactNumber(value)
		return one != nil && bytes.Equal(one, other)
	case isContainer(value):
		return false
	}
	return said == string(value)
}
