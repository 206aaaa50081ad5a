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
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// Bounds of what a model is told of its mistakes, and of those looked at: a
// body holds a quarter of a million, and each costs a text.
const (
	maxIssues      = 20
	maxMistakes    = 200
	maxIssueLength = 300
)

// compileSchema compiles a tool's schema (2020-12), formats asserted.
func compileSchema(schema json.RawMessage) (*jsonschema.Schema, error) {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return nil, fmt.Errorf("read schema: %w", err)
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(surfaces.NoLoader{})
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
	if issue := beyondReckoning(arguments); issue != nil {
		return misfit(*issue)
	}
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
	issues := appendIssues(nil, invalid, textmessage.NewPrinter(language.English))
	// The validator walks maps: sort, so that the same mistake reads the same.
	slices.SortFunc(issues, func(a, b fault.Issue) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Message, b.Message))
	})
	return misfit(issues[:min(len(issues), maxIssues)]...)
}

func misfit(issues ...fault.Issue) error {
	return fault.New(fault.Invalid, "invalid_arguments", "The arguments do not fit the tool's input schema. Nothing was called; correct them and call again.").WithIssues(issues...)
}

// appendIssues appends the leaves of a validation error, up to maxMistakes.
func appendIssues(issues []fault.Issue, e *jsonschema.ValidationError, printer *textmessage.Printer) []fault.Issue {
	if len(issues) >= maxMistakes {
		return issues
	}
	if len(e.Causes) == 0 {
		return append(issues, fault.Issue{Path: pointer(e.InstanceLocation), Message: cut(e.ErrorKind.LocalizedString(printer), maxIssueLength)})
	}
	for _, cause := range e.Causes {
		issues = appendIssues(issues, cause, printer)
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
