package dashboard_test

import (
	"fmt"
	"html"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/chumbo-dev/chumbo/internal/browsertest"
	"github.com/chumbo-dev/chumbo/internal/events"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

const fileBridge = "version: 1\ntitle: Acme CRM\naccess: { mode: oauth, authorization: bridge, advertise: [crm.read] }\ntools:\n  - table: customers\n    operations: [list, get]\n    columns: [id, name, status]\n    order: [name]\n"

// attempted records an attempt at a surface: kinds in their order, a second
// apart, the last with that code when there is one.
func (s *surfaceStage) attempted(t *testing.T, live surfaces.Revision, client, name string, ago time.Duration, code string, kinds ...events.StepKind) {
	t.Helper()
	steps := events.NewSteps(s.db.Store, slog.New(slog.DiscardHandler))
	signIn, grant := id.New[id.SignInKind](), id.New[id.GrantKind]()
	for i, kind := range kinds {
		step := events.Step{
			Organization: s.project.Organization, Surface: live.Surface, At: time.Now().Add(-ago + time.Duration(i)*time.Second), Kind: kind,
			Address: [32]byte{byte(len(client)), client[len(client)-1]}, Agent: "python-httpx/0.27 test", RequestID: "0123456789abcdef0123456789abcdef",
		}
		if kind != events.StepChallenge && kind != events.StepMetadata {
			step.Client, step.ClientName, step.SignIn = client, name, signIn
		}
		if kind == events.StepConsent || kind == events.StepToken || kind == events.StepFirstCall || kind == events.StepEnded {
			step.Grant = grant
		}
		if kind == events.StepFirstCall {
			step.ClientVersion = "1.4.2"
		}
		if i == len(kinds)-1 && code != "" {
			step.Code, step.Failed = code, kind != events.StepEnded
		}
		steps.Record(step)
	}
	must(t, steps.Close(t.Context()))
}

// grant writes a grant straight into the tables.
func (s *surfaceStage) grant(t *testing.T, live surfaces.Revision, name, subject string, change string) id.Grant {
	t.Helper()
	grant, session := id.New[id.GrantKind](), uuid.Must(uuid.NewV7())
	org, project := s.project.Organization.UUID(), s.project.ID.UUID()
	s.db.Exec(t, `insert into upstream_sessions (organization_id, id, project_id, issuer, subject, email, kind, access_token, refresh_token, access_until, created_at, refreshed_at)
		values ($1, $2, $3, $4, $5, 'secret-address@example.test', 'session', '', '', now(), now(), now())`, org, session, project, s.project.Issuer, subject)
	s.db.Exec(t, `insert into grants (organization_id, id, surface_id, project_id, kind, issuer, subject, client_id, client_name, asked, scopes, read_only, writes,
			upstream_session_id, created_at, approved_at, expires_at, last_used_at)
		values ($1, $2, $3, $4, 'client', $5, $6, $7, $8, '{}', '{crm.read}', false, '{}', $9, now() - interval '3 days', now() - interval '3 days', now() + interval '87 days', now() - interval '2 hours')`,
		org, grant.UUID(), live.Surface.UUID(), project, s.project.Issuer, subject, "client-"+grant.String(), name, session)
	if change != "" {
		s.db.Exec(t, "update grants set "+change+" where id = $1", grant.UUID())
	}
	return grant
}

var wholeWay = []events.StepKind{
	events.StepChallenge, events.StepMetadata, events.StepMetadata, events.StepMetadata, events.StepRegistration, events.StepAuthorize,
	events.StepSignIn, events.StepConsent, events.StepToken, events.StepFirstCall,
}

// connected gives main a past of every kind.
func (s *surfaceStage) connected(t *testing.T) surfaces.Revision {
	t.Helper()
	live := s.publish(t, "main", fileBridge)
	s.attempted(t, live, "client-a", "Claude", 90*time.Minute, "", wholeWay...)
	s.attempted(t, live, "client-b", "Cursor", 3*time.Hour, "wrong_credentials", wholeWay[:7]...)
	s.attempted(t, live, "https://chatgpt.example.test/oauth/client.json", "", 5*time.Hour, "", wholeWay[:7]...)
	s.attempted(t, live, "client-d", "Codex", time.Minute, "", wholeWay[:6]...)
	s.attempted(t, live, "client-e", "Windsurf", 30*time.Hour, "by_user", append(wholeWay[:10:10], events.StepEnded)...)
	s.attempted(t, live, "client-f", "", 26*time.Hour, "", wholeWay[:2]...)
	return live
}

func read(p page) string { return html.UnescapeString(textOf(p.text)) }

func TestConnectionsPageSaysWhatBrokeAndWhatToDo(t *testing.T) {
	t.Parallel()
	s := setSurfaceStage(t)
	path := at + "/main/connections"
	live := s.publish(t, "main", fileBridge)
	if text := read(s.alice.open(t, path)); !strings.Contains(text, "Nobody tried to connect in the last 24 hours") || !strings.Contains(text, "Paste the address into an AI app") {
		t.Errorf("empty: %s", text)
	}
	s.attempted(t, live, "client-a", "Claude <script>", time.Hour, "", wholeWay...)
	s.attempted(t, live, "client-b", "Cursor", 3*time.Hour, "wrong_credentials", wholeWay[:7]...)
	s.attempted(t, live, "client-e", "Windsurf", 30*time.Hour, "by_user", append(wholeWay[:10:10], events.StepEnded)...)
	s.attempted(t, live, "grt_0190a1b2c3d4e5f60718293a4b5c6d7e", "", 31*time.Hour, "", events.StepFirstCall)
	all := s.alice.open(t, path)
	text := read(all)
	for _, want := range []string{
		"In the last 24 hours 1 attempt connected and 1 failed.", "Claude <script>", "1.4.2", "Read where to sign in 3 times", "Called for the first time", "after 9 s",
		"Sign-in failed. The email address or the password was wrong.", "What to do", "Trace id 0123456789abcdef0123456789abcdef",
		"The person took the access away in Connected apps.", "A personal token 1.4.2 connected", "Grant grt_0190a1b2c3d4e5f60718293a4b5c6d7e",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q: %s", want, text)
		}
	}
	if strings.Contains(all.text, "<script>") {
		t.Error("a client's name is markup")
	}
	for query, want := range map[string][2]bool{ // Claude, Cursor
		"?state=failed": {false, true}, "?state=connected": {true, false}, "?client=cursor": {false, true}, "?client=client-a": {true, false}, "?days=1": {true, true},
		"?days=99": {true, true}, "?client=nobody": {false, false},
	} {
		text := read(s.vera.open(t, path+query))
		if strings.Contains(text, "Claude") != want[0] || strings.Contains(text, "Cursor") != want[1] {
			t.Errorf("%s shows %s", query, text)
		}
	}
	if text := read(s.alice.open(t, path+"?client=nobody")); !strings.Contains(text, "No attempt is like that") {
		t.Errorf("a filter that nothing fits: %s", text)
	}
	for _, query := range []string{"?state=broken", "?cursor=x"} {
		if p := s.alice.open(t, path+query); p.status != http.StatusBadRequest {
			t.Errorf("%s answers %d", query, p.status)
		}
	}
	if p := s.bob.open(t, path); p.status != http.StatusNotFound || strings.Contains(p.text, "Cursor") {
		t.Errorf("Bob opens Alice's connections: %d", p.status)
	}
	if text := read(s.alice.open(t, at+"/main")); !strings.Contains(text, "In the last 7 days 2 attempts connected and 1 failed.") || !strings.Contains(text, "Cursor was the last that failed") ||
		!strings.Contains(text, "The email address or the password was wrong.") {
		t.Errorf("the overview does not tell what failed last: %s", text)
	}
}

func TestConnectionsPageIsSmallAndGoesOn(t *testing.T) {
	t.Parallel()
	s := setSurfaceStage(t)
	live := s.publish(t, "main", fileBridge)
	many := append(wholeWay[:6:6], events.StepSignIn, events.StepConsent, events.StepSignIn, events.StepConsent, events.StepSignIn, events.StepConsent, events.StepSignIn, events.StepConsent, events.StepSignIn)
	for i := range 25 {
		s.attempted(t, live, fmt.Sprintf("client-%s-%d", strings.Repeat("x", 100), i), strings.Repeat("Long name ", 20), time.Duration(i+1)*20*time.Minute, "wrong_credentials", many...)
	}
	path, seen := at+"/main/connections?state=failed&days=30", 0
	for n := range 2 {
		p := s.alice.open(t, path)
		if len(p.text) > maxPage {
			t.Errorf("page %d has %d bytes", n, len(p.text))
		}
		seen += strings.Count(p.text, `class="attempt"`)
		_, next, found := strings.Cut(p.text, `href="`+at+`/main/connections?cursor=`)
		if found != (n == 0) {
			t.Fatalf("page %d goes on: %v", n, found)
		}
		next, _, _ = strings.Cut(next, `"`)
		path = at + "/main/connections?cursor=" + html.UnescapeString(next)
		if n == 0 && (!strings.Contains(path, "state=failed") || !strings.Contains(path, "days=30")) {
			t.Errorf("the filter is lost: %s", path)
		}
	}
	if seen != 25 {
		t.Errorf("%d attempts on both pages", seen)
	}
}

func TestDirectSurfacesSayWhereTheRestIs(t *testing.T) {
	t.Parallel()
	s := setSurfaceStage(t)
	s.publish(t, "main", fileOne)
	for _, path := range []string{"/main/connections", "/main/grants"} {
		if text := read(s.alice.open(t, at+path)); !strings.Contains(text, "directly at the project") {
			t.Errorf("%s: %s", path, text)
		}
	}
}

func TestGrantsPageShowsAndRevokes(t *testing.T) {
	t.Parallel()
	s := setSurfaceStage(t)
	path := at + "/main/grants"
	live := s.publish(t, "main", fileBridge)
	if text := read(s.alice.open(t, path)); !strings.Contains(text, "Nobody has given an AI app access yet") {
		t.Errorf("empty: %s", text)
	}
	grant := s.grant(t, live, "Claude", "7f0c6d1e", "")
	s.grant(t, live, "Cursor", "11aa22bb", "revoked_at = now(), revoked_why = 'upstream_ended'")
	s.grant(t, live, "CI", "33cc44dd", "kind = 'personal', read_only = true")
	first := s.alice.open(t, path)
	text := read(first)
	for _, want := range []string{"2 connections with access now", "Claude has access", "Person 7f0c6d1e · reads and changes, within crm.read", "Last used 2 h ago", "session ended", "They connect again and sign in", "personal token", "only reads"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q: %s", want, text)
		}
	}
	if strings.Contains(first.text, "secret-address") {
		t.Error("the page tells an email")
	}
	if p := s.vera.open(t, path); strings.Contains(p.text, "Revoke its access") {
		t.Error("a viewer may revoke")
	}
	revoke := path + "/" + grant.String() + "/revoke"
	if p := s.vera.post(t, revoke); p.status != http.StatusForbidden {
		t.Errorf("a viewer revokes: %d", p.status)
	}
	if p := s.bob.post(t, revoke); p.status != http.StatusNotFound {
		t.Errorf("Bob revokes Alice's: %d", p.status)
	}
	if text := read(s.alice.open(t, path)); !strings.Contains(text, "2 connections with access now") {
		t.Errorf("somebody revoked it: %s", text)
	}
	if p := s.alice.post(t, revoke); p.status != http.StatusSeeOther || p.location != path+"?done=grant-revoked" {
		t.Errorf("revoke: %d %s", p.status, p.location)
	}
	if text := read(s.alice.open(t, path+"?done=grant-revoked")); !strings.Contains(text, "has no access any more") || !strings.Contains(text, "1 connection with access now") || !strings.Contains(text, "A builder of your organization took the access away") {
		t.Errorf("after revoking: %s", text)
	}
	if s.audited(t, "grant.revoke", "ok") != 1 || s.audited(t, "grant.revoke", "refused") == 0 {
		t.Error("the audit log does not tell")
	}
	for _, nothing := range []string{id.New[id.GrantKind]().String(), "x"} {
		if p := s.alice.post(t, path+"/"+nothing+"/revoke"); p.status != http.StatusNotFound {
			t.Errorf("%s is revoked: %d", nothing, p.status)
		}
	}
}

func TestGrantsGoOnOverPages(t *testing.T) {
	t.Parallel()
	s := setSurfaceStage(t)
	live := s.publish(t, "main", fileBridge)
	for i := range 53 {
		s.grant(t, live, strings.Repeat("Long ", 30), fmt.Sprintf("%08d-0000-7000-8000-000000000000", i), "")
	}
	one := s.alice.open(t, at+"/main/grants")
	if n := strings.Count(one.text, "Revoke its access"); n != 50 || len(one.text) > maxPage {
		t.Errorf("%d grants in %d bytes", n, len(one.text))
	}
	_, next, _ := strings.Cut(one.text, `href="`+at+`/main/grants?after=`)
	next, _, _ = strings.Cut(next, `"`)
	if n := strings.Count(s.alice.open(t, at+"/main/grants?after="+url.QueryEscape(next)).text, "Revoke its access"); n != 3 {
		t.Errorf("%d grants on the second page", n)
	}
	if p := s.alice.open(t, at+"/main/grants?after=x"); p.status != http.StatusNotFound {
		t.Errorf("a strange place answers %d", p.status)
	}
}

func TestSettingsSayHowPeopleSignIn(t *testing.T) {
	t.Parallel()
	s := setSurfaceStage(t)
	const path, secret = "/app/projects/acme/settings", "a-client-secret-of-the-project"
	text := read(s.alice.open(t, path))
	for _, want := range []string{"People sign in on the app's own pages", s.url + "/connect/callback", "None yet: it is registered by itself"} {
		if !strings.Contains(text, want) {
			t.Errorf("the settings do not say %q: %s", want, text)
		}
	}
	if strings.Contains(text, "HS256") {
		t.Errorf("the settings speak of HS256: %s", text)
	}
	s.db.Exec(t, "update projects set signing = 'hs256', oauth_enabled = false")
	if text := read(s.alice.open(t, path)); !strings.Contains(text, "shared secret (HS256)") || !strings.Contains(text, "because the project's OAuth server is off") {
		t.Errorf("an HS256 project without an OAuth server: %s", text)
	}
	if p := s.alice.post(t, path+"/sign-in", "method", "hosted", "captcha_provider", "turnstile", "captcha_site_key", "0x4AAA"); p.location != path+"?done=sign-in" {
		t.Errorf("saving: %d %s", p.status, read(p))
	}
	if p := s.alice.post(t, path+"/sign-in/client", "client_id", "our-client", "client_secret", secret); p.location != path+"?done=sign-in-client" {
		t.Errorf("pasting: %d %s", p.status, read(p))
	}
	after := s.alice.open(t, path)
	if text := read(after); !strings.Contains(text, "You pasted it.") || !strings.Contains(text, "our-client") || !strings.Contains(after.text, `value="0x4AAA"`) || strings.Contains(after.text, secret) {
		t.Errorf("after saving: %s", text)
	}
	refused := s.alice.post(t, path+"/sign-in/client", "client_id", "alone", "client_secret", "")
	if refused.status != http.StatusBadRequest || !strings.Contains(read(refused), "Correct the field client_secret") || !strings.Contains(refused.text, `value="alone"`) {
		t.Errorf("an id alone: %d %s", refused.status, read(refused))
	}
	if refused := s.alice.post(t, path+"/sign-in/client", "client_id", "a b", "client_secret", secret); refused.status != http.StatusBadRequest || strings.Contains(refused.text, secret) {
		t.Errorf("a refused form: %d", refused.status)
	}
	if p := s.vera.post(t, path+"/sign-in", "method", "auto", "captcha_provider", "", "captcha_site_key", ""); p.status != http.StatusForbidden {
		t.Errorf("a viewer changes it: %d", p.status)
	}
	if p := s.bob.post(t, path+"/sign-in", "method", "auto"); p.status != http.StatusNotFound {
		t.Errorf("Bob changes it: %d", p.status)
	}
	if p := s.alice.post(t, path+"/sign-in/forget"); p.location != path+"?done=sign-in-forget" || !strings.Contains(read(s.alice.open(t, path)), "None yet") {
		t.Errorf("forgetting: %d", p.status)
	}
	if strings.Contains(s.log.String(), secret) {
		t.Error("the secret is in the log")
	}
}

// TestPagesOfConnectionsAreWellMade looks at them, empty and full.
func TestPagesOfConnectionsAreWellMade(t *testing.T) {
	t.Parallel()
	s := setSurfaceStage(t)
	ctx := browsertest.Open(t, 6*time.Minute)
	enter(t, ctx, s.url, s.alice.cookies())
	s.publish(t, "main", fileOne)
	wellMade(t, ctx, "connections-direct", s.url+at+"/main/connections")
	wellMade(t, ctx, "grants-direct", s.url+at+"/main/grants")
	s.publish(t, "main", fileBridge)
	wellMade(t, ctx, "grants-empty", s.url+at+"/main/grants")
	live := s.connected(t)
	s.grant(t, live, "Claude", "7f0c6d1e-4a57-4f0e-9f55-6f2f1f7d9a10", "")
	s.grant(t, live, "Cursor", "11aa22bb-4a57-4f0e-9f55-6f2f1f7d9a10", "revoked_at = now(), revoked_why = 'upstream_ended'")
	s.grant(t, live, "Codex", "11aa22bb-4a57-4f0e-9f55-6f2f1f7d9a10", "revoked_at = now(), revoked_why = 'token_reused'")
	s.grant(t, live, "CI", "33cc44dd-4a57-4f0e-9f55-6f2f1f7d9a10", "kind = 'personal', read_only = true, last_used_at = null")
	for name, path := range map[string]string{
		"connections": "/main/connections", "connections-none": "/main/connections?client=nobody", "grants": "/main/grants?done=grant-revoked", "overview-connections": "/main",
	} {
		wellMade(t, ctx, name, s.url+at+path)
	}
	s.db.Exec(t, "update projects set signing = 'hs256', oauth_enabled = false")
	s.alice.post(t, "/app/projects/acme/settings/sign-in/client", "client_id", "our-client", "client_secret", "x")
	s.db.Exec(t, "update sign_in_settings set captcha_needed = true")
	wellMade(t, ctx, "settings-sign-in", s.url+"/app/projects/acme/settings")
}
