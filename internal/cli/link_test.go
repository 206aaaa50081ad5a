package cli

import (
	"context"
	"errors"
	"net/http"

	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chumbo-dev/chumbo/internal/tenants"
)

var marker = strings.Repeat("0a", 32)

// registers makes a server that registers acme, whose ownership is not proven.
func registers(t *testing.T, notes ...string) *fakeServer {
	t.Helper()
	f := newFakeServer(t)
	f.on("POST /projects", map[string]any{"project": map[string]any{"slug": "acme", "api_origin": "https://project.example.test"}, "notes": notes})
	f.on("GET /projects/acme/ownership", map[string]any{"verified": false, "token": marker, "sql": "drop table everything;"})
	f.refuses("POST /projects/acme/ownership/check", http.StatusUnprocessableEntity, "not_proven", "There is no function chumbo_ownership().")
	return f
}

// registered is the server once it knows the project.
func registered(f *fakeServer, verified bool) {
	known := map[string]any{"project": map[string]any{"slug": "acme", "typed_url": "https://project.example.test", "verified": verified}}
	f.on("GET /projects/acme", known)
	f.on("POST /projects/acme/probe", known)
	if verified {
		f.on("POST /projects/acme/ownership/check", known)
	}
}

func clocked(d *desk) *desk {
	d.env.Now = func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600)) }
	return d
}

const ownershipFile = "supabase/migrations/20260102020405_chumbo_ownership.sql"

func TestLinkWritesTheProofOnceAndChecksItNextTime(t *testing.T) {
	t.Parallel()
	f := registers(t, "Nothing is served until ownership is proven.")
	d := clocked(newDesk(t, f.URL))
	code, out, errs := d.chumbo(t, append(link, "--yes")...)
	if code != 0 {
		t.Fatalf("exit %d: %s%s", code, out, errs)
	}
	wants(t, out, "wrote "+ownershipFile, "Linked to acme. Next: supabase db push, then chumbo link, then chumbo import")
	if got := d.read(t, ownershipFile); got != tenants.OwnershipSQL(marker) {
		t.Errorf("wrote what is not ours: %s", got)
	}

	// Not applied yet: nothing is written a second time.
	registered(f, false)
	later := func() time.Time { return time.Date(2026, 1, 3, 0, 0, 0, 0, time.UTC) }
	d.env.Now = later
	code, out, _ = d.chumbo(t, append(link, "--yes")...)
	if code != 0 || len(d.files(t)) != 2 {
		t.Errorf("exit %d, files %v", code, d.files(t))
	}
	wants(t, out, "not proven to be yours yet", "There is no function chumbo_ownership()", "supabase db push")
	if code, _, _ = d.chumbo(t, append(link, "--verify")...); code != 1 {
		t.Errorf("--verify of what is not proven exits with %d", code)
	}

	// Applied.
	registered(f, true)
	code, out, _ = d.chumbo(t, append(link, "--verify")...)
	if code != 0 || len(d.files(t)) != 2 {
		t.Errorf("exit %d, files %v", code, d.files(t))
	}
	wants(t, out, "ok    the project is proven to be yours", "Linked to acme. Next: chumbo import")
}

func TestLinkAsksBeforeItWritesTheProof(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		typed    string
		terminal bool
		written  bool
	}{
		"nobody to ask": {"", false, false},
		"declined":      {"\n", true, false},
		"agreed":        {"y\n", true, true},
	} {
		f := registers(t)
		d := clocked(newDesk(t, f.URL))
		d.typed, d.terminal = c.typed, c.terminal
		code, out, errs := d.chumbo(t, link...)
		if written := slices.Contains(d.files(t), ownershipFile); code != 0 || written != c.written {
			t.Errorf("%s: exit %d, written %v: %s%s", name, code, written, out, errs)
		}
		if c.terminal {
			wants(t, out, "+ create or replace function public.chumbo_ownership()") // shown before
		}
	}
}

func TestLinkTakesNoMarkerThatCouldBeSQL(t *testing.T) {
	t.Parallel()
	for _, token := range []string{"", "x", "'; drop table customers; --", strings.Repeat("0A", 32)} {
		f := registers(t)
		f.on("GET /projects/acme/ownership", map[string]any{"verified": false, "token": token, "sql": "drop table everything;"})
		d := newDesk(t, f.URL)
		code, _, _ := d.chumbo(t, append(link, "--yes")...)
		if names := d.files(t); code != 1 || !slices.Equal(names, []string{linkPath}) {
			t.Errorf("%q: exit %d, files %v", token, code, names)
		}
	}
}

func TestCatalogFunctionIsWrittenHere(t *testing.T) {
	t.Parallel()
	f := newFakeServer(t)
	digest := strings.Repeat("1b", 32)
	f.on("POST /projects/acme/schema/catalog", map[string]any{"sql": "drop table everything; -- chumbo_catalog( '" + digest + "'"})
	f.on("GET /projects/acme", map[string]any{"project": map[string]any{"slug": "acme", "api_origin": "https://project.example.test"}})
	f.refuses("POST /projects/acme/schema/import", http.StatusUnprocessableEntity, "no_catalog", "There is no function chumbo_catalog.")
	d := clocked(linked(t, f))
	if code, _, _ := d.chumbo(t, "import", "--catalog"); code != 2 {
		t.Errorf("without relations it exits with %d", code)
	}
	code, out, _ := d.chumbo(t, "import", "--catalog", "--relations", "public.customers,public.notes")
	if code != 1 || f.count("POST /projects/acme/schema/catalog") != 0 || len(d.files(t)) != 1 {
		t.Errorf("without --yes: exit %d, %s", code, out)
	}
	code, out, errs := d.chumbo(t, "import", "--catalog", "--relations", "public.customers,public.notes", "--yes")
	if code != 0 {
		t.Fatalf("exit %d: %s%s", code, out, errs)
	}
	file := "supabase/migrations/20260102020405_chumbo_catalog.sql"
	sql := d.read(t, file)
	if strings.Contains(sql, "drop table") || !strings.Contains(sql, digest) || !strings.Contains(sql, "public.notes") {
		t.Errorf("wrote %s", sql)
	}
	wants(t, out, "wrote "+file, "supabase db push, then chumbo import --catalog")

	code, out, _ = d.chumbo(t, "import", "--catalog")
	if code != 1 || len(d.files(t)) != 2 {
		t.Errorf("exit %d, files %v", code, d.files(t))
	}
	wants(t, out, "There is no function chumbo_catalog", "apply "+file)
	f.on("POST /projects/acme/schema/import", map[string]any{"digest": "d", "relations": 2})
	f.on("GET /projects/acme/surfaces", map[string]any{"surfaces": []any{}})
	code, out, errs = d.chumbo(t, "import", "--catalog")
	if code != 0 {
		t.Fatalf("exit %d: %s%s", code, out, errs)
	}
	wants(t, out, "imported 2 relations and 0 functions")
}

func TestProjectIsFoundWhereItIsNamed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		flag, variable, ref, config string
		want, says                  string
	}{
		"flag":     {"https://flag.example.test", "https://variable.example.test", "abcdefghijklmnopqrst", "x", "https://flag.example.test", ""},
		"variable": {"", "https://variable.example.test/", "abcdefghijklmnopqrst", "x", "https://variable.example.test", "of SUPABASE_URL"},
		"ref":      {"", "", "abcdefghijklmnopqrst\n", "x", "https://abcdefghijklmnopqrst.supabase.co", "of supabase/.temp/project-ref"},
		"config":   {"", "", "", "[api]\nport = 54999\n", "http://127.0.0.1:54999", "of supabase/config.toml"},
		"bad ref":  {"", "", "../../evil.example.test/#", "[api]\nport = 54999\n", "http://127.0.0.1:54999", "of supabase/config.toml"},
	} {
		f := registers(t)
		d := newDesk(t, f.URL)
		d.vars["SUPABASE_URL"], d.vars["SUPABASE_ANON_KEY"] = c.variable, "sb_publishable_x"
		if c.ref != "" {
			d.write(t, projectRef, c.ref)
		}
		if c.config != "" {
			d.write(t, configPath, strings.TrimPrefix(c.config, "x"))
		}
		args := []string{"link", "--slug", "acme"}
		if c.flag != "" {
			args = append(args, "--project-url", c.flag)
		}
		_, out, errs := d.chumbo(t, args...)
		asked := ""
		for _, r := range f.saw() {
			if r.what == "POST /projects" {
				asked = r.body
			}
		}
		if !strings.Contains(asked, `"url":"`+c.want+`"`) || !strings.Contains(out, c.says) {
			t.Errorf("%s: sent %s, says %s%s", name, asked, out, errs)
		}
	}
}

func TestInitOffersTablesToChooseFrom(t *testing.T) {
	t.Parallel()
	f := newFakeServer(t)
	f.on("GET /projects/acme/schema", map[string]any{"digest": "d", "offerable": []string{"customers", "notes", "tags"}})
	f.on("GET /projects/acme/schema/starter", map[string]any{"file": "version: 1\n"})
	d := linked(t, f)
	code, _, errs := d.chumbo(t, "init")
	if code != 2 || !strings.Contains(errs, "--tables") || !strings.Contains(errs, "customers, notes, tags") {
		t.Errorf("exit %d, %q", code, errs)
	}
	for _, typed := range []string{"\n", "9\n", "secrets\n"} {
		d.typed = typed
		if code, _, _ := d.chumbo(t, "init"); code != 2 || len(d.files(t)) != 1 {
			t.Errorf("%q: exit %d, files %v", typed, code, d.files(t))
		}
	}
	d.typed = "tags, 1 1\n"
	code, out, errs := d.chumbo(t, "init", "--title", "Acme & Co")
	if code != 0 {
		t.Fatalf("exit %d: %s%s", code, out, errs)
	}
	requests := f.saw()
	if got := requests[len(requests)-1].query; got != "tables=tags%2Ccustomers&title=Acme+%26+Co" {
		t.Errorf("asked for %s", got)
	}
	want := "# yaml-language-server: $schema=" + f.URL + "/schema/surface-v1.json\nversion: 1\n"
	if got := d.read(t, "supabase/chumbo/main.yaml"); got != want {
		t.Errorf("wrote %q", got)
	}

	// Again: the same is no change, and another one is kept.
	if code, out, _ = d.chumbo(t, "init", "--tables", "tags"); code != 0 || !strings.Contains(out, "the same") {
		t.Errorf("exit %d, %s", code, out)
	}
	d.write(t, "supabase/chumbo/main.yaml", "mine")
	if code, out, _ = d.chumbo(t, "init", "--tables", "tags"); code != 1 || d.read(t, "supabase/chumbo/main.yaml") != "mine" {
		t.Errorf("exit %d, %s", code, out)
	}
	for _, name := range []string{"../evil", "a", "mcp", "MAIN"} {
		if code, _, _ := d.chumbo(t, "init", name, "--tables", "tags"); code != 2 || len(d.files(t)) != 2 {
			t.Errorf("%q: exit %d, files %v", name, code, d.files(t))
		}
	}
}

func TestOpenPrintsTheAddressAlways(t *testing.T) {
	t.Parallel()
	f := newFakeServer(t)
	f.on("GET /projects/acme/surfaces", map[string]any{"surfaces": []map[string]any{
		{"slug": "main", "urls": []string{"https://mcp.example.test/acme/mcp"}}, {"slug": "bad", "urls": []string{"javascript:alert(1)"}},
	}})
	d := linked(t, f)
	var opened []string
	d.env.Browse = func(_ context.Context, address string) error { opened = append(opened, address); return nil }
	for _, c := range []struct {
		args []string
		want string
		code int
	}{
		{nil, f.URL + "/app/projects/acme", 0},
		{[]string{"main"}, "https://mcp.example.test/acme/mcp", 0},
		{[]string{"--print"}, "", 0},
		{[]string{"--json"}, "", 0},
		{[]string{"bad"}, "", 1},
		{[]string{"none"}, "", 1},
	} {
		opened = nil
		code, out, errs := d.chumbo(t, append([]string{"open"}, c.args...)...)
		if got := strings.Join(opened, " "); code != c.code || got != c.want || !strings.Contains(out, c.want) {
			t.Errorf("%v: exit %d, opened %q: %s%s", c.args, code, got, out, errs)
		}
	}
	d.env.Browse = func(context.Context, string) error { return errors.New("none") }
	if code, out, _ := d.chumbo(t, "open"); code != 0 || !strings.Contains(out, f.URL+"/app/projects/acme") {
		t.Errorf("exit %d, %s", code, out)
	}
}

func TestImportByManagementSendsTheTokenOnceAndShowsItNever(t *testing.T) {
	t.Parallel()
	f := newFakeServer(t)
	f.on("POST /projects/acme/schema/import/management", map[string]any{"digest": "d", "relations": 1, "functions": 2})
	f.on("GET /projects/acme/surfaces", map[string]any{"surfaces": []any{}})
	d := linked(t, f)
	d.vars["SUPABASE_ACCESS_TOKEN"] = accessToken
	code, out, errs := d.chumbo(t, "import", "--management")
	if code != 0 || strings.Contains(out+errs, accessToken) {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
	wants(t, out, "imported 1 relation and 2 functions")
	sent := 0
	for _, r := range f.saw() {
		if strings.Contains(r.query+r.what+r.token, accessToken) {
			t.Errorf("sent where it may be logged: %+v", r)
		}
		if r.body == `{"access_token":"`+accessToken+`"}` {
			sent++
		}
	}
	if sent != 1 {
		t.Errorf("sent %d times", sent)
	}
}
