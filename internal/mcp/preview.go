package mcp

import (
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// Preview is what the lists of a revision say to a caller who may use all of
// it, in the newest protocol version: each capability in declared order as its
// JSON in its list. One that would be left out of serving is nil.
type Preview struct {
	Tools     []json.RawMessage
	Resources []json.RawMessage // and resource templates
	Prompts   []json.RawMessage
}

// PreviewOf is the preview of a revision.
func PreviewOf(compiled *surfaces.Compiled) Preview {
	compiler := ruleCompiler{}
	all, err := compiler.rulesOf(compiled)
	r := newRevision(compiled, all)
	r.server = mcp.NewServer(&mcp.Implementation{Name: "preview", Version: "1"}, nil)
	p := Preview{
		Tools: make([]json.RawMessage, len(compiled.Tools)), Resources: make([]json.RawMessage, len(compiled.Resources)),
		Prompts: make([]json.RawMessage, len(compiled.Prompts)),
	}
	if err != nil {
		return p
	}
	for i := range compiled.Tools {
		if t, err := built(aTool, func() (*tool, error) { return r.addTool(compiler, &compiled.Tools[i]) }); err == nil {
			p.Tools[i] = wireJSON(t.modern)
		}
	}
	for i := range compiled.Resources {
		one, err := built(aResource, func() (*resource, error) { return r.addResource(compiler, &compiled.Resources[i]) })
		switch {
		case err != nil:
		case one.template != nil:
			p.Resources[i] = wireJSON(one.template)
		default:
			p.Resources[i] = wireJSON(one.plain)
		}
	}
	for i := range compiled.Prompts {
		if one, err := built(aPrompt, func() (*prompt, error) { return r.addPrompt(compiler, &compiled.Prompts[i]) }); err == nil {
			p.Prompts[i] = wireJSON(one.wire)
		}
	}
	return p
}
