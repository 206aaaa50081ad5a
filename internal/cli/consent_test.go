package cli

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	consentProject = "https://abcdefghijklmnopqrst.supabase.co"
	consentKey     = "sb_publishable_0123456789abcdefghijkl_01234567"
	consentToml    = "# mine\nproject_id = \"acme\"\n\n[api]\nport = 54321 # kept\n"
)

// consentDesk is a folder with a config.toml, for the project above.
func consentDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{dir: t.TempDir(), home: t.TempDir(), vars: map[string]string{"SUPABASE_URL": consentProject, "SUPABASE_PUBLISHABLE_KEY": consentKey}}
	d.write(t, configPath, consentToml)
	return d
}

func TestConsentWritesPageFunctionAndConfig(t *testing.T) {
	t.Parallel()
	d := consentDesk(t)
	code, out, errs := d.chumbo(t, "consent", "--title", "Acme & Sons", "--site-url", "https://app.example.test/")
	if code != 0 {
		t.Fatalf("exit %d: %s%s", code, out, errs)
	}
	wants(t, out, "wrote consent/index.html", "wrote "+consentFunctionPath, "wrote supabase/config.toml",
		"at https://app.example.test/oauth/consent", "frame-ancestors 'none'", "Site URL: https://app.example.test.", "Authorization Path: /oauth/consent",
		"supabase secrets set CONSENT_ORIGIN=https://app.example.test, then supabase functions deploy chumbo-consent")
	wants(t, d.read(t, "consent/index.html"), `data-project="`+consentProject+`"`, `data-key="`+consentKey+`"`, "Acme &amp; Sons", "connect-src "+consentProject+";")
	if config := d.read(t, configPath); !strings.HasPrefix(config, consentToml) || !strings.Contains(config, "[functions.chumbo-consent]\n") || !strings.HasSuffix(config, "verify_jwt = false\n") {
		t.Errorf("config.toml is\n%s", config)
	}
	before := d.files(t)
	code, out, _ = d.chumbo(t, "consent", "--title", "Acme & Sons")
	if code != 0 || strings.Contains(out, "wrote") || !slices.Equal(d.files(t), before) {
		t.Errorf("a second run: exit %d\n%s", code, out)
	}
	wants(t, out, "consent/index.html is there already, the same", "supabase/config.toml is there already", "pass --site-url")
}

// TestConsentPagePolicyNamesWhatThePageHolds: a digest that does not fit is a
// page that does nothing.
func TestConsentPagePolicyNamesWhatThePageHolds(t *testing.T) {
	t.Parallel()
	page := consentPage(consentProject, consentKey, `</script><img src=x onerror=alert(1)>{{script}}`)
	for _, part := range []string{"style", "script"} {
		m := regexp.MustCompile(`(?s)<` + part + `>(.*?)</` + part + `>`).FindStringSubmatch(page)
		if m == nil {
			t.Fatalf("no %s", part)
		}
		sum := sha256.Sum256([]byte(m[1]))
		wants(t, page, part+"-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'")
	}
	if strings.Count(page, "<script") != 1 || strings.Contains(page, "<img") || strings.Contains(page, "http-equiv=\"refresh\"") {
		t.Error("a title became markup")
	}
	for _, bad := range []string{"unsafe-inline", "unsafe-eval", "innerHTML", "localStorage", "sessionStorage", "document.cookie", "document.write", "<script src", "<link"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page holds %s", bad)
		}
	}
}

func TestConsentLeavesChangedFilesAlone(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(text string) string{
		"a word of it":       func(text string) string { return strings.Replace(text, "Nobody has checked it.", "Trust it.", 1) },
		"something after it": func(text string) string { return text + "<p>mine</p>\n" },
		"written by hand":    func(string) string { return "<h1>mine</h1>" },
		"nothing":            func(string) string { return "" },
		"CR LF":              func(text string) string { return strings.ReplaceAll(text, "\n", "\r\n") },
	} {
		d := consentDesk(t)
		d.write(t, "consent/index.html", change(consentPage(consentProject, consentKey, "this app")))
		mine := d.read(t, "consent/index.html")
		code, e := d.json(t, "consent")
		if code != 1 || e.OK || e.step(t, "page").Status != "fail" || !strings.Contains(e.step(t, "page").Fix, "--force") || e.step(t, "function").Status != "skip" {
			t.Errorf("%s: exit %d, %+v", name, code, e)
		}
		if d.read(t, "consent/index.html") != mine || d.read(t, configPath) != consentToml || len(d.files(t)) != 2 {
			t.Errorf("%s: something was written: %v", name, d.files(t))
		}
		if code, out, _ := d.chumbo(t, "consent", "--force"); code != 0 || !strings.Contains(d.read(t, "consent/index.html"), "Nobody has checked it.") {
			t.Errorf("%s, with --force: exit %d, %s", name, code, out)
		}
	}
}

// TestConsentReplacesItsOwnUnchangedFiles: another title or a later version
// needs no --force.
func TestConsentReplacesItsOwnUnchangedFiles(t *testing.T) {
	t.Parallel()
	d := consentDesk(t)
	d.write(t, "consent/index.html", consentPage(consentProject, consentKey, "before"))
	d.write(t, consentFunctionPath, stamp("// an earlier version\n", "// ", ""))
	code, e := d.json(t, "consent", "--title", "After")
	var data struct {
		Files []consentFile `json:"files"`
	}
	if err := json.Unmarshal(e.Data, &data); err != nil || code != 0 || len(data.Files) != 3 {
		t.Fatalf("exit %d, %v, %s", code, err, e.Data)
	}
	for _, f := range data.Files {
		if f.Outcome != outcomeReplaced {
			t.Errorf("%s: %s", f.Path, f.Outcome)
		}
	}
	wants(t, d.read(t, "consent/index.html"), "After")
	if d.read(t, consentFunctionPath) != consentFunction() {
		t.Error("the function is still the earlier version")
	}
}

func TestConsentDryRunWritesNothing(t *testing.T) {
	t.Parallel()
	d := consentDesk(t)
	code, out, _ := d.chumbo(t, "consent", "--dry-run", "--page", "public/oauth/consent/index.html")
	if code != 0 || len(d.files(t)) != 1 || d.read(t, configPath) != consentToml {
		t.Errorf("exit %d, files %v\n%s", code, d.files(t), out)
	}
	wants(t, out, "would write public/oauth/consent/index.html (written)", "would write supabase/config.toml (replaced)")
}

func TestConsentConfigKeepsWhatIsThere(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		config  string
		outcome string
	}{
		"off already":    {"[functions.chumbo-consent]\nverify_jwt = false\nimport_map = \"./x.json\"\n", outcomeUnchanged},
		"quoted":         {"[functions.\"chumbo-consent\"]\nverify_jwt = false\n", outcomeUnchanged},
		"on":             {"[functions.chumbo-consent]\nverify_jwt = true\n", outcomeRefused},
		"without a word": {"[functions.chumbo-consent]\nenabled = true\n", outcomeRefused},
		"inline":         {"functions = { other = { verify_jwt = true } }\n", outcomeRefused},
		"another one":    {"[functions.other]\nverify_jwt = true", outcomeReplaced},
		"empty":          {"", outcomeReplaced},
		"CR LF":          {"project_id = \"acme\"\r\n", outcomeReplaced},
	} {
		d := consentDesk(t)
		d.write(t, configPath, c.config)
		repo, err := findRepository(d.dir)
		if err != nil {
			t.Fatal(err)
		}
		f, err := consentConfig(repo)
		if err != nil || f.Outcome != c.outcome {
			t.Errorf("%s: %v, %s, want %s", name, err, f.Outcome, c.outcome)
		}
		if f.Outcome == outcomeReplaced && (!strings.HasPrefix(f.text, c.config) || name == "CR LF" && strings.Count(f.text, "\n") != strings.Count(f.text, "\r\n")) {
			t.Errorf("%s: becomes %q", name, f.text)
		}
	}
}

func TestConsentWithoutConfigSaysHowToDeploy(t *testing.T) {
	t.Parallel()
	d := consentDesk(t)
	if err := os.Remove(filepath.Join(d.dir, configPath)); err != nil {
		t.Fatal(err)
	}
	code, out, _ := d.chumbo(t, "consent")
	if code != 0 {
		t.Errorf("exit %d", code)
	}
	wants(t, out, "supabase/config.toml is not there", "supabase functions deploy chumbo-consent --no-verify-jwt")
}

func TestConsentRefusesWhatCannotBeRight(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"secret key":       {"--publishable-key", "sb_secret_0123456789abcdefghijkl_01234567"},
		"project path":     {"--project-url", "https://example.test/rest"},
		"plain http":       {"--project-url", "http://example.test"},
		"policy injection": {"--project-url", "https://example.test;script-src *"},
		"no project":       {"--project-url", "example"},
		"page elsewhere":   {"--page", "../index.html"},
		"page absolute":    {"--page", "/tmp/index.html"},
		"page kind":        {"--page", "supabase/config.toml"},
		"title":            {"--title", " "},
		"site":             {"--site-url", "app.example.test"},
		"site query":       {"--site-url", "https://app.example.test?x=1"},
		"path":             {"--authorization-path", "//evil.example.test"},
	} {
		d := consentDesk(t)
		code, out, errs := d.chumbo(t, append([]string{"consent"}, args...)...)
		if code == 0 || len(d.files(t)) != 1 || strings.Contains(out+errs, "sb_secret_0") {
			t.Errorf("%s: exit %d, files %v, %s%s", name, code, d.files(t), out, errs)
		}
	}
}

func TestConsentWritesNothingThroughASymbolicLink(t *testing.T) {
	t.Parallel()
	d, outside := consentDesk(t), t.TempDir()
	if err := os.Symlink(outside, filepath.Join(d.dir, "consent")); err != nil {
		t.Fatal(err)
	}
	code, _, errs := d.chumbo(t, "consent")
	entries, err := os.ReadDir(outside)
	if code == 0 || err != nil || len(entries) != 0 {
		t.Errorf("exit %d, %v, %d files outside: %s", code, err, len(entries), errs)
	}
}

// TestConsentFunctionHasNoDependencyAndKeepsNothing: what it imports would run
// with people's tokens, and what it logs would be read.
func TestConsentFunctionHasNoDependencyAndKeepsNothing(t *testing.T) {
	t.Parallel()
	text := consentFunction()
	for _, bad := range []string{"import ", "require(", "console.", "SERVICE_ROLE", "SECRET_KEY", "Deno.openKv", `"*"`} {
		if strings.Contains(text, bad) {
			t.Errorf("the function holds %s", bad)
		}
	}
	if !stamped(text) || stamped(strings.Replace(text, "delegated", "other", 1)) {
		t.Error("the stamp does not tell a changed file")
	}
}
