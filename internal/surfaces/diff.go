package surfaces

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gowebpki/jcs"
)

// ChangeClass says what a change means for clients that are connected.
type ChangeClass string

// The classes, mildest first.
const (
	ChangeSafe      ChangeClass = "safe"      // what worked works the same
	ChangeBehaviour ChangeClass = "behaviour" // what worked still works, and does or says something else
	ChangeBreaks    ChangeClass = "breaks"    // something a client relies on is gone or refused
	ChangeFirst     ChangeClass = "first"     // of a revision: nothing was published before
)

var gravity = map[ChangeClass]int{ChangeSafe: 0, ChangeBehaviour: 1, ChangeBreaks: 2}

// Change is one difference between two revisions, in words.
type Change struct {
	Class      ChangeClass `json:"class"`
	Capability string      `json:"capability,omitempty"` // name of the tool, URI of the resource, prompt:NAME; empty for the surface itself
	Summary    string      `json:"summary"`              // one line: "customers_list: argument status is required now"
}

// newTool is the summary of a tool that was not there before.
const newTool = "new tool"

// NewTool reports whether a tool was not there before.
func (c Change) NewTool() bool { return c.Summary == c.Capability+": "+newTool }

// Diff lists what changed for clients, gravest first, then in the order of the
// surface file: the surface itself, tools that are gone, the others, then
// resources and prompts likewise. A nil before is a first publication and has
// no changes. It is empty only for two forms that serve the same.
func Diff(before, after *Compiled) []Change {
	if before == nil || after == nil {
		return nil
	}
	d := &differ{}
	d.access(before.Access, after.Access)
	d.policy(before.Policy, after.Policy)
	if before.Title != after.Title {
		d.add(ChangeBehaviour, "the title is %s now, it was %s", quoteName(after.Title), quoteName(before.Title))
	}
	if before.Instructions != after.Instructions {
		d.add(ChangeBehaviour, "the instructions for models changed")
	}
	d.tools(before.Tools, after.Tools)
	d.resources(before.Resources, after.Resources)
	d.prompts(before.Prompts, after.Prompts)
	if len(d.changes) == 0 && !sameJSON(formless(before), formless(after)) {
		d.add(ChangeBehaviour, "how the surface is served changed")
	}
	slices.SortStableFunc(d.changes, func(a, b Change) int { return cmp.Compare(gravity[b.Class], gravity[a.Class]) })
	return d.changes
}

// formless is a compiled form without the number of its format: what an older
// version wrote may serve the same.
func formless(c *Compiled) Compiled {
	f := *c
	if KnownFormat(f.Format) {
		f.Format = Format
	}
	return f
}

// WorstChange is the gravest class among changes: ChangeSafe for none.
func WorstChange(changes []Change) ChangeClass {
	worst := ChangeSafe
	for _, c := range changes {
		if gravity[c.Class] > gravity[worst] {
			worst = c.Class
		}
	}
	return worst
}

// differ collects changes.
type differ struct {
	changes []Change
	tool    string // being compared; empty for the surface itself
}

func (d *differ) add(class ChangeClass, format string, args ...any) {
	summary := fmt.Sprintf(format, args...)
	if d.tool != "" {
		summary = d.tool + ": " + summary
	}
	d.changes = append(d.changes, Change{Class: class, Capability: d.tool, Summary: summary})
}

// tools compares tools by name. One that is gone while another with its plan
// appeared was renamed.
func (d *differ) tools(before, after []Tool) {
	var gone, fresh []*Tool
	for i := range before {
		if toolNamed(after, before[i].Name) == nil {
			gone = append(gone, &before[i])
		}
	}
	for i := range after {
		if toolNamed(before, after[i].Name) == nil {
			fresh = append(fresh, &after[i])
		}
	}
	renamed := map[string]*Tool{} // by the new name: what it was
	for _, old := range gone {
		d.tool = old.Name
		if now := successor(old, fresh, renamed); now != nil {
			renamed[now.Name] = old
			d.add(ChangeBreaks, "is named %s now; calls by the old name are refused", now.Name)
			continue
		}
		d.add(ChangeBreaks, "the tool is gone; calls are refused")
	}
	for i := range after {
		now := &after[i]
		d.tool = now.Name
		old := toolNamed(before, now.Name)
		if old == nil {
			old = renamed[now.Name]
		}
		if old == nil {
			d.add(ChangeSafe, newTool)
			continue
		}
		d.compare(old, now)
	}
	d.tool = ""
	if len(d.changes) == 0 && !slices.EqualFunc(before, after, func(a, b Tool) bool { return a.Name == b.Name }) {
		d.add(ChangeSafe, "the tools are listed in another order")
	}
}

func toolNamed(tools []Tool, name string) *Tool {
	for i := range tools {
		if tools[i].Name == name {
			return &tools[i]
		}
	}
	return nil
}

// successor is the new tool with the plan of one that is gone.
func successor(old *Tool, fresh []*Tool, taken map[string]*Tool) *Tool {
	for _, now := range fresh {
		if taken[now.Name] == nil && sameJSON(planOf(old), planOf(now)) {
			return now
		}
	}
	return nil
}

// planOf is what a tool does, without the names of other tools.
func planOf(t *Tool) any {
	switch {
	case t.List != nil:
		list := *t.List
		list.DetailTool = ""
		return list
	case t.Get != nil:
		return *t.Get
	case t.Create != nil:
		return *t.Create
	case t.Update != nil:
		return *t.Update
	case t.Delete != nil:
		return *t.Delete
	case t.RPC != nil:
		return *t.RPC
	case t.Function != nil:
		return *t.Function
	case t.Files != nil:
		list := *t.Files
		list.ReadTool = ""
		return list
	case t.ReadFile != nil:
		return *t.ReadFile
	case t.Upload != nil:
		return *t.Upload
	}
	return nil
}

// compare compares two forms of one tool.
func (d *differ) compare(before, after *Tool) {
	told := len(d.changes)
	d.admission(before, after)
	d.toolPolicy(before, after)
	if before.Title != after.Title {
		d.add(ChangeBehaviour, "the title is %s now, it was %s", quoteName(after.Title), quoteName(before.Title))
	}
	if before.Description != after.Description {
		d.add(ChangeBehaviour, "the description changed")
	}
	d.annotations(before.Annotations, after.Annotations)
	d.asking(before, after)
	d.input(before, after)
	d.output(before, after)
	if before.Result == after.Result && before.Template != after.Template {
		d.add(ChangeBehaviour, "the template of its text changed")
	}
	if before.Guidance != after.Guidance {
		d.add(ChangeBehaviour, "the guidance around its result changed")
	}
	if before.Budget != after.Budget {
		d.add(ChangeBehaviour, "a result has at most %d bytes now, it was %d", after.Budget, before.Budget)
	}
	d.plan(before, after)
	if len(d.changes) > told || sameJSON(unnamed(before), unnamed(after)) {
		return
	}
	if canonical(unnamed(before)) == canonical(unnamed(after)) {
		d.add(ChangeSafe, "its arguments and results are listed in another order")
		return
	}
	d.add(ChangeBehaviour, "how it works changed")
}

// unnamed is a tool without its name: a renamed one is told once.
func unnamed(t *Tool) Tool {
	u := *t
	u.Name = ""
	return u
}

// admission compares who sees and may call a tool.
func (d *differ) admission(before, after *Tool) {
	if added := without(after.Scopes, before.Scopes); len(added) > 0 {
		d.add(ChangeBreaks, "needs the scope %s now; who does not have it no longer sees it", strings.Join(added, " "))
	}
	if gone := without(before.Scopes, after.Scopes); len(gone) > 0 {
		d.add(ChangeSafe, "no longer needs the scope %s", strings.Join(gone, " "))
	}
	switch {
	case before.Public && !after.Public:
		d.add(ChangeBreaks, "is no longer public: callers without a token are refused")
	case !before.Public && after.Public:
		d.add(ChangeSafe, "is public now: callers without a token may call it")
	}
}

func (d *differ) annotations(before, after Annotations) {
	for _, hint := range []struct {
		before, after bool
		gained, lost  string
	}{
		{before.ReadOnly, after.ReadOnly, "is read-only now", "is no longer read-only: clients may ask before each call"},
		{before.Destructive, after.Destructive, "is destructive now: clients may ask before each call", "is no longer destructive"},
		{before.Idempotent, after.Idempotent, "is idempotent now", "is no longer idempotent: clients may not repeat a call by themselves"},
		{before.OpenWorld, after.OpenWorld, "reaches beyond the app now (open world)", "no longer reaches beyond the app (open world)"},
	} {
		if hint.before != hint.after {
			d.add(ChangeBehaviour, "%s", map[bool]string{true: hint.gained, false: hint.lost}[hint.after])
		}
	}
}

// without is what of a list is not in the other.
func without(list, other []string) []string {
	var rest []string
	for _, s := range list {
		if !slices.Contains(other, s) {
			rest = append(rest, s)
		}
	}
	return rest
}

func sameJSON(a, b any) bool {
	x, errX := marshal(a)
	y, errY := marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// canonical is RFC 8785 JSON: the order of members does not count.
func canonical(v any) string {
	raw, err := marshal(v)
	if err != nil {
		return ""
	}
	c, err := jcs.Transform(raw)
	if err != nil {
		return string(raw)
	}
	return string(c)
}
