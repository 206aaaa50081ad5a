package mcp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// prompt is a declared prompt, ready to serve.
type prompt struct {
	capability

	spec    *surfaces.Prompt
	schemas []*jsonschema.Schema // of each argument's value, in its type
	texts   []template           // of each message: its text, or the URI of what it embeds; nil for images
	wire    *mcp.Prompt
}

// addPrompt registers one prompt.
func (r *revision) addPrompt(compiler ruleCompiler, spec *surfaces.Prompt) (*prompt, error) {
	p := &prompt{capability: promptCapability(spec), spec: spec, wire: &mcp.Prompt{Name: spec.Name, Title: spec.Title, Description: spec.Description}}
	for i := range spec.Arguments {
		a := &spec.Arguments[i]
		schema, err := compileSchema(a.Schema)
		if err != nil {
			return nil, fmt.Errorf("argument %q: %w", a.Name, err)
		}
		p.schemas = append(p.schemas, schema)
		p.wire.Arguments = append(p.wire.Arguments, &mcp.PromptArgument{Name: a.Name, Title: a.Title, Description: a.Description, Required: a.Required})
	}
	if (spec.Function == nil) == (len(spec.Messages) == 0) {
		return nil, errors.New("not exactly one of messages and a function")
	}
	for i := range spec.Messages {
		parsed, err := parseMessageTemplate(&spec.Messages[i])
		if err != nil {
			return nil, fmt.Errorf("message %d: %w", i+1, err)
		}
		p.texts = append(p.texts, parsed)
	}
	if err := compiler.gateRules(&p.capability, r.rules); err != nil {
		return nil, err
	}
	r.server.AddPrompt(p.wire, r.promptHandler(p))
	return p, nil
}

func parseMessageTemplate(m *surfaces.PromptMessage) (template, error) {
	if m.Role != "user" && m.Role != "assistant" {
		return nil, errors.New("a role that is not known")
	}
	text := m.Text
	switch {
	case m.Image != nil:
		return nil, nil
	case m.Resource != "":
		text = m.Resource
	}
	parsed, err := parseTemplate(text)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(parsed, func(part templatePart) bool { return part.body != nil }) {
		return nil, errTemplate
	}
	return parsed, nil
}

// promptHandler makes a declared prompt for the caller of the request, when
// policy has nothing against the arguments.
func (r *revision) promptHandler(p *prompt) mcp.PromptHandler {
	return func(ctx context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		c := callOf(ctx)
		if c == nil {
			return nil, fault.New(fault.Internal, "", "The call has no caller.")
		}
		res, err := r.prompted(ctx, c, p, req.Params.Arguments)
		if err != nil {
			return nil, c.untold(err, "")
		}
		for _, m := range res.Messages {
			c.outcome.resultBytes += contentSize(m.Content)
		}
		return res, nil
	}
}

// prompted is the prompt with these arguments. What may be told of an error is
// a *toolError.
func (r *revision) prompted(ctx context.Context, c *call, p *prompt, given map[string]string) (*mcp.GetPromptResult, error) {
	arguments, told := p.typed(given)
	if told != nil {
		return nil, told
	}
	told, err := r.permits(ctx, c, &p.capability, arguments)
	if err != nil {
		return nil, err
	}
	if told != nil {
		c.outcome.refused = true
		return nil, told
	}
	if p.spec.Function != nil {
		res, err := r.run.prompt(ctx, c, p.spec, arguments)
		if err != nil {
			return nil, err
		}
		return res, c.answerable(res.InputRequests)
	}
	return r.compose(ctx, c, p, arguments)
}

// typed are the arguments as JSON, each in its type and in one spelling, in the
// order declared. An optional one that is given as nothing, and may not be
// nothing, is not given: forms send all their fields.
func (p *prompt) typed(given map[string]string) ([]byte, *toolError) {
	var issues []fault.Issue
	out := []byte{'{'}
	for i := range p.spec.Arguments {
		a := &p.spec.Arguments[i]
		said, ok := given[a.Name]
		if !ok {
			if a.Required {
				issues = append(issues, fault.Issue{Path: pointer([]string{a.Name}), Message: "is required"})
			}
			continue
		}
		value, found := p.value(i, said)
		if len(found) > 0 {
			if said != "" || a.Required {
				issues = append(issues, found...)
			}
			continue
		}
		out = appendMember(out, a.Name, value)
	}
	issues = append(issues, p.unknown(given)...)
	if len(issues) > 0 {
		return nil, &toolError{
			kind: fault.Invalid.String(), detail: "The arguments do not fit the prompt. Correct them and ask again.",
			issues: issues[:min(len(issues), maxIssues)],
		}
	}
	return append(out, '}'), nil
}

// unknown names arguments that the prompt does not have, in order.
func (p *prompt) unknown(given map[string]string) []fault.Issue {
	var names []string
	for name := range given {
		if !slices.ContainsFunc(p.spec.Arguments, func(a surfaces.PromptArgument) bool { return a.Name == name }) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var issues []fault.Issue
	for _, name := range names[:min(len(names), maxIssues)] {
		issues = append(issues, fault.Issue{Path: pointer([]string{cut(name, maxIssueLength)}), Message: "is not an argument of this prompt"})
	}
	return issues
}

// value is the text of one argument as JSON of its type, or what is wrong with
// it.
func (p *prompt) value(i int, said string) (token, []fault.Issue) {
	a := &p.spec.Arguments[i]
	at := pointer([]string{a.Name})
	value := promptValue(a.Type, said)
	if value == nil {
		return nil, []fault.Issue{{Path: at, Message: "must be " + typeInWords(a.Type)}}
	}
	err := validateArguments(p.schemas[i], value)
	if err == nil {
		return value, nil
	}
	issues := slices.Clone(fault.From(err).Issues)
	for k := range issues {
		issues[k].Path = at + issues[k].Path
	}
	if len(issues) == 0 {
		issues = []fault.Issue{{Path: at, Message: "cannot be used"}}
	}
	return nil, issues
}

// promptValue is text as JSON of the type, numbers in one spelling; nil where it
// does not read as one.
func promptValue(of surfaces.JSONType, said string) []byte {
	plain := strings.TrimSpace(said)
	switch of {
	case surfaces.JSONInteger, surfaces.JSONNumber:
		return plainNumber(plain, of == surfaces.JSONInteger)
	case surfaces.JSONBoolean:
		if plain != "true" && plain != "false" {
			return nil
		}
		return []byte(plain)
	}
	return appendString(nil, said)
}

func typeInWords(of surfaces.JSONType) string {
	switch of {
	case surfaces.JSONInteger:
		return "a whole number in digits, at most " + strconv.Itoa(maxDigits)
	case surfaces.JSONNumber:
		return "a number in digits"
	case surfaces.JSONBoolean:
		return "true or false"
	}
	return "text"
}
