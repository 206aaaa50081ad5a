package mcp

import (
	"context"
	"encoding/base64"
	"errors"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

const (
	mediaJSON = "application/json"
	mediaText = "text/plain"

	defaultResourceBudget = 256 << 10 // of one that states none
)

// read implements runner.
func (r *toolRunner) read(ctx context.Context, c *call, spec *surfaces.Resource, uri string, arguments []byte) (*mcp.ReadResourceResult, error) {
	t := &resourceCall{toolCall: toolCall{asker: asker{runner: r, call: c}, tool: rowTool(spec)}, spec: spec, uri: uri}
	res, err := t.contents(ctx, arguments)
	if err == nil {
		err = t.fits(res)
	}
	if err == nil {
		return res, nil
	}
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil, err
	}
	if told := r.explain(c, &t.toolCall, err); told != nil {
		return nil, t.sorted(told)
	}
	return nil, err
}

// resourceCall is one read of one resource.
type resourceCall struct {
	toolCall

	spec *surfaces.Resource
	uri  string // that was asked for
}

// rowTool is the tool that reads what the resource is, with the same code and
// the same answers to what goes wrong.
func rowTool(spec *surfaces.Resource) *surfaces.Tool {
	budget := spec.Budget
	if budget <= 0 {
		budget = defaultResourceBudget
	}
	return &surfaces.Tool{
		Name: spec.URI, Annotations: surfaces.Annotations{ReadOnly: true}, Get: spec.Row, List: spec.Rows, Function: spec.Function, ReadFile: spec.File,
		Result: resultJSON, Budget: budget,
	}
}

// contents reads what the resource is.
func (t *resourceCall) contents(ctx context.Context, arguments []byte) (*mcp.ReadResourceResult, error) {
	args, err := readArguments(arguments)
	if err != nil {
		return nil, err
	}
	t.arguments = args
	switch {
	case t.spec.Text != nil:
		return t.text(*t.spec.Text, mediaText), nil
	case t.spec.Blob != nil:
		return t.blob(t.spec.Blob, "application/octet-stream"), nil
	case t.spec.Row != nil:
		p, err := t.get(ctx, t.spec.Row)
		if err != nil {
			return nil, err
		}
		return t.text(p.text, mediaJSON), nil
	case t.spec.Rows != nil:
		rows, err := t.rows(ctx, t.spec.Rows)
		if err != nil {
			return nil, err
		}
		return t.text(rows, mediaJSON), nil
	case t.spec.File != nil:
		return t.fileContents(ctx, t.spec.File)
	case t.spec.Function != nil:
		return t.functionContents(ctx, t.spec.Function, arguments)
	}
	return nil, errors.New("resource has no plan")
}

// fileContents reads a file. A result of this method cannot hold a link: where
// the file is too large, its text says what the link is.
func (t *resourceCall) fileContents(ctx context.Context, plan *surfaces.ReadFilePlan) (*mcp.ReadResourceResult, error) {
	name := t.spec.FilePath
	if name == "" && len(t.spec.Variables) == 1 {
		name = stringOf(t.arguments.get(t.spec.Variables[0].Name))
	}
	inline := min(plan.Inline, base64.StdEncoding.DecodedLen(t.budget())) // a blob travels as base64
	f, err := t.readFile(ctx, plan.Place, name, inline, t.budget())
	if err != nil {
		return nil, err
	}
	switch {
	case f.isText:
		return t.text(f.text, f.media), nil
	case f.blob != nil:
		return t.blob(f.blob, f.media), nil
	}
	return oneContents(&mcp.ResourceContents{URI: t.uri, MIMEType: mediaText, Text: f.linkText() + "\n" + f.link}), nil
}

// functionContents asks an Edge Function, with the variables and the URI as its
// arguments.
func (t *resourceCall) functionContents(ctx context.Context, plan *surfaces.FunctionPlan, arguments token) (*mcp.ReadResourceResult, error) {
	if t.arguments.get("uri") == nil {
		body := append(token(nil), arguments[:len(arguments)-1]...)
		if len(t.arguments) > 0 {
			body = append(body, ',')
		}
		arguments = append(appendString(append(body, `"uri":`...), t.uri), '}')
	}
	answer, err := t.invoke(ctx, plan, arguments, true)
	if err != nil {
		return nil, err
	}
	m, err := answer.resource(t.uri, plan.Asks)
	switch {
	case err != nil:
		return nil, functionMisfit(true)
	case m.requests == nil && len(m.contents) == 0:
		return nil, errNoResource
	case !m.fits(t.budget()):
		return nil, t.tooLarge()
	}
	if answer.media != mediaResult {
		m.contents[0].MIMEType = t.media(m.contents[0].MIMEType)
	}
	return &mcp.ReadResourceResult{Meta: m.meta, Contents: m.contents, InputRequests: m.requests, RequestState: m.state}, nil
}

// media is the media type declared, or else this one.
func (t *resourceCall) media(found string) string {
	if t.spec.MIMEType != "" {
		return t.spec.MIMEType
	}
	return found
}

func (t *resourceCall) text(text, media string) *mcp.ReadResourceResult {
	return oneContents(&mcp.ResourceContents{URI: t.uri, MIMEType: t.media(media), Text: text})
}

func (t *resourceCall) blob(blob []byte, media string) *mcp.ReadResourceResult {
	return oneContents(&mcp.ResourceContents{URI: t.uri, MIMEType: t.media(media), Blob: blob})
}

func oneContents(contents *mcp.ResourceContents) *mcp.ReadResourceResult {
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{contents}}
}

// fits refuses what is over the budget.
func (t *resourceCall) fits(res *mcp.ReadResourceResult) error {
	size := 0
	for _, one := range res.Contents {
		size += wireSize(one.Text) + base64.StdEncoding.EncodedLen(len(one.Blob))
	}
	if size <= t.budget() {
		return nil
	}
	return t.tooLarge()
}

func (t *resourceCall) tooLarge() *toolError {
	return &toolError{kind: fault.TooLarge.String(), detail: "The resource is larger than its limit of " + strconv.Itoa(t.budget()) +
		" bytes. Ask the app's owner to raise the limit, or read the data with a tool."}
}

// sorted is what is told of a tool, told of a resource. A value that the
// database or Storage cannot read names nothing that is there.
func (t *resourceCall) sorted(told *toolError) *toolError {
	names := t.spec.Function == nil // what its URI holds is all there is to give
	switch {
	case told.kind == fault.NotFound.String(), names && told.kind == fault.Invalid.String():
		return errNoResource
	case told.kind == kindRowTooLarge:
		return t.tooLarge()
	}
	return told
}
