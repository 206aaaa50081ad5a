package surfaces

import (
	"slices"
	"strings"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
)

func (w *world) plan(b builders, surface id.Surface, src string) Plan {
	w.t.Helper()
	plan, err := w.service.Plan(w.t.Context(), b.org, b.project, surface, []byte(src), known())
	if err != nil {
		w.t.Fatalf("plan: %v", err)
	}
	return plan
}

func TestAPlanSaysWhatPublishingWouldDo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.snapshot(w.alice)

	first := w.plan(w.alice, id.Surface{}, file("One"))
	if first.Live != nil || first.Class != ChangeFirst || first.Compiled == nil || len(first.Changes) != 0 || len(first.Lines) != 5 || first.Lines[0].Op != "+" || first.Same || first.Again != 0 {
		t.Errorf("of a surface to be: %+v", first)
	}
	one := w.publish(w.alice, file("One"))
	if one.Revision.Digest != first.Digest {
		t.Error("planned and published digests differ")
	}
	w.publish(w.alice, file("Two"))

	same := w.plan(w.alice, w.alice.surface, "# the same\n"+file("Two"))
	if !same.Same || same.Again != 0 || same.Class != ChangeSafe || len(same.Changes) != 0 || len(same.Lines) == 0 {
		t.Errorf("of what is live: %+v", same)
	}
	again := w.plan(w.alice, w.alice.surface, file("One"))
	if again.Same || again.Again != 1 || again.Class != ChangeBehaviour || again.Live == nil || again.Live.Number != 2 || again.Live.Author != "alice@example.test" || !again.Live.Live {
		t.Errorf("of an earlier one: %+v", again)
	}
	breaks := w.plan(w.alice, w.alice.surface, strings.Replace(file("Two"), "[id, name]", "[id]", 1))
	if breaks.Class != ChangeBreaks || breaks.Again != 0 || shownLines(breaks.Lines) != ` 2,2 title: Two
 3,3 access: { mode: oauth, authorization: direct }
 4,4 tools:
-5,0   - { table: customers, columns: [id, name] }
+0,5   - { table: customers, columns: [id] }
` {
		t.Errorf("of a break: %+v\n%s", breaks, shownLines(breaks.Lines))
	}
	refused := w.plan(w.alice, w.alice.surface, strings.Replace(file("Two"), "[id, name]", "[id, naem]", 1))
	if refused.Compiled != nil || refused.Class != "" || len(refused.Changes) != 0 || !HasErrors(refused.Problems) || len(refused.Lines) == 0 || refused.Live == nil {
		t.Errorf("of a refused file: %+v", refused)
	}
	if w.live(w.alice) != 2 {
		t.Error("planning changed what is live")
	}
}

func TestAPlanTellsFindingsAboutWhatTheFileUses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.snapshot(w.alice)
	ids := func(findings []Finding) []string {
		var list []string
		for _, f := range findings {
			list = append(list, f.ID)
		}
		return list
	}
	plan := w.plan(w.alice, w.alice.surface, openFile)
	if !slices.Equal(ids(plan.Blocking), []string{openFinding}) || !slices.Contains(ids(plan.Findings), openFinding) {
		t.Errorf("blocking %v of %v", ids(plan.Blocking), ids(plan.Findings))
	}
	plan = w.plan(w.alice, w.alice.surface, strings.Replace(file("One"), "[id, name]", "[id, name], order: [name]", 1))
	index := slices.IndexFunc(plan.Findings, func(f Finding) bool { return f.Kind == FindingMissingIndex && f.Object == "public.customers" })
	if len(plan.Blocking) != 0 || index < 0 || !strings.HasPrefix(plan.Findings[index].SQL, "create index") {
		t.Errorf("blocking %v of %v", ids(plan.Blocking), plan.Findings)
	}
	for _, f := range plan.Findings {
		if f.Object != "public.customers" {
			t.Errorf("not about what the file uses: %+v", f)
		}
	}
}

func TestAPlanOfTheDraft(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.snapshot(w.alice)
	for _, surface := range []id.Surface{w.alice.surface, {}} {
		_, err := w.service.Plan(t.Context(), w.alice.org, w.alice.project, surface, nil, known())
		wantCode(t, err, fault.Conflict, "no_draft")
	}
	if _, err := w.service.PutDraft(t.Context(), w.alice.actor(), w.alice.surface, []byte(file("Draft")), known()); err != nil {
		t.Fatal(err)
	}
	if plan := w.plan(w.alice, w.alice.surface, ""); plan.Compiled == nil || plan.Compiled.Title != "Draft" {
		t.Errorf("plan: %+v", plan)
	}
}

func TestAPlanWithoutASnapshotSaysToImport(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	plan := w.plan(w.alice, w.alice.surface, file("One"))
	if plan.Compiled != nil || !mentions(plan.Problems, 5, "chumbo import") || len(plan.Findings) != 0 {
		t.Errorf("plan: %+v", plan)
	}
	empty := w.plan(w.alice, w.alice.surface, "version: 1\ntitle: Empty\naccess: { mode: oauth, authorization: direct }\ntools: []\n")
	if HasErrors(empty.Problems) != (empty.Compiled == nil) || len(empty.Findings) != 0 {
		t.Errorf("plan of no tools: %+v", empty)
	}
}

func TestCompareGoesEitherWay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	w.snapshot(w.alice)
	w.publish(w.alice, file("One"))
	w.publish(w.alice, strings.Replace(file("One"), "[id, name]", "[id, name, status]", 1))
	there, err := w.service.Compare(ctx, w.alice.org, w.alice.surface, 1, 2)
	if err != nil || WorstChange(there.Changes) == ChangeBreaks || there.From.Number != 1 || there.To.Number != 2 || !there.To.Live || there.From.Author != "alice@example.test" || len(there.Lines) != 5 {
		t.Errorf("there: %+v, %v", there, err)
	}
	back, err := w.service.Compare(ctx, w.alice.org, w.alice.surface, 2, 1)
	if err != nil || WorstChange(back.Changes) != ChangeBreaks {
		t.Errorf("back: %+v, %v", back, err)
	}
	same, err := w.service.Compare(ctx, w.alice.org, w.alice.surface, 2, 2)
	if err != nil || len(same.Changes) != 0 || len(same.Lines) != 0 {
		t.Errorf("same: %+v, %v", same, err)
	}
	for _, pair := range [][2]int{{0, 1}, {1, 3}, {-1, 1}, {1, 1 << 40}} {
		_, err := w.service.Compare(ctx, w.alice.org, w.alice.surface, pair[0], pair[1])
		wantCode(t, err, fault.NotFound, "no_revision")
	}
}
