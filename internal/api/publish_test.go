package api_test

import (
	"strings"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/api/apitest"
)

const mainPath = "/projects/acme/surfaces/main"

// narrower is surfaceFile without a column that clients have seen.
var narrower = strings.Replace(surfaceFile, ", status", "", 1)

func TestPlanSaysWhatPublishingWouldDo(t *testing.T) {
	t.Parallel()
	w := published(t, apitest.Options{})
	before := state(t, w)
	same := must(t, w, w.Vera, "POST", mainPath+"/plan", map[string]string{"file": surfaceFile})
	live, _ := same["live"].(map[string]any)
	if same["accepted"] != true || same["same"] != true || live["number"] != 1.0 || live["digest"] != same["digest"] || len(same["changes"].([]any)) != 0 ||
		live["author"] != "alice@example.test" || same["pinned"] != false || len(same["blocking"].([]any)) != 0 {
		t.Errorf("plan of what is live %v", same)
	}
	if tool := same["tools"].([]any)[0].(map[string]any); tool["weight"].(float64) < 10 || same["weight"].(float64) <= tool["weight"].(float64) {
		t.Errorf("weight %v of %v", tool["weight"], same["weight"])
	}
	plan := must(t, w, w.Vera, "POST", mainPath+"/plan", map[string]string{"file": narrower})
	if plan["class"] != "breaks" || plan["same"] != false || len(plan["changes"].([]any)) == 0 || len(plan["lines"].([]any)) == 0 {
		t.Errorf("plan %v", plan)
	}
	fresh := must(t, w, w.Vera, "POST", "/projects/acme/surfaces/fresh/plan", map[string]string{"file": surfaceFile})
	if fresh["class"] != "first" || fresh["live"] != nil {
		t.Errorf("plan of a surface that is not there %v", fresh)
	}
	refused := must(t, w, w.Vera, "POST", mainPath+"/plan", map[string]string{"file": "version: 1\ntitel: x\n"})
	if refused["accepted"] != false || len(refused["problems"].([]any)) == 0 || refused["changes"] == nil || refused["tools"] == nil {
		t.Errorf("plan of a bad file %v", refused)
	}
	if status, answer := send(t, w, w.Vera, "POST", mainPath+"/plan", nil); status != 409 || answer["code"] != "no_draft" {
		t.Errorf("a plan of no draft: %d %v", status, answer)
	}
	if status, answer := send(t, w, w.Vera, "POST", "/projects/acme/surfaces/fresh/plan", nil); status != 404 {
		t.Errorf("a plan of no draft of no surface: %d %v", status, answer)
	}
	if status, answer := send(t, w, w.Vera, "POST", "/projects/acme/surfaces/oauth/plan", map[string]string{"file": surfaceFile}); status != 400 {
		t.Errorf("a plan for a reserved name: %d %v", status, answer)
	}
	if after := state(t, w); after != before {
		t.Errorf("state was\n%s\nand is\n%s", before, after)
	}
}

func TestPublishInBetweenIsAConflict(t *testing.T) {
	t.Parallel()
	w := published(t, apitest.Options{})
	plan := must(t, w, w.Alice, "POST", mainPath+"/plan", map[string]string{"file": narrower})
	seen := plan["live"].(map[string]any)["digest"].(string)
	must(t, w, w.Alice, "POST", mainPath+"/publish", map[string]string{"file": strings.Replace(surfaceFile, "Acme CRM", "Acme desk", 1)})
	status, answer := send(t, w, w.Alice, "POST", mainPath+"/publish", map[string]string{"file": narrower, "expect": seen})
	if status != 409 || answer["code"] != "live_moved" || !strings.Contains(asJSON(t, answer), "alice@example.test") {
		t.Errorf("%d %v", status, answer)
	}
	status, answer = send(t, w, w.Alice, "POST", mainPath+"/publish", map[string]string{"file": narrower, "expect": ""})
	if status != 409 || answer["code"] != "live_moved" {
		t.Errorf("%d %v", status, answer)
	}
	now := must(t, w, w.Alice, "GET", mainPath+"/revisions", nil)["revisions"].([]any)[0].(map[string]any)["digest"].(string)
	done := must(t, w, w.Alice, "POST", mainPath+"/publish", map[string]string{"file": narrower, "expect": now})
	if done["revision"] != 3.0 || done["class"] != "breaks" || done["summary"] == "" {
		t.Errorf("%v", done)
	}
}

// TestRefusedFirstPublicationLeavesNoSurface, whatever it is refused for.
func TestRefusedFirstPublicationLeavesNoSurface(t *testing.T) {
	t.Parallel()
	w := published(t, apitest.Options{})
	w.Run(t, "alter table customers disable row level security")
	must(t, w, w.Alice, "PUT", "/projects/acme/schema?source=postgres", w.Snapshot(t))
	for code, body := range map[string]map[string]any{
		"live_moved":       {"file": surfaceFile, "expect": strings.Repeat("0", 64)},
		"override_needed":  {"file": surfaceFile},
		"override_reason":  {"file": surfaceFile, "overrides": []map[string]string{{"finding": "x", "reason": ""}}},
		"surface_refused":  {"file": "version: 1\n"},
		"file_too_large":   {"file": strings.Repeat("#\n", 256<<9+1)},
		"surface_unknown":  {},
		"override_unknown": {"file": strings.ReplaceAll(surfaceFile, "customers", "notes"), "overrides": []map[string]string{{"finding": "x", "reason": "why"}}},
	} {
		if code == "override_unknown" {
			body["file"] = strings.Replace(body["file"].(string), "[id, name, status]", "[id, body]", 1)
		}
		status, answer := send(t, w, w.Alice, "POST", "/projects/acme/surfaces/fresh/publish", body)
		if status < 400 || status >= 500 || answer["code"] != code {
			t.Errorf("want %s: %d %v", code, status, answer)
		}
		if surfaces := must(t, w, w.Alice, "GET", "/projects/acme/surfaces", nil)["surfaces"].([]any); len(surfaces) != 1 {
			t.Fatalf("%s left %v", code, surfaces)
		}
	}
}

func TestSeriousFindingNeedsAnOverrideThatIsRecorded(t *testing.T) {
	t.Parallel()
	w := published(t, apitest.Options{})
	w.Run(t, "alter table customers disable row level security")
	must(t, w, w.Alice, "PUT", "/projects/acme/schema?source=postgres", w.Snapshot(t))
	plan := must(t, w, w.Vera, "POST", mainPath+"/plan", map[string]string{"file": narrower})
	blocking := plan["blocking"].([]any)
	if len(blocking) != 1 || len(plan["findings"].([]any)) == 0 {
		t.Fatalf("plan %v", plan)
	}
	status, refused := send(t, w, w.Alice, "POST", mainPath+"/publish", map[string]string{"file": narrower})
	issues, _ := refused["issues"].([]any)
	if status != 422 || refused["code"] != "override_needed" || len(issues) != 1 || issues[0].(map[string]any)["path"] != blocking[0] ||
		!strings.Contains(issues[0].(map[string]any)["message"].(string), "enable row level security") {
		t.Fatalf("%d %v", status, refused)
	}
	must(t, w, w.Alice, "POST", mainPath+"/publish", map[string]any{"file": narrower, "overrides": []map[string]any{{"finding": blocking[0], "reason": "a table of the public catalogue"}}})
	revision := must(t, w, w.Vera, "GET", mainPath+"/revisions/2", nil)
	if !strings.Contains(asJSON(t, revision["overrides"]), "public catalogue") || revision["file"] != narrower || revision["author"] != "alice@example.test" {
		t.Errorf("revision %v", revision)
	}
}

func TestRevisionsAreComparedPinnedAndRolledBackByDigest(t *testing.T) {
	t.Parallel()
	w := published(t, apitest.Options{})
	second := must(t, w, w.Alice, "POST", mainPath+"/publish", map[string]string{"file": narrower})
	compared := must(t, w, w.Vera, "GET", mainPath+"/revisions/compare?from=1&to=2", nil)
	if compared["class"] != "breaks" || compared["from"].(map[string]any)["number"] != 1.0 || len(compared["changes"].([]any)) == 0 || len(compared["lines"].([]any)) == 0 {
		t.Errorf("compared %v", compared)
	}
	first := compared["from"].(map[string]any)["digest"].(string)

	back := must(t, w, w.Alice, "POST", mainPath+"/rollback", map[string]string{"digest": first[:12]})
	if back["revision"] != 1.0 || back["digest"] != first || back["created"] != false {
		t.Errorf("rolled back %v", back)
	}
	pinned := must(t, w, w.Alice, "PUT", mainPath+"/pin", map[string]string{"digest": second["digest"].(string)})
	if pinned["revision"] != 2.0 || pinned["pinned"] != true {
		t.Errorf("pinned %v", pinned)
	}
	for path, body := range map[string]any{"/publish": map[string]string{"file": surfaceFile}, "/rollback": map[string]int{"revision": 1}} {
		if status, answer := send(t, w, w.Alice, "POST", mainPath+path, body); status != 409 || answer["code"] != "pinned" {
			t.Errorf("%s while pinned: %d %v", path, status, answer)
		}
	}
	if plan := must(t, w, w.Vera, "POST", mainPath+"/plan", map[string]string{"file": surfaceFile}); plan["pinned"] != true {
		t.Errorf("plan %v", plan)
	}
	if surface := must(t, w, w.Vera, "GET", mainPath, nil); surface["pinned"] != true || surface["pinned_at"] == nil {
		t.Errorf("surface %v", surface)
	}
	if freed := must(t, w, w.Alice, "DELETE", mainPath+"/pin", nil); freed["pinned"] != false {
		t.Errorf("unpinned %v", freed)
	}
	must(t, w, w.Alice, "POST", mainPath+"/rollback", map[string]int{"revision": 1})

	for _, r := range []route{
		{"POST", mainPath + "/rollback", `{}`, write},
		{"POST", mainPath + "/rollback", `{"revision":0}`, write},
		{"POST", mainPath + "/rollback", `{"revision":-1}`, write},
		{"POST", mainPath + "/rollback", `{"revision":9}`, write},
		{"POST", mainPath + "/rollback", `{"revision":1,"digest":"` + first + `"}`, write},
		{"POST", mainPath + "/rollback", `{"digest":"xyz"}`, write},
		{"POST", mainPath + "/rollback", `{"digest":"` + strings.Repeat("0", 64) + `"}`, write},
		{"PUT", mainPath + "/pin", `{}`, write},
		{"PUT", mainPath + "/pin", `{"digest":"' or true --"}`, write},
		{"GET", mainPath + "/revisions/0", nil, read},
		{"GET", mainPath + "/revisions/9", nil, read},
		{"GET", mainPath + "/revisions/x", nil, read},
		{"GET", mainPath + "/revisions/99999999999999999999", nil, read},
		{"GET", mainPath + "/revisions/compare", nil, read},
		{"GET", mainPath + "/revisions/compare?from=1&to=9", nil, read},
		{"GET", mainPath + "/revisions/compare?from=-1&to=1", nil, read},
	} {
		if status, answer := send(t, w, w.Alice, r.method, r.path, r.body); status != 400 && status != 404 {
			t.Errorf("%s %s %v answered %d %v", r.method, r.path, r.body, status, answer)
		}
	}
}

func TestDriftIsShownAndNothingStopsServing(t *testing.T) {
	t.Parallel()
	w := published(t, apitest.Options{})
	if drift := must(t, w, w.Vera, "GET", mainPath+"/drift", nil); drift["drifted"] != false || drift["objects"] == nil || drift["broken"] == nil {
		t.Errorf("drift %v", drift)
	}
	w.Run(t, "alter table customers rename column status to state")
	must(t, w, w.Alice, "PUT", "/projects/acme/schema?source=postgres", w.Snapshot(t))
	drift := must(t, w, w.Vera, "GET", mainPath+"/drift", nil)
	if drift["known"] != true || drift["drifted"] != true || len(drift["objects"].([]any)) == 0 || len(drift["broken"].([]any)) == 0 {
		t.Errorf("drift %v", drift)
	}
	if surface := must(t, w, w.Vera, "GET", mainPath, nil); surface["live_revision"] != 1.0 {
		t.Errorf("surface %v", surface)
	}
}

func TestRenamedKeepsItsURLsAndDeletedKeepsItsName(t *testing.T) {
	t.Parallel()
	w := published(t, apitest.Options{})
	renamed := must(t, w, w.Alice, "POST", mainPath+"/rename", map[string]string{"slug": "desk"})
	if urls := asJSON(t, renamed["urls"]); renamed["slug"] != "desk" || !strings.Contains(urls, "/acme/mcp") || !strings.Contains(urls, "/acme/desk/mcp") {
		t.Errorf("renamed %v", renamed)
	}
	moved := must(t, w, w.Alice, "POST", "/projects/acme/rename", map[string]string{"slug": "acme-two"})
	if moved["project"].(map[string]any)["slug"] != "acme-two" {
		t.Errorf("moved %v", moved)
	}
	named := must(t, w, w.Alice, "PATCH", "/projects/acme-two", map[string]string{"name": "Acme & Sons"})
	if named["project"].(map[string]any)["name"] != "Acme & Sons" {
		t.Errorf("named %v", named)
	}
	if status, answer := send(t, w, w.Alice, "DELETE", "/projects/acme-two", map[string]string{"confirm": "acme"}); status != 400 || answer["code"] != "confirm_mismatch" {
		t.Errorf("%d %v", status, answer)
	}
	if gone := must(t, w, w.Alice, "DELETE", "/projects/acme-two/surfaces/desk", map[string]string{"confirm": "desk"}); gone["deleted"] != "desk" {
		t.Errorf("deleted %v", gone)
	}
	if gone := must(t, w, w.Alice, "DELETE", "/projects/acme-two", map[string]string{"confirm": "acme-two"}); gone["deleted"] != "acme-two" {
		t.Errorf("deleted %v", gone)
	}
	for _, slug := range []string{"acme", "acme-two"} {
		if status, answer := send(t, w, w.Bob, "POST", "/projects", registration(w, slug)); status != 409 {
			t.Errorf("Bob gets the deleted name %s: %d %v", slug, status, answer)
		}
		must(t, w, w.Alice, "POST", "/projects", registration(w, slug))
	}
}
