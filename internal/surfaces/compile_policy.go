package surfaces

import (
	"errors"
	"slices"
	"strings"

	"github.com/chumbo-dev/chumbo/internal/policy"
)

const emailNote = "users change their email themselves, and whoever takes over a mailbox has it: decide by app_metadata, or by what the database says (context)"

// MaxRules bounds the different rules of a file together, in bytes: each is
// compiled when the file is published and again wherever it is served.
const MaxRules = 64 << 10

// maxBroken is how many rules that do not compile are told.
const maxBroken = 10

// rule is an expression and where it stands.
type rule struct {
	kind policy.Kind
	text string
}

// ruled is what became of a rule.
type ruled struct {
	uses policy.Uses
	err  error
}

// ruleBook is what was compiled so far.
type ruleBook struct {
	by     map[rule]*ruled
	size   int // bytes
	broken int
}

// policy fills in the rules for every capability, and checks those of all
// tools, whatever else is wrong with them.
func (c *compiler) policy() {
	a := c.file.Access
	c.rule(policy.Visible, a.Visible)
	c.allowRule(a.Allow)
	c.aalNote(a.AAL)
	c.out.Policy.Visible, c.out.Policy.Allow = a.Visible.Value, a.Allow.compiled()
	for _, t := range slices.Concat(c.file.Tools, c.file.others()) {
		for _, o := range t.operations() {
			c.checkPolicy(t, o)
		}
	}
}

// operations are what a tool entry says of each tool it makes.
func (t *ToolSpec) operations() []*OperationSpec {
	switch {
	case t.RPC != nil:
		return []*OperationSpec{&t.RPC.OperationSpec}
	case t.Function != nil:
		return []*OperationSpec{&t.Function.OperationSpec}
	case t.Storage != nil:
		return t.Storage.By
	}
	return t.Table.By
}

// checkPolicy refuses rules of a tool that cannot be asked.
func (c *compiler) checkPolicy(t *ToolSpec, o *OperationSpec) {
	c.rule(policy.Visible, o.Visible)
	c.allowRule(o.Allow)
	if o.Permission.Value != "" && c.file.Authorizer == nil {
		c.errorf(o.Permission.at, "permission is asked of the authorizer, and the file names none: write authorizer: { rpc: … } beside access, or leave permission out")
	}
	c.aalNote(o.AAL)
	switch {
	case o.AAL.Value == "":
	case t.Public:
		c.errorf(o.AAL.at, "a public %s cannot need aal2: callers without a token have no session", t.word())
	case !c.file.Access.claimed() && len(c.file.Access.Modes) > 0:
		c.errorf(o.AAL.at, "nobody could %s: aal2 is asked of sessions, and the callers of %s have none", t.used(), strings.Join(values(c.file.Access.Modes), " and "))
	}
}

func (c *compiler) allowRule(s *AllowSpec) {
	if s != nil {
		c.rule(policy.Allow, s.Rule)
	}
}

// compiled is the rule as it is served; nil for none.
func (s *AllowSpec) compiled() *Allow {
	if s == nil {
		return nil
	}
	return &Allow{Rule: s.Rule.Value, Reason: s.Reason.Value}
}

// rule refuses what is no rule, and notes what deserves a second look.
func (c *compiler) rule(kind policy.Kind, t Text) {
	if t.Value == "" {
		return
	}
	done := c.compileRule(rule{kind, t.Value}, t.at)
	if done == nil {
		return
	}
	if done.err != nil {
		c.ruleError(t, done.err)
		return
	}
	if done.uses.Context && c.file.Context == nil {
		c.errorf(t.at, "the rule reads context, and the file does not say where it comes from: write context: { rpc: … } beside access")
	}
	if done.uses.Email {
		c.warnf(t.at, "the rule reads email: %s", emailNote)
	}
	if done.uses.Claims && !c.file.Access.claimed() && len(c.file.Access.Modes) > 0 {
		c.warnf(t.at, "the rule reads claims, which callers of %s do not have, so it refuses everybody", strings.Join(values(c.file.Access.Modes), " and "))
	}
}

// compileRule compiles each expression once: the same often stands at many
// tools. It returns nil where there are too many, which it has told.
func (c *compiler) compileRule(r rule, at place) *ruled {
	if done := c.rules.by[r]; done != nil {
		return done
	}
	if c.rules.size += len(r.text); c.rules.size > MaxRules {
		c.errorf(at, "the different rules of this file are over %d bytes together: move what is long into a function of the app (context or authorizer)", MaxRules)
		return nil
	}
	if c.rules.broken >= maxBroken {
		c.errorf(at, "this rule is not looked at: mend those before it first")
		return nil
	}
	done := &ruled{}
	compiled, err := policy.Compile(r.kind, r.text)
	if err != nil {
		done.err = err
		c.rules.broken++
	} else {
		done.uses = compiled.Uses()
	}
	if c.rules.by == nil {
		c.rules.by = map[rule]*ruled{}
	}
	c.rules.by[r] = done
	return done
}

// ruleError tells what is wrong with a rule at its place in the file: exactly,
// where the rule stands there on one line as it is, else at the rule's begin.
func (c *compiler) ruleError(t Text, err error) {
	at := t.at
	var e *policy.Error
	if !errors.As(err, &e) || e.Line == 0 {
		c.errorf(at, "%v", err)
		return
	}
	if begin, ok := c.verbatim(t); ok && e.Line == 1 {
		at.column = begin + max(e.Column, 1) - 1
		c.errorf(at, "%s", e.Message)
		return
	}
	c.errorf(at, "in line %d, column %d of the rule: %s", e.Line, e.Column, e.Message)
}

// verbatim is the column where a text begins that its line of the file holds
// as it is, behind a quote at most.
func (c *compiler) verbatim(t Text) (column int, ok bool) {
	lines := strings.SplitN(string(c.src), "\n", t.at.line+1)
	if t.at.line < 1 || t.at.line > len(lines) {
		return 0, false
	}
	line := []rune(lines[t.at.line-1])
	for column := t.at.column; column <= t.at.column+1 && column-1 < len(line); column++ {
		if strings.HasPrefix(string(line[column-1:]), t.Value) {
			return column, true
		}
	}
	return 0, false
}

// aalNote warns that who signs in by OAuth starts without a second factor.
func (c *compiler) aalNote(t Text) {
	a := c.file.Access
	if t.Value == "" || !a.has(ModeOAuth) || a.Authorization.Value == AuthorizationBridge && c.facts.HostedSignIn {
		return
	}
	c.warnf(t.at, "sessions that begin with OAuth are aal1, and no client asks for a second factor later, so people may never get in: write authorization: bridge and let people sign in on the hosted page, which asks for it (sign-in settings of the project)")
}
