package cli

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

func planOf(class surfaces.ChangeClass, more map[string]any) map[string]any {
	plan := map[string]any{
		"accepted": true, "digest": "d2", "class": class, "live": map[string]any{"number": 3, "digest": "d1"},
		"changes": []surfaces.Change{{Class: class, Capability: "customers_get", Summary: "customers_get is gone"}},
		"lines":   []surfaces.Line{{Op: "-", Old: 4, Text: "  - old"}, {Op: "+", New: 4, Text: "  - new"}},
		"tools":   []map[string]any{{"name": "customers_list", "weight": 120}},
	}
	for k, v := range more {
		plan[k] = v
	}
	return plan
}

func offers(f *fakeServer, surface string, plan map[string]any) {
	f.on("POST /projects/acme/surfaces/"+surface+"/plan", plan)
	f.on("POST /projects/acme/surfaces/"+surface+"/publish", map[string]any{
		"revision": 4, "digest": "d2", "created": true, "urls": []string{"https://mcp.example.test/acme/mcp"},
	})
}

const publishMain = "POST /projects/acme/surfaces/main/publish"

func TestPushThatBreaksClientsNeedsASign(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		class    surfaces.ChangeClass
		typed    string
		terminal bool
		args     []string
		code     int
		says     string
	}{
		"nobody to ask":          {surfaces.ChangeBreaks, "", false, nil, 1, "chumbo push main --yes"},
		"with --yes":             {surfaces.ChangeBreaks, "", false, []string{"--yes"}, 0, "revision 4 is live"},
		"asked and agreed":       {surfaces.ChangeBreaks, "y\n", true, nil, 0, "revision 4 is live"},
		"asked and declined":     {surfaces.ChangeBreaks, "n\n", true, nil, 1, "not published"},
		"asked, empty answer":    {surfaces.ChangeBreaks, "\n", true, nil, 1, "not published"},
		"asked, nobody answers":  {surfaces.ChangeBreaks, "", true, nil, 1, "not published"},
		"asked with --yes":       {surfaces.ChangeBreaks, "n\n", true, []string{"--yes"}, 0, "revision 4 is live"},
		"behaviour, no terminal": {surfaces.ChangeBehaviour, "", false, nil, 0, "revision 4 is live"},
		"behaviour, declined":    {surfaces.ChangeBehaviour, "no\n", true, nil, 1, "not published"},
		"safe":                   {surfaces.ChangeSafe, "", true, nil, 0, "revision 4 is live"},
		"first":                  {surfaces.ChangeFirst, "", true, nil, 0, "revision 4 is live"},
		"dry run":                {surfaces.ChangeBreaks, "", false, []string{"--dry-run"}, 0, "would be published and breaks connected clients"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFakeServer(t)
			offers(f, "main", planOf(c.class, nil))
			d := linked(t, f, "main")
			d.typed, d.terminal = c.typed, c.terminal
			code, out, errs := d.chumbo(t, append([]string{"push"}, c.args...)...)
			if code != c.code {
				t.Errorf("exit %d, want %d: %s%s", code, c.code, out, errs)
			}
			wants(t, out, c.says, "customers_get is gone")
			published := f.count(publishMain) == 1
			if want := strings.Contains(out, "revision 4"); published != want {
				t.Errorf("published: %v, want %v", published, want)
			}
		})
	}
}

func TestJSONNeverAsks(t *testing.T) {
	t.Parallel()
	f := newFakeServer(t)
	offers(f, "main", planOf(surfaces.ChangeBreaks, nil))
	d := linked(t, f, "main")
	d.typed = "y\ny\n"
	code, e := d.json(t, "push")
	if code != 1 || f.count(publishMain) != 0 {
		t.Errorf("exit %d, %d publications", code, f.count(publishMain))
	}
	if s := e.step(t, "main"); s.Status != "fail" || s.Fix != "chumbo push main --yes" || e.Command != "push" {
		t.Errorf("got %+v of %s", s, e.Command)
	}
}

func TestPushPublishesOnlyOverWhatItsPlanSaw(t *testing.T) {
	t.Parallel()
	f := newFakeServer(t)
	offers(f, "main", planOf(surfaces.ChangeSafe, nil))
	offers(f, "other", planOf(surfaces.ChangeFirst, map[string]any{"live": nil}))
	d := linked(t, f, "main", "other")
	if code, out, errs := d.chumbo(t, "push"); code != 0 {
		t.Fatalf("exit %d: %s%s", code, out, errs)
	}
	want := map[string]string{publishMain: "d1", strings.Replace(publishMain, "main", "other", 1): ""}
	for _, r := range f.saw() {
		expect, isPublish := want[r.what]
		var body map[string]any
		if isPublish && (json.Unmarshal([]byte(r.body), &body) != nil || body["expect"] != expect) {
			t.Errorf("%s sends %s, want expect %q", r.what, r.body, expect)
		}
	}

	f.refuses(publishMain, http.StatusConflict, "live_moved", "bob@example.test published revision 4 a minute ago.")
	code, out, _ := d.chumbo(t, "push", "main")
	if code != 1 {
		t.Errorf("exit %d", code)
	}
	wants(t, out, "FAIL", "bob@example.test published revision 4", "chumbo diff main")
	_, e := d.json(t, "push", "main")
	if !slices.Contains(e.Next, "chumbo diff main") {
		t.Errorf("next is %v", e.Next)
	}
}

func TestPartOfAPushThatWorkedIsToldApart(t *testing.T) {
	t.Parallel()
	f := newFakeServer(t)
	for _, name := range []string{"first", "main", "third"} {
		offers(f, name, planOf(surfaces.ChangeSafe, nil))
	}
	f.refuses(publishMain, http.StatusInternalServerError, "", "Something went wrong.")
	d := linked(t, f, "first", "main", "third")
	code, out, errs := d.chumbo(t, "push")
	if code != 1 {
		t.Errorf("exit %d", code)
	}
	wants(t, out, "ok    supabase/chumbo/first.yaml: revision 4 is live",
		"skip  supabase/chumbo/main.yaml: not published", "skip  supabase/chumbo/third.yaml: not published", "chumbo push third")
	wants(t, errs, "Something went wrong")

	_, e := d.json(t, "push")
	var data struct{ Surfaces []pushed }
	if err := json.Unmarshal(e.Data, &data); err != nil {
		t.Fatal(err)
	}
	var outcomes []string
	for _, s := range data.Surfaces {
		outcomes = append(outcomes, s.Surface+" "+s.Outcome)
	}
	if got := strings.Join(outcomes, ", "); got != "first published, main not_tried, third not_tried" || e.OK {
		t.Errorf("got %s, ok %v", got, e.OK)
	}
}

func TestPlanThatCannotBeMadeStopsBeforeAnythingIsPublished(t *testing.T) {
	t.Parallel()
	f := newFakeServer(t)
	offers(f, "first", planOf(surfaces.ChangeSafe, nil))
	f.refuses("POST /projects/acme/surfaces/main/plan", http.StatusServiceUnavailable, "", "Try again.")
	d := linked(t, f, "first", "main")
	code, out, _ := d.chumbo(t, "push")
	if code != 1 || f.count("POST /projects/acme/surfaces/first/publish") != 0 {
		t.Errorf("exit %d, and something was published: %s", code, out)
	}
}

func TestSeriousFindingStopsAPushUnlessOverridden(t *testing.T) {
	t.Parallel()
	const id = "table_without_rls:public.notes"
	blocked := planOf(surfaces.ChangeSafe, map[string]any{
		"findings": []surfaces.Finding{
			{ID: id, Kind: surfaces.FindingTableWithoutRLS, Severity: surfaces.FindingSerious, Object: "public.notes", Summary: "Everybody reads every row of public.notes.", SQL: "alter table public.notes enable row level security;\n-- and policies", Used: true},
			{ID: "grant_to_anon:public.notes", Kind: surfaces.FindingGrantToAnon, Severity: surfaces.FindingWarning, Summary: "anon may read public.notes."},
		},
		"blocking": []string{id},
	})
	f := newFakeServer(t)
	offers(f, "main", blocked)
	d := linked(t, f, "main")
	code, out, _ := d.chumbo(t, "push", "--yes")
	if code != 1 || f.count(publishMain) != 0 {
		t.Errorf("exit %d", code)
	}
	wants(t, out, "FAIL  Everybody reads", "-> alter table public.notes enable row level security;\n         -- and policies", "--override '"+id+"=<reason>'", "note: anon may read")
	if code, _, _ := d.chumbo(t, "push", "--dry-run"); code != 1 {
		t.Errorf("a dry run of a refused push exits with %d", code)
	}
	_, e := d.json(t, "push")
	if s := e.step(t, "main:"+id); s.Status != "fail" {
		t.Errorf("got %+v", s)
	}

	for _, bad := range []string{"nonsense", "=reason", id + "=", "grant_to_anon:public.notes=it is public", "no_such=because"} {
		if code, _, errs := d.chumbo(t, "push", "--override", bad); code != 2 || f.count(publishMain) != 0 {
			t.Errorf("--override %q exits with %d: %s", bad, code, errs)
		}
	}
	code, out, errs := d.chumbo(t, "push", "--override", id+"=an import of ours = ok")
	if code != 0 {
		t.Fatalf("exit %d: %s%s", code, out, errs)
	}
	var body string
	for _, r := range f.saw() {
		if r.what == publishMain {
			body = r.body
		}
	}
	wants(t, body, `"overrides":[{"finding":"`+id+`","reason":"an import of ours = ok"}]`)
}

func TestPinnedSurfaceIsNotPushed(t *testing.T) {
	t.Parallel()
	f := newFakeServer(t)
	offers(f, "main", planOf(surfaces.ChangeSafe, map[string]any{"pinned": true}))
	code, out, _ := linked(t, f, "main").chumbo(t, "push", "--yes")
	if code != 1 || f.count(publishMain) != 0 {
		t.Errorf("exit %d", code)
	}
	wants(t, out, "pinned", "chumbo unpin main")
}

func TestUnchangedFileIsNotPublishedAgain(t *testing.T) {
	t.Parallel()
	f := newFakeServer(t)
	offers(f, "main", planOf(surfaces.ChangeSafe, map[string]any{"same": true}))
	f.on("GET /projects/acme/surfaces", map[string]any{"surfaces": []map[string]any{{"slug": "main", "urls": []string{"https://mcp.example.test/acme/mcp"}, "live_revision": 3}}})
	code, out, errs := linked(t, f, "main").chumbo(t, "push")
	if code != 0 || f.count(publishMain) != 0 {
		t.Errorf("exit %d: %s", code, errs)
	}
	wants(t, out, "unchanged, revision 3 is live", "--transport http acme https://mcp.example.test/acme/mcp")
}

// TestPushSaysWhatComesNextByTheWaysIn: a client that cannot sign in has no use
// for the address alone.
func TestPushSaysWhatComesNextByTheWaysIn(t *testing.T) {
	t.Parallel()
	const add = "claude mcp add"
	for name, c := range map[string]struct {
		modes []string
		says  string
		adds  bool
	}{
		"sign-in":         {[]string{"oauth", "api-key"}, add, true},
		"public":          {[]string{"public"}, add, true},
		"keys":            {[]string{"bearer", "api-key"}, "chumbo keys create --surface main --name", false},
		"sessions":        {[]string{"bearer"}, "access token of the signed-in user", false},
		"a server of old": {nil, add, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFakeServer(t)
			offers(f, "main", planOf(surfaces.ChangeSafe, map[string]any{"same": true}))
			f.on("GET /projects/acme/surfaces", map[string]any{"surfaces": []map[string]any{{"slug": "main", "urls": []string{"https://mcp.example.test/acme/mcp"}, "live_revision": 3}}})
			f.on("GET /projects/acme/surfaces/main/revisions/3", map[string]any{"access": map[string]any{"modes": c.modes}})
			code, out, errs := linked(t, f, "main").chumbo(t, "push")
			if code != 0 || strings.Contains(out, add) != c.adds {
				t.Errorf("exit %d: %s%s", code, out, errs)
			}
			wants(t, out, c.says)
		})
	}
}

func TestWhatAFileDeclaresInWords(t *testing.T) {
	t.Parallel()
	for want, body := range map[string]string{
		"0 tools":                        `{}`,
		"1 tool, 2 resources":            `{"tools":[{}],"resources":[{},{}]}`,
		"0 tools, 1 resource, 2 prompts": `{"resources":[{"uri":"acme://guide"}],"prompts":[{},{}]}`,
		"2 tools, 1 prompt":              `{"tools":[{},{}],"prompts":[{"name":"weekly_review"}]}`,
	} {
		var plan planAnswer
		if err := json.Unmarshal([]byte(body), &plan); err != nil || plan.inWords() != want {
			t.Errorf("%s: %q, %v", body, plan.inWords(), err)
		}
	}
}
