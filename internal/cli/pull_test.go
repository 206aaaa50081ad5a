package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func publishes(f *fakeServer, slug, text string) {
	f.on("GET /projects/acme/surfaces", map[string]any{"surfaces": []map[string]any{{"slug": slug, "live_revision": 3}}})
	f.on("GET /projects/acme/surfaces/"+slug+"/revisions/3", map[string]any{"number": 3, "file": text})
	f.on("GET /projects/acme/surfaces/"+slug+"/file", map[string]any{"file": "version: 1\n# draft\n", "draft": true})
}

const liveText = "version: 1\n# live\n"

func TestPullWritesWhatIsLive(t *testing.T) {
	t.Parallel()
	f := newFakeServer(t)
	publishes(f, "main", liveText)
	d := linked(t, f)
	code, out, errs := d.chumbo(t, "pull")
	if code != 0 || d.read(t, "supabase/chumbo/main.yaml") != liveText {
		t.Fatalf("exit %d: %s%s", code, out, errs)
	}
	wants(t, out, "supabase/chumbo/main.yaml: written, with revision 3")
	_, out, _ = d.chumbo(t, "pull", "main")
	wants(t, out, "unchanged")
	if code, _, errs := d.chumbo(t, "pull", "nonsense"); code != 1 || !strings.Contains(errs, "chumbo status") {
		t.Errorf("exit %d, %q", code, errs)
	}
	if code, _, _ := d.chumbo(t, "pull", "--draft", "--yes"); code != 0 || d.read(t, "supabase/chumbo/main.yaml") != "version: 1\n# draft\n" {
		t.Error("the draft was not written")
	}
	if names := d.files(t); !slices.Equal(names, []string{"supabase/chumbo/chumbo.toml", "supabase/chumbo/main.yaml"}) {
		t.Errorf("files are %v", names)
	}
}

func TestPullKeepsLocalChangesUnlessToldOtherwise(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		typed    string
		terminal bool
		args     []string
		code     int
		replaced bool
	}{
		"nobody to ask": {"", false, nil, 1, false},
		"declined":      {"n\n", true, nil, 1, false},
		"no answer":     {"", true, nil, 1, false},
		"agreed":        {"Yes\n", true, nil, 0, true},
		"--yes":         {"", false, []string{"--yes"}, 0, true},
		"json":          {"y\n", true, []string{"--json"}, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFakeServer(t)
			publishes(f, "main", liveText)
			d := linked(t, f, "main")
			d.typed, d.terminal = c.typed, c.terminal
			code, out, _ := d.chumbo(t, append([]string{"pull"}, c.args...)...)
			if replaced := d.read(t, "supabase/chumbo/main.yaml") == liveText; code != c.code || replaced != c.replaced {
				t.Errorf("exit %d, replaced %v: %s", code, replaced, out)
			}
			wants(t, out, "# local main") // what would be lost is shown
		})
	}
}

func TestNamesFromTheServerCannotLeaveTheFolder(t *testing.T) {
	t.Parallel()
	for _, slug := range []string{"../../evil", "..", "a/b", "/etc/evil", `..\evil`, "chumbo.toml/x", "", "main\x00", "MAIN"} {
		f := newFakeServer(t)
		publishes(f, slug, liveText)
		d := linked(t, f)
		code, _, errs := d.chumbo(t, "pull", "--yes")
		if names := d.files(t); code != 1 || len(names) != 1 || len(f.saw()) != 1 {
			t.Errorf("%q: exit %d, files %v, %q", slug, code, names, errs)
		}
	}
}

func TestLinksOutOfTheFolderAreNotFollowed(t *testing.T) {
	t.Parallel()
	outside := filepath.Join(t.TempDir(), "precious.yaml")
	if err := os.WriteFile(outside, []byte("version: 1\n# precious\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := newFakeServer(t)
	publishes(f, "main", liveText)
	offers(f, "main", planOf("safe", nil))

	// A file that is a link.
	d := linked(t, f)
	if err := os.Symlink(outside, filepath.Join(d.dir, "supabase/chumbo/main.yaml")); err != nil {
		t.Skip("no symbolic links here")
	}
	for _, args := range [][]string{{"push"}, {"diff"}, {"pull", "--yes"}} {
		code, _, errs := d.chumbo(t, args...)
		if code != 2 || !strings.Contains(errs, "symbolic link") {
			t.Errorf("%v: exit %d, %q", args, code, errs)
		}
	}
	for _, r := range f.saw() {
		if strings.Contains(r.body, "precious") {
			t.Errorf("sent what a link leads to: %s", r.body)
		}
	}

	// A folder that is a link.
	d = newDesk(t, f.URL)
	if err := os.Mkdir(filepath.Join(d.dir, "supabase"), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Dir(outside), filepath.Join(d.dir, "supabase/chumbo")); err != nil {
		t.Fatal(err)
	}
	f.on("POST /projects", map[string]any{"project": map[string]any{"slug": "acme"}})
	if code, _, errs := d.chumbo(t, link...); code != 2 || !strings.Contains(errs, "symbolic link") {
		t.Errorf("link: exit %d, %q", code, errs)
	}
	if entries, err := os.ReadDir(filepath.Dir(outside)); err != nil || len(entries) != 1 {
		t.Errorf("written outside: %v, %v", entries, err)
	}
	if text, err := os.ReadFile(outside); err != nil || string(text) != "version: 1\n# precious\n" {
		t.Errorf("changed outside: %s, %v", text, err)
	}
}

func TestLinksInsideTheFolderAreFollowed(t *testing.T) {
	t.Parallel()
	f := newFakeServer(t)
	offers(f, "main", planOf("safe", nil))
	d := linked(t, f)
	d.write(t, "shared/main.yaml", "version: 1\n# shared\n")
	if err := os.Symlink("../../shared/main.yaml", filepath.Join(d.dir, "supabase/chumbo/main.yaml")); err != nil {
		t.Skip("no symbolic links here")
	}
	if code, _, errs := d.chumbo(t, "push"); code != 0 {
		t.Fatalf("exit %d: %s", code, errs)
	}
	wants(t, f.saw()[0].body, "# shared")
}

func TestPartOfAPullThatWorkedIsToldApart(t *testing.T) {
	t.Parallel()
	f := newFakeServer(t)
	publishes(f, "main", liveText)
	f.on("GET /projects/acme/surfaces", map[string]any{"surfaces": []map[string]any{
		{"slug": "main", "live_revision": 3}, {"slug": "reports", "live_revision": 1}, {"slug": "third", "live_revision": 1},
	}})
	d := linked(t, f)
	code, out, errs := d.chumbo(t, "pull")
	if code != 1 || !strings.Contains(errs, "No GET /projects/acme/surfaces/reports/revisions/1") {
		t.Errorf("exit %d, %q", code, errs)
	}
	wants(t, out, "ok    supabase/chumbo/main.yaml: written", "skip  supabase/chumbo/reports.yaml: left as it is", "skip  supabase/chumbo/third.yaml: left as it is")
	if names := d.files(t); !slices.Equal(names, []string{"supabase/chumbo/chumbo.toml", "supabase/chumbo/main.yaml"}) {
		t.Errorf("files are %v", names)
	}
}
