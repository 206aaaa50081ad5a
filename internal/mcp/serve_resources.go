package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

const (
	// anyResource is what the SDK takes every read for, once it is known here
	// which resource is meant: its own matching never decides.
	anyResource = "chumbo:resource"

	// codeResourceNotFound is that of versions before 2026-07-28, in which it is
	// one of invalid params.
	codeResourceNotFound = -32002
)

// resource is a declared resource, or resource template, ready to serve.
type resource struct {
	capability

	spec     *surfaces.Resource
	columns  map[string]surfaces.Column // of the variables that are columns
	plain    *mcp.Resource              // nil of a template
	template *mcp.ResourceTemplate      // nil of a resource
}

// target is a resource that a request means: its URI, and what the URI says.
type target struct {
	res    *resource
	uri    string
	values map[string]string
}

type targetKey struct{}

// addResource prepares one resource or template.
func (r *revision) addResource(compiler ruleCompiler, spec *surfaces.Resource) (*resource, error) {
	one := &resource{capability: resourceCapability(spec), spec: spec, columns: map[string]surfaces.Column{}}
	for _, column := range variableColumns(spec) {
		one.columns[column.Name] = column
	}
	if spec.Row != nil && len(spec.Variables) != len(spec.Row.Key) {
		return nil, errors.New("a row whose key is not the URI's variables")
	}
	for _, v := range spec.Variables {
		if _, ok := one.columns[v.Name]; !ok && (spec.Row != nil || spec.Rows != nil) {
			return nil, fmt.Errorf("the variable %q is no column", v.Name)
		}
	}
	if len(spec.Variables) > 0 {
		one.template = &mcp.ResourceTemplate{URITemplate: spec.URI, Name: spec.Name, Title: spec.Title, Description: spec.Description, MIMEType: listedMedia(spec)}
	} else {
		one.plain = &mcp.Resource{URI: spec.URI, Name: spec.Name, Title: spec.Title, Description: spec.Description, MIMEType: listedMedia(spec), Size: staticSize(spec)}
	}
	return one, compiler.gateRules(&one.capability, r.rules)
}

// variableColumns are the columns that variables stand for, under the names of
// the variables.
func variableColumns(spec *surfaces.Resource) []surfaces.Column {
	switch {
	case spec.Row != nil:
		return spec.Row.Key
	case spec.Rows != nil:
		var list []surfaces.Column
		for _, f := range spec.Rows.Filters {
			column := f.Column
			column.Name = f.Argument
			list = append(list, column)
		}
		return list
	}
	return nil
}

// listedMedia is the media type that a list says: of rows it is known.
func listedMedia(spec *surfaces.Resource) string {
	if spec.MIMEType == "" && (spec.Row != nil || spec.Rows != nil) {
		return mediaJSON
	}
	return spec.MIMEType
}

// staticSize is how large what never changes is, in bytes; 0 where it may.
func staticSize(spec *surfaces.Resource) int64 {
	if spec.Text != nil {
		return int64(len(*spec.Text))
	}
	return int64(len(spec.Blob))
}

// keepResource serves the resource: the SDK hands every read to the revision.
func (r *revision) keepResource(one *resource) {
	if len(r.resources) == 0 {
		r.server.AddResource(&mcp.Resource{URI: anyResource, Name: "resource"}, r.readHandler)
	}
	r.resources = append(r.resources, one)
	if one.plain != nil {
		r.plain[one.spec.URI] = one
	}
}

// resolve finds the resource that a URI means, byte for byte; nil for none.
func (r *revision) resolve(uri string) *target {
	if one := r.plain[uri]; one != nil {
		return &target{res: one, uri: uri}
	}
	for _, one := range r.resources {
		if one.template == nil {
			continue
		}
		if values, ok := one.spec.Match(uri); ok {
			return &target{res: one, uri: uri, values: values}
		}
	}
	return nil
}

// resourcesThat are those of the kind, in declared order.
func (r *revision) resourcesThat(are func(*resource) bool) []*resource {
	list := make([]*resource, 0, len(r.resources))
	for _, one := range r.resources {
		if are(one) {
			list = append(list, one)
		}
	}
	return list
}

// declared finds a resource by its URI as declared.
func (r *revision) declared(uri string) *resource {
	for _, one := range r.resources {
		if one.spec.URI == uri {
			return one
		}
	}
	return nil
}

// arguments are the target's variables as JSON, each as a tool's argument for
// the same column would be, in the one spelling that rules and the database
// see. False where a value is none of the column's type: there is no such
// resource.
func (t *target) arguments() ([]byte, bool) {
	out := []byte{'{'}
	for _, v := range t.res.spec.Variables {
		value := t.res.typed(v.Name, t.values[v.Name])
		if value == nil {
			return nil, false
		}
		out = appendMember(out, v.Name, value)
	}
	return append(out, '}'), true
}

// typed is the value of a variable as JSON; nil where it is none of the type of
// the column that the variable stands for.
func (one *resource) typed(variable, said string) token {
	if column, ok := one.columns[variable]; ok {
		return typedValue(said, &column)
	}
	return appendString(nil, said)
}

// readHandler reads the resource that the middleware has found.
func (r *revision) readHandler(ctx context.Context, _ *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	c := callOf(ctx)
	t, ok := ctx.Value(targetKey{}).(*target)
	if c == nil || !ok {
		return nil, fault.New(fault.Internal, "", "The call has no caller.")
	}
	res, err := r.read(ctx, c, t)
	if err != nil {
		return nil, c.untold(err, t.uri)
	}
	for _, one := range res.Contents {
		c.outcome.resultBytes += wireSize(one.Text) + len(one.Blob)
	}
	return res, nil
}

// read reads a resource as the caller, when policy has nothing against it. What
// may be told of an error is a *toolError.
func (r *revision) read(ctx context.Context, c *call, t *target) (*mcp.ReadResourceResult, error) {
	arguments, ok := t.arguments()
	if !ok {
		return nil, errNoResource
	}
	told, err := r.permits(ctx, c, &t.res.capability, arguments)
	if err != nil {
		return nil, err
	}
	if told != nil {
		c.outcome.refused = true
		return nil, told
	}
	res, err := r.run.read(ctx, c, t.res.spec, t.uri, arguments)
	if err != nil {
		return nil, err
	}
	if err := c.answerable(res.InputRequests); err != nil {
		return nil, err
	}
	for _, one := range res.Contents {
		if one.Text == "" && one.Blob == nil { // the SDK would send neither
			one.Blob = []byte{}
		}
	}
	if t.res.spec.Text != nil || t.res.spec.Blob != nil {
		res.TTLMs = listTTL
	}
	return res, nil
}

// errNoResource is for what is not there, and for what this caller may not know
// to be.
var errNoResource = &toolError{kind: fault.NotFound.String(), detail: "Resource not found"}

// untold turns what went wrong with a prompt or a resource into the JSON-RPC
// error that says it; uri is the resource's, or empty.
func (c *call) untold(err error, uri string) error {
	var told *toolError
	if !errors.As(err, &told) {
		return err
	}
	c.outcome.errorKind = told.kind
	if uri != "" && told.kind == fault.NotFound.String() {
		return noResource(uri, c.protocol)
	}
	return told.rpc(c.requestID)
}

// noResource is the one answer for a URI that means nothing, or nothing that
// this caller may know of.
func noResource(uri, version string) *jsonrpc.Error {
	e := &jsonrpc.Error{Code: fault.CodeInvalidParams, Message: errNoResource.detail}
	if version < version20260728 {
		e.Code = codeResourceNotFound
	}
	if data, err := json.Marshal(map[string]string{"uri": cutBytes(uri, surfaces.MaxResourceURI)}); err == nil {
		e.Data = data
	}
	return e
}

// rpc is what is told as a JSON-RPC error, for methods whose results cannot say
// it: invalid params where the caller can do something about it by asking for
// something else, an internal error where not.
func (e *toolError) rpc(traceID string) *jsonrpc.Error {
	wire := &jsonrpc.Error{Code: fault.CodeInternal, Message: e.detail}
	switch e.kind {
	case fault.Invalid.String(), fault.NotFound.String(), fault.Forbidden.String(), fault.Conflict.String(), kindRefused:
		wire.Code = fault.CodeInvalidParams
	}
	if data, err := json.Marshal(fault.RPCData{Kind: e.kind, Code: e.code, Issues: e.issues, TraceID: traceID}); err == nil {
		wire.Data = data
	}
	return wire
}
