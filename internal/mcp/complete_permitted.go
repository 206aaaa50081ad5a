package mcp

import (
	"context"
	"maps"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// permitted are those of the suggested values that the caller could go on with:
// what the permission and the allow rules refuse of a read or a prompt is not
// told by its suggestions either. The rules see the arguments that are known so
// far; one that needs another suggests nothing.
func (r *revision) permitted(ctx context.Context, c *call, k *capability, params *mcp.CompleteParams, values []string) []string {
	var rules []*allowRule
	for _, allow := range []*allowRule{r.rules.allow, k.allow} {
		if allow != nil {
			rules = append(rules, allow)
		}
	}
	if len(rules) == 0 && k.gate.Permission == "" {
		return values
	}
	c.facts.logged = true // a rule about what is not known yet is no trouble
	kept := []string{}
	var checks []check
	for _, value := range values {
		arguments, ok := r.argumentsSoFar(params, value)
		for _, allow := range rules {
			if !ok {
				break
			}
			holds, err := r.asks(ctx, c, allow.rule, k, arguments)
			if err != nil {
				return nil
			}
			ok = holds
		}
		if ok {
			kept = append(kept, value)
			checks = append(checks, check{Capability: k.name, Permission: k.gate.Permission, Arguments: arguments})
		}
	}
	if k.gate.Permission == "" || len(kept) == 0 {
		return kept
	}
	answers, err := r.authorize(ctx, c, checks)
	if err != nil || len(answers) != len(checks) {
		return nil
	}
	values, kept = kept, []string{}
	for i, value := range values {
		if answers[i].allowed {
			kept = append(kept, value)
		}
	}
	return kept
}

// argumentsSoFar are the arguments that a client has chosen, with the value for
// the one it asks about, as a call of theirs has them. False where the value is
// none that a call could have.
func (r *revision) argumentsSoFar(params *mcp.CompleteParams, value string) ([]byte, bool) {
	said := map[string]string{}
	if params.Context != nil {
		maps.Copy(said, params.Context.Arguments)
	}
	said[params.Argument.Name] = value
	out, fits := []byte{'{'}, false
	add := func(name string, typed token) {
		if typed != nil {
			out = appendMember(out, name, typed)
			fits = fits || name == params.Argument.Name
		}
	}
	switch params.Ref.Type {
	case refPrompt:
		p := r.prompts[params.Ref.Name]
		for i := range p.spec.Arguments {
			name := p.spec.Arguments[i].Name
			if text, ok := said[name]; ok {
				typed, _ := p.value(i, text)
				add(name, typed)
			}
		}
	case refResource:
		one := r.declared(params.Ref.URI)
		for _, v := range one.spec.Variables {
			if text, ok := said[v.Name]; ok {
				add(v.Name, one.typed(v.Name, text))
			}
		}
	}
	return append(out, '}'), fits
}
