package policy

import (
	"context"
	"errors"
	"fmt"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/interpreter"
)

var (
	errCost       = errors.New("rule costs too much")
	errEvaluation = errors.New("rule has no value: something that it reads is missing or of another type")
	errSpent      = errors.New("rules of this request have cost too much")
	errNotBool    = errors.New("the rule's value is not true or false")
)

// Holds reports whether the rule holds for the tool. Whatever keeps it from an
// answer (a claim that is missing, a type, its cost, the context's end) is an
// error, and the caller refuses. The error quotes nothing of the request.
func (r *Rule) Holds(ctx context.Context, f *Facts, t *Tool) (holds bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			holds, err = false, fmt.Errorf("rule panicked (%T)", p)
		}
	}()
	if err := f.readable(r.uses); err != nil {
		return false, err
	}
	if f.shared.spent >= maxSpent {
		return false, errSpent
	}
	value, details, err := r.eval(ctx, &names{facts: f, tool: t})
	if cost := details.ActualCost(); cost != nil {
		f.shared.spent += *cost
	}
	if err != nil {
		return false, quiet(ctx, err)
	}
	answer, ok := value.(types.Bool)
	if !ok {
		return false, errNotBool
	}
	return bool(answer), nil
}

// eval evaluates the rule. Watching the context costs more than most rules, and
// it is only looked at between the rounds of loops.
func (r *Rule) eval(ctx context.Context, n *names) (ref.Val, *cel.EvalDetails, error) {
	if r.loops {
		return r.program.ContextEval(ctx, n)
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	return r.program.Eval(n)
}

// quiet keeps the kind of an evaluation's error: its text may quote what a
// claim or an argument holds.
func quiet(ctx context.Context, err error) error {
	if ended := ctx.Err(); ended != nil {
		return fmt.Errorf("rule interrupted: %w", ended)
	}
	var cancelled interpreter.EvalCancelledError
	if errors.As(err, &cancelled) {
		return errCost
	}
	return errEvaluation
}

// names resolves the names of a rule. It implements cel.Activation.
type names struct {
	facts *Facts
	tool  *Tool
}

var _ cel.Activation = (*names)(nil)

// ResolveName implements cel.Activation. What is absent, or cannot be read, is
// not found, which is an error of the rule.
func (n *names) ResolveName(name string) (any, bool) {
	in := &n.facts.in
	switch name {
	case nameClaims:
		claims, err := n.facts.shared.claims.object()
		return claims, err == nil
	case nameContext:
		return found(n.facts.shared.context.value())
	case nameArgs:
		args, err := n.facts.args.object()
		return args, err == nil
	case nameScopes:
		return n.facts.shared.scopes, true
	case nameClient:
		return in.Client, true
	case nameMode:
		return in.Mode, true
	case nameSubject:
		return in.Subject, true
	case nameIssuer:
		return in.Issuer, true
	case nameActor:
		return in.Actor, true
	case nameNow:
		return in.Now, true
	}
	if n.tool == nil {
		return nil, false
	}
	switch name {
	case nameToolName:
		return n.tool.Name, true
	case nameToolMeta:
		return found(n.tool.metadata())
	case namePermission:
		return n.tool.Permission, true
	case nameReadOnly:
		return n.tool.ReadOnly, true
	case nameDestructive:
		return n.tool.Destructive, true
	}
	return nil, false
}

// found is a value, or nothing where it cannot be read. JSON's null is CEL's.
func found(v any, err error) (any, bool) {
	if v == nil {
		return types.NullValue, err == nil
	}
	return v, err == nil
}

// Parent implements cel.Activation.
func (n *names) Parent() cel.Activation { return nil }
