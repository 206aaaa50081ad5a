package cli

import (
	"net/http"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// hostile is text that would clear a screen, turn text around, and pass for
// a step of ours.
const hostile = "x\x1b[2J\x1b]0;owned\a\u202etxt\u009b31m\r\nok    all is well\nchumbo: done"

func harmless(t *testing.T, name, out string) {
	t.Helper()
	if strings.ContainsAny(out, "\x1b\a\r\u202e\u009b") {
		t.Errorf("%s drives the terminal: %q", name, out)
	}
	for _, line := range strings.Split(out, "\n") {
		if strings.HasPrefix(line, "ok    all is well") || strings.HasPrefix(line, "chumbo: done") {
			t.Errorf("%s lets a server speak as us: %q", name, out)
		}
	}
}

func TestAnswersCannotDriveTheTerminal(t *testing.T) {
	t.Parallel()
	f := newFakeServer(t)
	change := surfaces.Change{Class: surfaces.ChangeBehaviour, Capability: hostile, Summary: hostile}
	f.on("POST /projects/acme/surfaces/main/plan", planOf(surfaces.ChangeBreaks, map[string]any{
		"changes": []surfaces.Change{change}, "lines": []surfaces.Line{{Op: hostile, Old: 1, Text: hostile}},
		"findings": []surfaces.Finding{{ID: hostile, Severity: surfaces.FindingSerious, Summary: hostile, SQL: hostile}},
		"blocking": []string{hostile}, "problems": []problemLine{{Line: 1, Column: 1, Message: hostile, Severity: hostile}},
		"tools": []map[string]any{{"name": hostile}},
	}))
	f.on("GET /me", map[string]any{"organization": map[string]string{"slug": hostile, "name": hostile}, "role": hostile})
	f.on("GET /projects/acme", map[string]any{"project": map[string]any{"slug": hostile, "api_origin": hostile, "issuer": hostile}})
	f.on("GET /projects/acme/ownership", map[string]any{"verified": true, "method": hostile})
	f.on("GET /projects/acme/schema", map[string]any{"digest": hostile, "offerable": []string{hostile}})
	f.on("GET /projects/acme/posture", map[string]any{"findings": []surfaces.Finding{{ID: hostile, Severity: surfaces.FindingSerious, Summary: hostile, SQL: hostile}}})
	f.on("GET /projects/acme/surfaces", map[string]any{"surfaces": []map[string]any{{"slug": "main", "state": hostile, "urls": []string{hostile}, "live_revision": 3}}, "notes": []string{hostile}})
	f.on("GET /projects/acme/surfaces/main/drift", map[string]any{"known": true, "drifted": true, "objects": []string{hostile}, "broken": []problemLine{{Message: hostile}}})
	f.on("GET /projects/acme/surfaces/main/revisions", map[string]any{"revisions": []map[string]any{{"number": 3, "digest": hostile, "live": true}, {"number": 2, "digest": hostile}}})
	f.on("GET /projects/acme/surfaces/main/revisions/3", map[string]any{"file": hostile})
	f.on("GET /projects/acme/surfaces/main/revisions/compare", map[string]any{"changes": []surfaces.Change{change}, "lines": []surfaces.Line{{Op: "+", New: 1, Text: hostile}}})
	f.on("GET /projects/acme/schema/starter", map[string]any{"file": hostile})
	f.on("POST /projects/acme/schema/catalog", map[string]any{"sql": "select '" + strings.Repeat("a", 64) + "'" + hostile})
	f.refuses("POST /projects/acme/surfaces/main/rollback", http.StatusConflict, hostile, hostile)
	f.on("POST /device/authorize", map[string]any{"device_code": "x", "user_code": hostile, "verification_uri": "https://mcp.example.test/", "expires_in": 60})
	f.refuses("POST /device/token", http.StatusBadRequest, "access_denied", hostile)

	for _, args := range [][]string{
		{"push", "--dry-run"}, {"push"}, {"diff"}, {"diff", "--from", "2"}, {"status"}, {"pull", "--yes"}, {"rollback", "--to", "2", "--yes"}, {"rollback"},
		{"init", "other", "--tables", "x"}, {"init", "other"}, {"import", "--catalog", "--relations", "public.x", "--yes"}, {"open", "main"}, {"login"},
	} {
		for _, format := range [][]string{nil, {"--json"}} {
			d := linked(t, f, "main")
			d.terminal = true
			waits(d)
			_, out, errs := d.chumbo(t, append(args, format...)...)
			harmless(t, strings.Join(append(args, format...), " "), out)
			harmless(t, strings.Join(args, " ")+" on stderr", errs)
			for _, name := range d.files(t) {
				if strings.Contains(d.read(t, name), "\x1b") {
					t.Errorf("%v writes escapes into %s", args, name)
				}
			}
		}
	}
	if f.count("GET /projects/acme/surfaces/main/revisions/3") == 0 || f.count("POST /device/token") == 0 {
		t.Error("some of the answers were never asked for")
	}
}

func TestRefusalsCannotDriveTheTerminal(t *testing.T) {
	t.Parallel()
	f := newFakeServer(t)
	f.mu.Lock()
	f.answers["GET /me"] = answer{status: http.StatusConflict, body: map[string]any{
		"status": 409, "detail": hostile, "title": hostile, "trace_id": hostile, "issues": []map[string]any{{"path": hostile, "message": hostile}},
	}}
	f.mu.Unlock()
	for _, args := range [][]string{{"status"}, {"status", "--json"}} {
		_, out, errs := linked(t, f).chumbo(t, args...)
		harmless(t, args[0], out+errs)
	}
}

// TestNoFlagTakesASecretKey walks every flag of every command, and the
// arguments.
func TestNoFlagTakesASecretKey(t *testing.T) {
	t.Parallel()
	f := newFakeServer(t)
	const (
		secret  = "sb_secret_abcdefghijklmnopqrstuvwxyz"
		service = "eyJhbGciOiJIUzI1NiJ9.eyJyb2xlIjoic2VydmljZV9yb2xlIn0.c2lnbmF0dXJl"
		access  = "sbp_0123456789abcdef0123456789abcdef01234567"
	)
	var tries [][]string
	root := newRoot(Environment{}, &printer{})
	for _, command := range root.Commands() {
		tries = append(tries, []string{command.Name()}, []string{command.Name(), "--no-such-flag"})
		for _, name := range flagNames(command) {
			if name != "db-url" {
				tries = append(tries, []string{command.Name(), "--" + name}, []string{command.Name(), "--" + name + "="})
			}
		}
	}
	tries = append(tries, []string{}, []string{"help"})
	if len(tries) < 50 {
		t.Fatalf("%d ways to try: are the flags still found?", len(tries))
	}
	for _, args := range tries {
		for _, key := range []string{secret, service, access} {
			d := linked(t, f, "main")
			given := append(append([]string{}, args...), key)
			if last := len(args) - 1; last >= 0 && strings.HasSuffix(args[last], "=") {
				given = append(append([]string{}, args[:last]...), args[last]+key)
			}
			code, out, errs := d.chumbo(t, given...)
			if code == 0 || strings.Contains(out+errs, key) || !strings.Contains(out+errs, "evoke") {
				t.Errorf("%v: exit %d, %s%s", args, code, out, errs)
			}
		}
	}
	if n := len(f.saw()); n != 0 {
		t.Errorf("%d requests were made", n)
	}
}

func TestNoVariableOrFileGivesASecretKeyAway(t *testing.T) {
	t.Parallel()
	const secret = "sb_secret_abcdefghijklmnopqrstuvwxyz"
	f := newFakeServer(t)
	for _, name := range []string{"CHUMBO_URL", "CHUMBO_TOKEN", "SUPABASE_URL", "SUPABASE_PUBLISHABLE_KEY", "SUPABASE_ANON_KEY"} {
		d := newDesk(t, f.URL)
		d.vars["SUPABASE_URL"], d.vars["SUPABASE_PUBLISHABLE_KEY"] = "https://project.example.test", "sb_publishable_x"
		d.vars[name] = secret
		if name == "SUPABASE_ANON_KEY" {
			delete(d.vars, "SUPABASE_PUBLISHABLE_KEY")
		}
		code, out, errs := d.chumbo(t, "link", "--slug", "acme")
		if code != 1 || strings.Contains(out+errs, secret) || !strings.Contains(errs, "evoke") {
			t.Errorf("%s: exit %d, %s%s", name, code, out, errs)
		}
	}
	for name, text := range map[string]string{
		linkPath:                      "server = \"" + f.URL + "\"\nproject = \"" + secret + "\"\n",
		configPath:                    "project_id = \"" + secret + "\"\n",
		"supabase/chumbo/second.yaml": "version: 1\n# " + secret + "\n",
	} {
		for _, command := range []string{"push", "status", "diff"} {
			d := linked(t, f, "main")
			d.write(t, name, text)
			offers(f, "main", planOf(surfaces.ChangeSafe, nil))
			code, out, errs := d.chumbo(t, command)
			if code == 0 || strings.Contains(out+errs, secret) {
				t.Errorf("%s in %s: exit %d, %s%s", command, name, code, out, errs)
			}
		}
	}
	for _, r := range f.saw() {
		if strings.Contains(r.what+r.query+r.body+r.token, secret) {
			t.Errorf("sent: %+v", r)
		}
	}
}

func TestMisplacedConnectionStringIsNotRepeated(t *testing.T) {
	t.Parallel()
	f := newFakeServer(t)
	for _, args := range [][]string{{"import"}, {"push", "main"}, {}} {
		d := linked(t, f)
		code, out, errs := d.chumbo(t, append(args, "postgresql://postgres:hunter22@db.example.test/postgres")...)
		if code != 2 || strings.Contains(out+errs, "hunter22") {
			t.Errorf("%v: exit %d, %s%s", args, code, out, errs)
		}
	}
}

func flagNames(c *cobra.Command) []string {
	var names []string
	add := func(f *pflag.Flag) { names = append(names, f.Name) }
	c.Flags().VisitAll(add)
	c.InheritedFlags().VisitAll(add)
	return names
}
