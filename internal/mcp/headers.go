package mcp

import (
	"encoding/base64"
	"net/http"
	"strings"

	"github.com/chumbo-dev/chumbo/internal/fault"
)

// checkHeaders compares Mcp-Method and Mcp-Name with the body, as protocol
// version 2026-07-28 demands. Older versions do not have these headers, so
// there they are ignored.
func checkHeaders(m *message, version string, h http.Header) error {
	if version < version20260728 || m.response {
		return nil
	}
	method, ok := single(h, "Mcp-Method")
	if !ok {
		return refuse(fault.CodeHeaderMismatch, "The Mcp-Method header is required, once.")
	}
	if method != m.method {
		return refuse(fault.CodeHeaderMismatch, "Mcp-Method differs from the method of the body.")
	}
	if nameKey(m.method) == "" {
		return nil
	}
	name, ok := single(h, "Mcp-Name")
	if !ok {
		return refuse(fault.CodeHeaderMismatch, "The Mcp-Name header is required, once.")
	}
	if name, ok = decodeHeader(name); !ok {
		return refuse(fault.CodeHeaderMismatch, "Mcp-Name is not valid Base64.")
	}
	if !m.named || name != m.name {
		return refuse(fault.CodeHeaderMismatch, "Mcp-Name differs from params.%s of the body.", nameKey(m.method))
	}
	return nil
}

func single(h http.Header, name string) (string, bool) {
	values := h.Values(name)
	if len(values) != 1 || values[0] == "" {
		return "", false
	}
	return values[0], true
}

const (
	base64Prefix = "=?base64?"
	base64Suffix = "?="
)

// decodeHeader undoes the wrapping of header values that are not plain ASCII
// (=?base64?…?=).
func decodeHeader(value string) (string, bool) {
	inner, ok := strings.CutPrefix(value, base64Prefix)
	if !ok {
		return value, true
	}
	if inner, ok = strings.CutSuffix(inner, base64Suffix); !ok {
		return value, true
	}
	decoded, err := base64.StdEncoding.DecodeString(inner)
	return string(decoded), err == nil
}

// acceptsHTML reports whether the client names text/html: a browser does, an
// MCP client does not.
func acceptsHTML(h http.Header) bool {
	for _, value := range h.Values("Accept") {
		for part := range strings.SplitSeq(value, ",") {
			media, parameters, _ := strings.Cut(part, ";")
			if strings.EqualFold(strings.TrimSpace(media), "text/html") && !zeroQuality(parameters) {
				return true
			}
		}
	}
	return false
}

func zeroQuality(parameters string) bool {
	for parameter := range strings.SplitSeq(parameters, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(parameter), "=")
		if strings.EqualFold(name, "q") && strings.Trim(value, "0.") == "" {
			return true
		}
	}
	return false
}
