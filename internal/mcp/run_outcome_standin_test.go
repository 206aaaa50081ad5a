package mcp

import (
	"strings"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/standin"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// TestAnAnswerThatIsLost: the change is made, and nobody says that it was not.
func TestAnAnswerThatIsLost(t *testing.T) {
	t.Parallel()
	w := newWriteWorld(t)
	tools := w.compiled(`
version: 1
title: Papers
access: { mode: oauth, authorization: direct }
tools:
  - table: papers
    operations: [create, update, delete]
    columns: [id, title]
    write: [title]
  - table: papers
    name: { update: papers_all, delete: papers_none }
    operations: [update, delete]
    columns: [id, title]
    filters: { id: [in] }
    write: [title]
    max_affected: 3
`)
	tools["volatile"] = &surfaces.Tool{Name: "mark", Budget: 4096, RPC: &surfaces.RPCPlan{Relation: surfaces.Relation{Name: "mark_volatile"}, Returns: surfaces.Returns{Kind: surfaces.ReturnsScalar}}}
	c := w.callAs(t, standin.AliceEmail)
	one, other := w.paper(acme, ""), w.paper(acme, "")
	for _, step := range []struct{ tool, arguments, path, then, want string }{
		{"create", `{"title":"made"}`, "/rest/v1/papers", `select count(*)::text from public.papers where title = 'made'`, "1"},
		{"update", `{"id":"` + one + `","patch":{"title":"changed"}}`, "/rest/v1/papers", `select count(*)::text from public.papers where title = 'changed'`, "1"},
		{"all", `{"id_in":["` + one + `","` + other + `"],"patch":{"title":"both"}}`, "/rest/v1/papers", `select count(*)::text from public.papers where title = 'both'`, "2"},
		{"delete", `{"id":"` + one + `"}`, "/rest/v1/papers", `select count(*)::text from public.papers`, "2"},
		{"none", `{"id_in":["` + other + `"]}`, "/rest/v1/papers", `select count(*)::text from public.papers`, "1"},
		{"volatile", `{}`, "/rest/v1/rpc/mark_volatile", `select count(*)::text from public.marks`, "1"},
	} {
		c.endpoint.Project.ID = id.New[id.ProjectKind]() // a lane of its own: failures in a row would close it
		got := w.lapse(t, w.runner, c, tools[step.tool], step.arguments, step.path)
		if got.kind() != kindOutcomeUnknown || strings.Contains(got.text, "Try again") || w.text(step.then) != step.want {
			t.Errorf("%s: %s rows, %s", step.tool, w.text(step.then), got.text)
		}
		w.FailNext(step.path, 502, "text/html", "<html>bad gateway</html>")
		if got := runTool(t, w.runner, c, tools[step.tool], step.arguments); got.kind() != kindOutcomeUnknown {
			t.Errorf("%s, a gateway's 502: %s", step.tool, got.text)
		}
	}
}
