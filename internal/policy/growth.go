package policy

import (
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
)

// A loop's variable that is put into a list twice makes a value of twice the
// size at the cost of one step; thirty loops in each other make one that no
// machine can compare, and a comparison cannot be interrupted. So a list or a
// map never holds what a loop goes over, except plain values and, for map and
// filter, parts of the loop's own variable: then no value is larger than the
// facts, times the length of the rule.

// growing finds the first place where a rule builds what could grow so.
func growing(checked *cel.Ast) *Error {
	native := checked.NativeRep()
	g := growth{native: native, loops: map[string]bool{}, built: map[int64]bool{}}
	walk(native, func(e ast.Expr) {
		if e.Kind() == ast.ComprehensionKind {
			c := e.AsComprehension()
			g.loops[c.IterVar()], g.loops[c.IterVar2()] = true, c.HasIterVar2()
		}
	})
	walk(native, g.collected)
	walk(native, g.literal)
	return g.found
}

type growth struct {
	native *ast.AST
	loops  map[string]bool // names of loops' variables
	built  map[int64]bool  // lists that map and filter collect into, already judged
	found  *Error
}

func (g *growth) refuse(e ast.Expr) {
	if g.found == nil {
		g.found = at(g.native, e, "A list or map here holds what a loop goes over, which could grow without bound. Compare the loop's variable itself; for map, take only a part of it, such as x.name.")
	}
}

// collected judges what map and filter collect: the loop's step adds a list of
// one to what there is.
func (g *growth) collected(e ast.Expr) {
	if e.Kind() != ast.ComprehensionKind {
		return
	}
	c := e.AsComprehension()
	step := c.LoopStep()
	if step.Kind() == ast.CallKind && step.AsCall().FunctionName() == operators.Conditional {
		step = step.AsCall().Args()[1]
	}
	if step.Kind() != ast.CallKind || step.AsCall().FunctionName() != operators.Add || len(step.AsCall().Args()) != 2 {
		return
	}
	onto, list := step.AsCall().Args()[0], step.AsCall().Args()[1]
	if onto.Kind() != ast.IdentKind || onto.AsIdent() != c.AccuVar() || list.Kind() != ast.ListKind {
		return
	}
	g.built[list.ID()] = true
	for _, element := range list.AsList().Elements() {
		if !g.plain(element) && !partOf(element, c.IterVar()) {
			g.refuse(element)
		}
	}
}

// literal judges any other list or map.
func (g *growth) literal(e ast.Expr) {
	switch e.Kind() {
	case ast.ListKind:
		if g.built[e.ID()] {
			return
		}
		for _, element := range e.AsList().Elements() {
			g.element(element)
		}
	case ast.MapKind:
		for _, entry := range e.AsMap().Entries() {
			g.element(entry.AsMapEntry().Key())
			g.element(entry.AsMapEntry().Value())
		}
	}
}

func (g *growth) element(e ast.Expr) {
	if !g.plain(e) && g.mentionsLoop(e) {
		g.refuse(e)
	}
}

// plain reports whether the value is known to hold no others.
func (g *growth) plain(e ast.Expr) bool {
	switch g.native.GetType(e.ID()).Kind() {
	case types.BoolKind, types.IntKind, types.UintKind, types.DoubleKind, types.StringKind, types.BytesKind,
		types.NullTypeKind, types.TimestampKind, types.DurationKind:
		return true
	}
	return false
}

func (g *growth) mentionsLoop(e ast.Expr) bool {
	mentions := false
	ast.PostOrderVisit(e, ast.NewExprVisitor(func(inner ast.Expr) {
		mentions = mentions || inner.Kind() == ast.IdentKind && g.loops[strings.TrimPrefix(inner.AsIdent(), ".")]
	}))
	return mentions
}

// partOf reports whether the value is the variable, or taken from inside it.
func partOf(e ast.Expr, variable string) bool {
	for {
		if e.Kind() == ast.IdentKind {
			return e.AsIdent() == variable
		}
		of, _, ok := member(e)
		if !ok {
			return false
		}
		e = of
	}
}

// at is a mistake at a place of the expression.
func at(native *ast.AST, e ast.Expr, message string) *Error {
	mistake := &Error{Message: message}
	if place := native.SourceInfo().GetStartLocation(e.ID()); place.Line() > 0 && place.Column() >= 0 {
		mistake.Line, mistake.Column = place.Line(), place.Column()+1
	}
	return mistake
}
