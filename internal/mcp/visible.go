package mcp

import (
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// unknownTool is the answer for a tool that is not there and for one that is
// hidden from the caller, in the same words.
const unknownTool = "Unknown tool. Call tools/list for the tools you may use."

// verdict is what policy says of one tool for one caller.
type verdict int

const (
	hidden     verdict = iota // as if it were not there
	allowed                   // listed and callable
	needsScope                // not listed; a call is told which scopes to obtain
	needsLogin                // not listed; a call is told to sign in
)

// judge decides about one tool. It runs on every list and every call, on
// nothing that is kept.
//
// What the caller agreed to comes around the scopes: a grant that only reads
// hides whatever writes, also from the question for more scopes; a tool whose
// scopes are missing asks for them, since the consent that brings them is asked
// about what it writes, too; and with every scope in hand a tool that writes
// something its user never agreed to is not there.
func judge(c *call, served *tool) verdict {
	t, agreed := served.spec, c.caller.Allowed
	if c.endpoint.State == tenants.StateReadOnly && !t.Annotations.ReadOnly {
		return hidden
	}
	if agreed != nil && agreed.ReadOnly && served.effect != "" {
		return hidden
	}
	if c.caller.Key.Mode == oauth.ModePublic {
		switch {
		case t.Public:
			return allowed
		case c.endpoint.Access.Has(surfaces.ModeOAuth):
			return needsLogin
		}
		return hidden
	}
	missing := c.caller.Missing(t.Scopes)
	if len(missing) == 0 {
		if agreed != nil && served.effect != "" && !slices.Contains(agreed.Writes, served.effect) {
			return hidden
		}
		return allowed
	}
	for _, scope := range missing {
		if !c.endpoint.CanGrant(scope) {
			return hidden // no sign-in could bring it
		}
	}
	return needsScope
}

// wholeScopes is the full set to ask for, so that a client that replaces its
// scopes by the challenge's keeps what it had: the tool's, then what the token
// already holds and a sign-in can give again.
func wholeScopes(c *call, t *surfaces.Tool) []string {
	scopes := slices.Clone(t.Scopes)
	for _, held := range c.caller.Scopes {
		if c.endpoint.CanGrant(held) && !slices.Contains(scopes, held) {
			scopes = append(scopes, held)
		}
	}
	return scopes
}

// visible lists the caller's tools in declared order.
func (r *revision) visible(c *call, version string) []*mcp.Tool {
	list := make([]*mcp.Tool, 0, len(r.order))
	for _, t := range r.order {
		if judge(c, t) == allowed {
			list = append(list, t.wire(version))
		}
	}
	return list
}

// callable reports whether the caller may call the tool that the SDK read from
// the request.
func (r *revision) callable(c *call, req mcp.Request) bool {
	params, ok := req.GetParams().(*mcp.CallToolParamsRaw)
	if !ok || params == nil {
		return false
	}
	t := r.tools[params.Name]
	return t != nil && judge(c, t) == allowed
}
