package cli

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var grant = map[string]any{
	"device_code": "dev-code-1", "user_code": "WDJB-MJHT", "verification_uri": "https://mcp.example.test/app/device",
	"verification_uri_complete": "https://mcp.example.test/app/device?code=WDJB-MJHT", "expires_in": 600, "interval": 5,
}

func approved(token string) map[string]any {
	return map[string]any{
		"token": token, "organization": map[string]string{"slug": "acme-corp", "name": "Acme Corp"},
		"builder": map[string]string{"email": "alice@example.test"}, "scope": "write",
	}
}

// waits makes a desk whose clock moves when it waits; then says what happens
// after each wait.
func waits(d *desk, then ...func(waited time.Duration)) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	d.env.Now = func() time.Time { return now }
	d.env.After = func(wait time.Duration) <-chan time.Time {
		now = now.Add(wait)
		if len(then) > 0 {
			then[0](wait)
			then = then[1:]
		}
		fired := make(chan time.Time, 1)
		fired <- now
		return fired
	}
}

func config(d *desk) string { return filepath.Join(d.home, ".config", "chumbo", "config") }

func TestLoginWaitsForTheApprovalAndKeepsTheToken(t *testing.T) {
	t.Parallel()
	f := newFakeServer(t)
	f.on("POST /device/authorize", grant)
	d := newDesk(t, f.URL)
	d.vars, d.env.Host = map[string]string{}, "alices-laptop"
	pending := func(code string) func(time.Duration) {
		return func(time.Duration) { f.refuses("POST /device/token", http.StatusBadRequest, code, "Not yet.") }
	}
	var slowed time.Duration
	waits(d, pending("authorization_pending"), pending("slow_down"), func(waited time.Duration) {
		slowed = waited
		f.on("POST /device/token", approved("cht_kept"))
	})
	code, out, errs := d.chumbo(t, "login", "--server", f.URL)
	if code != 0 {
		t.Fatalf("exit %d: %s%s", code, out, errs)
	}
	wants(t, out, "https://mcp.example.test/app/device", "WDJB-MJHT", "signed in at "+f.URL+" as alice@example.test of Acme Corp, scope write", "Next: chumbo link")
	if strings.Contains(out+errs, "cht_kept") || strings.Contains(out+errs, "dev-code-1") {
		t.Errorf("a secret is shown: %s%s", out, errs)
	}
	if slowed != 10*time.Second {
		t.Errorf("after slow_down it waits %s", slowed)
	}
	wants(t, f.saw()[0].body, `"client_name":"chumbo on alices-laptop"`, `"scope":"write"`)
	info, err := os.Stat(config(d))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("config: %v, %v", info, err)
	}
	entries, err := os.ReadDir(filepath.Dir(config(d)))
	if err != nil || len(entries) != 1 {
		t.Errorf("files left behind: %v, %v", entries, err)
	}

	// The next command uses it.
	f.on("GET /projects/acme/surfaces", map[string]any{"surfaces": []any{}})
	d.write(t, linkPath, "server = \""+f.URL+"\"\nproject = \"acme\"\n")
	d.chumbo(t, "unpin")
	requests := f.saw()
	if got := requests[len(requests)-1].token; got != "Bearer cht_kept" {
		t.Errorf("sent %q", got)
	}
}

func TestLoginForProgramsPrintsOneObject(t *testing.T) {
	t.Parallel()
	f := newFakeServer(t)
	f.on("POST /device/authorize", grant)
	f.on("POST /device/token", approved("cht_kept"))
	d := newDesk(t, f.URL)
	d.vars = map[string]string{}
	waits(d)
	code, e := d.json(t, "login", "--server", f.URL, "--scope", "admin")
	if code != 0 || e.Command != "login" || strings.Contains(string(e.Data), "cht_kept") {
		t.Errorf("exit %d, %+v", code, e)
	}
	_, _, errs := d.chumbo(t, "login", "--json", "--server", f.URL)
	wants(t, errs, "WDJB-MJHT", "https://mcp.example.test/app/device")
}

func TestLoginEndsWhenItCannotSucceed(t *testing.T) {
	t.Parallel()
	for code, says := range map[string]string{"access_denied": "denied", "expired_token": "expired", "authorization_pending": "expired"} {
		f := newFakeServer(t)
		f.on("POST /device/authorize", grant)
		f.refuses("POST /device/token", http.StatusBadRequest, code, "No.")
		d := newDesk(t, f.URL)
		waits(d)
		exit, _, errs := d.chumbo(t, "login")
		if _, err := os.Stat(config(d)); exit != 1 || err == nil || !strings.Contains(errs, says) {
			t.Errorf("%s: exit %d, %q", code, exit, errs)
		}
	}
}

func TestLoginForgivesAServerThatIsAwayForAMoment(t *testing.T) {
	t.Parallel()
	f := newFakeServer(t)
	f.on("POST /device/authorize", grant)
	away := func(time.Duration) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.answers["POST /device/token"] = answer{status: http.StatusBadGateway, raw: `"nginx"`}
	}
	d := newDesk(t, f.URL)
	waits(d, away, away, func(time.Duration) { f.on("POST /device/token", approved("cht_kept")) })
	if code, _, errs := d.chumbo(t, "login"); code != 0 {
		t.Errorf("exit %d: %s", code, errs)
	}
	waits(d, away)
	if code, _, _ := d.chumbo(t, "login"); code != 1 {
		t.Errorf("exit %d of a server that is gone", code)
	}
}

func TestLoginRefusesAPageThatIsNone(t *testing.T) {
	t.Parallel()
	for _, page := range []string{"javascript:alert(1)", "file:///etc/passwd", "-h", "", "https://alice@evil.example.test/"} {
		f := newFakeServer(t)
		hostile := map[string]any{"device_code": "d", "user_code": "WDJB-MJHT", "verification_uri": page, "expires_in": 600}
		f.on("POST /device/authorize", hostile)
		d := newDesk(t, f.URL)
		waits(d)
		if code, out, _ := d.chumbo(t, "login"); code != 1 || f.count("POST /device/token") != 0 {
			t.Errorf("%q: exit %d, %s", page, code, out)
		}
	}
}

func TestEachServerHasItsOwnToken(t *testing.T) {
	t.Parallel()
	one, two := newFakeServer(t), newFakeServer(t)
	d := newDesk(t, "")
	d.vars = map[string]string{}
	waits(d)
	for f, token := range map[*fakeServer]string{one: "cht_one", two: "cht_two"} {
		f.on("POST /device/authorize", grant)
		f.on("POST /device/token", approved(token))
		f.on("GET /projects/acme/surfaces", map[string]any{"surfaces": []any{}})
	}
	for _, f := range []*fakeServer{one, two} {
		if code, _, errs := d.chumbo(t, "login", "--server", f.URL); code != 0 {
			t.Fatalf("exit %d: %s", code, errs)
		}
	}
	token := func(f *fakeServer, url string) string {
		d.vars["CHUMBO_URL"] = url
		d.write(t, linkPath, "server = \""+f.URL+"\"\nproject = \"acme\"\n")
		d.chumbo(t, "unpin")
		requests := f.saw()
		return requests[len(requests)-1].token
	}
	if got := token(two, ""); got != "Bearer cht_two" { // the last one signed in at
		t.Errorf("the server in use gets %q", got)
	}
	if got := token(one, one.URL); got != "Bearer cht_one" {
		t.Errorf("CHUMBO_URL of the first gets %q", got)
	}
	d.vars["CHUMBO_URL"] = ""
	d.write(t, linkPath, "server = \""+one.URL+"\"\nproject = \"acme\"\n")
	code, _, errs := d.chumbo(t, "unpin")
	if code != 2 || !strings.Contains(errs, "chumbo login --server "+one.URL) {
		t.Errorf("exit %d, %q", code, errs)
	}

	// Signing out revokes the token it has, where it can, and leaves the other.
	two.on("GET /me", map[string]any{"token": "tok_two"})
	two.on("DELETE /tokens/tok_two", map[string]any{"revoked": "tok_two"})
	if code, out, _ := d.chumbo(t, "logout", "--server", two.URL); code != 0 || two.count("DELETE /tokens/tok_two") != 1 || strings.Contains(out, "warn") {
		t.Errorf("exit %d, %q", code, out)
	}
	d.chumbo(t, "login", "--server", two.URL)
	two.refuses("DELETE /tokens/tok_two", http.StatusServiceUnavailable, "", "Try again.")
	if code, out, _ := d.chumbo(t, "logout"); code != 0 || !strings.Contains(out, "stays good until it is revoked") {
		t.Errorf("exit %d, %q", code, out)
	}
	if got := token(one, ""); got != "Bearer cht_one" {
		t.Errorf("after signing out of the second, the first gets %q", got)
	}
	for range 2 {
		if code, _, _ := d.chumbo(t, "logout", "--server", one.URL); code != 0 {
			t.Errorf("exit %d", code)
		}
	}
	if text, err := os.ReadFile(config(d)); err != nil || strings.Contains(string(text), "cht_") {
		t.Errorf("still there: %s, %v", text, err)
	}
}

func TestConfigOfOneServerIsStillRead(t *testing.T) {
	t.Parallel()
	f := newFakeServer(t)
	f.on("GET /projects/acme/surfaces", map[string]any{"surfaces": []any{}})
	d := linked(t, f)
	d.vars = map[string]string{}
	if err := os.MkdirAll(filepath.Dir(config(d)), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(config(d), []byte("url = \""+f.URL+"/\"\ntoken = \"cht_old\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d.chumbo(t, "unpin")
	d.vars["CHUMBO_URL"] = f.URL
	d.chumbo(t, "unpin")
	for _, r := range f.saw() {
		if r.token != "Bearer cht_old" {
			t.Errorf("%s gets %q", r.what, r.token)
		}
	}
	if len(f.saw()) != 2 {
		t.Errorf("%d requests", len(f.saw()))
	}
}

func TestNoTokenGoesAlongWithALogin(t *testing.T) {
	t.Parallel()
	f := newFakeServer(t)
	f.on("POST /device/authorize", grant)
	f.on("POST /device/token", approved("cht_kept"))
	d := newDesk(t, "https://other.example.test")
	waits(d)
	d.chumbo(t, "login", "--server", f.URL)
	for _, r := range f.saw() {
		if r.token != "" {
			t.Errorf("%s gets %q", r.what, r.token)
		}
	}
	if len(f.saw()) != 2 {
		t.Errorf("%d requests", len(f.saw()))
	}
}
