package surfaces

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/events"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
)

// open is a file over a table whose rows everybody sees, which is serious.
const (
	openFile    = "version: 1\ntitle: News\naccess: { mode: oauth, authorization: direct }\ntools:\n  - { table: announcements, columns: [id, body] }\n"
	openFinding = FindingTableWithoutRLS + ":public.announcements"
)

// snapshotWith puts an edited snapshot.
func (w *world) snapshotWith(b builders, edit func(*Snapshot)) StoredSnapshot {
	w.t.Helper()
	snap := loadSnapshot(w.t)
	edit(snap)
	stored, err := w.service.PutSnapshot(w.t.Context(), b.actor(), b.project, snap, SourcePostgres)
	if err != nil {
		w.t.Fatalf("put snapshot: %v", err)
	}
	return stored
}

// colleague is another member of the same organization.
func (w *world) colleague(b builders, email string) builders {
	w.t.Helper()
	b.builder = id.New[id.BuilderKind]()
	w.db.Exec(w.t, `insert into builders (id, email, created_at) values ($1, $2, now())`, b.builder.UUID(), email)
	w.db.Exec(w.t, `insert into members (organization_id, builder_id, role, created_at) values ($1, $2, 'developer', now())`, b.org.UUID(), b.builder.UUID())
	return b
}

// audited is the detail of the last row of the audit log for that act.
func (w *world) audited(action, outcome string) map[string]any {
	w.t.Helper()
	var raw []byte
	err := w.admin().QueryRow(w.t.Context(), "select detail from chumbo.audit_events where action = $1 and outcome = $2 order by at desc limit 1", action, outcome).Scan(&raw)
	if err != nil {
		w.t.Fatalf("no %s %s in the audit log: %v", action, outcome, err)
	}
	var detail map[string]any
	if err := json.Unmarshal(raw, &detail); err != nil {
		w.t.Fatal(err)
	}
	return detail
}

// try publishes and returns the refusal.
func (w *world) try(b builders, req PublishRequest) (Published, *fault.Error) {
	w.t.Helper()
	req.Facts = known()
	done, err := w.service.Publish(context.Background(), b.actor(), b.surface, req)
	if err == nil {
		return done, &fault.Error{}
	}
	var refused *fault.Error
	if !errors.As(err, &refused) {
		w.t.Fatalf("publish: %v", err)
	}
	return done, refused
}

func TestARevisionKnowsItsAuthorClassAndSummary(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.snapshot(w.alice)
	w.publish(w.alice, file("One"))
	anna := w.colleague(w.alice, "anna@example.test")
	done := w.publish(anna, strings.Replace(file("Two"), "[id, name]", "[id]", 1))
	if done.Revision.Author != "anna@example.test" || done.Revision.Class != ChangeBreaks || len(done.Changes) < 3 {
		t.Errorf("published: %+v", done)
	}
	system, err := w.service.Publish(t.Context(), events.Actor{Organization: w.alice.org}, w.alice.surface, PublishRequest{File: []byte(file("Three")), Facts: known()})
	if err != nil || system.Revision.CreatedBy != nil || system.Revision.Author != "" {
		t.Errorf("the instance itself: %+v, %v", system, err)
	}
	revisions, err := w.service.Revisions(t.Context(), w.alice.org, w.alice.surface)
	if err != nil || len(revisions) != 3 {
		t.Fatalf("revisions: %+v, %v", revisions, err)
	}
	two, one := revisions[1], revisions[2]
	if one.Class != ChangeFirst || one.Summary != "first publication: 2 tools" || one.Author != "alice@example.test" {
		t.Errorf("first: %+v", one)
	}
	if two.Class != ChangeBreaks || two.Author != "anna@example.test" || !strings.Contains(two.Summary, "name is gone from the result") || !strings.Contains(two.Summary, "; and ") {
		t.Errorf("second: %+v", two)
	}
	if detail := w.audited(actPublish, "ok"); detail["digest"] != system.Revision.Digest || detail["before"] != two.Digest {
		t.Errorf("audit detail: %v", detail)
	}
}

// TestAuthorsOfOtherOrganizationsHaveNoNames has a revision of Alice's name
// Bob, who is no member: his email stays his.
func TestAuthorsOfOtherOrganizationsHaveNoNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.snapshot(w.alice)
	w.publish(w.alice, file("One"))
	w.db.Exec(t, "update revisions set created_by = $1", w.bob.builder.UUID())
	revisions, err := w.service.Revisions(t.Context(), w.alice.org, w.alice.surface)
	if err != nil || len(revisions) != 1 || revisions[0].Author != "" || *revisions[0].CreatedBy != w.bob.builder {
		t.Errorf("revisions: %+v, %v", revisions, err)
	}
}

func TestASeriousFindingStopsPublishingUntilItIsOverridden(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.snapshot(w.alice)
	_, refused := w.try(w.alice, PublishRequest{File: []byte(openFile)})
	if refused.Kind != fault.Unprocessable || refused.Code != "override_needed" || len(refused.Issues) != 1 ||
		refused.Issues[0].Path != openFinding || !strings.Contains(refused.Issues[0].Message, "alter table public.announcements enable row level security;") {
		t.Fatalf("without an override: %+v", refused)
	}
	if w.live(w.alice) != 0 {
		t.Error("it was published")
	}
	done, refused := w.try(w.alice, PublishRequest{File: []byte(openFile), Overrides: []Override{{openFinding, "  News are public.  "}}})
	if refused.Code != "" || done.Revision.Number != 1 {
		t.Fatalf("with an override: %+v", refused)
	}
	revisions, err := w.service.Revisions(t.Context(), w.alice.org, w.alice.surface)
	want := RecordedOverride{Override{openFinding, "News are public."}, w.alice.builder.String()}
	if err != nil || !slices.Equal(revisions[0].Overrides, []RecordedOverride{want}) {
		t.Errorf("recorded: %+v, %v", revisions, err)
	}
	recorded, _ := json.Marshal(w.audited(actPublish, "ok")["overrides"])
	if got := string(recorded); !strings.Contains(got, openFinding) || !strings.Contains(got, "News are public.") || !strings.Contains(got, w.alice.builder.String()) {
		t.Errorf("audit detail: %s", got)
	}
	if _, refused := w.try(w.alice, PublishRequest{File: []byte(openFile)}); refused.Code != "override_needed" {
		t.Errorf("the same digest again: %+v", refused)
	}
}

func TestPublishingAnOldDigestAgainNeedsTheOverridesOfToday(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.snapshot(w.alice)
	w.publish(w.alice, file("One"))
	w.publish(w.alice, file("Two"))
	w.snapshotWith(w.alice, func(s *Snapshot) {
		for i := range s.Relations {
			if s.Relations[i].Name == "customers" {
				s.Relations[i].RLS = false
			}
		}
	})
	if _, refused := w.try(w.alice, PublishRequest{File: []byte(file("One"))}); refused.Code != "override_needed" {
		t.Errorf("without an override: %+v", refused)
	}
	finding := FindingTableWithoutRLS + ":public.customers"
	done, refused := w.try(w.alice, PublishRequest{File: []byte(file("One")), Overrides: []Override{{finding, "Soon mended."}}})
	if refused.Code != "" || !done.Again || done.Revision.Number != 1 {
		t.Errorf("with an override: %+v, %+v", done, refused)
	}
	if got, _ := json.Marshal(w.audited(actPublish, "ok")["overrides"]); !strings.Contains(string(got), "Soon mended.") {
		t.Errorf("audit detail: %s", got)
	}
	if _, err := w.service.Rollback(t.Context(), w.alice.actor(), w.alice.surface, RollbackRequest{Number: 2}); err != nil {
		t.Fatal(err)
	}
	if got, _ := json.Marshal(w.audited(actRollback, "ok")["findings"]); !strings.Contains(string(got), finding) {
		t.Errorf("what rolling back passed over is not recorded: %s", got)
	}
}

func TestOverridesThatSayNothingOrTooMuchAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.snapshot(w.alice)
	const secret = "sb_secret_2Pq9xkVnW3mTz8RbYc5"
	for name, c := range map[string]struct {
		overrides []Override
		code      string
	}{
		"no reason":            {[]Override{{openFinding, " \t"}}, "override_reason"},
		"a long reason":        {[]Override{{openFinding, strings.Repeat("é", MaxReason+1)}}, "override_reason"},
		"two lines":            {[]Override{{openFinding, "a\nb"}}, "override_reason"},
		"text that turns":      {[]Override{{openFinding, "a\u202eb"}}, "override_reason"},
		"a secret key":         {[]Override{{openFinding, "key " + secret}}, "override_reason"},
		"a JWT":                {[]Override{{openFinding, "eyJhbGciOiJIUzI1NiJ9.eyJyb2xlIjoic2VydmljZV9yb2xlIn0.x"}}, "override_reason"},
		"the same twice":       {[]Override{{openFinding, "a"}, {openFinding, "b"}}, "override_reason"},
		"another finding, too": {[]Override{{openFinding, "a"}, {FindingTableWithoutRLS + ":public.customers", "b"}}, "override_unknown"},
		"another finding only": {[]Override{{"nonsense", "b"}}, "override_needed"},
	} {
		_, refused := w.try(w.alice, PublishRequest{File: []byte(openFile), Overrides: c.overrides})
		if refused.Code != c.code || len(refused.Issues) == 0 {
			t.Errorf("%s: %+v", name, refused)
		}
		if strings.Contains(refused.Error(), secret) {
			t.Errorf("%s: the answer repeats the secret", name)
		}
	}
	if _, refused := w.try(w.alice, PublishRequest{File: []byte(file("One")), Overrides: []Override{{openFinding, "not used here"}}}); refused.Code != "override_unknown" {
		t.Errorf("an override of what is not used: %+v", refused)
	}
	if _, refused := w.try(w.alice, PublishRequest{File: []byte(openFile), Overrides: []Override{{openFinding, strings.Repeat("é", MaxReason)}}}); refused.Code != "" {
		t.Errorf("the longest reason: %+v", refused)
	}
	var kept int
	if err := w.admin().QueryRow(t.Context(), "select count(*) from chumbo.audit_events where detail::text like '%sb_secret%'").Scan(&kept); err != nil || kept != 0 {
		t.Errorf("%d rows of the audit log hold the secret, %v", kept, err)
	}
}

func TestPublishingExpectsWhatThePublisherSaw(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.snapshot(w.alice)
	nothing := ""
	one, refused := w.try(w.alice, PublishRequest{File: []byte(file("One")), Expect: &nothing})
	if refused.Code != "" {
		t.Fatalf("first: %+v", refused)
	}
	anna := w.colleague(w.alice, "anna@example.test")
	w.publish(anna, file("Two"))
	for name, expect := range map[string]string{"the one before": one.Revision.Digest, "nothing": "", "another": strings.Repeat("0", 64)} {
		_, refused := w.try(w.alice, PublishRequest{File: []byte(file("Three")), Expect: &expect})
		if refused.Kind != fault.Conflict || refused.Code != "live_moved" || !strings.Contains(refused.Message, "revision 2 is live") || !strings.Contains(refused.Message, "by anna@example.test") {
			t.Errorf("%s: %+v", name, refused)
		}
		if len(refused.Issues) == 0 || !strings.Contains(refused.Issues[0].Message, `revision 2, 2026-01-01 00:`) || !strings.Contains(refused.Issues[0].Message, `by anna@example.test: the title is "Two" now`) {
			t.Errorf("%s: issues are %+v", name, refused.Issues)
		}
	}
	if detail := w.audited(actPublish, "refused"); detail["code"] != "live_moved" {
		t.Errorf("audit detail: %v", detail)
	}
	if w.live(w.alice) != 2 {
		t.Errorf("live is %d", w.live(w.alice))
	}
	// Who rolled back is told, not who wrote what is live again.
	if _, err := w.service.Rollback(t.Context(), w.alice.actor(), w.alice.surface, RollbackRequest{Number: 1}); err != nil {
		t.Fatal(err)
	}
	two := w.digest(w.alice, 2)
	_, refused = w.try(anna, PublishRequest{File: []byte(file("Three")), Expect: &two})
	if refused.Code != "live_moved" || !strings.Contains(refused.Message, "revision 1 is live") || !strings.Contains(refused.Message, "by alice@example.test") || len(refused.Issues) != 0 {
		t.Errorf("after a rollback: %+v", refused)
	}
}

func (w *world) digest(b builders, number int) string {
	w.t.Helper()
	r, _, err := w.service.Revision(w.t.Context(), b.org, b.surface, number)
	if err != nil {
		w.t.Fatal(err)
	}
	return r.Digest
}

func TestOfTwoPublishersWhoSawTheSameOneWins(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.snapshot(w.alice)
	seen := w.publish(w.alice, file("One")).Revision.Digest
	anna := w.colleague(w.alice, "anna@example.test")
	var group sync.WaitGroup
	refusals := make(chan *fault.Error, 8)
	for i := range 8 {
		who := []builders{w.alice, anna}[i%2]
		group.Go(func() {
			_, refused := w.try(who, PublishRequest{File: []byte(file("By " + string(rune('A'+i)))), Expect: &seen})
			refusals <- refused
		})
	}
	group.Wait()
	close(refusals)
	won := 0
	for refused := range refusals {
		switch {
		case refused.Code == "":
			won++
		case refused.Code != "live_moved" || !strings.Contains(refused.Message, "revision 2 is live"):
			t.Errorf("refused: %+v", refused)
		}
	}
	if won != 1 || w.live(w.alice) != 2 {
		t.Errorf("%d won, live is %d", won, w.live(w.alice))
	}
}

func TestPublishingWhatIsLiveChangesNobodysName(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.snapshot(w.alice)
	w.publish(w.alice, file("One"))
	w.publish(w.colleague(w.alice, "anna@example.test"), file("One"))
	nothing := ""
	if _, refused := w.try(w.alice, PublishRequest{File: []byte(file("Two")), Expect: &nothing}); !strings.Contains(refused.Message, "by alice@example.test") {
		t.Errorf("refused: %+v", refused)
	}
}

// TestRevisionsOfOlderVersionsAreRead has a row as it was written before
// revisions had a story.
func TestRevisionsOfOlderVersionsAreRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.snapshot(w.alice)
	seen := w.publish(w.alice, file("One")).Revision.Digest
	w.db.Exec(t, `insert into revisions (organization_id, surface_id, number, digest, file, title, access, format, compiled, schema_digest, created_by, created_at)
		select organization_id, surface_id, 2, decode(repeat('ab', 32), 'hex'), file, title, access, format, compiled, schema_digest, null, created_at from revisions`)
	w.db.Exec(t, "update surfaces set live_revision = 2, live_at = null, live_by = null where live_revision = 1")
	revisions, err := w.service.Revisions(t.Context(), w.alice.org, w.alice.surface)
	if err != nil || len(revisions) != 2 || revisions[0].Class != ChangeFirst || revisions[0].Summary != "" || len(revisions[0].Overrides) != 0 {
		t.Errorf("revisions: %+v, %v", revisions, err)
	}
	if _, refused := w.try(w.alice, PublishRequest{File: []byte(file("Two")), Expect: &seen}); refused.Code != "live_moved" || !strings.Contains(refused.Message, "revision 2 is live, not what you saw") {
		t.Errorf("refused: %+v", refused)
	}
}

func TestDraftsAndSchemasAreInTheAuditLogByDigestOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	stored := w.snapshot(w.alice)
	if detail := w.audited(actSchema, "ok"); len(detail) != 3 || detail["before"] != "" || detail["digest"] != stored.Digest || detail["source"] != "postgres" {
		t.Errorf("schema: %v", detail)
	}
	draft, err := w.service.PutDraft(t.Context(), w.alice.actor(), w.alice.surface, []byte(file("A plan")), known())
	if err != nil {
		t.Fatal(err)
	}
	first := w.audited(actDraft, "ok")
	if len(first) != 3 || first["before"] != "" || first["digest"] != draft.Digest || len(first["file"].(string)) != 64 {
		t.Errorf("draft: %v", first)
	}
	if _, err := w.service.PutDraft(t.Context(), w.alice.actor(), w.alice.surface, []byte(file("Another plan")), known()); err != nil {
		t.Fatal(err)
	}
	if detail := w.audited(actDraft, "ok"); detail["before"] != first["file"] || detail["file"] == first["file"] {
		t.Errorf("the draft after it: %v", detail)
	}
	if _, err := w.service.PutDraft(t.Context(), w.alice.actor(), w.alice.surface, []byte("\xff"), known()); err == nil {
		t.Error("not text, and kept")
	}
	if detail := w.audited(actDraft, "refused"); detail["code"] != "not_text" {
		t.Errorf("refusal: %v", detail)
	}
	var by, address string
	if err := w.admin().QueryRow(t.Context(), "select draft_by::text, (select address from chumbo.audit_events where action = 'surface.draft' limit 1) from chumbo.surfaces where id = $1", w.alice.surface.UUID()).Scan(&by, &address); err != nil || by != w.alice.builder.UUID().String() || address != "192.0.2.7" {
		t.Errorf("draft by %s, from %s, %v", by, address, err)
	}
}
