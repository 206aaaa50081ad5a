package oauth

import (
	"net/http"
	"slices"
	"strings"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// ExposedHeaders is the Access-Control-Expose-Headers value of every answer on
// a surface URL.
const ExposedHeaders = "WWW-Authenticate, Mcp-Session-Id, MCP-Protocol-Version, Retry-After, " +
	"Chumbo-Request-Id, Chumbo-Surface, Chumbo-Revision, Chumbo-Access, Chumbo-Version, Server-Timing"

// Challenge is the error that asks a client to sign in (401) or for more
// scopes (403): RFC 6750 section 3, RFC 9728 section 5.1. It unwraps to a
// *fault.Error of kind Unauthenticated or Forbidden.
type Challenge struct {
	Status int    // 401 or 403
	Code   string // stable word for logs and the body, such as token_expired

	header string // the one WWW-Authenticate value
	fault  *fault.Error
}

// Error implements error.
func (c *Challenge) Error() string { return "challenge: " + c.Code }

// Unwrap returns the *fault.Error of the challenge.
func (c *Challenge) Unwrap() error { return c.fault }

// Header is the value of WWW-Authenticate.
func (c *Challenge) Header() string { return c.header }

// Write answers with the challenge: exactly one WWW-Authenticate, an RFC 9457
// body with the request id, no-store, and the CORS exposure list. Whether an
// origin may read it is the edge's decision.
func (c *Challenge) Write(w http.ResponseWriter, requestID string) {
	h := w.Header()
	h.Set("WWW-Authenticate", c.header)
	h.Set("Cache-Control", "no-store")
	h.Set("Access-Control-Expose-Headers", ExposedHeaders)
	fault.WriteProblem(w, c.fault, requestID)
}

// SignIn is the challenge for a request without a credential where one is
// needed: GET and HEAD of a surface that lists oauth, or a call of a
// capability that is not public. It carries no error (RFC 6750 section 3.1),
// and where no client can sign in nothing but the scheme.
func SignIn(ep *tenants.Endpoint) *Challenge {
	return challengeOf(fault.New(fault.Unauthenticated, string(reasonNoToken), "%s", reasonNoToken.textAt(ep)), metadataParam(ep))
}

// invalidToken is the challenge for a credential that was presented and is no
// good. The description is fixed: no byte of the request is in it.
func invalidToken(ep *tenants.Endpoint, why reason) *Challenge {
	return InvalidToken(ep, string(why), why.textAt(ep))
}

// InvalidToken is the challenge for a credential that whoever judged it found to
// be no good. code is a stable word for logs and the body; text
// says what is the matter and the next step, in ASCII without quotes or
// backslashes, and holds no byte of the request.
func InvalidToken(ep *tenants.Endpoint, code, text string) *Challenge {
	params := append(metadataParam(ep), param("error", "invalid_token"), param("error_description", text))
	return challengeOf(fault.New(fault.Unauthenticated, code, "%s", text), params)
}

// InsufficientScope is the 403 challenge (RFC 6750 section 3.1) for a call
// that needs scopes. It names the whole set needed, access.require and scopes:
// some clients replace what they had by what is named. Scopes that no sign-in
// could bring are left out; whether to challenge at all when some are is the
// caller's decision.
func InsufficientScope(ep *tenants.Endpoint, scopes []string) *Challenge {
	params := append(metadataParam(ep), param("error", "insufficient_scope"))
	if named := grantable(ep, slices.Concat(ep.Access.Require, scopes)); len(named) > 0 {
		params = append(params, param("scope", strings.Join(named, " ")))
	}
	params = append(params, param("error_description", reasonScope.text()))
	return challengeOf(fault.New(fault.Forbidden, string(reasonScope), "%s", reasonScope.text()), params)
}

func challengeOf(f *fault.Error, params []string) *Challenge {
	header := "Bearer"
	if len(params) > 0 {
		header += " " + strings.Join(params, ", ")
	}
	return &Challenge{Status: f.Kind.Status(), Code: f.Code, header: header, fault: f}
}

// metadataParam points at the metadata of the very URL that was used; there is
// none where the surface does not list oauth.
func metadataParam(ep *tenants.Endpoint) []string {
	if !ep.Access.Has(surfaces.ModeOAuth) {
		return nil
	}
	return []string{param("resource_metadata", ep.Resource.MetadataURL())}
}

// param writes name="value" with what could end the quoted string, or the
// header, percent-encoded: a URL stays the same URL.
func param(name, value string) string {
	var b strings.Builder
	b.WriteString(name)
	b.WriteString(`="`)
	for i := range len(value) {
		c := value[i]
		if c < 0x20 || c == '"' || c == '\\' || c >= 0x7f {
			const hex = "0123456789ABCDEF"
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
			continue
		}
		b.WriteByte(c)
	}
	b.WriteByte('"')
	return b.String()
}

// grantable keeps the scopes that a sign-in can bring and that are scope tokens (RFC 6749 section 3.3), each once, in order. offline_access
// is never asked for here.
func grantable(ep *tenants.Endpoint, scopes []string) []string {
	var out []string
	for _, scope := range scopes {
		if scope == "offline_access" || !isScope(scope) || slices.Contains(out, scope) {
			continue
		}
		if ep.CanGrant(scope) {
			out = append(out, scope)
		}
	}
	return out
}

func isScope(s string) bool {
	for i := range len(s) {
		if c := s[i]; c <= 0x20 || c >= 0x7f || c == '"' || c == '\\' {
			return false
		}
	}
	return s != ""
}
