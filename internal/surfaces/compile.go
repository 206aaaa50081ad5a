package surfaces

import (
	"slices"
)

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
	c := &compiler{report: r.report, file: file, facts: facts, used: newUsed()}
	c.access()
	if snap == nil {
		c.withoutSnapshot()
	} else {
		c.ix = newIndex(snap)
		c.tools()
	}
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
	file  *File
	ix    *index
	facts ProjectFacts
	used  *used
	out   Compiled
	made  []made

	weight int // of the schemas so far, in bytes
}

// made is a compiled tool and where it was declared.
type made struct {
	tool     Tool
	at       place
	explicit bool   // the name was chosen by the builder
	key      string // what a derived name was made of, for its hash
}

func (c *compiler) withoutSnapshot() {
	if len(c.file.Tools) == 0 {
		return
	}
	c.errorf(c.file.Tools[0].at, "nothing is known of this project's tables and functions yet: import its schema first (chumbo import)")
}

func (c *compiler) tools() {
	for _, t := range c.file.Tools {
		c.publicRules(t)
		if t.Table != nil {
			c.table(t)
		} else {
			c.rpc(t)
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

// access fills in who may call, and refuses what the project cannot do.
func (c *compiler) access() {
	a := c.file.Access
	out := &c.out.Access
	for _, m := range a.Modes {
		out.Modes = append(out.Modes, Mode(m.Value))
	}
	out.AnonymousUsers = a.AnonymousUsers
	out.Origins = values(a.Origins)
	if a.has(ModeOAuth) {
		out.Authorization = a.Authorization.Value
		out.Advertise, out.Require, out.Roles = values(a.Advertise), values(a.Require), values(a.Roles)
		c.roleRules(a)
		if out.Bridged() {
			c.bridgeRules(a)
		} else {
			c.directRules(a)
		}
	}
	if a.has(ModePublic) && !c.facts.AllowPublic {
		c.errorf(modeAt(a, ModePublic), "mode public is served only by an instance that listens on loopback (such as the demo) in this version: write mode: oauth")
	}
	if !a.has(ModeOAuth) && len(a.Modes) > 0 {
		c.onlyOAuth(a)
	}
}

func (c *compiler) onlyOAuth(a AccessSpec) {
	for _, t := range slices.Concat(a.Advertise, a.Require) {
		c.errorf(t.at, "scopes belong to mode oauth: add oauth to mode, or leave them out")
	}
}

// directRules are what direct mode needs of the project.
func (c *compiler) directRules(a AccessSpec) {
	if c.facts.Signing == SigningHS256 {
		c.errorf(a.authorization, "this project signs its tokens with a shared secret (HS256), which nobody else can verify, so direct authorization is not possible. "+
			"In the Supabase dashboard open Project Settings, JWT Keys: choose \"Migrate JWT secret\", then \"Rotate keys\" so that an asymmetric key (ES256) signs; "+
			"then check the project again (chumbo link) and publish. Or write authorization: bridge, which works with HS256 keys")
	}
	if c.facts.OAuthOff {
		c.errorf(a.authorization, "this project's OAuth server is off, so nobody could sign in. In the Supabase dashboard open Authentication, OAuth Server: enable it and allow dynamic client registration "+
			"(self-hosted: GOTRUE_OAUTH_SERVER_ENABLED=true and GOTRUE_OAUTH_SERVER_ALLOW_DYNAMIC_REGISTRATION=true); then check the project again (chumbo link) and publish. Or write authorization: bridge, which needs no OAuth server")
	}
	for _, t := range a.Advertise {
		if t.Value == offlineAccess {
			c.errorf(t.at, offlineNever)
			continue
		}
		c.knownScope(t)
	}
	for _, t := range a.Require {
		c.knownScope(t)
	}
}

// roleRules warn about users who are more than signed in.
func (c *compiler) roleRules(a AccessSpec) {
	for _, t := range a.Roles {
		if t.Value != "authenticated" {
			c.warnf(t.at, "tokens with role %s are accepted: the Data API runs them as that database role, with its rights", t.Value)
		}
	}
}

// knownScope refuses a scope that the project's server cannot issue: asking
// for it would end every sign-in with an error.
func (c *compiler) knownScope(t Text) {
	if c.facts.knowsScope(t.Value) {
		return
	}
	c.errorf(t.at, "the project's OAuth server cannot issue the scope %s, so no token would ever have it%s. With authorization: bridge a surface has scopes of its own",
		quoteName(t.Value), c.suggest(t.Value, c.facts.ScopesSupported, "; it issues "))
}

// publicRules keep public: true and mode public together.
func (c *compiler) publicRules(t *ToolSpec) {
	a := c.file.Access
	switch {
	case t.Public && !a.has(ModePublic):
		c.errorf(t.public, "public: true needs public in access.mode")
	case !t.Public && a.has(ModePublic) && !a.has(ModeOAuth):
		c.errorf(t.at, "nobody could call this tool: mode public serves only what is marked public: true")
	}
	if !t.Public && !a.has(ModePublic) {
		return
	}
	for _, scope := range t.scopes() {
		if t.Public {
			c.errorf(scope.at, "a public tool cannot need scopes: callers without a token have none")
		}
	}
}

func (t *ToolSpec) scopes() []Text {
	if t.RPC != nil {
		return t.RPC.Scopes
	}
	var all []Text
	for _, o := range t.Table.By {
		all = append(all, o.Scopes...)
	}
	return all
}

// common fills in what every tool has.
func (c *compiler) common(t *ToolSpec, o *OperationSpec) Tool {
	if c.file.Access.has(ModeOAuth) {
		for _, scope := range o.Scopes {
			if c.out.Access.Bridged() {
				c.ownScope(scope)
			} else {
				c.knownScope(scope)
			}
		}
	}
	return Tool{
		Scopes: values(o.Scopes), Public: t.Public, Result: ResultForm(o.Result.Value), Template: o.Template.Value,
		Guidance: Guidance{Before: t.GuidanceText.Before.Value, After: t.GuidanceText.After.Value}, Budget: t.Budget,
	}
}

// roles are the database roles that will run a tool.
func (c *compiler) roles(t *ToolSpec) []string {
	var roles []string
	if c.file.Access.has(ModeOAuth) {
		roles = values(c.file.Access.Roles)
	}
	if t.Public && c.file.Access.has(ModePublic) {
		roles = append(roles, "anon")
	}
	return roles
}

func values(texts []Text) []string {
	var out []string
	for _, t := range texts {
		out = append(out, t.Value)
	}
	return out
}

func modeAt(a AccessSpec, mode Mode) place {
	for _, m := range a.Modes {
		if m.Value == string(mode) {
			return m.at
		}
	}
	return a.at
}
