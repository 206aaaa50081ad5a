package mcp

import (
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// Preview lists the tools of a revision in declared order, each as its JSON in
// the tools/list answer of the newest protocol version to a caller who may use
// them all. A tool that would be left out of serving is nil.
func Preview(compiled *surfaces.Compiled) []json.RawMessage {
	compiler := ruleCompiler{}
	all, err := compiler.rulesOf(compiled)
	r := &revision{rules: all, server: mcp.NewServer(&mcp.Implementation{Name: "preview", Version: "1"}, nil)}
	list := make([]json.RawMessage, len(compiled.Tools))
	if err != nil {
		return list
	}
	for i := range compiled.Tools {
		t, err := built(aTool, func() (*tool, error) { return r.addTool(compiler, &compiled.Tools[i]) })
		if err != nil {
			continue
		}
		if raw, err := json.Marshal(t.modern); err == nil {
			list[i] = raw
		}
	}
	return list
}
