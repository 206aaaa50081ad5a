package surfaces

import (
	"regexp"
	"slices"
)

// The shapes of Returns.Kind.
const (
	ReturnsVoid    = "void"
	ReturnsScalar  = "scalar"
	ReturnsRow     = "row"
	ReturnsRows    = "rows"
	ReturnsScalars = "scalars"
)

// rpcTool is an rpc entry being compiled.
type rpcTool struct {
	*compiler
	spec *RPCSpec
	tool *ToolSpec
	fn   *FunctionSchema
}

// rpc compiles a tool that calls a Postgres function.
func (c *compiler) rpc(t *ToolSpec) {
	before := len(c.problems)
	fn, ok := c.function(t.RPC.Function)
	if !ok {
		return
	}
	b := &rpcTool{compiler: c, spec: t.RPC, tool: t, fn: fn}
	b.rights()
	offered := b.offered()
	annotations := b.annotations()
	description := b.describe()
	returns, output, names := b.returns()
	c.checkTemplate(t.RPC.Template, names)
	if HasErrors(c.problems[before:]) {
		return
	}
	c.used.function(c.ix, fn)
	tool := c.common(t, &t.RPC.OperationSpec)
	tool.Annotations, tool.Description = annotations, description
	tool.Title = t.RPC.Title.Value
	if tool.Title == "" {
		tool.Title = humanize(c.ix.shown(fn.Schema, fn.Name))
	}
	plan := &RPCPlan{
		Relation: Relation{Schema: fn.Schema, Name: fn.Name, Profile: c.ix.profile(fn.Schema)},
		ReadOnly: fn.Volatility != VolatilityVolatile, Returns: returns,
	}
	in := inputObject()
	for _, o := range offered {
		plan.Arguments = append(plan.Arguments, o.plan)
		in.Properties.add(o.plan.Name, o.schema)
		if o.plan.Required {
			in.Required = append(in.Required, o.plan.Name)
		}
	}
	tool.RPC, tool.Input, tool.Privileged = plan, c.raw(t.at, in), t.RPC.Privileged
	if tool.Result != ResultText {
		tool.Output = c.raw(t.at, output)
	}
	c.asking(&tool, &t.RPC.OperationSpec, false)
	m := made{tool: tool, at: t.at}
	m.tool.Name = derivedName(c.ix.shown(fn.Schema, fn.Name), "")
	if t.RPC.Name.Value != "" {
		m.explicit, m.at, m.tool.Name = true, t.RPC.Name.at, t.RPC.Name.Value
	}
	c.made = append(c.made, m)
}

// function resolves a name to the only function that has it.
func (c *compiler) function(t Text) (*FunctionSchema, bool) {
	found, ok := find(c.ix, t.Value, c.ix.functions)
	if !ok {
		if other := elsewhere(c.ix, t.Value, c.ix.functions); other != "" {
			c.errorf(t.at, "there is no function %s in schema %s; did you mean %s?", quoteName(t.Value), ident(c.ix.defaultSchema()), quoteName(other))
			return nil, false
		}
		c.errorf(t.at, "there is no function %s in the imported schema%s If it is new, import the schema again (chumbo import)",
			quoteName(t.Value), ended(c.suggest(t.Value, names(c.ix, c.ix.functions), "; there are ")))
		return nil, false
	}
	if len(found) > 1 {
		c.errorf(t.at, "there are %d functions named %s: the Data API tells overloads apart by the names of the arguments sent, so one call could reach another function. Give this one a name of its own", len(found), t.Value)
		return nil, false
	}
	return found[0], true
}

// rights checks who may call the function, and as whom it runs.
func (b *rpcTool) rights() {
	at, name := b.spec.Function.at, signature(b.fn)
	switch {
	case b.fn.SecurityDefiner && !b.spec.Privileged:
		b.errorf(at, "%s is SECURITY DEFINER: it runs with its owner's rights, past Row Level Security. If that is not meant: alter function %s security invoker; If it is, write privileged: true and an allow rule that says who may call it", b.spec.Function.Value, name)
	case !b.fn.SecurityDefiner && b.spec.Privileged:
		b.errorf(b.spec.privileged, "%s runs with its caller's rights, so it is not privileged: leave privileged out", b.spec.Function.Value)
	case b.spec.Privileged && b.spec.Allow == nil:
		b.errorf(b.spec.privileged, "a privileged tool runs past Row Level Security, so it needs an allow rule of its own that says who may call it")
	}
	if b.spec.Privileged && b.tool.Public {
		b.errorf(b.spec.privileged, "a privileged tool is never public: nobody would stand between the internet and its owner's rights")
	}
	b.mayExecute(b.spec.Function, b.fn, b.roles(b.tool))
}

// offeredArgument is an argument of the plan and its schema.
type offeredArgument struct {
	plan   Argument
	schema *schema
}

// offered are the arguments of the tool, in the function's order.
func (b *rpcTool) offered() []offeredArgument {
	b.unknownArguments()
	var offered []offeredArgument
	for _, a := range b.fn.Arguments {
		if a.Name == "" {
			b.errorf(b.spec.Function.at, "%s has an argument without a name, and the Data API calls by name: name every argument", b.spec.Function.Value)
			return nil
		}
		spec, declared := b.declared(a.Name)
		if b.spec.Declared && !declared {
			if !a.HasDefault {
				b.errorf(b.spec.Function.at, "the argument %s has no default, so it must be among arguments", quoteName(a.Name))
			}
			continue
		}
		at := b.spec.Function.at
		if declared {
			at = spec.at
		}
		if !argumentName.MatchString(a.Name) {
			b.errorf(at, "%s cannot be the name of an argument for clients (letters, digits, _ . - only, at most 64): rename it in the function", quoteName(a.Name))
			continue
		}
		v := b.ix.typeOf(a.Type)
		s := v.input()
		if declared {
			b.narrow("argument", s, spec, v)
		}
		s.Description = spec.Description.Value
		if s.Description == "" && v.hint() != "" {
			s.Description = sentence(humanize(a.Name), v.hint(), "")
		}
		offered = append(offered, offeredArgument{
			plan:   Argument{Name: a.Name, SQLType: v.sql, JSON: v.json, Required: !a.HasDefault || spec.Required},
			schema: s,
		})
	}
	return offered
}

func (b *rpcTool) declared(name string) (ArgumentSpec, bool) {
	for _, a := range b.spec.Arguments {
		if a.Name.Value == name {
			return a, true
		}
	}
	return ArgumentSpec{}, false
}

func (b *rpcTool) unknownArguments() {
	known := make([]string, len(b.fn.Arguments))
	for i, a := range b.fn.Arguments {
		known[i] = a.Name
	}
	for _, a := range b.spec.Arguments {
		if !slices.Contains(known, a.Name.Value) {
			b.errorf(a.Name.at, "%s has no argument %s%s", b.spec.Function.Value, quoteName(a.Name.Value), b.suggest(a.Name.Value, known, "; its arguments are "))
		}
	}
}

// narrow adds the file's limits to the schema of an argument or a column, where
// they fit its type.
func (c *compiler) narrow(what string, s *schema, spec ArgumentSpec, v value) {
	if t := spec.Type; t.Value != "" && !v.travelsAs(t.Value) {
		c.errorf(t.at, "the argument is %s in the database, which does not travel as %s: leave type out", v.sql, quoteName(t.Value))
	}
	text := s.Type == "string"
	refuse := func(key string) {
		c.errorf(spec.at, "%s does not fit the %s %s, which is of type %s", key, what, quoteName(spec.Name.Value), v.sql)
	}
	if len(spec.Enum) > 0 {
		if text {
			s.Enum, s.Pattern = values(spec.Enum), ""
			c.labelsOnly(spec.Enum, v)
		} else {
			refuse("enum")
		}
	}
	if spec.Pattern.Value != "" {
		_, err := regexp.Compile(spec.Pattern.Value)
		switch {
		case !text:
			refuse("pattern")
		case err != nil:
			c.errorf(spec.Pattern.at, "the pattern is not a regular expression: %v", err)
		default:
			s.Pattern = spec.Pattern.Value
		}
	}
	for key, l := range map[string]struct {
		limit *int
		fits  bool
		set   **int
	}{
		"min_length": {spec.MinLength, text, &s.MinLength}, "max_length": {spec.MaxLength, text, &s.MaxLength},
		"max_items": {spec.MaxItems, s.Type == "array", &s.MaxItems},
		"minimum":   {spec.Minimum, s.Type == "integer" || s.Type == "number", &s.Minimum},
		"maximum":   {spec.Maximum, s.Type == "integer" || s.Type == "number", &s.Maximum},
	} {
		if l.limit == nil {
			continue
		}
		if !l.fits {
			refuse(key)
			continue
		}
		*l.set = l.limit
	}
}

func (c *compiler) labelsOnly(enum []Text, v value) {
	for _, e := range enum {
		if len(v.labels) > 0 && !slices.Contains(v.labels, e.Value) {
			c.errorf(e.at, "%s is not a label of %s%s", quoteName(e.Value), v.sql, c.suggest(e.Value, v.labels, "; its labels are "))
		}
	}
}

// travelsAs reports whether a declared JSON type agrees with the database's.
func (v value) travelsAs(t string) bool {
	if v.json == JSONAny {
		return true
	}
	if v.asText {
		return t == "string" || t == "integer"
	}
	return t == string(v.json)
}

// annotations applies the declared ones over what the function's volatility
// says.
func (b *rpcTool) annotations() Annotations {
	declared, volatile := b.spec.Annotations, b.fn.Volatility == VolatilityVolatile
	a := Annotations{ReadOnly: !volatile, Destructive: volatile, Idempotent: !volatile}
	set := func(to *bool, from *bool) {
		if from != nil {
			*to = *from
		}
	}
	set(&a.ReadOnly, declared.ReadOnly)
	set(&a.Destructive, declared.Destructive)
	set(&a.Idempotent, declared.Idempotent)
	set(&a.OpenWorld, declared.OpenWorld)
	if a.ReadOnly && volatile {
		b.errorf(declared.at, "%s is VOLATILE, so it may write and cannot be read_only. If it only reads: alter function %s stable;", b.spec.Function.Value, signature(b.fn))
	}
	if a.ReadOnly && a.Destructive && !volatile {
		b.errorf(declared.at, "a tool cannot be both read_only and destructive")
	}
	return a
}

// describe is the builder's description, or the function's comment.
func (b *rpcTool) describe() string {
	if d := b.spec.Description.Value; d != "" {
		return d
	}
	if d := oneLine(b.fn.Comment, MaxComment); d != "" {
		return d
	}
	b.errorf(b.tool.at, "description is missing: say what the tool does, so that a model knows when to call it")
	return ""
}

// returns is the shape of the answer, its schema and what a template may name.
func (b *rpcTool) returns() (Returns, *schema, templateNames) {
	r, out := b.fn.Returns, outputObject()
	if r.Void {
		out.Properties.add("ok", &schema{Type: "boolean"})
		return Returns{Kind: ReturnsVoid}, out, templateNames{values: []string{"ok"}}
	}
	if !r.Row {
		v := b.ix.typeOf(r.Type)
		column := &Column{Name: "result", SQLType: v.sql, JSON: v.json, AsText: v.asText, Nullable: true}
		if r.Set {
			out.Properties.add("items", &schema{Type: "array", Items: v.output(true)})
			if b.spec.Result.Value == string(ResultText) {
				b.errorf(b.spec.Result.at, "%s returns a list of plain values, which have no names for a template: write result: hybrid", b.spec.Function.Value)
			}
			out.Properties.add("truncated", &schema{Type: "boolean"})
			return Returns{Kind: ReturnsScalars, Scalar: column, MaxRows: b.ix.snap.MaxRows}, out, templateNames{section: true}
		}
		out.Properties.add("result", v.output(true))
		return Returns{Kind: ReturnsScalar, Scalar: column}, out, templateNames{values: []string{"result"}}
	}
	row := outputObject()
	var columns []Column
	for _, a := range r.Columns {
		v := b.ix.typeOf(a.Type)
		columns = append(columns, Column{Name: a.Name, SQLType: v.sql, JSON: v.json, AsText: v.asText, Nullable: true})
		row.returns(a.Name, v.output(true))
		b.warnUnpromised(b.spec.Function.at, a.Name)
	}
	if !r.Set {
		return Returns{Kind: ReturnsRow, Columns: columns}, row, templateNames{values: columnNames(columns), open: len(columns) == 0}
	}
	out.Properties.add("items", &schema{Type: "array", Items: row})
	out.Properties.add("truncated", &schema{Type: "boolean"})
	return Returns{Kind: ReturnsRows, Columns: columns, MaxRows: b.ix.snap.MaxRows}, out, templateNames{section: true, items: columnNames(columns), open: len(columns) == 0}
}
