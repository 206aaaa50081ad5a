package surfaces

import (
	"slices"
	"strings"
)

// calling is what a function must look like that Chumbo itself calls, and who
// calls it.
type calling struct {
	key     string   // of the file
	takes   []string // types of the argument that is sent, all of pg_catalog; none: nothing is sent
	returns string   // in words
	fits    func(r FunctionReturns) bool
	roles   []string // database roles
}

// called finds the functions that Chumbo itself calls.
func (c *compiler) called() {
	a := c.file.Access
	isJSON := func(r FunctionReturns) bool { return !r.Set && !r.Row && typeIs(r.Type, false, "json", "jsonb") }
	everybody := c.userRoles()
	if a.has(ModeAPIKey) || a.has(ModePublic) || a.external() {
		everybody = append(everybody, "anon")
	}
	if a.Keys != nil {
		f := c.calledFunction(a.Keys, calling{key: "access.keys", takes: []string{"text"}, returns: "json or jsonb", fits: isJSON, roles: []string{"anon"}})
		if f != nil {
			c.out.Access.Keys = &KeyCheck{Function: *f}
		}
	}
	if s := a.ScopesFrom; s != nil && s.Function != nil {
		if a.external() {
			c.errorf(s.at, "scopes_from.rpc is asked as the user, and with authorization: external calls run as anon: name a claim instead")
		}
		fits := func(r FunctionReturns) bool {
			return isJSON(r) || !r.Row && typeIs(r.Type, true, "text") && !r.Set || !r.Row && r.Set && typeIs(r.Type, false, "text")
		}
		f := c.calledFunction(s.Function, calling{key: "access.scopes_from", returns: "text[], setof text, json or jsonb", fits: fits, roles: c.userRoles()})
		if f != nil {
			c.out.Access.ScopesFrom = &ScopesFrom{Function: f}
		}
	}
	if c.file.Context != nil {
		fits := func(r FunctionReturns) bool { return isJSON(r) || r.Row && !r.Set }
		c.out.Policy.Context = c.calledFunction(c.file.Context, calling{key: "context", returns: "json, jsonb or a row", fits: fits, roles: everybody})
	}
	if c.file.Authorizer != nil {
		c.out.Policy.Authorizer = c.calledFunction(c.file.Authorizer, calling{key: "authorizer", takes: []string{"jsonb", "json"}, returns: "json or jsonb", fits: isJSON, roles: everybody})
	}
}

// calledFunction finds one function, and refuses it where a call would fail.
func (c *compiler) calledFunction(s *FunctionSpec, k calling) *Function {
	t := s.Function
	if c.ix == nil {
		if len(c.file.Tools) == 0 { // else told of the tools
			c.errorf(t.at, notImported)
		}
		return nil
	}
	before := len(c.problems)
	fn, ok := c.function(t)
	if !ok {
		return nil
	}
	argument := c.sentArgument(t, fn, k)
	if fn.Returns.Void || !k.fits(fn.Returns) {
		c.errorf(t.at, "%s is called for %s, so it must return %s; it returns %s", t.Value, k.key, k.returns, c.ix.returnsOf(fn.Returns))
	}
	c.mayExecute(t, fn, k.roles)
	if HasErrors(c.problems[before:]) {
		return nil
	}
	c.used.function(c.ix, fn)
	return &Function{Relation: Relation{Schema: fn.Schema, Name: fn.Name, Profile: c.ix.profile(fn.Schema)}, Argument: argument}
}

// sentArgument is the name of the argument that is sent. Whatever else the
// function takes needs a default.
func (c *compiler) sentArgument(t Text, fn *FunctionSchema, k calling) string {
	var needed []FunctionArgument
	for _, a := range fn.Arguments {
		if !a.HasDefault {
			needed = append(needed, a)
		}
	}
	if len(k.takes) == 0 {
		if len(needed) > 0 {
			c.errorf(t.at, "%s is called for %s without arguments, so all of its own need a default; it takes (%s)", t.Value, k.key, c.ix.argumentsOf(fn))
		}
		return ""
	}
	if len(needed) == 1 && needed[0].Name != "" && !needed[0].Variadic && typeIs(needed[0].Type, false, k.takes...) {
		return needed[0].Name
	}
	c.errorf(t.at, "%s is called for %s with one argument, so it must have exactly one without a default, with a name and of type %s; it takes (%s)",
		t.Value, k.key, strings.Join(k.takes, " or "), c.ix.argumentsOf(fn))
	return ""
}

// typeIs reports whether a type, below its domains, is one of Postgres's own.
func typeIs(t TypeRef, array bool, names ...string) bool {
	for t.Base != nil && !t.Array {
		t = *t.Base
	}
	return t.Array == array && t.Schema == catalogSchema && slices.Contains(names, t.Name)
}

// mayExecute checks that roles can call a function.
func (c *compiler) mayExecute(t Text, fn *FunctionSchema, roles []string) {
	for _, role := range roles {
		if !c.ix.known[role] {
			c.warnf(t.at, "the imported schema does not say what role %s may execute", role)
			continue
		}
		if !slices.Contains(c.ix.usage[fn.Schema], role) {
			c.errorf(t.at, "%s may not use schema %s: grant usage on schema %s to %s;", role, quoteName(fn.Schema), ident(fn.Schema), ident(role))
		}
		if !slices.Contains(fn.Execute, role) {
			c.errorf(t.at, "%s may not execute %s: grant execute on function %s to %s;", role, t.Value, signature(fn), ident(role))
		}
	}
}

// signature names the function in SQL, unmistakably.
func signature(fn *FunctionSchema) string {
	types := make([]string, len(fn.Arguments))
	for i, a := range fn.Arguments {
		types[i] = ident(a.Type.Name)
		if a.Type.Schema != catalogSchema {
			types[i] = qualified(a.Type.Schema, a.Type.Name)
		}
		if a.Type.Array {
			types[i] += "[]"
		}
	}
	return qualified(fn.Schema, fn.Name) + "(" + strings.Join(types, ", ") + ")"
}
