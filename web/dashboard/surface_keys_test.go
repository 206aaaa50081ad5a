package dashboard_test

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/chumbo-dev/chumbo/internal/browsertest"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

const (
	noTools     = "tools: []\n"
	fileKeys    = "version: 1\ntitle: Acme CRM\naccess: { mode: [oauth, api-key], authorization: bridge, advertise: [crm.read] }\n" + noTools
	fileNoKeys  = "version: 1\ntitle: Acme CRM\naccess: { mode: oauth, authorization: bridge, advertise: [crm.read] }\n" + noTools
	fileAlone   = "version: 1\ntitle: Acme CRM\naccess: { mode: api-key }\n" + noTools
	fileIsolate = "version: 1\ntitle: Acme CRM\naccess: { mode: oauth, authorization: direct, isolation: client }\n" + noTools
)

var keyShape = regexp.MustCompile(`chk_[A-Za-z0-9_-]{43}`)

// made makes a key by the form and returns it.
func (s *surfaceStage) made(t *testing.T, surface, name, scopes, days string) string {
	t.Helper()
	p := s.alice.post(t, at+"/"+surface+"/keys", "name", name, "scopes", scopes, "days", days)
	key := keyShape.FindString(p.text)
	if p.status != http.StatusOK || key == "" || p.location != "" {
		t.Fatalf("make a key: %d %s", p.status, read(p))
	}
	if p.header.Get("Cache-Control") != "no-store" {
		t.Error("a browser may keep the page with the key")
	}
	return key
}

// revokeForms are the addresses that a page offers to revoke keys at.
func revokeForms(p page) (list []string) {
	for _, found := range regexp.MustCompile(`action="([^"]*/keys/key_[0-9a-f]+/revoke)"`).FindAllStringSubmatch(p.text, -1) {
		list = append(list, found[1])
	}
	return list
}

func TestKeyIsMadeShownOnceAndRevoked(t *testing.T) {
	t.Parallel()
	s := setSurfaceStage(t)
	s.publish(t, "main", fileKeys)
	s.publish(t, "other", fileKeys)
	path := at + "/main/grants"
	if text := read(s.alice.open(t, path)); !strings.Contains(text, "There is no key yet") || !strings.Contains(text, "Make a key") || !strings.Contains(text, "This surface names: crm.read") {
		t.Errorf("empty: %s", text)
	}
	key := s.made(t, "main", "Nightly <script>", "crm.read  crm.write", "30")
	first := s.alice.open(t, path)
	text := read(first)
	for _, want := range []string{"1 key with access now", "Nightly <script>", "ends in " + key[len(key)-4:], "crm.read crm.write", "never", time.Now().AddDate(0, 0, 30).UTC().Format("2 January 2006"), "What sends this key stops working at once"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q: %s", want, text)
		}
	}
	if strings.Contains(first.text, key) || strings.Contains(first.text, "<script>") {
		t.Error("the page shows the key again, or a name as markup")
	}
	if strings.Contains(s.log.String(), key) {
		t.Error("the key is in the log")
	}
	revoke := revokeForms(first)
	if len(revoke) != 1 {
		t.Fatalf("forms %v", revoke)
	}

	// A viewer looks and changes nothing; Bob finds nothing; nor does a form of
	// another surface.
	seen := s.vera.open(t, path)
	if text := read(seen); !strings.Contains(text, "Nightly") || !strings.Contains(text, "Only those who may change the surface make keys") || len(revokeForms(seen)) > 0 || strings.Contains(seen.text, `name="days"`) {
		t.Errorf("a viewer sees %s", text)
	}
	for _, at := range []string{revoke[0], at + "/main/keys"} {
		if p := s.vera.post(t, at, "name", "Vera's", "days", "30"); p.status != http.StatusForbidden || keyShape.MatchString(p.text) {
			t.Errorf("a viewer at %s: %d", at, p.status)
		}
		if p := s.bob.post(t, at, "name", "Bob's", "days", "30"); p.status != http.StatusNotFound || keyShape.MatchString(p.text) {
			t.Errorf("Bob at %s: %d", at, p.status)
		}
	}
	for _, page := range []string{"/main/keys", "/main/clients"} {
		if p := s.bob.open(t, at+page); p.status != http.StatusNotFound || strings.Contains(p.text, "Nightly") {
			t.Errorf("Bob at %s: %d", page, p.status)
		}
	}
	for _, nothing := range []string{strings.Replace(revoke[0], "/main/", "/other/", 1), at + "/main/keys/" + id.New[id.KeyKind]().String() + "/revoke", at + "/main/keys/x/revoke"} {
		if p := s.alice.post(t, nothing); p.status != http.StatusNotFound {
			t.Errorf("%s: %d", nothing, p.status)
		}
	}
	if text := read(s.alice.open(t, path)); !strings.Contains(text, "1 key with access now") {
		t.Errorf("somebody revoked it, or made another: %s", text)
	}

	if p := s.alice.post(t, revoke[0]); p.status != http.StatusSeeOther || p.location != path+"?done=key-revoked" {
		t.Fatalf("revoke: %d %s", p.status, p.location)
	}
	after := s.alice.open(t, path+"?done=key-revoked")
	if text := read(after); !strings.Contains(text, "is refused from now on") || !strings.Contains(text, "revoked just now") || len(revokeForms(after)) > 0 || strings.Contains(text, "with access now") {
		t.Errorf("after revoking: %s", text)
	}
	if s.audited(t, "key.create", "ok") != 1 || s.audited(t, "key.revoke", "ok") != 1 || s.audited(t, "key.create", "refused") == 0 {
		t.Error("the audit log does not tell")
	}
}

func TestRefusedKeyIsAskedForAgain(t *testing.T) {
	t.Parallel()
	s := setSurfaceStage(t)
	s.publish(t, "main", fileAlone)
	path := at + "/main/keys"
	for _, tc := range []struct {
		name, scopes, days, want string
		status                   int
	}{
		{"", "", "30", "want 1 to 80 characters", http.StatusBadRequest},
		{strings.Repeat("x", 81), "crm.read", "30", "want 1 to 80 characters", http.StatusBadRequest},
		{"Report", `crm."read"`, "30", "want a scope such as crm.read", http.StatusBadRequest},
		{"Report", "", "", "Choose when it ends", http.StatusBadRequest},
		{"Report", "", "-1", "Choose when it ends", http.StatusBadRequest},
		{"Report", "", "99999", "Choose when it ends", http.StatusBadRequest},
	} {
		p := s.alice.post(t, path, "name", tc.name, "scopes", tc.scopes, "days", tc.days)
		if p.status != tc.status || !strings.Contains(read(p), tc.want) || keyShape.MatchString(p.text) {
			t.Errorf("%+v: %d %s", tc, p.status, read(p))
		}
	}
	again := s.alice.post(t, path, "name", "Kept <b>", "scopes", `"`, "days", "365")
	if !strings.Contains(again.text, `value="Kept &lt;b&gt;"`) || !strings.Contains(again.text, `value="365" selected`) || !strings.Contains(again.text, `aria-invalid="true"`) {
		t.Errorf("the form forgot what was typed: %s", again.text)
	}
	if p := s.alice.open(t, path+"?after=x"); p.status != http.StatusNotFound {
		t.Errorf("a strange place answers %d", p.status)
	}
}

func TestPageSaysWhereKeysDoNotCount(t *testing.T) {
	t.Parallel()
	s := setSurfaceStage(t)
	s.publish(t, "main", fileNoKeys)
	path := at + "/main/grants"
	if text := read(s.alice.open(t, path)); !strings.Contains(text, "Keys of applications are off") || strings.Contains(text, "Make a key") || strings.Contains(text, "Clients of the project") {
		t.Errorf("without api-key: %s", text)
	}
	s.publish(t, "main", fileAlone)
	if text := read(s.alice.open(t, path)); !strings.Contains(text, "No key has access now") || !strings.Contains(text, "Make a key") || strings.Contains(text, "Given by people") {
		t.Errorf("keys alone: %s", text)
	}
	s.made(t, "main", "Report", "", "0")
	if text := read(s.alice.open(t, path)); !strings.Contains(text, "no scopes") || !strings.Contains(text, "when revoked") {
		t.Errorf("a key without an end: %s", text)
	}
	s.db.Exec(t, "update api_keys set expires_at = now() - interval '1 hour', last_used_at = now() - interval '3 hours'")
	if text := read(s.alice.open(t, path)); !strings.Contains(text, "expired") || !strings.Contains(text, "3 h ago") || strings.Contains(text, "with access now") {
		t.Errorf("an expired key: %s", text)
	}
	s.publish(t, "main", fileNoKeys)
	if text := read(s.alice.open(t, path)); !strings.Contains(text, "so every key is refused") || strings.Contains(text, "Make a key") {
		t.Errorf("keys from before: %s", text)
	}
}

// keysOf writes keys straight into the table.
func (s *surfaceStage) keysOf(t *testing.T, live surfaces.Revision, n int, name string) {
	t.Helper()
	for i := range n {
		s.db.Exec(t, `insert into api_keys (organization_id, id, surface_id, name, key_hash, hint, scopes, created_by, created_at)
			values ($1, $2, $3, $4, int4send($5), 'abcd', '{crm.read,crm.write}', $6, now())`,
			s.project.Organization.UUID(), id.New[id.KeyKind]().UUID(), live.Surface.UUID(), fmt.Sprintf("%s %d", name, i), i, s.alice.principal.Builder.ID.UUID())
	}
}

// clientsOf writes direct clients straight into the table.
func (s *surfaceStage) clientsOf(t *testing.T, live surfaces.Revision, n int, name string) {
	t.Helper()
	s.db.Exec(t, `insert into direct_clients select $1, $2, 'client-' || i || repeat('-x', 20), $3, $4 || i, now() - interval '9 days', now() - i * interval '1 hour' from generate_series(1, $5::integer) i`,
		s.project.Organization.UUID(), s.project.ID.UUID(), live.Surface.UUID(), name, n)
}

func TestKeysAndClientsGoOnOverPages(t *testing.T) {
	t.Parallel()
	s := setSurfaceStage(t)
	live := s.publish(t, "main", fileKeys)
	long := strings.Repeat("Long ", 14)
	s.keysOf(t, live, 53, long)
	s.clientsOf(t, live, 53, long)
	for i := range 50 {
		s.grant(t, live, strings.Repeat("Long ", 30), fmt.Sprintf("%08d-0000-7000-8000-000000000000", i), "")
	}
	all := s.alice.open(t, at+"/main/grants")
	if keys, clients := len(revokeForms(all)), strings.Count(all.text, "<code>client-"); keys != 10 || clients < 10 || len(all.text) > maxPage {
		t.Errorf("%d keys and %d clients in %d bytes", keys, clients, len(all.text))
	}
	after := func(p page, list string) string {
		t.Helper()
		_, next, found := strings.Cut(p.text, `href="`+at+`/main/`+list+`?after=`)
		if !found {
			t.Fatalf("%s do not go on", list)
		}
		next, _, _ = strings.Cut(next, `"`)
		return at + "/main/" + list + "?after=" + next
	}
	one := s.alice.open(t, at+"/main/keys")
	if n := len(revokeForms(one)); n != 50 || len(one.text) > maxPage {
		t.Errorf("%d keys in %d bytes", n, len(one.text))
	}
	if n := len(revokeForms(s.alice.open(t, after(one, "keys")))); n != 3 {
		t.Errorf("%d keys on the second page", n)
	}
	if n := len(revokeForms(s.alice.open(t, after(all, "keys")))); n != 43 {
		t.Errorf("%d keys below the first ten", n)
	}
	one = s.alice.open(t, at+"/main/clients")
	if n := strings.Count(one.text, "<code>client-"); n != 50 || len(one.text) > maxPage {
		t.Errorf("%d clients in %d bytes", n, len(one.text))
	}
	if n := strings.Count(s.alice.open(t, after(one, "clients")).text, "<code>client-"); n != 3 {
		t.Errorf("%d clients on the second page", n)
	}
}

func TestClientsOfTheProjectAreListed(t *testing.T) {
	t.Parallel()
	s := setSurfaceStage(t)
	live := s.publish(t, "main", fileIsolate)
	s.publish(t, "other", fileOne)
	if text := read(s.alice.open(t, at+"/main/grants")); !strings.Contains(text, "No client has come") {
		t.Errorf("none yet: %s", text)
	}
	s.clientsOf(t, live, 1, `<img src=x>`+"\u202e")
	s.db.Exec(t, "insert into direct_clients (organization_id, project_id, client_id, surface_id, first_seen_at, last_used_at) select organization_id, project_id, 'a b&c=d', surface_id, now(), now() from direct_clients")
	for _, path := range []string{"/main/grants", "/main/clients"} {
		p := s.alice.open(t, at+path)
		text := read(p)
		for _, want := range []string{"<img src=x> 1", "A client without a name", "a b&c=d", "this one", "1 h ago", "9 days ago", "each of them counts at its first surface only"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s does not say %q: %s", path, want, text)
			}
		}
		if strings.Contains(p.text, "<img") || strings.Contains(p.text, "\u202e") {
			t.Errorf("%s: a name is markup, or turns text around", path)
		}
	}
	if text := read(s.vera.open(t, at+"/other/grants")); !strings.Contains(text, "a b&c=d") || strings.Contains(text, "this one") || strings.Contains(text, "counts at its first") {
		t.Errorf("the other surface: %s", text)
	}
	if text := read(s.alice.open(t, at+"/main/clients?after="+url.QueryEscape("a b&c=d"))); strings.Contains(text, "a b&c=d") || !strings.Contains(text, "<img src=x>") {
		t.Errorf("what follows: %s", text)
	}
	if p := s.bob.open(t, at+"/main/clients"); p.status != http.StatusNotFound {
		t.Errorf("Bob: %d", p.status)
	}
}

// TestPagesOfKeysAreWellMade looks at them, empty and full, and makes a key
// with the keyboard alone and without scripts.
func TestPagesOfKeysAreWellMade(t *testing.T) {
	t.Parallel()
	s := setSurfaceStage(t)
	ctx := browsertest.Open(t, 6*time.Minute)
	enter(t, ctx, s.url, s.alice.cookies())
	s.publish(t, "main", fileAlone)
	wellMade(t, ctx, "keys-empty", s.url+at+"/main/grants")
	act(t, ctx, scripts(false), chromedp.EmulateViewport(390, 844), chromedp.Navigate(s.url+at+"/main/grants"), chromedp.Focus("#name-field"), paste("Nightly report"),
		press("Tab"), paste("crm.read"), press("Tab"), press("Tab"))
	follow(t, ctx, press("Enter"))
	act(t, ctx, chromedp.Query(".once"))
	if key := see(t, ctx, chromedp.Text(".once .copyable-value")); !keyShape.MatchString(key) {
		t.Errorf("the page shows %q", key)
	}
	act(t, ctx, scripts(true))
	wellMadeAsItIs(t, ctx, "keys-made-390")
	live := s.publish(t, "main", fileKeys)
	s.keysOf(t, live, 3, "Partner")
	s.db.Exec(t, "update api_keys set revoked_at = now() - interval '2 days' where name = 'Partner 1'")
	s.db.Exec(t, "update api_keys set expires_at = now() - interval '2 days', last_used_at = now() - interval '3 days' where name = 'Partner 2'")
	s.grant(t, live, "Claude", "7f0c6d1e-4a57-4f0e-9f55-6f2f1f7d9a10", "")
	s.clientsOf(t, live, 4, "Claude Code ")
	for name, path := range map[string]string{"grants-and-keys": "/main/grants?done=key-revoked", "keys": "/main/keys", "clients": "/main/clients"} {
		wellMade(t, ctx, name, s.url+at+path)
	}
	act(t, ctx, chromedp.EmulateViewport(1440, 900), browsertest.Theme("light"), chromedp.Navigate(s.url+at+"/main/keys"),
		chromedp.Evaluate[chromedp.Void](`void (document.getElementById("name-field").value = "CI", document.getElementById("scopes-field").value = '"')`))
	follow(t, ctx, chromedp.Click(`section[aria-labelledby=make] button.button`))
	wellMadeAsItIs(t, ctx, "keys-refused")
}
