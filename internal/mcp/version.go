package mcp

import (
	"net/http"
	"slices"
	"strings"

	"github.com/chumbo-dev/chumbo/internal/fault"
)

// The protocol versions served. An older client that asks for another one at
// initialize is answered with the newest it can negotiate.
const (
	version20260728 = "2026-07-28"
	version20251125 = "2025-11-25"
	version20250618 = "2025-06-18"
	version20250326 = "2025-03-26"
)

// versions lists what is served, newest first.
func versions() []string {
	return []string{version20260728, version20251125, version20250618, version20250326}
}

// Methods the edge has to tell apart.
const (
	methodInitialize    = "initialize"
	methodDiscover      = "server/discover"
	methodPing          = "ping"
	methodListTools     = "tools/list"
	methodCallTool      = "tools/call"
	methodListPrompts   = "prompts/list"
	methodGetPrompt     = "prompts/get"
	methodListResources = "resources/list"
	methodListTemplates = "resources/templates/list"
	methodReadResource  = "resources/read"
	methodComplete      = "completion/complete"
	methodSubscribe     = "resources/subscribe"
	methodUnsubscribe   = "resources/unsubscribe"
	methodSetLevel      = "logging/setLevel"
	methodListen        = "subscriptions/listen"
)

// serves reports whether a request of the method goes any further in the
// version.
func serves(method, version string) bool {
	switch method {
	case methodListTools, methodCallTool, methodListPrompts, methodGetPrompt, methodListResources,
		methodListTemplates, methodReadResource, methodComplete, methodDiscover:
		return true
	case methodListen:
		return version >= version20260728
	case methodInitialize, methodPing, methodSetLevel, methodSubscribe, methodUnsubscribe:
		return version < version20260728
	}
	return false
}

const codeUnsupportedVersion = -32022

// headerVersion reads MCP-Protocol-Version: the version of the request, and
// whether it was stated. A client that states none speaks 2025-03-26.
func headerVersion(h http.Header) (version string, stated bool, err error) {
	values := h.Values("Mcp-Protocol-Version")
	switch {
	case len(values) == 0:
		return version20250326, false, nil
	case len(values) > 1:
		return "", true, refuse(fault.CodeInvalidRequest, "MCP-Protocol-Version is given more than once.")
	}
	version = strings.TrimSpace(values[0])
	if !slices.Contains(versions(), version) {
		e := refuse(codeUnsupportedVersion, "This protocol version is not served. Served: %s.", strings.Join(versions(), ", "))
		e.data = struct {
			Supported []string `json:"supported"`
			Requested string   `json:"requested"`
		}{versions(), version}
		return "", true, e
	}
	return version, true, nil
}

// checkVersion refuses a message whose version differs from its header's
// (MCP 2026-07-28, basic/transports; and an initialize that asks for another
// version than its own header states).
func checkVersion(m *message, version string, stated bool) error {
	switch {
	case m.version != "" && !stated:
		return refuse(fault.CodeHeaderMismatch, "The MCP-Protocol-Version header is required with %s in _meta.", metaVersion)
	case m.version != "" && m.version != version:
		return refuse(fault.CodeHeaderMismatch, "MCP-Protocol-Version and %s in _meta differ.", metaVersion)
	case m.method == methodInitialize && stated && version < version20260728 && m.asked != version:
		return refuse(fault.CodeHeaderMismatch, "MCP-Protocol-Version and the protocolVersion of initialize differ.")
	case version < version20260728 || !m.isCall():
		return nil
	case m.version == "":
		return refuse(fault.CodeInvalidParams, "_meta needs %s.", metaVersion)
	case !m.capabilities:
		return refuse(fault.CodeInvalidParams, "_meta needs %s.", metaCapabilities)
	}
	return nil
}
