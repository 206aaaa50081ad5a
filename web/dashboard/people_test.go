package dashboard_test

import (
	"context"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// vera may only look at Acme.
func (w *world) vera(t *testing.T, acme tenants.Organization) *browser {
	t.Helper()
	vera := uuid.Must(uuid.NewV7())
	w.db.Exec(t, "insert into builders (id, email, created_at) values ($1, 'vera@example.test', now())", vera)
	w.db.Exec(t, "insert into members (organization_id, builder_id, role, created_at) values ($1, $2, 'viewer', now())", acme.ID.UUID(), vera)
	if err := w.server.Tenants.SetPassword(context.Background(), "vera@example.test", seal.NewSecret(viewerPassword)); err != nil {
		t.Fatal(err)
	}
	return w.signIn(t, "vera@example.test", viewerPassword)
}

var formActions = regexp.MustCompile(`<form method="post" action="([^"]+)"`)

// TestViewerLooksAndChangesNothing: pages offer a viewer no form that would be
// refused, and forms sent all the same are.
func TestViewerLooksAndChangesNothing(t *testing.T) {
	t.Parallel()
	w, _, at := acme(t)
	p := w.principal(t, "alice@example.test", alicePassword)
	vera := w.vera(t, p.Organization)
	const project = "/app/projects/acme-crm"
	for _, path := range []string{"/app", "/app/tokens", project, project + "/schema", project + "/ownership", project + "/settings"} {
		a := vera.open(path)
		if a.status != http.StatusOK {
			t.Errorf("%s: %d", path, a.status)
		}
		for _, action := range formActions.FindAllStringSubmatch(a.body, -1) {
			if !strings.HasPrefix(action[1], "/app/organization") && action[1] != "/app/sign-out" {
				t.Errorf("%s offers a viewer the form %s", path, action[1])
			}
		}
	}
	for path, form := range map[string][]string{
		"/app/register": {"url", w.project.URL()}, "/app/register/" + at.registration + "/check": nil, "/app/register/" + at.registration: {"publishable_key", w.project.PublishableKey(), "name", "x", "slug", "vera-crm"},
		"/app/tokens": {"name", "x", "scope", "read", "days", "30"}, "/app/notices/" + at.notice + "/dismiss": nil, "/app/tokens/" + at.token + "/revoke": nil,
		project + "/check": nil, project + "/ownership/check": nil, project + "/ownership/secret": {"key", w.project.SecretKey()}, project + "/schema/catalog": {"relations", "public.customers"},
		project + "/schema/import": nil, project + "/settings/name": {"name", "Vera's"}, project + "/settings/slug": {"slug", "vera-crm"},
		project + "/settings/key": {"publishable_key", w.project.PublishableKey()}, project + "/settings/delete": {"confirm", "acme-crm"},
	} {
		if a := vera.post(path, form...); a.status != http.StatusForbidden {
			t.Errorf("POST %s: %d %s", path, a.status, textOf(a.body))
		}
	}
}

// TestTerminalIsSignedInByWhoSeesItsCode walks the device authorization.
func TestTerminalIsSignedInByWhoSeesItsCode(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	alice := w.setUp(t)
	ctx := context.Background()
	begin := func() tenants.DeviceGrant {
		grant, err := w.server.Tenants.BeginDevice(ctx, tenants.DeviceRequest{ClientName: "alices-laptop", Address: "192.0.2.7"})
		if err != nil {
			t.Fatal(err)
		}
		return grant
	}
	grant := begin()
	a := alice.open("/app/device?user_code=" + strings.ToLower(grant.UserCode))
	for _, want := range []string{"alices-laptop", "192.0.2.7", grant.UserCode, "Acme", "Write", "Approve", "Deny"} {
		if !strings.Contains(textOf(a.body), want) {
			t.Errorf("the page does not say %s: %s", want, textOf(a.body))
		}
	}
	if _, err := w.server.Tenants.PollDevice(ctx, grant.DeviceCode); fault.From(err).Code != "authorization_pending" {
		t.Fatalf("looking at a code decided: %v", err)
	}
	alice.submit("/app/device", "user_code", grant.UserCode, "decision", "approve")
	if !strings.Contains(textOf(alice.page), "Go back to the terminal") {
		t.Errorf("approved: %s", textOf(alice.page))
	}
	made, err := w.server.Tenants.PollDevice(ctx, grant.DeviceCode)
	if err != nil || made.Organization.Name != "Acme" || made.Scope != tenants.ScopeWrite {
		t.Fatalf("approved: %+v %v", made, err)
	}
	denied := begin()
	alice.submit("/app/device", "user_code", denied.UserCode, "decision", "deny")
	if _, err := w.server.Tenants.PollDevice(ctx, denied.DeviceCode); fault.From(err).Code != "access_denied" {
		t.Errorf("denied: %v", err)
	}
	for _, code := range []string{grant.UserCode, "WDJB-MJHT", "<b>x</b>"} {
		a := alice.send(http.MethodGet, "/app/device?user_code="+code, nil, nil)
		if a.status != http.StatusNotFound || !strings.Contains(a.body, `aria-invalid="true"`) || strings.Contains(a.body, "<b>x</b>") {
			t.Errorf("code %s: %d %s", code, a.status, textOf(a.body))
		}
	}
	if a := alice.post("/app/device", "user_code", grant.UserCode, "decision", ""); a.status != http.StatusBadRequest {
		t.Errorf("no decision: %d", a.status)
	}
}

// TestTokenIsShownOnceAndEnds makes one, uses it, and revokes it.
func TestTokenIsShownOnceAndEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	alice := w.setUp(t)
	ctx := context.Background()
	a := alice.post("/app/tokens", "name", "CI <script>", "scope", "read", "days", "30")
	start := strings.Index(a.body, "cht_")
	if a.status != http.StatusOK || start < 0 || a.location != "" || a.header.Get("Cache-Control") != "no-store" {
		t.Fatalf("made: %d %s", a.status, textOf(a.body))
	}
	token := a.body[start : start+47]
	p, err := w.server.Tenants.VerifyToken(ctx, seal.NewSecret(token))
	if err != nil || p.Scope != tenants.ScopeRead {
		t.Fatalf("the token shown: %+v %v", p, err)
	}
	again := alice.open("/app/tokens")
	if strings.Contains(again.body, token) || strings.Contains(w.log.String(), token) || !strings.Contains(again.body, "CI &lt;script&gt;") {
		t.Errorf("shown again: %s", textOf(again.body))
	}
	alice.submit("/app/tokens/" + p.Token.String() + "/revoke")
	if _, err := w.server.Tenants.VerifyToken(ctx, seal.NewSecret(token)); err == nil {
		t.Error("revoked, and still good")
	}
	for _, form := range [][]string{{"name", "", "scope", "read", "days", "30"}, {"name", "x", "scope", "all", "days", "30"}, {"name", "x", "scope", "read", "days", "-1"}, {"name", "x", "scope", "read", "days", "99999"}} {
		if a := alice.post("/app/tokens", form...); a.status != http.StatusBadRequest || strings.Contains(a.body, "cht_") {
			t.Errorf("%v: %d", form, a.status)
		}
	}
}

// TestPasswordEndsOtherSessions changes it, and finds the other browser out.
func TestPasswordEndsOtherSessions(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	alice := w.setUp(t)
	other := w.signIn(t, "alice@example.test", alicePassword)
	const next = "an even heavier weight"
	for _, form := range [][]string{{"current", "not it at all", "password", next}, {"current", alicePassword, "password", "short"}} {
		a := alice.post("/app/account/password", form...)
		if a.status < 400 || a.status >= 500 || strings.Contains(a.body, form[1]) || strings.Contains(a.body, next) {
			t.Errorf("%v: %d %s", form, a.status, textOf(a.body))
		}
	}
	alice.submit("/app/account/password", "current", alicePassword, "password", next)
	if a := other.send(http.MethodGet, "/app/account", nil, nil); a.status != http.StatusSeeOther {
		t.Errorf("the other session: %d", a.status)
	}
	if a := alice.open("/app/account"); a.status != http.StatusOK {
		t.Errorf("this session: %d", a.status)
	}
	if strings.Contains(w.log.String(), next) || len(w.tablesWith(t, next)) > 0 {
		t.Error("a password is written down")
	}
	w.signIn(t, "alice@example.test", next)
}

// TestOrganizationsAreSwitched and what is seen is the chosen one's.
func TestOrganizationsAreSwitched(t *testing.T) {
	t.Parallel()
	_, alice, _ := acme(t)
	alice.submit("/app/organizations", "organization", "Initech & Sons")
	if text := textOf(alice.page); strings.Contains(text, "Acme CRM") || !strings.Contains(alice.page, "Initech &amp; Sons") {
		t.Errorf("in a new organization: %s", text)
	}
	if a := alice.send(http.MethodGet, "/app/projects/acme-crm", nil, nil); a.status != http.StatusNotFound {
		t.Errorf("Acme's project from Initech: %d", a.status)
	}
	alice.submit("/app/organization", "organization", "acme")
	if text := textOf(alice.page); !strings.Contains(text, "Acme CRM") {
		t.Errorf("back in Acme: %s", text)
	}
	if a := alice.post("/app/organizations", "organization", ""); a.status != http.StatusBadRequest || !strings.Contains(a.body, `aria-invalid="true"`) {
		t.Errorf("no name: %d", a.status)
	}
}

// TestNoticeStandsOnTopUntilDismissed for everybody of the organization.
func TestNoticeStandsOnTopUntilDismissed(t *testing.T) {
	t.Parallel()
	_, alice, at := acme(t)
	if a := alice.open("/app"); !strings.Contains(a.body, "Look here.") {
		t.Fatalf("no notice: %s", textOf(a.body))
	}
	alice.submit("/app/notices/" + at.notice + "/dismiss")
	if strings.Contains(alice.page, "Look here.") {
		t.Error("dismissed, and still there")
	}
}

// TestSaidSentencesAreOurs: an address puts no words into a page.
func TestSaidSentencesAreOurs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	alice := w.setUp(t)
	if a := alice.open("/app?done=You+are+hacked"); strings.Contains(a.body, "hacked") {
		t.Error("the address speaks")
	}
	if a := alice.open("/app?done=switched"); !strings.Contains(a.body, "another organization now") {
		t.Error("nothing is said")
	}
}
