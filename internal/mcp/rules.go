package mcp

import (
	"errors"
	"fmt"

	"github.com/chumbo-dev/chumbo/internal/policy"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// rules are what a revision says of every capability, compiled. Immutable, and the
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

// rulesOf compiles what a revision says of every capability. With an error none
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

// gateRules compiles what a capability says of itself, in place. With an error
// it may not be served.
func (c ruleCompiler) gateRules(k *capability, all *rules) error {
	if err := k.about.Ready(); err != nil {
		return fmt.Errorf("read meta: %w", err)
	}
	var err error
	if k.visible, err = c.visible(k.gate.Visible); err != nil {
		return err
	}
	if k.allow, err = c.allow(k.gate.Allow); err != nil {
		return err
	}
	switch {
	case k.gate.AAL != "" && k.gate.AAL != surfaces.AAL2:
		return errors.New("a level of assurance that is not known")
	case k.gate.Permission != "" && all.authorizer == nil:
		return errors.New("a permission that nobody is asked for")
	}
	return nil
}

// toolRules is gateRules, and what holds for tools alone.
func (c ruleCompiler) toolRules(t *tool, all *rules) error {
	if err := c.gateRules(&t.capability, all); err != nil {
		return err
	}
	if t.spec.Privileged && (t.allow == nil || t.spec.Public) {
		return errors.New("a privileged tool without a rule of its own, or a public one")
	}
	return nil
}
