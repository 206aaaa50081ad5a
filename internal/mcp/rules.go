package mcp

import (
	"errors"
	"fmt"

	"github.com/chumbo-dev/chumbo/internal/policy"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// rules are what a revision says of every tool, compiled. Immutable, and the
// same for every caller.
type rules struct {
	visible    *policy.Rule // nil: none
	allow      *allowRule
	context    *surfaces.Function // nil: none
	authorizer *surfaces.Function
	scopes     *surfaces.Function // says the scopes of direct callers
}

// allowRule is a rule about a call, and what it tells whom it refuses.
type allowRule struct {
	rule   *policy.Rule
	reason string
}

// ruleCompiler compiles each expression of a revision once: the operations of
// a table share theirs.
type ruleCompiler map[policy.Kind]map[string]*policy.Rule

func (c ruleCompiler) visible(expression string) (*policy.Rule, error) {
	return c.compile(policy.Visible, expression)
}

func (c ruleCompiler) allow(a *surfaces.Allow) (*allowRule, error) {
	if a == nil {
		return nil, nil
	}
	if a.Rule == "" {
		return nil, errors.New("an allow without a rule")
	}
	rule, err := c.compile(policy.Allow, a.Rule)
	if err != nil {
		return nil, err
	}
	return &allowRule{rule: rule, reason: a.Reason}, nil
}

// compile returns nil for no expression.
func (c ruleCompiler) compile(kind policy.Kind, expression string) (*policy.Rule, error) {
	if expression == "" {
		return nil, nil
	}
	if rule := c[kind][expression]; rule != nil {
		return rule, nil
	}
	rule, err := policy.Compile(kind, expression)
	if err != nil {
		return nil, fmt.Errorf("compile %s rule: %w", kind, err)
	}
	if c[kind] == nil {
		c[kind] = map[string]*policy.Rule{}
	}
	c[kind][expression] = rule
	return rule, nil
}

// bytes estimates the memory that the rules hold.
func (c ruleCompiler) bytes() int {
	n := 0
	for _, list := range c {
		for _, rule := range list {
			n += rule.Bytes()
		}
	}
	return n
}

// rulesOf compiles what a revision says of every tool. With an error no tool
// may be served.
func (c ruleCompiler) rulesOf(compiled *surfaces.Compiled) (*rules, error) {
	r := &rules{context: compiled.Policy.Context, authorizer: compiled.Policy.Authorizer}
	if from := compiled.Access.ScopesFrom; from != nil {
		r.scopes = from.Function
	}
	var err error
	if r.visible, err = c.visible(compiled.Policy.Visible); err != nil {
		return nil, err
	}
	r.allow, err = c.allow(compiled.Policy.Allow)
	return r, err
}

// toolRules compiles what a tool says of itself, in place. With an error the
// tool may not be served.
func (c ruleCompiler) toolRules(t *tool, all *rules) error {
	spec := t.spec
	t.about = &policy.Tool{
		Name: spec.Name, Meta: spec.Meta, Permission: spec.Permission,
		ReadOnly: spec.Annotations.ReadOnly, Destructive: spec.Annotations.Destructive,
	}
	if err := t.about.Ready(); err != nil {
		return fmt.Errorf("read meta: %w", err)
	}
	var err error
	if t.visible, err = c.visible(spec.Visible); err != nil {
		return err
	}
	if t.allow, err = c.allow(spec.Allow); err != nil {
		return err
	}
	switch {
	case spec.AAL != "" && spec.AAL != surfaces.AAL2:
		return errors.New("a level of assurance that is not known")
	case spec.Permission != "" && all.authorizer == nil:
		return errors.New("a permission that nobody is asked for")
	case spec.Privileged && (t.allow == nil || spec.Public):
		return errors.New("a privileged tool without a rule of its own, or a public one")
	}
	return nil
}
