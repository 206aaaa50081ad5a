package dashboard_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

const (
	at       = "/app/projects/acme/surfaces"
	fileOne  = "version: 1\ntitle: Acme CRM\naccess: { mode: oauth, authorization: direct }\ntools:\n  - table: customers\n    operations: [list, get]\n    columns: [id, name, status]\n    order: [name]\n"
	fileTwo  = fileOne + "  - table: notes\n    operations: [list]\n    columns: [id, customer_id, created_at]\n    order: [-created_at]\n"
	fileBad  = "version: 1\ntitle: Acme CRM\naccess: { mode: oauth, authorization: direct }\ntools:\n  - table: custmers\n    operations: [list]\n    columns: [id]\n"
	loweredS = "version: 1\ntitle: Acme CRM\naccess: { mode: oauth, authorization: direct }\ntools:\n  - table: customers\n    operations: [get]\n    columns: [id, name]\n"
)

func TestBuilderMakesASurfaceFromChosenTablesAndPublishesIt(t *testing.T) {
	t.Parallel()
	s := setSurfaceStage(t)
	form := s.alice.open(t, at+"/new")
	if form.status != http.StatusOK || !strings.Contains(form.text, `name="table" value="customers"`) || !strings.Contains(form.text, `name="slug" value="main"`) {
		t.Fatalf("%d %s", form.status, form.text)
	}
	made := s.alice.post(t, at+"/new", "slug", "main", "title", `Acme "CRM"`, "table", "customers", "table", "notes")
	if made.status != http.StatusSeeOther || made.location != at+"/main/capabilities?done=made" {
		t.Fatalf("%d to %s: %s", made.status, made.location, made.text)
	}
	editor := s.alice.open(t, made.location)
	for _, want := range []string{"The draft is made.", "customers_list", "notes_list", "<h3>Input</h3>", "reads only", "tokens in every conversation", "Draft, saved"} {
		if !strings.Contains(editor.text, want) {
			t.Errorf("the editor lacks %q", want)
		}
	}
	if overview := s.alice.open(t, at+"/main"); !strings.Contains(overview.text, "Not published yet. There is a draft.") {
		t.Error("the overview does not say that there is only a draft")
	}
	review := s.alice.open(t, at+"/main/review")
	if !strings.Contains(review.text, "Publishing opens the surface: revision 1") || !strings.Contains(review.text, "<ins>") {
		t.Fatalf("review: %d %s", review.status, review.text)
	}
	done := s.alice.post(t, at+"/main/publish", "expect", review.hidden(t, "expect"), "digest", review.hidden(t, "digest"))
	if done.status != http.StatusSeeOther || done.location != at+"/main?done=published" {
		t.Fatalf("%d to %s: %s", done.status, done.location, done.text)
	}
	overview := s.alice.open(t, done.location)
	for _, want := range []string{"Live: revision 1, not called in the last 24 hours.", s.url + "/acme/mcp", "?client=cursor", "alice@example.test", "first publication"} {
		if !strings.Contains(overview.text, want) {
			t.Errorf("the overview lacks %q", want)
		}
	}
	if s.audited(t, "surface.publish", "ok") != 1 {
		t.Error("the publication is not in the audit log")
	}
	if again := s.alice.post(t, at+"/new", "slug", "main", "title", "Acme", "table", "customers"); again.status != http.StatusConflict || !strings.Contains(again.text, "already has a surface of that name") {
		t.Errorf("the same name again: %d", again.status)
	}
}

func TestSurfaceMayBeginWithAnEmptyFile(t *testing.T) {
	t.Parallel()
	s := setSurfaceStage(t)
	made := s.alice.post(t, at+"/new", "slug", "empty", "title", `He said: "a 'b' # c" \ {{x}}`)
	if made.status != http.StatusSeeOther {
		t.Fatalf("%d %s", made.status, made.text)
	}
	if editor := s.alice.open(t, made.location); !strings.Contains(editor.text, "No tools.") {
		t.Errorf("the empty file is not in order: %s", editor.text)
	}
	for _, pairs := range [][]string{{"slug", "x", "title", "T"}, {"slug", "Bad Name", "title", "T"}, {"slug", "oauth", "title", "T"}, {"slug", "fine", "title", "T", "table", "nothing"}, {"slug", "../../x", "title", "T"}} {
		if refused := s.alice.post(t, at+"/new", pairs...); refused.status < 400 || refused.status >= 500 || !strings.Contains(refused.text, `role="alert"`) {
			t.Errorf("%v: %d", pairs, refused.status)
		}
	}
}

func TestEditorWorksWithPlainForms(t *testing.T) {
	t.Parallel()
	s := setSurfaceStage(t)
	s.publish(t, "main", fileOne)
	editor := s.alice.open(t, at+"/main/capabilities")
	base := editor.hidden(t, "base")
	if !strings.Contains(editor.text, "As published") {
		t.Error("the file is not said to be the published one")
	}

	// Check keeps nothing, and points at the line.
	checked := s.alice.post(t, at+"/main/capabilities", "do", "check", "base", base, "file", strings.ReplaceAll(fileBad, "\n", "\r\n"))
	for _, want := range []string{`data-line="5"`, "custmers", "Not saved", "1 problem"} {
		if !strings.Contains(checked.text, want) {
			t.Errorf("after Check the page lacks %q", want)
		}
	}
	if _, draft, _ := s.file(t); draft {
		t.Fatal("Check kept a draft")
	}

	// Save keeps it, with its problems, with line ends as written.
	saved := s.alice.post(t, at+"/main/capabilities", "do", "save", "base", base, "file", strings.ReplaceAll(fileBad, "\n", "\r\n"))
	if saved.status != http.StatusSeeOther || saved.location != at+"/main/capabilities?done=saved" {
		t.Fatalf("%d to %s: %s", saved.status, saved.location, saved.text)
	}
	if src, draft, _ := s.file(t); !draft || src != fileBad {
		t.Errorf("kept %q", src)
	}
	review := s.alice.open(t, at+"/main/review")
	if !strings.Contains(review.text, "cannot be published as it stands") || strings.Contains(review.text, ">Publish<") {
		t.Error("a file with problems can be published")
	}

	// Somebody who opened the page before that does not overwrite it unseen.
	late := s.alice.post(t, at+"/main/capabilities", "do", "save", "base", base, "file", fileTwo)
	if late.status != http.StatusConflict || !strings.Contains(late.text, "has changed since you opened it") || !strings.Contains(late.text, "table: notes") {
		t.Fatalf("%d %s", late.status, late.text)
	}
	again := s.alice.post(t, at+"/main/capabilities", "do", "review", "base", late.hidden(t, "base"), "file", fileTwo)
	if again.status != http.StatusSeeOther || again.location != at+"/main/review" {
		t.Fatalf("%d to %s", again.status, again.location)
	}
	if src, _, _ := s.file(t); src != fileTwo {
		t.Errorf("kept %q", src)
	}
}

// file is what is kept of the main surface.
func (s *surfaceStage) file(t testing.TB) (string, bool, error) {
	t.Helper()
	surface, err := s.tenants.Surface(t.Context(), s.alice.principal, "acme", "main")
	must(t, err)
	src, draft, err := s.surfaces.File(t.Context(), surface.Organization, surface.ID)
	return string(src), draft, err
}

// readings is more of a file: resources and prompts.
const readings = `
resources:
  - { uri: "acme://guide", title: The guide, description: How to work with customers., text: Be kind., mime_type: text/markdown }
  - { uri: "acme://notes/{id}", table: notes, columns: [id] }
prompts:
  - prompt: weekly_review
    description: What happened in a week.
    arguments: [{ name: week, required: true, description: "Such as 2026-W07." }, { name: tone, enum: [warm, dry] }]
    messages: [{ role: user, text: "Review week {{week}}, {{tone}}." }]
`

func TestPreviewIsTheToolsOfWhatIsTyped(t *testing.T) {
	t.Parallel()
	s := setSurfaceStage(t)
	s.publish(t, "main", fileOne)
	answer := s.alice.post(t, at+"/main/preview", "file", fileTwo)
	if answer.status != http.StatusOK || strings.Contains(answer.text, "<html") || !strings.Contains(answer.text, "notes_list") || !strings.Contains(answer.text, `data-summary="3 tools`) {
		t.Errorf("%d %s", answer.status, answer.text)
	}
	if answer.header.Get("Cache-Control") != "no-store" {
		t.Errorf("headers %v", answer.header)
	}
	answer = s.alice.post(t, at+"/main/preview", "file", fileTwo+readings)
	for _, want := range []string{`conversation. 2 resources, 1 prompt.`, "acme://guide", "acme://notes/{id}", "weekly_review", "2 arguments", "required"} {
		if !strings.Contains(answer.text, want) {
			t.Errorf("no %q in %s", want, answer.text)
		}
	}
	asking := strings.Replace(fileTwo, "tools:\n", "tools:\n  - { function: send, description: Send it., asks: true }\n  - { function: drop, description: Drop it., confirm: Drop it? }\n"+
		"  - { function: tell, description: Tell it., input: { type: object, properties: { why: { type: string } } }, questions: { why: { message: Why?, arguments: [why] } } }\n", 1)
	answer = s.alice.post(t, at+"/main/preview", "file", asking)
	for _, want := range []string{"may ask a person", "asks a person to confirm", "asks a person questions"} {
		if strings.Count(answer.text, want) != 1 {
			t.Errorf("not once %q in %s", want, answer.text)
		}
	}
	if huge := s.alice.post(t, at+"/main/preview", "file", strings.Repeat("# long\n", 60_000)); huge.status != http.StatusRequestEntityTooLarge {
		t.Errorf("too large a file: %d", huge.status)
	}
	if _, draft, _ := s.file(t); draft {
		t.Error("the preview kept a draft")
	}
	if viewer := s.vera.post(t, at+"/main/preview", "file", fileTwo); viewer.status != http.StatusOK {
		t.Errorf("a viewer's preview: %d", viewer.status)
	}
}

func TestPublishingSomethingElseThanWasReviewedIsAConflict(t *testing.T) {
	t.Parallel()
	s := setSurfaceStage(t)
	s.publish(t, "main", fileOne)
	save := func(file string) {
		t.Helper()
		_, _, err := s.builders.SaveDraft(t.Context(), s.alice.principal, "acme", "main", []byte(file))
		must(t, err)
	}
	save(fileTwo)
	review := s.alice.open(t, at+"/main/review")
	if !strings.Contains(review.text, "Publishing is safe for connected clients.") {
		t.Errorf("review: %s", review.text)
	}
	expect, digest := review.hidden(t, "expect"), review.hidden(t, "digest")

	save(loweredS) // the draft moves
	if late := s.alice.post(t, at+"/main/publish", "expect", expect, "digest", digest); late.status != http.StatusConflict || !strings.Contains(late.text, "Nothing was published") || !strings.Contains(late.text, "Review again") {
		t.Errorf("%d %s", late.status, late.text)
	}
	save(fileTwo)
	s.publish(t, "main", loweredS) // what is live moves
	save(fileTwo)
	late := s.alice.post(t, at+"/main/publish", "expect", expect, "digest", digest)
	if late.status != http.StatusConflict || !strings.Contains(late.text, "alice@example.test") {
		t.Errorf("%d %s", late.status, late.text)
	}
	surface, err := s.tenants.Surface(t.Context(), s.alice.principal, "acme", "main")
	must(t, err)
	if surface.LiveRevision != 2 {
		t.Errorf("revision %d is live", surface.LiveRevision)
	}
	if breaking := s.alice.open(t, at+"/main/revisions/compare?from=1&to=2"); !strings.Contains(breaking.text, "it breaks something") || !strings.Contains(breaking.text, "customers_list") {
		t.Errorf("compare: %s", breaking.text)
	}
}

func TestSeriousFindingsNeedAReasonEach(t *testing.T) {
	t.Parallel()
	s := setSurfaceStage(t)
	snapshot := crmSnapshot(t)
	for i := range snapshot.Relations {
		if snapshot.Relations[i].Name == "customers" {
			snapshot.Relations[i].RLS, snapshot.Relations[i].Policies = false, 0
		}
	}
	_, err := s.surfaces.PutSnapshot(t.Context(), s.alice.principal.Actor(), s.project.ID, snapshot, "file")
	must(t, err)
	_, _, err = s.builders.SaveDraft(t.Context(), s.alice.principal, "acme", "main", []byte(fileOne))
	must(t, err)
	review := s.alice.open(t, at+"/main/review")
	if !strings.Contains(review.text, "Serious findings") || !strings.Contains(review.text, "enable row level security") {
		t.Fatalf("review: %s", review.text)
	}
	finding := review.hidden(t, "finding")
	send := func(reason string) page {
		t.Helper()
		return s.alice.post(t, at+"/main/publish", "expect", "", "digest", review.hidden(t, "digest"), "finding", finding, "reason", reason)
	}
	for _, reason := range []string{"", "   ", strings.Repeat("x", 501)} {
		if refused := send(reason); refused.status != http.StatusUnprocessableEntity && refused.status != http.StatusBadRequest || !strings.Contains(refused.text, `role="alert"`) {
			t.Errorf("reason of %d characters: %d", len(reason), refused.status)
		}
	}
	if done := send("Customers are public here."); done.status != http.StatusSeeOther {
		t.Fatalf("%d %s", done.status, done.text)
	}
	list := s.alice.open(t, at+"/main/revisions")
	if !strings.Contains(list.text, "Published over 1 serious finding") || !strings.Contains(list.text, "Customers are public here.") {
		t.Errorf("the reason is not kept: %s", list.text)
	}
}

func TestRevisionsAreComparedPinnedAndRolledBack(t *testing.T) {
	t.Parallel()
	s := setSurfaceStage(t)
	one := s.publish(t, "main", fileOne)
	two := s.publish(t, "main", fileTwo)
	list := s.alice.open(t, at+"/main/revisions")
	for _, want := range []string{"Revision 2 is live, the newest.", one.Digest[:12], two.Digest[:12], "Make live again", "Compare with 2"} {
		if !strings.Contains(list.text, want) {
			t.Errorf("the list lacks %q", want)
		}
	}
	ask := s.alice.open(t, at+"/main/revisions/1/rollback")
	if !strings.Contains(ask.text, "it breaks something") || !strings.Contains(ask.text, "notes_list") {
		t.Errorf("the page does not say what going back changes: %s", ask.text)
	}
	if stale := s.alice.post(t, at+"/main/revisions/1/rollback", "expect", one.Digest); stale.status != http.StatusConflict {
		t.Errorf("going back from another revision than shown: %d", stale.status)
	}
	pin := s.alice.post(t, at+"/main/pin", "digest", two.Digest)
	if pin.status != http.StatusSeeOther {
		t.Fatalf("pin: %d %s", pin.status, pin.text)
	}
	if refused := s.alice.post(t, at+"/main/revisions/1/rollback", "expect", two.Digest); refused.status != http.StatusConflict || !strings.Contains(refused.text, "pinned") {
		t.Errorf("rolling back while pinned: %d", refused.status)
	}
	for path, want := range map[string]string{"/main": "Publishing and rolling back are refused", "/main/revisions": "live and pinned", "/main/review": "pinned: nothing can be published"} {
		if text := s.alice.open(t, at+path).text; !strings.Contains(text, want) {
			t.Errorf("%s does not say that it is pinned", path)
		}
	}
	if unpin := s.alice.post(t, at+"/main/unpin"); unpin.status != http.StatusSeeOther {
		t.Fatalf("unpin: %d", unpin.status)
	}
	back := s.alice.post(t, at+"/main/revisions/1/rollback", "expect", ask.hidden(t, "expect"))
	if back.status != http.StatusSeeOther || back.location != at+"/main/revisions?done=rolled-back" {
		t.Fatalf("%d to %s: %s", back.status, back.location, back.text)
	}
	if list := s.alice.open(t, back.location); !strings.Contains(list.text, "Revision 1 is live, an earlier one than the newest.") {
		t.Error("the list does not say what is live")
	}
	file := s.alice.open(t, at+"/main/revisions/2")
	if file.status != http.StatusOK || !strings.Contains(file.text, "table: notes") {
		t.Errorf("the file of a revision: %d", file.status)
	}
	for _, path := range []string{"/main/revisions/9", "/main/revisions/x", "/main/revisions/-1", "/main/revisions/compare?from=1&to=99", "/main/revisions/compare", "/main/revisions/9/rollback"} {
		if got := s.alice.open(t, at+path); got.status != http.StatusNotFound && got.status != http.StatusBadRequest {
			t.Errorf("%s: %d", path, got.status)
		}
	}
}

func TestManyRevisionsArePagedByCursor(t *testing.T) {
	t.Parallel()
	s := setSurfaceStage(t)
	for i := range 53 {
		s.publish(t, "main", strings.Replace(fileOne, "title: Acme CRM", "title: Acme CRM "+strings.Repeat("I", i+1), 1))
	}
	first := s.alice.open(t, at+"/main/revisions")
	if strings.Count(first.text, `<li class="revision`) != 50 || !strings.Contains(first.text, "?before=4\"") || len(first.text) > 100_000 {
		t.Fatalf("%d on the first page, %d bytes", strings.Count(first.text, `<li class="revision`), len(first.text))
	}
	second := s.alice.open(t, at+"/main/revisions?before=4")
	if strings.Count(second.text, `<li class="revision`) != 3 || strings.Contains(second.text, "?before=") || !strings.Contains(second.text, "Revision 53 is live") {
		t.Errorf("%d on the second page", strings.Count(second.text, `<li class="revision`))
	}
}

func TestSwitchSaysWhatStops(t *testing.T) {
	t.Parallel()
	s := setSurfaceStage(t)
	s.publish(t, "main", fileOne)
	overview := s.alice.open(t, at+"/main")
	for _, want := range []string{"Every call is answered with an error until you switch back", "Tools that change something disappear"} {
		if !strings.Contains(overview.text, want) {
			t.Errorf("the switch does not say %q", want)
		}
	}
	for _, state := range []tenants.State{tenants.StatePaused, tenants.StateReadOnly, tenants.StateLive} {
		turned := s.alice.post(t, at+"/main/state", "state", string(state))
		if turned.status != http.StatusSeeOther {
			t.Fatalf("%s: %d %s", state, turned.status, turned.text)
		}
		surface, err := s.tenants.Surface(t.Context(), s.alice.principal, "acme", "main")
		must(t, err)
		if surface.State != state {
			t.Errorf("state %s, want %s", surface.State, state)
		}
		if page := s.alice.open(t, turned.location); !strings.Contains(page.text, `value="`+string(state)+`" checked`) || !strings.Contains(page.text, `role="status"`) {
			t.Errorf("%s is not shown", state)
		}
	}
	if wrong := s.alice.post(t, at+"/main/state", "state", "off"); wrong.status != http.StatusBadRequest {
		t.Errorf("an unknown state: %d", wrong.status)
	}
}

func TestRenamingKeepsTheOldAddressAndDeletingAsksForTheName(t *testing.T) {
	t.Parallel()
	s := setSurfaceStage(t)
	s.publish(t, "reports", fileOne)
	renamed := s.alice.post(t, at+"/reports/rename", "slug", "numbers")
	if renamed.status != http.StatusSeeOther || renamed.location != at+"/numbers/settings?done=surface-renamed" {
		t.Fatalf("%d to %s: %s", renamed.status, renamed.location, renamed.text)
	}
	settings := s.alice.open(t, renamed.location)
	if !strings.Contains(settings.text, s.url+"/acme/numbers/mcp") || !strings.Contains(settings.text, s.url+"/acme/reports/mcp") {
		t.Errorf("the addresses are not both shown: %s", settings.text)
	}
	if refused := s.alice.post(t, at+"/numbers/rename", "slug", "oauth"); refused.status < 400 || !strings.Contains(refused.text, `role="alert"`) || !strings.Contains(refused.text, `value="oauth"`) {
		t.Errorf("a reserved name: %d", refused.status)
	}
	if refused := s.alice.post(t, at+"/numbers/delete", "confirm", "number"); refused.status != http.StatusBadRequest || !strings.Contains(refused.text, `role="alert"`) {
		t.Errorf("deleting with another name: %d", refused.status)
	}
	if gone := s.alice.post(t, at+"/numbers/delete", "confirm", "numbers"); gone.status != http.StatusSeeOther {
		t.Fatalf("delete: %d %s", gone.status, gone.text)
	}
	if page := s.alice.open(t, at+"/numbers"); page.status != http.StatusNotFound {
		t.Errorf("after deleting: %d", page.status)
	}
}

func TestSecretInASurfaceFileIsRefusedBeforeItIsKept(t *testing.T) {
	t.Parallel()
	s := setSurfaceStage(t)
	s.publish(t, "main", fileOne)
	secret := "sb_secret_" + strings.Repeat("k", 31)
	base := s.alice.open(t, at+"/main/capabilities").hidden(t, "base")
	for _, pairs := range [][]string{
		{"/main/capabilities", "do", "save", "base", base, "file", fileOne + "# " + secret + "\n"},
		{"/main/capabilities", "do", "check", "base", base, "file", fileOne + "# " + secret + "\n"},
		{"/main/preview", "file", fileOne + "# " + secret + "\n"},
		{"/main/publish", "expect", "", "digest", "", "finding", "x", "reason", secret},
		{"/main/rename", "slug", secret}, {"/main/delete", "confirm", secret}, {"/main/state", "state", secret}, {"/main/pin", "digest", secret},
		{"/new", "slug", "other", "title", secret}, {"/new", "slug", secret, "title", "T"}, {"/new", "slug", "other", "title", "T", "table", secret},
	} {
		answer := s.alice.post(t, at+pairs[0], pairs[1:]...)
		if answer.status < 400 || answer.status >= 500 || strings.Contains(answer.text, secret) {
			t.Errorf("%s: %d", pairs[0], answer.status)
		}
	}
	if src, _, _ := s.file(t); strings.Contains(src, secret) || strings.Contains(s.log.String(), secret) {
		t.Error("the secret is kept or logged")
	}
}

// TestBobGetsNothingOfAcmesSurfaces asks for every page and sends every form.
func TestBobGetsNothingOfAcmesSurfaces(t *testing.T) {
	t.Parallel()
	s := setSurfaceStage(t)
	one := s.publish(t, "main", fileOne)
	s.publish(t, "main", fileTwo)
	must(t, errorOf(s.builders.SaveDraft(t.Context(), s.alice.principal, "acme", "main", []byte(loweredS))))
	for _, path := range []string{"/new", "/main", "/main/capabilities", "/main/review", "/main/revisions", "/main/revisions/1", "/main/revisions/compare?from=1&to=2", "/main/revisions/1/rollback", "/main/settings"} {
		if mine := s.alice.open(t, at+path); mine.status != http.StatusOK {
			t.Errorf("%s: Alice gets %d", path, mine.status)
		}
		got := s.bob.open(t, at+path)
		if got.status != http.StatusNotFound || strings.Contains(got.text, "Acme") || strings.Contains(got.text, "customers") {
			t.Errorf("%s: Bob gets %d", path, got.status)
		}
		if missing := s.bob.open(t, strings.Replace(at+path, "acme", "nobody", 1)); missing.status != got.status {
			t.Errorf("%s: Bob can tell Acme's project from none", path)
		}
	}
	for path, pairs := range map[string][]string{
		"/new": {"slug", "bobs", "title", "Bob's"}, "/main/state": {"state", "paused"}, "/main/capabilities": {"do", "save", "file", fileOne}, "/main/preview": {"file", fileOne},
		"/main/publish": {"digest", one.Digest, "expect", one.Digest}, "/main/revisions/1/rollback": {"expect", one.Digest}, "/main/pin": {"digest", one.Digest}, "/main/unpin": nil,
		"/main/rename": {"slug", "stolen"}, "/main/delete": {"confirm", "main"},
	} {
		if got := s.bob.post(t, at+path, pairs...); got.status != http.StatusNotFound || strings.Contains(got.text, "customers") {
			t.Errorf("POST %s: Bob gets %d", path, got.status)
		}
		viewer := s.vera.post(t, at+path, pairs...)
		switch path {
		case "/main/preview":
		case "/main/capabilities":
			if viewer.status != http.StatusForbidden {
				t.Errorf("POST %s: Vera gets %d", path, viewer.status)
			}
		default:
			if viewer.status < 400 {
				t.Errorf("POST %s: Vera gets %d", path, viewer.status)
			}
		}
		if other := s.alice.send(t, http.MethodPost, at+path, nil); other.status != http.StatusForbidden {
			t.Errorf("POST %s without the form's value: %d", path, other.status)
		}
	}
	surface, err := s.tenants.Surface(t.Context(), s.alice.principal, "acme", "main")
	must(t, err)
	if surface.LiveRevision != 2 || surface.State != tenants.StateLive || surface.PinnedAt != nil {
		t.Errorf("somebody changed it: %+v", surface)
	}
	if src, _, _ := s.file(t); src != loweredS {
		t.Error("somebody changed the draft")
	}
	if _, err := s.tenants.Surface(t.Context(), s.alice.principal, "acme", "bobs"); !fault.Is(err, fault.NotFound) {
		t.Error("Bob made a surface in Acme's project")
	}
}

func errorOf[A, B any](_ A, _ B, err error) error { return err }

// TestUnprovenProjectSaysWhyItIsNotServed.
func TestUnprovenProjectSaysWhyItIsNotServed(t *testing.T) {
	t.Parallel()
	s := setSurfaceStage(t)
	s.publish(t, "main", fileOne)
	s.builders.RequireOwnership = true
	if page := s.alice.open(t, at+"/main"); !strings.Contains(page.text, `<p class="fact">Not served.</p>`) || !strings.Contains(page.text, "/app/projects/acme") {
		t.Errorf("overview: %s", page.text)
	}
}
