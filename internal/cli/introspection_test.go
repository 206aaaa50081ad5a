package cli

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// introspects makes the server know main and answer about its secret.
func introspects(f *fakeServer) {
	f.on("GET /projects/acme/surfaces", map[string]any{"surfaces": []any{map[string]any{"slug": "main"}}})
	f.on("GET /projects/acme/surfaces/main/introspection", map[string]any{"set": true, "updated_at": "2027-01-31T12:00:00Z"})
	f.on("PUT /projects/acme/surfaces/main/introspection", map[string]any{"set": true, "updated_at": "2027-01-31T12:00:00Z"})
	f.on("DELETE /projects/acme/surfaces/main/introspection", map[string]any{"set": false})
}

const (
	putIntrospection = "PUT /projects/acme/surfaces/main/introspection"
	issuersSecret    = "s3cret of the issuer"
)

// sent is the body that was put, or "".
func sent(f *fakeServer) string {
	for _, r := range f.saw() {
		if r.what == putIntrospection {
			return r.body
		}
	}
	return ""
}

func TestIntrospectionSecretIsReadHiddenOrFromTheInput(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(d *desk){
		"pipe": func(d *desk) { d.env.In = strings.NewReader(issuersSecret + "\r\n") },
		"terminal": func(d *desk) {
			d.env.In = strings.NewReader("what is typed is not read from here")
			d.env.ReadHidden = func(context.Context) (string, error) { return issuersSecret, nil }
		},
	} {
		f := newFakeServer(t)
		introspects(f)
		d := linked(t, f)
		prepare(d)
		code, out, errs := d.chumbo(t, "introspection", "set", "--surface", "main")
		if code != 0 || sent(f) != `{"secret":"`+issuersSecret+`"}` {
			t.Errorf("%s: exit %d, sent %s: %s%s", name, code, sent(f), out, errs)
		}
		if strings.Contains(out+errs, "s3cret") {
			t.Errorf("%s: the secret is shown: %s%s", name, out, errs)
		}
		for _, file := range d.files(t) {
			if strings.Contains(d.read(t, file), "s3cret") {
				t.Errorf("%s: the secret is written to %s", name, file)
			}
		}
	}
}

func TestIntrospectionSecretThatIsNoneIsNotSent(t *testing.T) {
	t.Parallel()
	for name, input := range map[string]string{
		"empty": "", "blank line": "\n", "two lines": "a\nb\n", "too long": strings.Repeat("a", maxTypedSecret+2),
		"secret key": "sb_secret_0123456789abcdefghijklmnopqrstuv",
	} {
		f := newFakeServer(t)
		introspects(f)
		d := linked(t, f)
		d.env.In = strings.NewReader(input)
		if code, out, errs := d.chumbo(t, "introspection", "set"); code == 0 || sent(f) != "" || len(input) > 3 && strings.Contains(out+errs, input) {
			t.Errorf("%s: exit %d, sent %s: %s%s", name, code, sent(f), out, errs)
		}
	}
	f := newFakeServer(t)
	introspects(f)
	d := linked(t, f)
	d.env.In, d.env.ReadHidden = os.Stdin, func(context.Context) (string, error) { t.Error("asked with --json"); return "x", nil }
	if code, e := d.json(t, "introspection", "set"); code == 0 || e.OK || sent(f) != "" {
		t.Errorf("--json asks somebody: exit %d %+v", code, e)
	}
	for _, args := range [][]string{{"introspection", "set", issuersSecret}, {"introspection", "set", "--secret", issuersSecret}, {"introspection", "get"}} {
		if code, _, errs := d.chumbo(t, args...); code != exitUsage || strings.Contains(errs, "s3cret") {
			t.Errorf("%v: exit %d: %s", args, code, errs)
		}
	}
}

func TestIntrospectionHiddenReadCanBeInterrupted(t *testing.T) {
	t.Parallel()
	f := newFakeServer(t)
	introspects(f)
	d := linked(t, f)
	ctx, stop := context.WithCancel(t.Context())
	env := d.env
	env.In, env.Args, env.Dir, env.Home = strings.NewReader(""), []string{"introspection", "set"}, d.dir, d.home
	env.Getenv = func(name string) string { return d.vars[name] }
	var out, errs strings.Builder
	env.Out, env.Err = &out, &errs
	env.ReadHidden = func(ctx context.Context) (string, error) { stop(); return "", ctx.Err() }
	if code := Main(ctx, env); code != exitRefused || !strings.Contains(errs.String(), "stopped") || sent(f) != "" {
		t.Errorf("exit %d: %s%s", code, out.String(), errs.String())
	}
}

func TestIntrospectionIsShownAndCleared(t *testing.T) {
	t.Parallel()
	f := newFakeServer(t)
	introspects(f)
	d := linked(t, f)
	code, out, errs := d.chumbo(t, "introspection")
	if code != 0 || out != "ok    surface main keeps an introspection secret since 2027-01-31 12:00 UTC\n" {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
	code, e := d.json(t, "introspection", "clear", "--surface", "main")
	var data struct {
		Surface string
		Set     *bool
	}
	if err := json.Unmarshal(e.Data, &data); err != nil || code != 0 || e.Command != "introspection clear" || data.Surface != "main" || data.Set == nil || *data.Set {
		t.Errorf("exit %d: %+v %s", code, e, e.Data)
	}
	f.refuses("DELETE /projects/acme/surfaces/main/introspection", 404, "introspection_secret_missing", "Nothing was changed: no introspection secret is kept for this surface.")
	if code, _, errs := d.chumbo(t, "introspection", "clear"); code != exitRefused || !strings.Contains(errs, "Nothing was changed") {
		t.Errorf("exit %d: %s", code, errs)
	}
	f.on("GET /projects/acme/surfaces/main/introspection", map[string]any{"set": false})
	if code, out, _ := d.chumbo(t, "introspection", "--surface", "main"); code != 0 || !strings.Contains(out, "keeps no introspection secret") {
		t.Errorf("exit %d: %s", code, out)
	}
	if code, _, errs := d.chumbo(t, "introspection", "--surface", "other"); code != exitRefused || !strings.Contains(errs, "no surface") {
		t.Errorf("exit %d: %s", code, errs)
	}
}

// TestIntrospectionSecretAndFileMissEachOther: each is told of where it stands
// without the other.
func TestIntrospectionSecretAndFileMissEachOther(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		access  map[string]any
		set     bool
		command string
		says    string // empty: nothing of the kind
	}{
		"a secret that no file asks for": {map[string]any{"modes": []string{"oauth"}}, true, "introspection", "introspects no tokens yet"},
		"a secret that a file asks for":  {external, true, "introspection", ""},
		"a file without a secret":        {external, false, "push", "chumbo introspection set --surface main"},
		"a file with its secret":         {external, true, "push", ""},
	} {
		f := newFakeServer(t)
		introspects(f)
		offers(f, "main", planOf(surfaces.ChangeSafe, map[string]any{"same": true}))
		f.on("GET /projects/acme/surfaces", map[string]any{"surfaces": []any{map[string]any{"slug": "main", "live_revision": 3, "urls": []string{"https://mcp.example.test/acme/mcp"}}}})
		f.on("GET /projects/acme/surfaces/main/revisions/3", map[string]any{"access": c.access})
		f.on("GET /projects/acme/surfaces/main/introspection", map[string]any{"set": c.set})
		d, args := linked(t, f, "main"), []string{c.command}
		if c.command == "introspection" {
			d.env.In, args = strings.NewReader(issuersSecret), append(args, "set")
		}
		code, out, errs := d.chumbo(t, args...)
		if code != 0 || c.says == "" && strings.Contains(out, "warn") {
			t.Errorf("%s: exit %d: %s%s", name, code, out, errs)
		}
		wants(t, out, c.says)
	}
}

var external = map[string]any{"modes": []string{"oauth"}, "issuer": map[string]any{"introspection": map[string]any{"client_id": "chumbo"}}}
