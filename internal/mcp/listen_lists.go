package mcp

import (
	"crypto/sha256"
	"encoding/json"

	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// lists are digests of what a revision lists, by kind: the same when a client
// that reads a list again gets what it had, whoever it acts for. Who sees what
// is part of them; what a capability does is not.
type lists struct {
	tools, prompts, resources digest

	hasPrompts, hasResources bool
}

type digest [sha256.Size]byte

// listsOf reads them from the compiled form.
func listsOf(compiled *surfaces.Compiled) lists {
	type shown struct {
		surfaces.Gate

		URI, Name, Title, Description, MIMEType string
		Annotations                             surfaces.Annotations
		Input, Output                           json.RawMessage
		Arguments                               []surfaces.PromptArgument
	}
	var tools, prompts, resources []shown
	for i := range compiled.Tools {
		t := &compiled.Tools[i]
		tools = append(tools, shown{Gate: t.Gate, Name: t.Name, Title: t.Title, Description: t.Description, Annotations: t.Annotations, Input: t.Input, Output: t.Output})
	}
	for i := range compiled.Prompts {
		p := &compiled.Prompts[i]
		prompts = append(prompts, shown{Gate: p.Gate, Name: p.Name, Title: p.Title, Description: p.Description, Arguments: p.Arguments})
	}
	for i := range compiled.Resources {
		r := &compiled.Resources[i]
		resources = append(resources, shown{Gate: r.Gate, URI: r.URI, Name: r.Name, Title: r.Title, Description: r.Description, MIMEType: r.MIMEType})
	}
	all := struct {
		Access surfaces.Access
		Policy surfaces.Policy
	}{compiled.Access, compiled.Policy}
	of := func(list []shown) digest {
		data, err := json.Marshal(struct {
			All  any
			List []shown
		}{all, list})
		if err != nil { // what was read from JSON always marshals
			return digest{}
		}
		return sha256.Sum256(data)
	}
	return lists{
		tools: of(tools), prompts: of(prompts), resources: of(resources),
		hasPrompts: len(prompts) > 0, hasResources: len(resources) > 0,
	}
}
