package policy

import (
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
)

const (
	claimUserMetadata = "user_metadata" // users write it themselves
	claimEmail        = "email"
)

// usesOf says what a checked expression reads. A name that a comprehension
// takes for its own counts, too: the worst of it is a refusal.
func usesOf(checked *cel.Ast) Uses {
	var u Uses
	note := func(name string) {
		switch name = strings.TrimPrefix(name, "."); {
		case name == nameClaims:
			u.Claims = true
		case name == nameContext:
			u.Context = true
		case name == nameArgs:
			u.Args = true
		case name == nameScopes:
			u.Scopes = true
		case name == nameToolMeta:
			u.Meta = true
		case strings.HasPrefix(name, nameTool):
			u.Tool = true
		}
	}
	native := checked.NativeRep()
	for _, reference := range native.ReferenceMap() {
		note(reference.Name)
	}
	walk(native, func(e ast.Expr) {
		if e.Kind() == ast.IdentKind {
			note(e.AsIdent())
		}
		if of, name, ok := member(e); ok && name == claimEmail && of.Kind() == ast.IdentKind && strings.TrimPrefix(of.AsIdent(), ".") == nameClaims {
			u.Email = true
		}
	})
	return u
}

// member reads a member taken by a name that the expression states: x.name,
// has(x.name) or x["name"].
func member(e ast.Expr) (of ast.Expr, name string, ok bool) {
	switch e.Kind() {
	case ast.SelectKind:
		return e.AsSelect().Operand(), e.AsSelect().FieldName(), true
	case ast.CallKind:
		call := e.AsCall()
		if call.FunctionName() != operators.Index || len(call.Args()) != 2 || call.Args()[1].Kind() != ast.LiteralKind {
			return nil, "", false
		}
		text, is := call.Args()[1].AsLiteral().(types.String)
		return call.Args()[0], string(text), is
	}
	return nil, "", false
}

// userMetadata finds the first place that names user_metadata in any way: as a
// member, a variable, a key, or a text that could become one. Nothing is lost
// by that, for there is none to be read (see Input).
func userMetadata(checked *cel.Ast) *Error {
	native := checked.NativeRep()
	var found *Error
	walk(native, func(e ast.Expr) {
		if found != nil || !namesUserMetadata(e) {
			return
		}
		found = at(native, e, "user_metadata can be written by its user, so no rule may read it. Keep what decides in app_metadata, or ask the database (context).")
	})
	return found
}

func namesUserMetadata(e ast.Expr) bool {
	switch e.Kind() {
	case ast.SelectKind:
		return e.AsSelect().FieldName() == claimUserMetadata
	case ast.IdentKind:
		return strings.TrimPrefix(e.AsIdent(), ".") == claimUserMetadata
	case ast.LiteralKind:
		switch literal := e.AsLiteral().(type) {
		case types.String:
			return strings.Contains(string(literal), claimUserMetadata)
		case types.Bytes:
			return strings.Contains(string(literal), claimUserMetadata)
		}
	case ast.ComprehensionKind:
		c := e.AsComprehension()
		return c.IterVar() == claimUserMetadata || c.IterVar2() == claimUserMetadata
	}
	return false
}

func hasLoops(checked *cel.Ast) bool {
	loops := false
	walk(checked.NativeRep(), func(e ast.Expr) { loops = loops || e.Kind() == ast.ComprehensionKind })
	return loops
}

// walk visits every node of the expression.
func walk(native *ast.AST, visit func(ast.Expr)) {
	ast.PostOrderVisit(native.Expr(), ast.NewExprVisitor(visit))
}
