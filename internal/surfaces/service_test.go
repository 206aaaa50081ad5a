package surfaces

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/db/dbtest"
	"github.com/chumbo-dev/chumbo/internal/events"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
)

// builders is one organization with a project and a surface.
type builders struct {
	org     id.Organization
	builder id.Builder
	project id.Project
	surface id.Surface
}

// actor is the builder at a browser.
func (b builders) actor() events.Actor {
	return events.Actor{Organization: b.org, Builder: b.builder, Address: "192.0.2.7"}
}

// world is a database with two organizations.
type world struct {
	t          *testing.T
	db         *dbtest.Database
	service    *Service
	alice, bob builders
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, db: dbtest.NewDatabase(t)}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var mu sync.Mutex
	clock := func() time.Time { // every look is a second later
		mu.Lock()
		defer mu.Unlock()
		start = start.Add(time.Second)
		return start
	}
	service, err := NewService(w.db.Store, clock)
	if err != nil {
		t.Fatal(err)
	}
	w.service = service
	w.alice, w.bob = w.organization("alice"), w.organization("bob")
	return w
}

func (w *world) organization(name string) builders {
	w.t.Helper()
	b := builders{org: id.New[id.OrganizationKind](), builder: id.New[id.BuilderKind](), project: id.New[id.ProjectKind]()}
	w.db.Exec(w.t, `insert into organizations (id, slug, name, created_at) values ($1, $2, $2, now())`, b.org.UUID(), name)
	w.db.Exec(w.t, `insert into builders (id, email, created_at) values ($1, $2, now())`, b.builder.UUID(), name+"@example.test")
	w.db.Exec(w.t, `insert into members (organization_id, builder_id, role, created_at) values ($1, $2, 'owner', now())`, b.org.UUID(), b.builder.UUID())
	w.db.Exec(w.t, `insert into projects (organization_id, id, slug, name, typed_url, api_origin, issuer, jwks_uri, publishable_key, signing,
		oauth_enabled, scopes_supported, created_at, updated_at)
		values ($1, $2, $3, $3, '', '', '', '', '', 'asymmetric', true, '{}', now(), now())`, b.org.UUID(), b.project.UUID(), name+"-crm")
	b.surface = w.surface(b, "main")
	return b
}

func (w *world) surface(b builders, slug string) id.Surface {
	w.t.Helper()
	surface := id.New[id.SurfaceKind]()
	w.db.Exec(w.t, `insert into surfaces (organization_id, id, project_id, slug, state, created_at, updated_at)
		values ($1, $2, $3, $4, 'live', now(), now())`, b.org.UUID(), surface.UUID(), b.project.UUID(), slug)
	return surface
}

func (w *world) url(b builders, surface id.Surface, host, path string, primary bool) {
	w.t.Helper()
	w.db.Exec(w.t, `insert into surface_urls (organization_id, id, surface_id, host, path, is_primary, is_root, created_at)
		values ($1, $2, $3, $4, $5, $6, false, now())`, b.org.UUID(), id.New[id.SurfaceURLKind]().UUID(), surface.UUID(), host, path, primary)
}

func (w *world) snapshot(b builders) StoredSnapshot {
	w.t.Helper()
	stored, err := w.service.PutSnapshot(w.t.Context(), b.actor(), b.project, loadSnapshot(w.t), SourcePostgres)
	if err != nil {
		w.t.Fatalf("put snapshot: %v", err)
	}
	return stored
}

func (w *world) publish(b builders, src string) Published {
	w.t.Helper()
	done, err := w.service.Publish(w.t.Context(), b.actor(), b.surface, PublishRequest{File: []byte(src), Facts: known()})
	if err != nil {
		w.t.Fatalf("publish: %v", err)
	}
	return done
}

// live is the surface's live revision, 0 when it has none.
func (w *world) live(b builders) int {
	w.t.Helper()
	revisions, err := w.service.Revisions(w.t.Context(), b.org, b.surface)
	if err != nil {
		w.t.Fatalf("revisions: %v", err)
	}
	live := 0
	for _, r := range revisions {
		if r.Live {
			if live > 0 {
				w.t.Error("two revisions are live")
			}
			live = r.Number
		}
	}
	return live
}

// admin connects past every rule of ours.
func (w *world) admin() *pgx.Conn {
	w.t.Helper()
	conn, err := pgx.Connect(w.t.Context(), w.db.AdminDSN)
	if err != nil {
		w.t.Fatalf("connect as admin: %v", err)
	}
	w.t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func file(title string) string {
	return "version: 1\ntitle: " + title + "\naccess: { mode: oauth, authorization: direct }\ntools:\n  - { table: customers, columns: [id, name] }\n"
}

func wantKind(t *testing.T, err error, kind fault.Kind) {
	t.Helper()
	if !fault.Is(err, kind) {
		t.Errorf("error is %v, want %s", err, kind)
	}
}

func TestPublishNumbersRevisionsAndKnowsADigestAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	stored := w.snapshot(w.alice)
	first := w.publish(w.alice, file("One"))
	if first.Revision.Number != 1 || first.Again || !first.Revision.Live || first.Revision.SchemaDigest != stored.Digest {
		t.Errorf("first: %+v", first)
	}
	if second := w.publish(w.alice, file("Two")); second.Revision.Number != 2 || w.live(w.alice) != 2 {
		t.Errorf("second: %+v", second)
	}
	again := w.publish(w.alice, "# the same\n"+file("One"))
	if again.Revision.Number != 1 || !again.Again || w.live(w.alice) != 1 {
		t.Errorf("again: %+v, live %d", again, w.live(w.alice))
	}
	if third := w.publish(w.alice, file("Three")); third.Revision.Number != 3 {
		t.Errorf("third: %+v", third)
	}
	revision, src, err := w.service.Revision(t.Context(), w.alice.org, w.alice.surface, 2)
	if err != nil || string(src) != file("Two") || revision.Title != "Two" || revision.Live || *revision.CreatedBy != w.alice.builder {
		t.Errorf("revision 2: %+v, %q, %v", revision, src, err)
	}
}

func TestRollbackMakesAnEarlierRevisionLive(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.snapshot(w.alice)
	w.publish(w.alice, file("One"))
	w.publish(w.alice, file("Two"))
	back, err := w.service.Rollback(t.Context(), w.alice.actor(), w.alice.surface, RollbackRequest{Number: 1})
	if err != nil || back.Number != 1 || !back.Live || w.live(w.alice) != 1 {
		t.Errorf("rollback: %+v, %v", back, err)
	}
	for _, number := range []int{-1, 3, 1 << 40} {
		_, err := w.service.Rollback(t.Context(), w.alice.actor(), w.alice.surface, RollbackRequest{Number: number})
		wantKind(t, err, fault.NotFound)
	}
	if w.live(w.alice) != 1 {
		t.Error("a refused rollback changed what is live")
	}
}

func TestARefusedFileIsUnprocessableByLineAndWritesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.snapshot(w.alice)
	w.publish(w.alice, file("One"))
	_, err := w.service.Publish(t.Context(), w.alice.actor(), w.alice.surface, PublishRequest{File: []byte(strings.Replace(file("Bad"), "[id, name]", "[id, naem, idd]", 1)), Facts: known()})
	wantKind(t, err, fault.Unprocessable)
	issues := fault.From(err).Issues
	if len(issues) != 2 || issues[0].Line != 5 || issues[0].Column != 39 || !strings.Contains(issues[0].Message, `did you mean "name"?`) {
		t.Errorf("issues: %+v", issues)
	}
	revisions, err := w.service.Revisions(t.Context(), w.alice.org, w.alice.surface)
	if err != nil || len(revisions) != 1 || w.live(w.alice) != 1 {
		t.Errorf("revisions: %+v, %v", revisions, err)
	}
}

func TestDraftsAreKeptWithTheirProblemsAndPublishedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	_, err := w.service.Publish(ctx, w.alice.actor(), w.alice.surface, PublishRequest{File: nil, Facts: known()})
	wantKind(t, err, fault.Conflict)
	_, _, err = w.service.File(ctx, w.alice.org, w.alice.surface)
	wantKind(t, err, fault.NotFound)

	draft, err := w.service.PutDraft(ctx, w.alice.actor(), w.alice.surface, []byte(file("Draft")), known())
	if err != nil || draft.Compiled != nil || !mentions(draft.Problems, 5, "chumbo import") {
		t.Errorf("without a snapshot: %+v, %v", draft, err)
	}
	w.snapshot(w.alice)
	draft, err = w.service.PutDraft(ctx, w.alice.actor(), w.alice.surface, []byte(file("Draft")), known())
	if err != nil || draft.Compiled == nil || draft.Digest == "" {
		t.Errorf("with a snapshot: %+v, %v", draft, err)
	}
	if src, isDraft, err := w.service.File(ctx, w.alice.org, w.alice.surface); err != nil || !isDraft || string(src) != file("Draft") {
		t.Errorf("file: %q, draft %t, %v", src, isDraft, err)
	}
	if done := w.publish(w.alice, ""); done.Revision.Digest != draft.Digest {
		t.Errorf("published %s, the draft was %s", done.Revision.Digest, draft.Digest)
	}
	if _, isDraft, err := w.service.File(ctx, w.alice.org, w.alice.surface); err != nil || isDraft {
		t.Errorf("still a draft after publishing: %t, %v", isDraft, err)
	}
	_, err = w.service.PutDraft(ctx, w.alice.actor(), w.alice.surface, []byte(strings.Repeat("#", MaxFileBytes+1)), known())
	wantKind(t, err, fault.TooLarge)
	for _, src := range []string{"\xff", "title: \x00"} {
		_, err = w.service.PutDraft(ctx, w.alice.actor(), w.alice.surface, []byte(src), known())
		wantKind(t, err, fault.Invalid)
	}
}

func TestCheckKeepsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.snapshot(w.alice)
	built, err := w.service.Check(t.Context(), w.alice.org, w.alice.project, id.Surface{}, []byte(file("Try")), known())
	if err != nil || built.Compiled == nil {
		t.Errorf("check: %v, %v", built.Problems, err)
	}
	_, _, err = w.service.File(t.Context(), w.alice.org, w.alice.surface)
	wantKind(t, err, fault.NotFound)
}

func TestASnapshotThatWasThereBeforeIsTheLatestAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.snapshot(w.alice)
	other := loadSnapshot(t)
	other.MaxRows = 77
	if _, err := w.service.PutSnapshot(t.Context(), w.alice.actor(), w.alice.project, other, SourceFile); err != nil {
		t.Fatal(err)
	}
	if latest, err := w.service.LatestSnapshot(t.Context(), w.alice.org, w.alice.project); err != nil || latest.Snapshot.MaxRows != 77 {
		t.Errorf("latest: %+v, %v", latest, err)
	}
	w.snapshot(w.alice)
	latest, err := w.service.LatestSnapshot(t.Context(), w.alice.org, w.alice.project)
	if err != nil || latest.Digest != first.Digest || latest.Source != SourcePostgres {
		t.Errorf("latest: %+v, %v", latest, err)
	}
	if digest, _ := latest.Snapshot.Digest(); digest != first.Digest {
		t.Error("the database changed the snapshot")
	}
	_, err = w.service.PutSnapshot(t.Context(), w.alice.actor(), w.alice.project, &Snapshot{}, SourceFile)
	wantKind(t, err, fault.Invalid)
}

func TestConcurrentPublicationsNeverShareANumber(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.snapshot(w.alice)
	const n = 12
	var group sync.WaitGroup
	numbers := make([]int, n)
	for i := range n {
		group.Go(func() {
			done, err := w.service.Publish(context.Background(), w.alice.actor(), w.alice.surface, PublishRequest{File: []byte(file(fmt.Sprintf("T%d", i))), Facts: known()})
			if err != nil {
				t.Errorf("publish %d: %v", i, err)
			}
			numbers[i] = done.Revision.Number
		})
	}
	group.Wait()
	slices.Sort(numbers)
	for i, number := range numbers {
		if number != i+1 {
			t.Fatalf("numbers are %v", numbers)
		}
	}
	if live := w.live(w.alice); live < 1 || live > n {
		t.Errorf("live is %d", live)
	}
}

func TestConcurrentPublicationsOfOneFileAreOneRevision(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.snapshot(w.alice)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			done, err := w.service.Publish(context.Background(), w.alice.actor(), w.alice.surface, PublishRequest{File: []byte(file("Same")), Facts: known()})
			if err != nil || done.Revision.Number != 1 {
				t.Errorf("publish: %+v, %v", done, err)
			}
		})
	}
	group.Wait()
}

func TestTheFirstSurfacePublishedOnAHostIsItsRoot(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.snapshot(w.alice)
	second := w.alice
	second.surface = w.surface(w.alice, "second")
	w.url(w.alice, w.alice.surface, "alice-crm.*", "/mcp", true)
	w.url(w.alice, w.alice.surface, "", "/alice-crm/mcp", false)
	w.url(w.alice, second.surface, "alice-crm.*", "/second/mcp", true)
	roots := func() []string {
		var paths []string
		conn := w.admin()
		found, err := conn.Query(t.Context(), "select host || path from chumbo.surface_urls where is_root")
		if err != nil {
			t.Fatal(err)
		}
		defer found.Close()
		for found.Next() {
			var path string
			if err := found.Scan(&path); err != nil {
				t.Fatal(err)
			}
			paths = append(paths, path)
		}
		return paths
	}
	if got := roots(); len(got) != 0 {
		t.Errorf("before publishing: %v", got)
	}
	w.publish(second, file("Second"))
	w.publish(w.alice, file("Main"))
	if got := roots(); !slices.Equal(got, []string{"alice-crm.*/second/mcp"}) {
		t.Errorf("roots: %v", got)
	}
}

func TestPublicationsAndRefusalsAreInTheAuditLog(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.snapshot(w.alice)
	w.publish(w.alice, file("One"))
	if _, err := w.service.Publish(t.Context(), w.alice.actor(), w.alice.surface, PublishRequest{File: []byte("nonsense"), Facts: known()}); err == nil {
		t.Fatal("nonsense was published")
	}
	if _, err := w.service.Rollback(t.Context(), w.alice.actor(), w.alice.surface, RollbackRequest{Number: 1}); err != nil {
		t.Fatal(err)
	}
	rows, err := w.admin().Query(t.Context(), "select action || ' ' || outcome || ' ' || actor || ' ' || target from chumbo.audit_events order by at")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var got []string
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			t.Fatal(err)
		}
		got = append(got, line)
	}
	who := " " + w.alice.builder.String() + " " + w.alice.surface.String()
	schema := "project.schema ok " + w.alice.builder.String() + " " + w.alice.project.String()
	if want := []string{schema, "surface.publish ok" + who, "surface.publish refused" + who, "surface.rollback ok" + who}; !slices.Equal(got, want) {
		t.Errorf("audit log: %v", got)
	}
}

// TestAliceAndBobNeverReachEachOther has Bob, with his organization, try
// everything on Alice's ids.
func TestAliceAndBobNeverReachEachOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	w.snapshot(w.alice)
	w.snapshot(w.bob)
	w.publish(w.alice, file("Alice's"))
	w.publish(w.bob, file("Bob's"))
	if _, err := w.service.PutDraft(ctx, w.alice.actor(), w.alice.surface, []byte(file("Alice's draft")), known()); err != nil {
		t.Fatal(err)
	}
	bob, theirs, theirDigest := w.bob.org, w.alice, w.digest(w.alice, 1)
	for name, try := range map[string]func() error{
		"PutSnapshot": func() error {
			_, err := w.service.PutSnapshot(ctx, w.bob.actor(), theirs.project, loadSnapshot(t), SourceFile)
			return err
		},
		"LatestSnapshot": func() error { _, err := w.service.LatestSnapshot(ctx, bob, theirs.project); return err },
		"Check": func() error {
			_, err := w.service.Check(ctx, bob, theirs.project, id.Surface{}, []byte(file("X")), known())
			return err
		},
		"PutDraft": func() error {
			_, err := w.service.PutDraft(ctx, w.bob.actor(), theirs.surface, []byte(file("X")), known())
			return err
		},
		"File": func() error { _, _, err := w.service.File(ctx, bob, theirs.surface); return err },
		"Publish": func() error {
			_, err := w.service.Publish(ctx, w.bob.actor(), theirs.surface, PublishRequest{File: []byte(file("X")), Facts: known()})
			return err
		},
		"Publish the draft": func() error {
			_, err := w.service.Publish(ctx, w.bob.actor(), theirs.surface, PublishRequest{File: nil, Facts: known()})
			return err
		},
		"Revisions": func() error { _, err := w.service.Revisions(ctx, bob, theirs.surface); return err },
		"Revision":  func() error { _, _, err := w.service.Revision(ctx, bob, theirs.surface, 1); return err },
		"Rollback": func() error {
			_, err := w.service.Rollback(ctx, w.bob.actor(), theirs.surface, RollbackRequest{Number: 1})
			return err
		},
		"RollbackTo": func() error {
			_, err := w.service.Rollback(ctx, w.bob.actor(), theirs.surface, RollbackRequest{Digest: theirDigest})
			return err
		},
		"Pin":   func() error { _, err := w.service.Pin(ctx, w.bob.actor(), theirs.surface, theirDigest); return err },
		"Unpin": func() error { return w.service.Unpin(ctx, w.bob.actor(), theirs.surface) },
		"Pin their digest on his own": func() error {
			_, err := w.service.Pin(ctx, w.bob.actor(), w.bob.surface, theirDigest)
			return err
		},
		"Plan": func() error {
			_, err := w.service.Plan(ctx, bob, theirs.project, theirs.surface, []byte(file("X")), known())
			return err
		},
		"Plan their draft in his project": func() error {
			_, err := w.service.Plan(ctx, bob, w.bob.project, theirs.surface, nil, known())
			return err
		},
		"Plan a new surface of theirs": func() error {
			_, err := w.service.Plan(ctx, bob, theirs.project, id.Surface{}, []byte(file("X")), known())
			return err
		},
		"Plan his surface in their project": func() error {
			_, err := w.service.Plan(ctx, bob, theirs.project, w.bob.surface, []byte(file("X")), known())
			return err
		},
		"Compare": func() error { _, err := w.service.Compare(ctx, bob, theirs.surface, 1, 1); return err },
		"Drift": func() error {
			_, err := w.service.Drift(ctx, bob, theirs.project, theirs.surface, known())
			return err
		},
		"Drift in his project": func() error {
			_, err := w.service.Drift(ctx, bob, w.bob.project, theirs.surface, known())
			return err
		},
		"Posture": func() error { _, err := w.service.Posture(ctx, bob, theirs.project); return err },
	} {
		if err := try(); !fault.Is(err, fault.NotFound) {
			t.Errorf("%s: %v, want not found", name, err)
		}
	}
	src, isDraft, err := w.service.File(ctx, w.alice.org, w.alice.surface)
	if err != nil || !isDraft || string(src) != file("Alice's draft") {
		t.Errorf("Alice's draft is %q, %t, %v", src, isDraft, err)
	}
	for _, b := range []builders{w.alice, w.bob} {
		revisions, err := w.service.Revisions(ctx, b.org, b.surface)
		if err != nil || len(revisions) != 1 {
			t.Errorf("revisions: %+v, %v", revisions, err)
		}
	}
}

// TestAliceAndBobPublishAtOnce has both publish and read concurrently, each
// seeing only their own.
func TestAliceAndBobPublishAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.snapshot(w.alice)
	w.snapshot(w.bob)
	var group sync.WaitGroup
	for name, b := range map[string]builders{"Alice": w.alice, "Bob": w.bob} {
		for i := range 10 {
			group.Go(func() {
				title := fmt.Sprintf("%s %d", name, i)
				if _, err := w.service.Publish(context.Background(), b.actor(), b.surface, PublishRequest{File: []byte(file(title)), Facts: known()}); err != nil {
					t.Errorf("publish: %v", err)
				}
				revisions, err := w.service.Revisions(context.Background(), b.org, b.surface)
				if err != nil {
					t.Errorf("revisions: %v", err)
				}
				for _, r := range revisions {
					if !strings.HasPrefix(r.Title, name) || r.Surface != b.surface {
						t.Errorf("%s sees %q", name, r.Title)
					}
				}
			})
		}
	}
	group.Wait()
}
