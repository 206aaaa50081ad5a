package policy

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common"
)

// Compile compiles an expression, whose value must be a bool. The error is an
// *Error: not an expression, a name that is not there, another type, too long,
// or user_metadata, which users write themselves.
//
// Names: claims, scopes, client, mode, subject, issuer, actor, tool (name,
// meta, read_only, destructive, permission), context, now, and args for Allow.
func Compile(kind Kind, expression string) (*Rule, error) {
	return compile(kind, expression, maxCost)
}

// compile is Compile with a bound of its own on what one evaluation may cost;
// 0 for none.
func compile(kind Kind, expression string, bound uint64) (rule *Rule, err error) {
	defer func() {
		if p := recover(); p != nil { // the parser's trouble must not be ours
			rule, err = nil, &Error{Message: "The rule cannot be read. Write it more simply."}
		}
	}()
	environment := environments[kind]
	switch {
	case environment == nil:
		return nil, &Error{Message: fmt.Sprintf("There is no kind of rule %q.", kind)}
	case strings.TrimSpace(expression) == "":
		return nil, &Error{Message: "The rule is empty. Write an expression, or leave the rule out."}
	case len(expression) > MaxExpression:
		return nil, &Error{Message: fmt.Sprintf("The rule has %d bytes; at most %d are read. Move what is long into a function of the app (context or authorizer).", len(expression), MaxExpression)}
	}
	env, err := environment()
	if err != nil {
		return nil, &Error{Message: "The language of rules cannot be made ready: " + err.Error()}
	}
	checked, issues := env.Compile(expression)
	if issues != nil && issues.Err() != nil {
		return nil, firstOf(kind, issues.Errors())
	}
	if t := checked.OutputType(); !t.IsExactType(cel.BoolType) && !t.IsExactType(cel.DynType) {
		return nil, &Error{Line: 1, Column: 1, Message: fmt.Sprintf("The rule's value is of type %s, not true or false. Compare it with something.", t)}
	}
	if mistake := cmp.Or(userMetadata(checked), growing(checked)); mistake != nil {
		return nil, mistake
	}
	heavy, mistake := patterns(checked)
	if mistake != nil {
		return nil, mistake
	}
	program, err := env.Program(checked, programOptions(bound)...)
	if err != nil {
		return nil, &Error{Message: "The rule cannot be run: " + err.Error()}
	}
	return &Rule{program: program, loops: hasLoops(checked), uses: usesOf(checked), bytes: perRule + perByte*len(expression) + heavy}, nil
}

// undeclared is how a name that is not there is reported.
var undeclared = regexp.MustCompile(`^undeclared reference to '([^']*)'`)

// firstOf is the first mistake in the text.
func firstOf(kind Kind, mistakes []*common.Error) *Error {
	first := slices.MinFunc(mistakes, func(a, b *common.Error) int {
		return cmp.Or(cmp.Compare(a.Location.Line(), b.Location.Line()), cmp.Compare(a.Location.Column(), b.Location.Column()))
	})
	e := &Error{Message: strings.ReplaceAll(first.Message, " (in container '')", "")}
	if first.Location.Line() > 0 && first.Location.Column() >= 0 {
		e.Line, e.Column = first.Location.Line(), first.Location.Column()+1
	}
	if name := undeclared.FindStringSubmatch(first.Message); name != nil {
		e.Message = fmt.Sprintf("There is no name or function %q here. Rules read %s.", name[1], knownNames)
		if kind == Visible && name[1] == nameArgs {
			e.Message = "A visible rule knows no arguments, since it is asked for lists, too. Use args in an allow rule."
		}
	}
	return e
}
