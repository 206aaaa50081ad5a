package connect_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestConnectedAppsAreListedAndChanged(t *testing.T) {
	t.Parallel()
	st := newStage(t)
	grant := st.grantFor(st.acme, "alice@example.test", "Claude")
	alice := st.visiting(t, st.acme, "alice@example.test")
	const page = "/connect/apps/acme-ref"
	a := alice.get(page)
	says(t, textOf(a.body), "Connected apps", "1 app can use your account", "alice@example.test", "Claude", "reads and changes", "never used", "crm.read", "cannot make them until you agree", "Delete a deal", "deletes or overwrites")
	if !strings.Contains(a.body, `<time datetime="`) {
		t.Error("no exact times")
	}
	at := page + "/grants/" + grant.String()
	seen := regexp.MustCompile(`name="seen" value="([^"]+)"`).FindStringSubmatch(a.body)
	if a := alice.submit(page, at+"/widen", "seen", "something else"); seen == nil || a.status != http.StatusConflict || !st.bridge.grants[grant].MoreNow {
		t.Fatalf("agreed to what was not shown: %d", a.status)
	}
	for what, want := range map[string]string{"narrow": "From now on it only reads", "widen": "what is new"} {
		a := alice.submit(page, at+"/"+what, "seen", seen[1])
		if a.status != http.StatusSeeOther {
			t.Fatalf("%s: %d %s", what, a.status, textOf(a.body))
		}
		says(t, textOf(alice.get(a.location).body), want)
	}
	if g := st.bridge.grants[grant]; !g.ReadOnly || g.MoreNow || len(g.Scopes) != 1 {
		t.Errorf("%+v", g.AccessGrant)
	}
	a = alice.submit(page, at+"/revoke")
	says(t, textOf(alice.get(a.location).body), "Disconnected", "No app can use your account", "https://mcp.example.test/acme/mcp", "Ended in the last 30 days (1)", "You disconnected it")
}

func TestPersonalTokenIsShownOnce(t *testing.T) {
	t.Parallel()
	st := newStage(t)
	alice := st.visiting(t, st.acme, "alice@example.test")
	const page = "/connect/apps/acme-ref"
	for _, form := range [][]string{{"name", "x", "days", "91"}, {"name", "x", "days", "0"}, {"name", "x"}} {
		if a := alice.submit(page, page+"/tokens", form...); a.status != http.StatusBadRequest {
			t.Errorf("%v: %d", form, a.status)
		}
	}
	a := alice.submit(page, page+"/tokens", "name", " ", "days", "7")
	if a.status != http.StatusBadRequest || !strings.Contains(a.body, "give it a name") || !strings.Contains(a.body, "<details class=\"grant-make\" open") {
		t.Errorf("%d %s", a.status, a.body)
	}
	a = alice.submit(page, page+"/tokens", "name", "my script", "days", "7")
	says(t, textOf(a.body), "Copy it now", "chp_", "A program sends it to ", "Authorization: Bearer", "my script", "only reads")
	for _, g := range st.bridge.grants {
		if !g.ReadOnly || time.Until(g.ExpiresAt) > 7*24*time.Hour {
			t.Errorf("%+v", g.AccessGrant)
		}
	}
	if a := alice.get(page); strings.Contains(a.body, "chp_") || !strings.Contains(a.body, "my script") {
		t.Error("the token is shown again")
	}
}

func TestNobodySeesOrChangesAnothersApps(t *testing.T) {
	t.Parallel()
	st := newStage(t)
	alices := st.grantFor(st.acme, "alice@example.test", "Claude")
	bobs := st.grantFor(st.globex, "bob@example.test", "Cursor")
	alice, bob := st.visiting(t, st.acme, "alice@example.test"), st.visiting(t, st.globex, "bob@example.test")
	if body := alice.get("/connect/apps/acme-ref").body; strings.Contains(body, "Cursor</h3>") || strings.Contains(body, "bob") {
		t.Error("Alice sees Bob's")
	}
	for _, what := range []string{"revoke", "narrow", "widen"} {
		if a := bob.submit("/connect/apps/globex-ref", "/connect/apps/globex-ref/grants/"+alices.String()+"/"+what); a.status != http.StatusNotFound {
			t.Errorf("Bob may %s: %d", what, a.status)
		}
		if a := alice.submit("/connect/apps/acme-ref", "/connect/apps/acme-ref/grants/"+bobs.String()+"/"+what); a.status != http.StatusNotFound {
			t.Errorf("Alice may %s: %d", what, a.status)
		}
	}
	if g := st.bridge.grants[alices]; g.RevokedAt != nil || g.ReadOnly || !g.MoreNow {
		t.Errorf("changed: %+v", g.AccessGrant)
	}
	// Acme's cookie under Globex' name is nobody there.
	stolen := alice.jar.Cookies(mustURL(pagesURL))[0]
	a := st.browser(t).send(http.MethodGet, "/connect/apps/globex-ref", nil, func(r *http.Request) {
		stolen.Name = "__Host-app-" + strings.ReplaceAll(st.globex.Project.ID.UUID().String(), "-", "")
		r.AddCookie(stolen)
	})
	if !strings.HasPrefix(a.location, "/connect/sign-in/") {
		t.Errorf("%d %s", a.status, a.location)
	}
}

func TestSignOutForgetsThisBrowserOnly(t *testing.T) {
	t.Parallel()
	st := newStage(t)
	grant := st.grantFor(st.acme, "alice@example.test", "Claude")
	alice, phone := st.visiting(t, st.acme, "alice@example.test"), st.visiting(t, st.acme, "alice@example.test")
	a := alice.submit("/connect/apps/acme-ref", "/connect/apps/acme-ref/sign-out")
	says(t, textOf(alice.get(a.location).body), "You are signed out", "Sign in again")
	if a := alice.get("/connect/apps/acme-ref"); !strings.HasPrefix(a.location, "/connect/sign-in/") {
		t.Errorf("%d %s", a.status, a.location)
	}
	if a := phone.get("/connect/apps/acme-ref"); a.status != http.StatusOK || st.bridge.grants[grant].RevokedAt != nil {
		t.Errorf("more than this browser: %d", a.status)
	}
}
