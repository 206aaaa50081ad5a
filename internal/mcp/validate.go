package mcp

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	textmessage "golang.org/x/text/message"

	"github.com/chumbo-dev/chumbo/internal/fault"
)

// Bounds of what a model is told of its mistakes.
const (
	maxIssues      = 20
	maxIssueLength = 300
)

// refuseLoader is a schema loader that loads nothing: the default one reads
// files and a schema is tenant input.
type refuseLoader struct{}

func (refuseLoader) Load(string) (any, error) {
	return nil, errors.New("a schema refers to nothing outside itself")
}

// compileSchema compiles a tool's schema (2020-12), formats asserted.
func compileSchema(schema json.RawMessage) (*jsonschema.Schema, error) {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return nil, fmt.Errorf("read schema: %w", err)
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(refuseLoader{})
	c.AssertFormat()
	const name = "chumbo:///input"
	if err := c.AddResource(name, document); err != nil {
		return nil, fmt.Errorf("add schema: %w", err)
	}
	compiled, err := c.Compile(name)
	if err != nil {
		return nil, fmt.Errorf("compile schema: %w", err)
	}
	return compiled, nil
}

// validateArguments checks the arguments of a call. The error is a
// fault.Invalid with an issue for every mistake, by JSON pointer.
func validateArguments(schema *jsonschema.Schema, arguments []byte) error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(arguments))
	if err != nil {
		return fault.New(fault.Invalid, "invalid_arguments", "The arguments are not valid JSON.")
	}
	err = schema.Validate(value)
	if err == nil {
		return nil
	}
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return fmt.Errorf("validate arguments: %w", err)
	}
	issues := issuesOf(invalid, textmessage.NewPrinter(language.English))
	// The validator walks maps: sort, so that the same mistake reads the same.
	slices.SortFunc(issues, func(a, b fault.Issue) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Message, b.Message))
	})
	refusal := fault.New(fault.Invalid, "invalid_arguments", "The arguments do not fit the tool's input schema. Nothing was called; correct them and call again.")
	return refusal.WithIssues(issues[:min(len(issues), maxIssues)]...)
}

// issuesOf lists the leaves of a validation error. Their number is bounded by
// the size of a request.
func issuesOf(e *jsonschema.ValidationError, printer *textmessage.Printer) []fault.Issue {
	if len(e.Causes) == 0 {
		return []fault.Issue{{Path: pointer(e.InstanceLocation), Message: cut(e.ErrorKind.LocalizedString(printer), maxIssueLength)}}
	}
	var issues []fault.Issue
	for _, cause := range e.Causes {
		issues = append(issues, issuesOf(cause, printer)...)
	}
	return issues
}

// pointer is the JSON pointer (RFC 6901) of a place in the arguments; empty
// for the arguments as a whole.
func pointer(location []string) string {
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	var b strings.Builder
	for _, part := range location {
		b.WriteByte('/')
		b.WriteString(cut(escape.Replace(part), maxIssueLength))
	}
	return b.String()
}

// cut shortens text to at most n bytes at a rune boundary.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + "…"
}
