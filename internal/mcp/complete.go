package mcp

import (
	"context"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// Bounds of completion/complete.
const (
	maxSuggestions  = 100 // MCP, completion
	maxTyped        = 200 // bytes that suggestions are looked for
	completeTimeout = 5 * time.Second
)

const (
	refPrompt   = "ref/prompt"
	refResource = "ref/resource"

	unknownReference = "Unknown prompt or resource template. Call prompts/list or resources/templates/list for those you may use."
	unknownArgument  = "Unknown argument. The prompt or resource template has no argument of this name."
)

// completes reports whether anything of the revision suggests values.
func completes(compiled *surfaces.Compiled) bool {
	for i := range compiled.Resources {
		for _, v := range compiled.Resources[i].Variables {
			if v.Complete != nil {
				return true
			}
		}
	}
	for i := range compiled.Prompts {
		for _, a := range compiled.Prompts[i].Arguments {
			if a.Complete != nil {
				return true
			}
		}
	}
	return false
}

// referred finds what a completion is about, and how values of the argument are
// suggested: nil where the argument is there and nothing is.
func (r *revision) referred(ref *mcp.CompleteReference, argument string) (k *capability, from *surfaces.Completion, found bool) {
	switch {
	case ref == nil:
	case ref.Type == refPrompt && r.prompts[ref.Name] != nil:
		p := r.prompts[ref.Name]
		for i := range p.spec.Arguments {
			if a := &p.spec.Arguments[i]; a.Name == argument {
				return &p.capability, a.Complete, true
			}
		}
		return &p.capability, nil, false
	case ref.Type == refResource:
		one := r.declared(ref.URI)
		if one == nil {
			return nil, nil, false
		}
		for i := range one.spec.Variables {
			if v := &one.spec.Variables[i]; v.Name == argument {
				return &one.capability, v.Complete, true
			}
		}
		return &one.capability, nil, false
	}
	return nil, nil, false
}

// complete answers completion/complete. Only what is asked about can be wrong:
// where no value can be had, none is suggested.
func (r *revision) complete(ctx context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	c := callOf(ctx)
	if c == nil {
		return nil, fault.New(fault.Internal, "", "The call has no caller.")
	}
	k, from, found := r.referred(req.Params.Ref, req.Params.Argument.Name)
	if k == nil {
		return nil, c.unknownCompletion()
	}
	if k.gate.Permission != "" { // as for a list, since it would tell that it is there
		seen, err := visible(ctx, r, c, []*capability{k})
		if err != nil {
			return nil, err
		}
		if len(seen) == 0 {
			return nil, c.unknownCompletion()
		}
	}
	if !found {
		return nil, &jsonrpc.Error{Code: fault.CodeInvalidParams, Message: unknownArgument}
	}
	values, all := r.suggestions(ctx, c, from, req.Params.Argument.Value)
	if from != nil && from.Column != nil {
		values = append([]string{}, r.permitted(ctx, c, k, req.Params, values)...)
	}
	res := &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: values[:min(len(values), maxSuggestions)]}}
	res.Completion.HasMore = !all || len(values) > maxSuggestions
	if all {
		res.Completion.Total = len(values)
	}
	return res, nil
}

func (c *call) unknownCompletion() error {
	c.outcome.refused = true
	return &jsonrpc.Error{Code: fault.CodeInvalidParams, Message: unknownReference}
}

// suggestions are values that begin with what was typed, in any case, and
// whether these are all. Never nil.
func (r *revision) suggestions(ctx context.Context, c *call, from *surfaces.Completion, typed string) (values []string, all bool) {
	values = []string{}
	switch {
	case from == nil, len(typed) > maxTyped:
		return values, true
	case from.Column == nil:
		for _, v := range from.Values {
			if beginsWith(v, typed) {
				values = append(values, v)
			}
		}
		return values, true
	}
	ctx, cancel := context.WithTimeout(ctx, completeTimeout)
	defer cancel()
	found, all, err := r.run.suggest(ctx, c, from.Column, typed)
	if err != nil {
		return values, true
	}
	return append(values, found...), all
}

// beginsWith reports whether the value begins with what was typed, in any case.
func beginsWith(value, typed string) bool {
	return strings.HasPrefix(strings.ToLower(value), strings.ToLower(typed))
}
