package dashboard_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"github.com/chumbo-dev/chumbo/internal/browsertest"
	"github.com/chumbo-dev/chumbo/internal/doctor"
	"github.com/chumbo-dev/chumbo/internal/events"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

func (b *builderAtWork) cookies() []*http.Cookie {
	return []*http.Cookie{{Name: "chumbo", Value: b.cookie}}
}

// scripts switches the page's own scripts off or on.
func scripts(on bool) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !on})
		return err
	})
}

// press presses one key as a keyboard does.
func press(key string) chromedp.Action[chromedp.Void] {
	text := map[string]string{"Enter": "\r"}[key]
	code := map[string]int64{"Enter": 13, "Tab": 9, "Escape": 27}[key]
	return chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		for _, kind := range []input.DispatchKeyEventType{"keyDown", "keyUp"} {
			_, err := chromedp.Call(ctx, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: kind, Key: key, Code: key, Text: text, WindowsVirtualKeyCode: code})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// paste puts text where the caret is, over what is selected.
func paste(text string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, input.InsertText, input.InsertTextParams{Text: text})
		return err
	})
}

// inUse gives the main surface a past: calls, errors, findings, drift, a draft.
func (s *surfaceStage) inUse(t *testing.T) {
	t.Helper()
	s.publish(t, "main", fileOne)
	live := s.publish(t, "main", fileTwo)
	recorder := events.NewRecorder(s.db.Store, slog.New(slog.DiscardHandler))
	for i := range 240 {
		inv := events.Invocation{
			Organization: s.project.Organization, Surface: live.Surface, Revision: live.Number, At: time.Now().Add(-time.Duration(i) * time.Minute), Method: "tools/call",
			Capability: "customers_list", Mode: "direct", Client: fmt.Sprintf("client-%d", i%3), Protocol: "2026-07-28", Outcome: events.OutcomeOK, Duration: time.Duration(20+i) * time.Millisecond,
		}
		if i%120 == 0 {
			inv.Outcome, inv.ErrorKind = events.OutcomeToolError, "timeout"
		}
		recorder.Record(inv)
	}
	must(t, recorder.Close(t.Context()))
	findings, err := json.Marshal([]doctor.Finding{
		{Check: "reachable", Title: "Reachable", Status: doctor.Pass, Summary: "It answers."},
		{Check: "registration", Title: "Dynamic client registration", Status: doctor.Warn, Summary: "Dynamic client registration is off.", Fix: "In Supabase's dashboard open Authentication, OAuth Server, and allow dynamic OAuth apps."},
	})
	must(t, err)
	s.db.Exec(t, "update projects set findings = $1, probed_at = now() - interval '3 hours'", string(findings))
	must(t, errorOf(s.builders.SaveDraft(t.Context(), s.alice.principal, "acme", "main", []byte(loweredS))))
}

// withoutRLS makes the latest snapshot one where customers has no row level
// security and another type.
func (s *surfaceStage) withoutRLS(t *testing.T) {
	t.Helper()
	snapshot := crmSnapshot(t)
	for i := range snapshot.Relations {
		if snapshot.Relations[i].Name == "customers" {
			snapshot.Relations[i].RLS, snapshot.Relations[i].Policies = false, 0
		}
	}
	_, err := s.surfaces.PutSnapshot(t.Context(), s.alice.principal.Actor(), s.project.ID, snapshot, surfaces.SourceFile)
	must(t, err)
}

// TestPagesOfASurfaceAreWellMade looks at each of them, empty and full.
func TestPagesOfASurfaceAreWellMade(t *testing.T) {
	t.Parallel()
	s := setSurfaceStage(t)
	ctx := browsertest.Open(t, 6*time.Minute)
	enter(t, ctx, s.url, s.alice.cookies())
	wellMade(t, ctx, "surface-new", s.url+at+"/new")
	s.alice.post(t, at+"/new", "slug", "fresh", "title", "Fresh", "table", "customers")
	wellMade(t, ctx, "surface-fresh", s.url+at+"/fresh")
	wellMade(t, ctx, "surface-fresh-review", s.url+at+"/fresh/review")
	wellMade(t, ctx, "surface-fresh-revisions", s.url+at+"/fresh/revisions")
	must(t, errorOf(s.builders.SaveDraft(t.Context(), s.alice.principal, "acme", "fresh", []byte(fileTwo+readings))))
	wellMade(t, ctx, "surface-capabilities-resources", s.url+at+"/fresh/capabilities")
	for _, name := range []string{"acme://guide", "weekly_review"} {
		act(t, ctx, chromedp.Click(`[data-tool="`+name+`"] > summary`))
	}
	wellMadeAsItIs(t, ctx, "surface-capabilities-resources-open")
	s.inUse(t)
	for name, path := range map[string]string{
		"overview": "/main?done=published", "capabilities": "/main/capabilities", "review-breaks": "/main/review", "revisions": "/main/revisions",
		"compare": "/main/revisions/compare?from=1&to=2", "rollback": "/main/revisions/1/rollback", "revision": "/main/revisions/2", "settings": "/main/settings",
	} {
		wellMade(t, ctx, "surface-"+name, s.url+at+path)
	}
	s.withoutRLS(t)
	wellMade(t, ctx, "surface-review-blocked", s.url+at+"/main/review")
	wellMade(t, ctx, "surface-overview-drift", s.url+at+"/main")
	must(t, errorOf(s.builders.SaveDraft(t.Context(), s.alice.principal, "acme", "main", []byte(fileBad))))
	wellMade(t, ctx, "surface-capabilities-problems", s.url+at+"/main/capabilities")
	wellMade(t, ctx, "surface-review-refused", s.url+at+"/main/review")
}

// TestPageOfTwoHundredToolsIsSmall opens the editor of the largest surface
// there can be, in a browser and without one.
func TestPageOfTwoHundredToolsIsSmall(t *testing.T) {
	t.Parallel()
	s := setSurfaceStage(t)
	var file strings.Builder
	file.WriteString("version: 1\ntitle: Acme CRM\naccess: { mode: oauth, authorization: direct }\ntools:\n")
	for i := range 200 {
		fmt.Fprintf(&file, "  - { tool: summary_%03d, rpc: customer_summary, description: How many customers there are and what they owe by status. }\n", i)
	}
	must(t, errorOf(s.builders.SaveDraft(t.Context(), s.alice.principal, "acme", "main", []byte(file.String()))))
	editor := s.alice.open(t, at+"/main/capabilities")
	if len(editor.text) > maxPage || strings.Count(editor.text, `class="tool"`) != 200 {
		t.Errorf("%d bytes, %d tools: %.3000s", len(editor.text), strings.Count(editor.text, `class="tool"`), editor.text[strings.Index(editor.text, "editor-preview"):])
	}
}

// TestPreviewFollowsWhatIsTyped types into the editor with scripts on.
func TestPreviewFollowsWhatIsTyped(t *testing.T) {
	t.Parallel()
	s := setSurfaceStage(t)
	s.publish(t, "main", fileOne)
	ctx := browsertest.Open(t, 6*time.Minute)
	enter(t, ctx, s.url, s.alice.cookies())
	act(t, ctx, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(s.url+at+"/main/capabilities"), chromedp.Query(`[data-tool="customers_get"]`))
	if numbers := see(t, ctx, chromedp.Evaluate[string](`document.querySelector(".editor-lines").textContent`)); !strings.HasPrefix(numbers, "1\n2\n3") {
		t.Errorf("line numbers: %q", numbers)
	}
	// A keyboard passes through the field; once something is typed, Tab indents,
	// and Escape gives Tab back.
	act(t, ctx, chromedp.Focus("#file"), press("Tab"))
	if now := see(t, ctx, chromedp.Evaluate[string](`document.activeElement.id`)); now == "file" {
		t.Error("Tab is trapped in the editor")
	}
	act(t, ctx, chromedp.Evaluate[chromedp.Void](`void (() => { const f = document.getElementById("file"); f.focus(); f.setSelectionRange(f.value.length, f.value.length); })()`),
		paste("  - table: notes"), press("Enter"), paste("  operations: [list]"), press("Enter"), paste("columns: [id]"))
	typed := see(t, ctx, chromedp.Evaluate[string](`document.getElementById("file").value`))
	if !strings.HasSuffix(typed, "  - table: notes\n    operations: [list]\n    columns: [id]") {
		t.Errorf("typed %q", typed[len(typed)-80:])
	}
	act(t, ctx, chromedp.Query(`[data-tool="notes_list"]`))
	if said := see(t, ctx, chromedp.Evaluate[string](`document.getElementById("preview-said").textContent`)); !strings.HasPrefix(said, "3 tools, about ") {
		t.Errorf("a screen reader is told %q", said)
	}
	if kept := see(t, ctx, chromedp.Text("#kept")); kept != "Not saved" {
		t.Errorf("the file is said to be %q", kept)
	}
	act(t, ctx, press("Enter"), press("Tab"))
	if typed = see(t, ctx, chromedp.Evaluate[string](`document.getElementById("file").value`)); !strings.HasSuffix(typed, "[id]\n      ") {
		t.Errorf("Tab gave %q", typed[len(typed)-20:])
	}
	act(t, ctx, press("Escape"), press("Tab"))
	if now := see(t, ctx, chromedp.Evaluate[string](`document.activeElement.id`)); now == "file" {
		t.Error("after Escape Tab stays in the editor")
	}

	// A mistake leads back to its line.
	act(t, ctx, chromedp.Evaluate[chromedp.Void](`void (() => { const f = document.getElementById("file"); f.value = f.value.replace("table: customers", "table: custmers"); f.dispatchEvent(new Event("input")); })()`),
		chromedp.Click(`#preview [data-line="5"]`))
	if place := see(t, ctx, chromedp.Evaluate[string](`(() => { const f = document.getElementById("file"); return document.activeElement.id + " " + f.value.slice(0, f.selectionStart).split("\n").length; })()`)); place != "file 5" {
		t.Errorf("the problem leads to %q", place)
	}
	wellMadeAsItIs(t, ctx, "surface-capabilities-typed")
	// The browser asks before what was typed is lost.
	if asks := see(t, ctx, chromedp.Evaluate[bool](`!dispatchEvent(new Event("beforeunload", { cancelable: true }))`)); !asks {
		t.Error("leaving loses what was typed")
	}
	act(t, ctx, chromedp.Click(`[name=do][value=save]`), chromedp.Query(".note-good"))
	if asks := see(t, ctx, chromedp.Evaluate[bool](`!dispatchEvent(new Event("beforeunload", { cancelable: true }))`)); asks {
		t.Error("leaving after saving asks")
	}
}

// TestEditorChecksAndPublishesWithoutScripts switches scripts off.
func TestEditorChecksAndPublishesWithoutScripts(t *testing.T) {
	t.Parallel()
	s := setSurfaceStage(t)
	s.publish(t, "main", fileOne)
	must(t, errorOf(s.builders.SaveDraft(t.Context(), s.alice.principal, "acme", "main", []byte(fileBad))))
	ctx := browsertest.Open(t, 6*time.Minute)
	enter(t, ctx, s.url, s.alice.cookies())
	act(t, ctx, chromedp.EmulateViewport(390, 844), scripts(false), chromedp.Navigate(s.url+at+"/main/capabilities"),
		chromedp.Query(`#preview [data-line="5"]`), chromedp.Evaluate[chromedp.Void](`void document.getElementById("file").select()`), paste(fileTwo), chromedp.Click(`[name=do][value=check]`), chromedp.Query(`[data-tool="notes_list"]`))
	if wide := see(t, ctx, chromedp.Evaluate[string](sideways)); wide != "" {
		t.Errorf("the page scrolls sideways: %s", wide)
	}
	act(t, ctx, chromedp.Click(`[name=do][value=review]`), chromedp.Query(`[name=digest]`), chromedp.Click(`main form .actions button.button`), chromedp.Query(".figures"))
	if fact := see(t, ctx, chromedp.Text(".fact")); !strings.HasPrefix(fact, "Live: revision 2") {
		t.Errorf("the overview says %q", fact)
	}
}

// TestSurfaceIsPublishedWithTheKeyboardAlone moves by Tab and Enter.
func TestSurfaceIsPublishedWithTheKeyboardAlone(t *testing.T) {
	t.Parallel()
	s := setSurfaceStage(t)
	s.publish(t, "main", fileOne)
	must(t, errorOf(s.builders.SaveDraft(t.Context(), s.alice.principal, "acme", "main", []byte(fileTwo))))
	ctx := browsertest.Open(t, 6*time.Minute)
	enter(t, ctx, s.url, s.alice.cookies())
	reach := func(label string) {
		t.Helper()
		var passed []string
		for range 80 {
			act(t, ctx, press("Tab"))
			now := see(t, ctx, chromedp.Evaluate[string](`document.activeElement.textContent.trim().slice(0, 40) || document.activeElement.id`))
			if now == label {
				if outline := see(t, ctx, chromedp.Evaluate[string](`getComputedStyle(document.activeElement).outlineStyle`)); outline == "none" {
					t.Errorf("%q does not show that it has the focus", label)
				}
				return
			}
			passed = append(passed, now)
		}
		t.Fatalf("%q is not reached: %v", label, passed)
	}
	act(t, ctx, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(s.url+at+"/main"))
	reach("Capabilities")
	act(t, ctx, press("Enter"), chromedp.Query("#file"))
	reach("Review and publish")
	act(t, ctx, press("Enter"), chromedp.Query("[name=digest]"))
	reach("Publish")
	act(t, ctx, press("Enter"), chromedp.Query(".figures"))
	if fact := see(t, ctx, chromedp.Text(".fact")); !strings.HasPrefix(fact, "Live: revision 2") {
		t.Errorf("the overview says %q", fact)
	}
}

// TestConnectPageIsWellMade looks at the public page of a real server, and
// turns its tabs with and without scripts.
func TestConnectPageIsWellMade(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{unproven: true})
	alice := w.setUp(t)
	begun := alice.post("/app/register", "url", w.project.URL()).location
	alice.submit(begun + "/check")
	alice.submit(begun, "publishable_key", w.project.PublishableKey(), "name", "Acme CRM", "slug", "acme-crm")
	p := w.principal(t, "alice@example.test", alicePassword)
	w.importSchema(t, p, "acme-crm")
	w.publish(t, p, "acme-crm", "main", surfaceYAML+"  - tool: archive_customer\n    description: Archive one customer. The customer stays readable.\n    rpc: archive_customer\n    annotations: { destructive: true }\n")
	ctx := browsertest.Open(t, 6*time.Minute)
	url := w.base + "/acme-crm/mcp"
	wellMade(t, ctx, "connect", url)
	for _, client := range []string{"cursor", "vscode", "other"} {
		act(t, ctx, chromedp.EmulateViewport(1440, 900), browsertest.Theme("light"), chromedp.Navigate(url+"?client="+client))
		wellMadeAsItIs(t, ctx, "connect-"+client)
	}
	shown := func() string {
		t.Helper()
		return see(t, ctx, chromedp.Evaluate[string](`[...document.querySelectorAll(".panel")].filter(p => p.checkVisibility()).map(p => p.dataset.client).join(" ")`))
	}
	act(t, ctx, scripts(false), chromedp.Navigate(url))
	if got := shown(); got != "claude" {
		t.Errorf("at first %q is shown", got)
	}
	act(t, ctx, chromedp.Click(`.choice input[value=codex]`))
	if got := shown(); got != "codex" {
		t.Errorf("without scripts the tab shows %q", got)
	}
	act(t, ctx, scripts(true))
	alice.post("/app/projects/acme-crm/surfaces/main/state", "state", "paused")
	for range 100 { // the switch is in force within 5 s
		act(t, ctx, chromedp.Navigate(url))
		if see(t, ctx, chromedp.Evaluate[bool](`document.querySelector(".note-bad") !== null`)) {
			break
		}
	}
	if note := see(t, ctx, chromedp.Text(".note-bad")); !strings.HasPrefix(note, "Paused.") {
		t.Errorf("a paused surface says %q", note)
	}
	wellMade(t, ctx, "connect-paused", url)
}
