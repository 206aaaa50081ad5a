package mcp

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/policy"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// The answers for what is not there and for what is hidden from the caller, in
// the same words.
const (
	unknownTool   = "Unknown tool. Call tools/list for the tools you may use."
	unknownPrompt = "Unknown prompt. Call prompts/list for the prompts you may use."
)

// unknownOf is that answer to a method about the capability of the name.
func unknownOf(method, name, version string) *jsonrpc.Error {
	switch method {
	case methodGetPrompt:
		return &jsonrpc.Error{Code: fault.CodeInvalidParams, Message: unknownPrompt}
	case methodComplete:
		return &jsonrpc.Error{Code: fault.CodeInvalidParams, Message: unknownReference}
	case methodReadResource, methodSubscribe, methodUnsubscribe:
		return noResource(name, version)
	}
	return &jsonrpc.Error{Code: fault.CodeInvalidParams, Message: unknownTool}
}

// verdict is what policy says of one capability for one caller.
type verdict int

const (
	hidden     verdict = iota // as if it were not there
	allowed                   // listed and callable
	forbidden                 // not listed; a call is told why it is not allowed
	needsScope                // not listed; a call is told which scopes to obtain
	needsLogin                // not listed; a call is told to sign in
)

// judgement is a verdict with what goes with it.
type judgement struct {
	verdict verdict
	told    *toolError // of forbidden
	err     error      // policy cannot tell now: the request fails, and nothing runs
}

// judge decides about one capability, but for permission and allow, which come
// when the arguments are known. It decides once per capability and request, on
// nothing that is kept between requests.
func (r *revision) judge(ctx context.Context, c *call, k *capability) judgement {
	if k.visible == nil && r.rules.visible == nil {
		return r.decide(ctx, c, k) // costs less than remembering
	}
	if j, done := c.facts.judged[k]; done {
		if fault.Is(j.err, fault.Unauthenticated) {
			c.unauthorized = true
		}
		return j
	}
	j := r.decide(ctx, c, k)
	if c.facts.judged == nil {
		c.facts.judged = make(map[*capability]judgement, len(r.order))
	}
	c.facts.judged[k] = j
	return j
}

// decide keeps the order of design section 5: the surface's switch and what
// the caller agreed to, public, scopes, second factor, visible.
//
// What the caller agreed to comes around the scopes: a grant that only reads
// hides whatever writes, also from the question for more scopes; one whose
// scopes are missing asks for them, since the consent that brings them is asked
// about what it writes, too; and with every scope in hand one that writes
// something its user never agreed to is not there.
func (r *revision) decide(ctx context.Context, c *call, k *capability) judgement {
	agreed := c.caller.Allowed
	switch {
	case c.endpoint.State == tenants.StateReadOnly && !k.readOnly:
		return judgement{}
	case agreed != nil && agreed.ReadOnly && k.effect != "":
		return judgement{}
	case c.caller.Key.Mode != oauth.ModePublic:
		if j := r.scoped(ctx, c, k); j.verdict != allowed {
			return j
		}
		if agreed != nil && k.effect != "" && !slices.Contains(agreed.Writes, k.effect) {
			return judgement{}
		}
	case !k.gate.Public && takesCredential(&c.endpoint.Access):
		return judgement{verdict: needsLogin}
	case !k.gate.Public:
		return judgement{}
	}
	if k.gate.AAL != "" {
		if j := r.assured(ctx, c, k.gate.AAL); j.verdict != allowed {
			return j
		}
	}
	return r.shown(ctx, c, k)
}

// takesCredential reports whether callers could bring something that opens
// more than public does.
func takesCredential(a *surfaces.Access) bool {
	return a.Has(surfaces.ModeOAuth) || a.Has(surfaces.ModeBearer) || a.Has(surfaces.ModeAPIKey)
}

// scoped decides by the scopes of a capability.
func (r *revision) scoped(ctx context.Context, c *call, k *capability) judgement {
	if len(c.facts.caller.Missing(k.gate.Scopes)) == 0 {
		return judgement{verdict: allowed}
	}
	if err := r.needScopes(ctx, c); err != nil {
		return judgement{err: err}
	}
	missing := c.facts.caller.Missing(k.gate.Scopes)
	if len(missing) == 0 {
		return judgement{verdict: allowed}
	}
	for _, scope := range missing {
		if c.caller.Key.Mode == oauth.ModeAPIKey || !c.endpoint.CanGrant(scope) { // no sign-in could bring it
			return judgement{verdict: forbidden, told: &toolError{
				kind: fault.Forbidden.String(), code: "insufficient_scope",
				detail: "You are not allowed to use this " + k.kind.String() + ": it needs the scope " + strings.Join(missing, " ") + ", which you do not have. Signing in again does not bring it; ask the app's owner.",
			}}
		}
	}
	return judgement{verdict: needsScope}
}

// assured decides by the second factor that a capability asks for. For callers who
// cannot have one it is not there.
func (r *revision) assured(ctx context.Context, c *call, level string) judgement {
	if !hasClaims(c.caller.Key.Mode) {
		return judgement{}
	}
	if err := c.needClaims(ctx, r.log); err != nil && !errors.Is(err, errUndecided) {
		return judgement{err: err}
	}
	if !c.hasSecondFactor(level) {
		return judgement{verdict: forbidden, told: &toolError{kind: fault.Forbidden.String(), code: codeAAL2, detail: textAAL2}}
	}
	return judgement{verdict: allowed}
}

// shown decides by the visible rules, the surface's and its own.
func (r *revision) shown(ctx context.Context, c *call, k *capability) judgement {
	for _, rule := range []*policy.Rule{r.rules.visible, k.visible} {
		if rule == nil {
			continue
		}
		holds, err := r.shows(ctx, c, rule, k)
		if err != nil || !holds {
			return judgement{err: err}
		}
	}
	return judgement{verdict: allowed}
}

// question is a visible rule, asked about capabilities of one meta; empty where the
// rule does not read it.
type question struct {
	rule *policy.Rule
	meta string
}

// shows asks a visible rule, once per request for all capabilities that it
// must answer alike.
func (r *revision) shows(ctx context.Context, c *call, rule *policy.Rule, k *capability) (bool, error) {
	uses := rule.Uses()
	if uses.Tool {
		return r.asks(ctx, c, rule, k, nil)
	}
	asked := question{rule: rule}
	if uses.Meta {
		asked.meta = string(k.gate.Meta)
	}
	if holds, done := c.facts.said[asked]; done {
		return holds, nil
	}
	holds, err := r.asks(ctx, c, rule, k, nil)
	if err != nil {
		return false, err
	}
	if c.facts.said == nil {
		c.facts.said = map[question]bool{}
	}
	c.facts.said[asked] = holds
	return holds, nil
}

// wholeScopes is the full set to ask for, so that a client that replaces its
// scopes by the challenge's keeps what it had: the capability's, then what the token
// already holds and a sign-in can give again.
func wholeScopes(c *call, gate *surfaces.Gate) []string {
	scopes := slices.Clone(gate.Scopes)
	for _, held := range c.caller.Scopes {
		if c.endpoint.CanGrant(held) && !slices.Contains(scopes, held) {
			scopes = append(scopes, held)
		}
	}
	return scopes
}

// visible lists those of the caller's in declared order, with one question to
// the app's authorizer for all. An error fails the list: a part of it would be
// kept by clients as the whole.
func visible[T interface{ subject() *capability }](ctx context.Context, r *revision, c *call, order []T) ([]T, error) {
	shown := make([]T, 0, len(order))
	var checks []check
	for _, one := range order {
		k := one.subject()
		j := r.judge(ctx, c, k)
		if j.err != nil {
			return nil, j.err
		}
		if j.verdict != allowed {
			continue
		}
		shown = append(shown, one)
		if k.gate.Permission != "" {
			checks = append(checks, check{Capability: k.name, Permission: k.gate.Permission})
		}
	}
	if len(checks) == 0 {
		return shown, nil
	}
	answers, err := r.authorize(ctx, c, checks)
	if err != nil {
		return nil, err
	}
	list := make([]T, 0, len(shown))
	asked := 0
	for _, one := range shown {
		if one.subject().gate.Permission != "" {
			asked++
			if len(answers) != len(checks) || !answers[asked-1].allowed {
				continue
			}
		}
		list = append(list, one)
	}
	return list, nil
}

// permits decides about a call whose arguments are valid: the permission, then
// what is allowed. It returns what the model is told of a refusal, or nil.
func (r *revision) permits(ctx context.Context, c *call, k *capability, arguments []byte) (*toolError, error) {
	if k.gate.Permission != "" {
		answers, err := r.authorize(ctx, c, []check{{Capability: k.name, Permission: k.gate.Permission, Arguments: arguments}})
		switch {
		case err != nil:
			return nil, err
		case len(answers) != 1:
			return denial(k, grantAnswer{}), nil
		case !answers[0].allowed:
			return denial(k, answers[0]), nil
		}
	}
	for _, allow := range []*allowRule{r.rules.allow, k.allow} {
		if allow == nil {
			continue
		}
		holds, err := r.asks(ctx, c, allow.rule, k, arguments)
		if err != nil {
			return nil, err
		}
		if !holds {
			return allow.refusal(), nil
		}
	}
	return nil, nil
}

func (a *allowRule) refusal() *toolError {
	told := &toolError{kind: fault.Forbidden.String(), code: codeNotAllowed, detail: cutText(oneLine(a.reason), maxAuthorText)}
	if told.detail == "" {
		told.detail = "The app's rules do not allow this call. Trying it again unchanged does not help."
	}
	return told
}
