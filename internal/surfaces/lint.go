package surfaces

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// What many clients cope with.
const (
	manyTools   = 40
	manyTokens  = 10_000
	heavyTool   = 2_500 // tokens of one tool
	bytesPerTok = 4     // a rough measure, enough for a warning
)

// checkSchemas compiles what will be sent: a schema that clients cannot read
// makes some of them drop every tool of a server.
func (c *compiler) checkSchemas(m made) {
	for what, raw := range map[string]json.RawMessage{"input": m.tool.Input, "output": m.tool.Output} {
		if len(raw) == 0 {
			continue
		}
		keywords := dialect
		if f := m.tool.Function; f != nil {
			keywords = edgeDialect
			if f.Authored && what == "input" {
				continue // checked before, and sent as it is
			}
		}
		err := CheckSchema(raw)
		if err == nil {
			err = checkDialect(raw, keywords)
		}
		if err != nil {
			c.errorf(m.at, "the %s schema of %s is not valid: %v", what, m.tool.Name, err)
		}
	}
}

// warnUnpromised tells of a column whose name clients may refuse in a schema.
func (r *report) warnUnpromised(at place, column string) {
	if !argumentName.MatchString(column) {
		r.warnf(at, "%s is returned, and no output schema tells of it: some clients refuse such a name (letters, digits, _ . - only)", quoteName(column))
	}
}

// NoLoader is a schema loader that loads nothing: the default one reads files,
// and a schema is tenant input.
type NoLoader struct{}

// Load implements jsonschema.URLLoader.
func (NoLoader) Load(string) (any, error) {
	return nil, errors.New("references to other documents are not allowed")
}

// CheckSchema compiles a JSON Schema under both draft-07 and 2020-12, without
// reaching for any other document.
func CheckSchema(raw json.RawMessage) error {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return err
	}
	for _, draft := range []*jsonschema.Draft{jsonschema.Draft7, jsonschema.Draft2020} {
		compiler := jsonschema.NewCompiler()
		compiler.UseLoader(NoLoader{})
		compiler.DefaultDraft(draft)
		if err := compiler.AddResource("tool:schema", doc); err != nil {
			return err
		}
		if _, err := compiler.Compile("tool:schema"); err != nil {
			return err
		}
	}
	return nil
}

// lint warns about what works, but not well.
func (c *compiler) lint() {
	access, tools := c.file.Access.at, c.out.Tools
	if len(tools)+len(c.out.Resources)+len(c.out.Prompts) == 0 {
		c.warnf(access, "this surface offers no tools")
	}
	if len(tools) > manyTools {
		c.warnf(c.made[manyTools].at, "%s: models choose badly among more than %d; split them over several surfaces", plural(len(tools), "tool"), manyTools)
	}
	c.lintTexts()
	c.lintClients()
	c.lintDirect()
	c.lintSiblings()
	c.lintBearer()
	c.lintScopes()
	c.lintAsking()
	c.lintAuthored()
	if c.file.Access.has(ModePublic) && !c.file.Access.only(ModePublic) && !c.anyPublic() {
		c.warnf(modeAt(c.file.Access, ModePublic), "mode public is on, but nothing is marked public: true, so a caller without a token sees nothing")
	}
}

// lintDirect warns where a file counts on scopes that bind nobody: in direct
// mode a client's token is the user's whole session at the project.
func (c *compiler) lintDirect() {
	a := c.file.Access
	if c.out.Access.Authorization != AuthorizationDirect {
		return
	}
	at, limited := place{}, false
	if len(a.Require) > 0 {
		at, limited = a.Require[0].at, true
	}
	for _, t := range slices.Concat(c.file.Tools, c.file.others()) {
		if scopes := t.scopes(); !limited && len(scopes) > 0 {
			at, limited = scopes[0].at, true
		}
	}
	if limited {
		c.warnf(at, "with authorization: direct a client's token is a full session of the user at the project, so that scopes hold it back here and nowhere else; authorization: bridge is recommended, where the session stays with Chumbo")
	}
}

// lintBearer warns of scopes that nobody is asked for: the app's own sessions
// have none, and are limited by none.
func (c *compiler) lintBearer() {
	a := c.file.Access
	if !a.has(ModeBearer) || a.has(ModeOAuth) || a.has(ModeAPIKey) {
		return
	}
	for _, t := range slices.Concat(c.file.Tools, c.file.others()) {
		if scopes := t.scopes(); len(scopes) > 0 {
			c.warnf(scopes[0].at, "scopes limit no caller here: sessions of the app (mode bearer) have none and need none; write an allow rule, or let Row Level Security decide")
			return
		}
	}
}

// lintScopes warns of an operation that writes and needs no scope, beside one of
// the same table that does: scopes by operation are soon incomplete.
func (c *compiler) lintScopes() {
	for _, t := range c.file.Tools {
		if t.Table == nil {
			continue
		}
		var scoped, open []string
		var at place
		for _, o := range t.Table.By {
			switch {
			case !changes(o.Operation):
			case len(o.Scopes) == 0:
				open = append(open, o.Operation)
			default:
				scoped, at = append(scoped, o.Operation), o.Scopes[0].at
			}
		}
		if len(scoped) > 0 && len(open) > 0 {
			c.warnf(at, "%s needs a scope, and %s of the same table does not: if that is not meant, give scopes for each operation that writes", sentenceList(scoped), sentenceList(open))
		}
	}
}

func (c *compiler) anyPublic() bool {
	return slices.ContainsFunc(c.out.Tools, func(t Tool) bool { return t.Public }) ||
		slices.ContainsFunc(c.out.Resources, func(r Resource) bool { return r.Public }) ||
		slices.ContainsFunc(c.out.Prompts, func(p Prompt) bool { return p.Public })
}

func (c *compiler) lintTexts() {
	descriptions, titles := map[string]place{}, map[string]place{}
	tokens := 0
	for _, m := range c.made {
		t := m.tool
		weight := Weight(&t)
		if tokens += weight; weight > heavyTool {
			c.warnf(m.at, "%s takes about %d tokens of every conversation by itself; fewer columns, filters or embeds make it lighter", t.Name, weight)
		}
		if first, twice := descriptions[t.Description]; twice {
			c.warnf(m.at, "%s has the same description as the tool on line %d, so a model cannot tell them apart", t.Name, first.line)
		} else {
			descriptions[t.Description] = m.at
		}
		if first, twice := titles[t.Title]; twice {
			c.warnf(m.at, "%s has the same title as the tool on line %d", t.Name, first.line)
		} else {
			titles[t.Title] = m.at
		}
	}
	if tokens > manyTokens {
		c.warnf(c.file.Access.at, "the list of tools takes about %d tokens of every conversation; fewer tools, columns or filters make it lighter", tokens)
	}
}

func plural(n int, noun string) string {
	if n == 1 {
		return fmt.Sprintf("1 %s", noun)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
