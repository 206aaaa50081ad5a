package mcp

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// traceContext is the W3C Trace Context that a client sent in _meta (MCP
// 2026-07-28), or nothing.
type traceContext struct {
	parent string // traceparent
	state  string // tracestate
}

// Bounds of the Trace Context (W3C, section 3.3.1).
const (
	traceParentLength = 55
	maxTraceState     = 512
	maxTraceMembers   = 32
)

// under is the trace context of a call made for the request: in the client's
// trace where it sent a valid one, else in one of the request's own. The span is
// always a new one.
func (c traceContext) under(requestID string) (parent, state string) {
	var span [8]byte
	_, _ = rand.Read(span[:]) // never fails (crypto/rand)
	trace, flags, ok := splitParent(c.parent)
	if ok && validTraceState(c.state) {
		state = c.state
	}
	if !ok {
		sum := sha256.Sum256([]byte(requestID))
		trace, flags = hex.EncodeToString(sum[:16]), "00"
	}
	return "00-" + trace + "-" + hex.EncodeToString(span[:]) + "-" + flags, state
}

// splitParent takes a traceparent apart (W3C Trace Context, section 3.2). One of
// a later version is read as far as it is known.
func splitParent(s string) (trace, flags string, ok bool) {
	if len(s) < traceParentLength || len(s) > maxTraceState || s[2] != '-' || s[35] != '-' || s[52] != '-' {
		return "", "", false
	}
	version, trace, span, flags := s[:2], s[3:35], s[36:52], s[53:55]
	for _, part := range []string{version, trace, span, flags} {
		if strings.Trim(part, "0123456789abcdef") != "" {
			return "", "", false
		}
	}
	switch {
	case version == "ff", strings.Trim(trace, "0") == "", strings.Trim(span, "0") == "":
		return "", "", false
	case len(s) > traceParentLength && (version == "00" || s[traceParentLength] != '-'):
		return "", "", false
	}
	return trace, flags, true
}

// validTraceState reports whether the text is a list of key=value that may be a
// header (W3C Trace Context, section 3.3).
func validTraceState(s string) bool {
	if s == "" || len(s) > maxTraceState || strings.Count(s, ",") >= maxTraceMembers {
		return false
	}
	for member := range strings.SplitSeq(s, ",") {
		member = strings.TrimSpace(member)
		if member == "" {
			continue
		}
		key, value, ok := strings.Cut(member, "=")
		if !ok || key == "" || value == "" || strings.Contains(value, "=") || strings.Trim(key, "abcdefghijklmnopqrstuvwxyz0123456789_-*/@") != "" {
			return false
		}
		for i := 0; i < len(value); i++ {
			if value[i] < ' ' || value[i] > '~' {
				return false
			}
		}
	}
	return true
}
