package mcp

import (
	"context"
	"encoding/base64"
	"errors"
	"maps"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// compose makes the prompt of declared messages. What they embed is read as the
// caller; where that cannot be, the prompt fails as a whole.
func (r *revision) compose(ctx context.Context, c *call, p *prompt, arguments token) (*mcp.GetPromptResult, error) {
	res := &mcp.GetPromptResult{Description: p.spec.Description, Messages: []*mcp.PromptMessage{}}
	left := promptBudget(p.spec)
	for i := range p.spec.Messages {
		m := &p.spec.Messages[i]
		blocks, err := r.message(ctx, c, m, p.texts[i], arguments)
		if err != nil {
			return nil, err
		}
		for _, block := range blocks {
			if left -= contentSize(block); left < 0 {
				return nil, promptTooLarge(p.spec)
			}
			res.Messages = append(res.Messages, &mcp.PromptMessage{Role: mcp.Role(m.Role), Content: block})
		}
	}
	return res, nil
}

// defaultPromptBudget bounds the messages of a prompt that states no bound.
const defaultPromptBudget = 256 << 10

// message is the content of one declared message; several where what it embeds
// has several parts.
func (r *revision) message(ctx context.Context, c *call, m *surfaces.PromptMessage, text template, arguments token) ([]mcp.Content, error) {
	switch {
	case m.Image != nil:
		return []mcp.Content{&mcp.ImageContent{MIMEType: m.Image.MIMEType, Data: m.Image.Data}}, nil
	case m.Resource != "":
		return r.embedded(ctx, c, text.fill(arguments, escaped))
	}
	return []mcp.Content{&mcp.TextContent{Text: text.fill(arguments, withoutHidden)}}, nil
}

// fill puts the arguments into a template without sections. What is not given
// is nothing.
func (t template) fill(arguments token, as func(string) string) string {
	var b strings.Builder
	for _, part := range t {
		b.WriteString(part.text)
		if part.name == "" {
			continue
		}
		if value := memberOf(arguments, part.name); value != nil {
			b.WriteString(as(stringOf(value)))
		}
	}
	return b.String()
}

// escaped is a value as a part of a URI that nothing of it can be taken for
// (RFC 3986 section 2.1).
func escaped(value string) string {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for _, c := range []byte(value) {
		if c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' {
			b.WriteByte(c)
			continue
		}
		b.Write([]byte{'%', digits[c>>4], digits[c&15]})
	}
	return b.String()
}

// embedded reads a resource for a prompt, by the same rules as for its own
// sake. That it is not there and that it may not be known are the same.
func (r *revision) embedded(ctx context.Context, c *call, uri string) ([]mcp.Content, error) {
	t := r.resolve(uri)
	if t == nil {
		return nil, errNotEmbedded
	}
	if plain := t.res.spec.Expand(t.values); uri != plain { // as it is written where nothing has to be kept apart
		if again := r.resolve(plain); again != nil && again.res == t.res && maps.Equal(again.values, t.values) {
			t = again
		}
	}
	j := r.judge(ctx, c, &t.res.capability)
	if j.err != nil {
		return nil, j.err
	}
	if j.verdict != allowed {
		return nil, errNotEmbedded
	}
	res, err := r.read(ctx, c, t)
	var told *toolError
	switch {
	case errors.As(err, &told) && told.kind == fault.NotFound.String():
		return nil, errNotEmbedded
	case errors.As(err, &told):
		more := *told
		more.detail = "What this prompt embeds could not be read. " + told.detail
		return nil, &more
	case err != nil:
		return nil, err
	case len(res.InputRequests) > 0 || len(res.Contents) == 0:
		return nil, &toolError{kind: kindOutOfDate, detail: "What this prompt embeds must be asked for by itself. Read the resource first; the app's owner should not embed it."}
	}
	blocks := make([]mcp.Content, len(res.Contents))
	for i, one := range res.Contents {
		blocks[i] = &mcp.EmbeddedResource{Resource: one}
	}
	return blocks, nil
}

// errNotEmbedded is for a prompt that needs what is not there for its caller.
var errNotEmbedded = &toolError{kind: fault.NotFound.String(), detail: "This prompt embeds something that is not there, or that you may not read. Check its arguments and ask again."}

// contentSize is how many bytes of content count against a budget.
func contentSize(block mcp.Content) int {
	switch block := block.(type) {
	case *mcp.TextContent:
		return wireSize(block.Text)
	case *mcp.ImageContent:
		return base64.StdEncoding.EncodedLen(len(block.Data))
	case *mcp.AudioContent:
		return base64.StdEncoding.EncodedLen(len(block.Data))
	case *mcp.EmbeddedResource:
		return wireSize(block.Resource.Text) + base64.StdEncoding.EncodedLen(len(block.Resource.Blob))
	}
	return 0
}

// prompt implements runner: the answer of the function that says the messages.
func (r *toolRunner) prompt(ctx context.Context, c *call, spec *surfaces.Prompt, arguments []byte) (*mcp.GetPromptResult, error) {
	t := &toolCall{asker: asker{runner: r, call: c}, tool: &surfaces.Tool{
		Name: spec.Name, Annotations: surfaces.Annotations{ReadOnly: true}, Function: spec.Function, Budget: spec.Budget,
	}}
	answer, err := t.invoke(ctx, spec.Function, arguments, true)
	var m *mcpAnswer
	if err == nil {
		if m, err = answer.prompt(spec.Function.Asks); err != nil {
			err = functionMisfit(true)
		}
	}
	switch {
	case err == nil && m.size() > promptBudget(spec):
		return nil, promptTooLarge(spec)
	case err == nil:
		return promptOf(spec, m), nil
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return nil, err
	}
	if told := r.explain(c, t, err); told != nil {
		return nil, told
	}
	return nil, err
}

// promptOf is what the function said; what it says of itself goes before what is
// declared.
func promptOf(spec *surfaces.Prompt, m *mcpAnswer) *mcp.GetPromptResult {
	res := &mcp.GetPromptResult{Meta: m.meta, Description: m.description, Messages: m.messages, InputRequests: m.requests, RequestState: m.state}
	if res.Description == "" && m.requests == nil {
		res.Description = spec.Description
	}
	return res
}

func promptBudget(spec *surfaces.Prompt) int {
	if spec.Budget <= 0 {
		return defaultPromptBudget
	}
	return spec.Budget
}

func promptTooLarge(spec *surfaces.Prompt) *toolError {
	return &toolError{kind: fault.TooLarge.String(), detail: "The prompt is larger than its limit of " + strconv.Itoa(promptBudget(spec)) +
		" bytes. Ask with shorter arguments, or for less; or ask the app's owner to raise the limit."}
}
