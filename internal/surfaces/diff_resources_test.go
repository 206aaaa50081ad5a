package surfaces

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

const diffRead = `version: 1
title: Reading
access: { mode: oauth, authorization: bridge }
resources:
  - { uri: acme://guide, text: Be kind. }
  - uri: acme://customers/{id}
    table: customers
    columns: [id, name]
    complete: { id: [1, 2] }
  - uri: acme://all
    table: customers
    columns: [id, name]
    limit: 50
  - { uri: acme://readme, storage: documents, path: readme.md }
  - { uri: "acme://report/{month}", function: build-report }
prompts:
  - prompt: review
    arguments: [{ name: week, required: true }, { name: tone, enum: [kind, plain] }]
    messages: [{ role: user, text: "Review {{week}}." }]
  - { prompt: interview, function: interview }
`

func TestDiffClassesWhatResourcesAndPromptsChangeForClients(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		edits, want, back []string
	}{
		"a resource goes": {
			[]string{"  - { uri: acme://guide, text: Be kind. }\n", ""},
			[]string{"breaks acme://guide: the resource is gone; it is not found any more"}, []string{"safe acme://guide: new resource"},
		},
		"another address": {
			[]string{"acme://guide", "acme://rules"},
			[]string{"breaks acme://guide: the resource is gone; it is not found any more", "safe acme://rules: new resource"}, nil,
		},
		"a text":       {[]string{"Be kind.", "Be plain."}, []string{"behaviour acme://guide: what it holds changed"}, nil},
		"a media type": {[]string{"text: Be kind.", "text: Be kind., mime_type: text/markdown"}, []string{"behaviour acme://guide: is text/markdown now, it was text/plain"}, nil},
		"a name":       {[]string{"text: Be kind.", "name: rules, title: Guide, text: Be kind."}, []string{"behaviour acme://guide: is named rules now, it was guide"}, nil},
		"a description": {
			[]string{"text: Be kind.", "description: Read it., text: Be kind."}, []string{"behaviour acme://guide: the description changed"}, nil,
		},
		"a scope": {
			[]string{"text: Be kind.", "scopes: [crm.read], text: Be kind."},
			[]string{"breaks acme://guide: needs the scope crm.read now; who does not have it no longer sees it"}, []string{"safe acme://guide: no longer needs the scope crm.read"},
		},
		"a rule": {
			[]string{"text: Be kind.", "visible: \"false\", text: Be kind."},
			[]string{"breaks acme://guide: it is shown only where a rule holds (visible)"}, nil,
		},
		"a column": {
			[]string{"[id, name]\n    complete", "[id]\n    complete"},
			[]string{"behaviour acme://customers/{id}: column name is not read any more"}, []string{"behaviour acme://customers/{id}: column name is read now"},
		},
		"suggestions": {
			[]string{"    complete: { id: [1, 2] }\n", ""},
			[]string{"safe acme://customers/{id}: nothing is suggested for the variable id any more"}, []string{"safe acme://customers/{id}: values for the variable id are suggested now"},
		},
		"other suggestions": {[]string{"[1, 2]", "{ column: id }"}, []string{"safe acme://customers/{id}: other values are suggested for the variable id"}, nil},
		"fewer rows":        {[]string{"limit: 50", "limit: 20"}, []string{"breaks acme://all: a page has at most 20 rows now, it was 50; calls that ask for more are refused"}, nil},
		"an order":          {[]string{"limit: 50", "order: -name\n    limit: 50"}, []string{"behaviour acme://all: rows come by -name unless the call says otherwise, it was id"}, nil},
		"another file":      {[]string{"readme.md", "read.me"}, []string{"behaviour acme://readme: is the file read.me now, it was readme.md"}, nil},
		"a file for a text": {
			[]string{"storage: documents, path: readme.md", "text: Read me."},
			[]string{"behaviour acme://readme: is a text now, it was a file"}, []string{"behaviour acme://readme: is a file now, it was a text"},
		},
		"resources in another order": {
			[]string{"  - { uri: acme://guide, text: Be kind. }\n", "", "prompts:", "  - { uri: acme://guide, text: Be kind. }\nprompts:"},
			[]string{"safe the resources are listed in another order"}, nil,
		},
		"a prompt goes": {
			[]string{"  - { prompt: interview, function: interview }\n", ""},
			[]string{"breaks prompt:interview: the prompt is gone"}, []string{"safe prompt:interview: new prompt"},
		},
		"a message": {[]string{"Review {{week}}.", "Look at {{week}}."}, []string{"behaviour prompt:review: its messages changed"}, nil},
		"an argument goes": {
			[]string{", { name: tone, enum: [kind, plain] }", ""},
			[]string{"breaks prompt:review: the argument tone is gone"}, []string{"safe prompt:review: new argument tone"},
		},
		"an argument comes": {
			[]string{"arguments: [", "arguments: [{ name: year, required: true }, "},
			[]string{"breaks prompt:review: new argument year, which is required"}, nil,
		},
		"an argument may be left out": {
			[]string{"{ name: week, required: true }", "{ name: week }"},
			[]string{"safe prompt:review: the argument week may be left out now"}, []string{"breaks prompt:review: the argument week is required now"},
		},
		"an argument takes less": {[]string{"[kind, plain]", "[kind]"}, []string{"breaks prompt:review: the argument tone takes other values now", "safe prompt:review: other values are suggested for the argument tone"}, nil},
		"an argument is described": {
			[]string{"name: week, ", "name: week, title: The week, "}, []string{"behaviour prompt:review: the argument week is described in other words"}, nil,
		},
		"arguments in another order": {
			[]string{"{ name: week, required: true }, { name: tone, enum: [kind, plain] }", "{ name: tone, enum: [kind, plain] }, { name: week, required: true }"},
			[]string{"safe prompt:review: its arguments are listed in another order"}, nil,
		},
		"messages for a function": {
			[]string{"function: interview", "messages: [{ role: user, text: Ask me. }]"},
			[]string{"behaviour prompt:interview: its messages no longer come from the function interview"}, []string{"behaviour prompt:interview: its messages come from the function interview now"},
		},
		"prompts in another order": {
			[]string{"  - { prompt: interview, function: interview }\n", "", "  - prompt: review", "  - { prompt: interview, function: interview }\n  - prompt: review"},
			[]string{"safe the prompts are listed in another order"}, nil,
		},
	} {
		edited := strings.NewReplacer(c.edits...).Replace(diffRead)
		if edited == diffRead {
			t.Fatalf("%s: nothing is edited", name)
		}
		before, after := mustBuild(t, diffRead, loadSnapshot(t)), mustBuild(t, edited, loadSnapshot(t))
		there, back := lines(Diff(before, after)), lines(Diff(after, before))
		for _, want := range c.want {
			if !slices.Contains(there, want) {
				t.Errorf("%s: %q, want %q", name, there, want)
			}
		}
		for _, want := range c.back {
			if !slices.Contains(back, want) {
				t.Errorf("%s, back: %q, want %q", name, back, want)
			}
		}
	}
	if got := summarize(true, mustBuild(t, diffRead, loadSnapshot(t)), nil); got != "first publication: 0 tools, 5 resources and 2 prompts" {
		t.Errorf("summary %q", got)
	}
}

// TestDiffSeesEveryFieldOfResourcesAndPrompts, as it does of tools.
func TestDiffSeesEveryFieldOfResourcesAndPrompts(t *testing.T) {
	t.Parallel()
	src, err := os.ReadFile("testdata/compile/resources.yaml")
	if err != nil {
		t.Fatal(err)
	}
	whole, seen := mustBuild(t, string(src), loadSnapshot(t)), map[string]int{}
	one := func(name string, c Compiled) {
		c.Format, c.Title, c.Access, c.Tools = Format, "T", Access{Modes: whole.Access.Modes}, []Tool{}
		seesEveryField(t, name, &c, seen)
	}
	for i := range whole.Resources {
		one(fmt.Sprintf("resource %d ", i), Compiled{Resources: whole.Resources[i : i+1]})
	}
	for i := range whole.Prompts {
		one(fmt.Sprintf("prompt %d ", i), Compiled{Prompts: whole.Prompts[i : i+1]})
	}
}

// TestWhatIsReadDrifts: a resource's table, and the column that suggestions come
// from.
func TestWhatIsReadDrifts(t *testing.T) {
	t.Parallel()
	for entry, want := range map[string][]string{
		"uri: \"acme://a/{id}\", table: customers, columns: [name]":                                                 {"customers.name: may be null now"},
		"uri: acme://a, table: customers, columns: [id], order: { column: name, hidden_ok: true }":                  {"customers.name: may be null now"},
		"uri: \"acme://a/{id}\", table: customers, columns: [id], complete: { id: { column: name } }":               {"customers.name: may be null now"},
		"uri: \"acme://a/{id}\", table: customers, columns: [id], complete: { id: { table: teams, column: name } }": nil,
		"uri: \"acme://a/{x}\", function: f, complete: { x: { table: customers, column: name } }":                   {"customers.name: may be null now"},
		"uri: acme://a, storage: documents, path: a":                                                                {"bucket documents: is public now"},
	} {
		before, after := loadSnapshot(t), loadSnapshot(t)
		relationOf(t, after, "customers").column("name").NotNull = false
		bucketNamed(after, "documents").Public = true
		if got := moves(before, after, mustBuild(t, string(readFile("resources", entry)), before)); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", entry, got, want)
		}
	}
	before, after := loadSnapshot(t), loadSnapshot(t)
	relationOf(t, after, "customers").column("name").Select = nil
	c := mustBuild(t, string(readFile("prompts", "prompt: p, arguments: [{ name: a, complete: { table: customers, column: name } }], messages: [{ role: user, text: a }]")), before)
	if got := moves(before, after, c); !slices.Equal(got, []string{"customers.name: authenticated may not read it any more"}) {
		t.Errorf("a prompt: %q", got)
	}
	uses := usesOf([]*Compiled{c, mustBuild(t, string(readFile("resources", "uri: acme://a, storage: documents, path: a")), before)})
	if !uses["public.customers"].any || len(uses) != 1 {
		t.Errorf("uses %v", uses)
	}
	list := mustBuild(t, string(readFile("resources", "uri: \"acme://a/{status}\", table: customers, columns: [id, status], filters: [status]")), before)
	if findings := Posture(before, []*Compiled{list}); !slices.ContainsFunc(findings, func(f Finding) bool {
		return f.Kind == FindingMissingIndex && strings.Contains(f.Summary, "serves the filter \"status\" of acme://a/{status}")
	}) {
		t.Errorf("findings %v", findings)
	}
}
