package surfaces

import "cmp"

// Compile turns a surface file into the form that is served. It returns nil
// and at least one error problem when the file is refused; warnings may come
// with either. The same input always gives the same output.
func Compile(src []byte, snap *Snapshot, facts ProjectFacts) (*Compiled, []Problem) {
	b := Build(src, snap, facts)
	return b.Compiled, b.Problems
}

// Built is a compiled file with its digest.
type Built struct {
	Compiled *Compiled // nil when refused
	Digest   string    // hex SHA-256; empty when refused
	Problems []Problem // by line
}

// Build is Compile with the digest of the result. A nil snapshot means that
// none was imported yet: every tool is refused with how to import one.
func Build(src []byte, snap *Snapshot, facts ProjectFacts) Built {
	r := &reader{}
	root := r.document(src)
	if root == nil {
		return Built{Problems: r.sorted()}
	}
	file := r.file(root)
	c := &compiler{report: r.report, src: src, file: file, facts: facts, used: newUsed()}
	c.access()
	if snap != nil {
		c.ix = newIndex(snap)
	}
	c.called()
	c.policy()
	if snap == nil {
		c.withoutSnapshot()
	} else {
		c.tools()
	}
	c.resources()
	c.prompts()
	if HasErrors(c.problems) {
		return Built{Problems: c.sorted()}
	}
	c.finish()
	digest, err := c.digest()
	if err != nil {
		c.errorf(place{}, "the digest cannot be computed: %v", err)
	}
	if HasErrors(c.problems) {
		return Built{Problems: c.sorted()}
	}
	return Built{Compiled: &c.out, Digest: digest, Problems: c.sorted()}
}

// compiler holds one compilation.
type compiler struct {
	report
	src   []byte
	file  *File
	ix    *index
	facts ProjectFacts
	used  *used
	out   Compiled
	made  []made

	weight int // of the schemas so far, in bytes
	rules  ruleBook
}

// made is a compiled tool and where it was declared.
type made struct {
	tool     Tool
	at       place
	explicit bool   // the name was chosen by the builder
	key      string // what a derived name was made of, for its hash
}

const notImported = "nothing is known of this project's tables and functions yet: import its schema first (chumbo import)"

func (c *compiler) withoutSnapshot() {
	if len(c.file.Tools) == 0 {
		return
	}
	c.errorf(c.file.Tools[0].at, notImported)
}

func (c *compiler) tools() {
	for _, t := range c.file.Tools {
		if c.weight > maxSchemaBytes {
			return // refused, and more of it would only take time
		}
		c.publicRules(t)
		switch {
		case t.Table != nil:
			c.table(t)
		case t.RPC != nil:
			c.rpc(t)
		case t.Function != nil:
			c.edge(t)
		default:
			c.storage(t)
		}
	}
}

// finish names the tools, checks every schema and looks at the whole.
func (c *compiler) finish() {
	c.out.Format = Format
	c.out.Title = c.file.Title.Value
	c.out.Instructions = c.file.Instructions.Value
	c.nameTools()
	c.out.Tools = make([]Tool, 0, len(c.made))
	for _, m := range c.made {
		c.checkSchemas(m)
		c.out.Tools = append(c.out.Tools, m.tool)
	}
	if c.out.Access.Bridged() {
		c.out.Access.Scopes = knownScopes(&c.out)
	}
	c.lint()
}

// publicRules keep public: true and mode public together.
func (c *compiler) publicRules(t *ToolSpec) {
	a := c.file.Access
	switch {
	case t.Public && !a.has(ModePublic):
		c.errorf(t.public, "public: true needs public in access.mode")
	case !t.Public && a.only(ModePublic):
		c.errorf(t.at, "nobody could %s: mode public serves only what is marked public: true", t.used())
	}
	if !t.Public && !a.has(ModePublic) {
		return
	}
	for _, scope := range t.scopes() {
		if t.Public {
			c.errorf(scope.at, "a public %s cannot need scopes: callers without a token have none", t.word())
		}
	}
}

// word is what the entry is.
func (t *ToolSpec) word() string { return cmp.Or(t.as, "tool") }

// used is what callers do with it.
func (t *ToolSpec) used() string {
	return map[string]string{"": "call this tool", "resource": "read this resource", "prompt": "use this prompt"}[t.as]
}

func (t *ToolSpec) scopes() []Text {
	var all []Text
	for _, o := range t.operations() {
		all = append(all, o.Scopes...)
	}
	return all
}

// common fills in what every tool has.
func (c *compiler) common(t *ToolSpec, o *OperationSpec) Tool {
	for _, scope := range o.Scopes {
		c.capabilityScope(scope)
	}
	if guidance := t.GuidanceText; o.Result.Value == string(ResultStructured) && (guidance.Before.Value != "" || guidance.After.Value != "") {
		c.warnf(o.Result.at, "result: structured has no guidance: its text is JSON")
	}
	return Tool{
		Gate: o.gate(t.Public), Result: ResultForm(o.Result.Value), Template: o.Template.Value,
		Guidance: Guidance{Before: t.GuidanceText.Before.Value, After: t.GuidanceText.After.Value}, Budget: t.Budget,
	}
}

// gate is who sees and may use what the operation stands for.
func (o *OperationSpec) gate(public bool) Gate {
	return Gate{
		Scopes: values(o.Scopes), Public: public, Visible: o.Visible.Value, Allow: o.Allow.compiled(),
		Permission: o.Permission.Value, AAL: o.AAL.Value, Meta: o.Meta,
	}
}

// roles are the database roles that will run a tool.
func (c *compiler) roles(t *ToolSpec) []string {
	roles := c.userRoles()
	a := c.file.Access
	if t.Public && a.has(ModePublic) || a.has(ModeAPIKey) || a.external() {
		roles = append(roles, "anon")
	}
	return roles
}

// userRoles are the roles of callers whose calls carry a token of the project.
func (c *compiler) userRoles() []string {
	a := c.file.Access
	if a.has(ModeBearer) || a.has(ModeOAuth) && !a.external() {
		return values(a.Roles)
	}
	return nil
}

func values(texts []Text) []string {
	var out []string
	for _, t := range texts {
		out = append(out, t.Value)
	}
	return out
}
