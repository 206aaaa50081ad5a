package api_test

import (
	"strings"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/api/apitest"
	"github.com/chumbo-dev/chumbo/internal/standin"
)

func TestProjectIsRegisteredImportedPublishedAndRolledBack(t *testing.T) {
	t.Parallel()
	w := apitest.New(t, apitest.Options{})

	me := must(t, w, w.Alice, "GET", "/me", nil)
	if me["role"] != "owner" || me["organization"].(map[string]any)["slug"] != "acme-corp" || me["builder"].(map[string]any)["email"] != "alice@example.test" {
		t.Errorf("me is %v", me)
	}

	status, created := send(t, w, w.Alice, "POST", "/projects", registration(w, "acme"))
	project := created["project"].(map[string]any)
	if status != 201 || project["api_origin"] != w.Project.URL() || project["issuer"] != w.Project.Issuer() || project["signing"] != "asymmetric" ||
		project["oauth_enabled"] != true || project["verified"] != false {
		t.Fatalf("%d %v", status, created)
	}
	for _, f := range created["findings"].([]any) {
		if f.(map[string]any)["status"] != "pass" {
			t.Errorf("finding %v", f)
		}
	}
	if notes := created["notes"]; notes != nil {
		t.Errorf("notes %v on a server that serves unproven projects", notes)
	}

	early := must(t, w, w.Alice, "PUT", "/projects/acme/surfaces/main/file?dry_run=true", map[string]string{"file": surfaceFile})
	if early["accepted"] != false || !strings.Contains(early["problems"].([]any)[0].(map[string]any)["message"].(string), "chumbo import") {
		t.Errorf("a check without a schema answered %v", early)
	}
	status, _ = send(t, w, w.Alice, "POST", "/projects/acme/surfaces/main/publish", map[string]string{"file": surfaceFile})
	if list := must(t, w, w.Alice, "GET", "/projects/acme/surfaces", nil)["surfaces"].([]any); status != 422 || len(list) != 0 {
		t.Errorf("publishing without a schema answered %d and left %v", status, list)
	}
	schema := must(t, w, w.Alice, "PUT", "/projects/acme/schema?source=postgres", w.Snapshot(t))
	if schema["relations"].(float64) < 4 || schema["digest"] == "" || schema["source"] != "postgres" {
		t.Errorf("schema %v", schema)
	}
	whole := must(t, w, w.Vera, "GET", "/projects/acme/schema", nil)
	brief := must(t, w, w.Vera, "GET", "/projects/acme/schema?summary=true", nil)
	if whole["snapshot"] == nil || brief["snapshot"] != nil || whole["digest"] != schema["digest"] {
		t.Errorf("whole %v, brief %v", whole["digest"], brief)
	}

	draft := must(t, w, w.Alice, "PUT", "/projects/acme/surfaces/main/file", map[string]string{"file": surfaceFile})
	if draft["accepted"] != true || draft["kept"] != true || draft["live"] != false || len(draft["tools"].([]any)) != 2 {
		t.Errorf("draft %v", draft)
	}
	first := must(t, w, w.Alice, "POST", "/projects/acme/surfaces/main/publish", nil)
	if first["revision"] != 1.0 || first["created"] != true || first["urls"].([]any)[0] != apitest.PublicURL+"/acme/mcp" || first["digest"] != draft["digest"] {
		t.Errorf("first publish %v", first)
	}
	second := must(t, w, w.Alice, "POST", "/projects/acme/surfaces/main/publish", map[string]string{"file": strings.Replace(surfaceFile, ", status", "", 1)})
	if second["revision"] != 2.0 {
		t.Errorf("second publish %v", second)
	}
	again := must(t, w, w.Alice, "POST", "/projects/acme/surfaces/main/publish", map[string]string{"file": surfaceFile + "# a comment\n"})
	if again["revision"] != 1.0 || again["created"] != false {
		t.Errorf("the same file again %v", again)
	}
	back := must(t, w, w.Alice, "POST", "/projects/acme/surfaces/main/rollback", map[string]int{"revision": 2})
	if back["revision"] != 2.0 {
		t.Errorf("rollback %v", back)
	}
	revisions := must(t, w, w.Vera, "GET", "/projects/acme/surfaces/main/revisions", nil)["revisions"].([]any)
	if len(revisions) != 2 || revisions[0].(map[string]any)["live"] != true || revisions[0].(map[string]any)["number"] != 2.0 {
		t.Errorf("revisions %v", revisions)
	}
	checked := must(t, w, w.Vera, "PUT", "/projects/acme/surfaces/main/file?dry_run=true", map[string]string{"file": strings.Replace(surfaceFile, ", status", "", 1)})
	if checked["live"] != true || checked["kept"] != false {
		t.Errorf("check of what is live %v", checked)
	}

	paused := must(t, w, w.Alice, "PUT", "/projects/acme/surfaces/main/state", map[string]string{"state": "paused"})
	if paused["state"] != "paused" {
		t.Errorf("state %v", paused)
	}
	list := must(t, w, w.Vera, "GET", "/projects/acme/surfaces", nil)["surfaces"].([]any)
	if len(list) != 1 || list[0].(map[string]any)["state"] != "paused" || list[0].(map[string]any)["live_revision"] != 2.0 {
		t.Errorf("surfaces %v", list)
	}
}

func TestSurfaceFileIsTakenAsYAMLToo(t *testing.T) {
	t.Parallel()
	w := published(t, apitest.Options{})
	status, _, body := w.Do(t, w.Alice, "PUT", "/api/v1/projects/acme/surfaces/other/file", "text/yaml; charset=utf-8", surfaceFile)
	if status != 200 || !strings.Contains(body, `"accepted":true`) {
		t.Errorf("%d %s", status, body)
	}
	file := must(t, w, w.Alice, "GET", "/projects/acme/surfaces/other/file", nil)
	if file["file"] != surfaceFile || file["draft"] != true {
		t.Errorf("file %v", file)
	}
}

func TestRefusedFileSaysWhereAndChangesNothing(t *testing.T) {
	t.Parallel()
	w := published(t, apitest.Options{})
	before := state(t, w)
	bad := strings.Replace(surfaceFile, "[id, name, status]", "[id, nam, status]", 1)

	status, refused := send(t, w, w.Alice, "POST", "/projects/acme/surfaces/main/publish", map[string]string{"file": bad})
	issues, _ := refused["issues"].([]any)
	if status != 422 || len(issues) == 0 {
		t.Fatalf("%d %v", status, refused)
	}
	issue := issues[0].(map[string]any)
	if issue["line"] != 7.0 || issue["column"].(float64) < 2 || !strings.Contains(issue["message"].(string), "name") {
		t.Errorf("issue %v, want line 7 and the nearest name", issue)
	}
	status, _ = send(t, w, w.Alice, "POST", "/projects/acme/surfaces/fresh/publish", map[string]string{"file": bad})
	if status != 422 {
		t.Errorf("a first publish of a bad file answered %d", status)
	}
	checked := must(t, w, w.Alice, "PUT", "/projects/acme/surfaces/main/file?dry_run=true", map[string]string{"file": bad})
	if checked["accepted"] != false || checked["digest"] != nil || len(checked["problems"].([]any)) == 0 {
		t.Errorf("check %v", checked)
	}
	if after := state(t, w); after != before {
		t.Errorf("state was\n%s\nand is\n%s", before, after)
	}
}

func TestRefusedProjectIsNotStored(t *testing.T) {
	t.Parallel()
	w := apitest.New(t, apitest.Options{})
	elsewhere := strings.Replace(w.Project.URL(), "127.0.0.1", "localhost", 1)
	in := registration(w, "acme")
	in["url"] = elsewhere
	status, refused := send(t, w, w.Alice, "POST", "/projects", in)
	if status != 422 || refused["code"] != "probe_failed" {
		t.Fatalf("%d %v", status, refused)
	}
	said := ""
	for _, f := range refused["findings"].([]any) {
		if f := f.(map[string]any); f["status"] == "fail" {
			said += f["summary"].(string) + " " + f["fix"].(string)
		}
	}
	for _, want := range []string{elsewhere, w.Project.Issuer(), "GOTRUE_JWT_ISSUER"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not in %s", want, said)
		}
	}
	if projects := must(t, w, w.Alice, "GET", "/projects", nil)["projects"].([]any); len(projects) != 0 {
		t.Errorf("stored %v", projects)
	}
	must(t, w, w.Bob, "POST", "/projects", registration(w, "acme")) // the name is still free
}

func TestSplitIssuerNeedsTheProofEvenWhereOthersDoNot(t *testing.T) {
	t.Parallel()
	w := apitest.New(t, apitest.Options{AllowSplitIssuer: true})
	in := registration(w, "acme")
	in["url"] = strings.Replace(w.Project.URL(), "127.0.0.1", "localhost", 1)
	created := must(t, w, w.Alice, "POST", "/projects", in)
	project := created["project"].(map[string]any)
	notes, _ := created["notes"].([]any)
	if project["api_origin"] != in["url"] || project["issuer"] != w.Project.Issuer() || len(notes) != 1 {
		t.Errorf("%v", created)
	}
}

func TestField40_HS256ProjectRegistersAndDirectIsRefused(t *testing.T) {
	t.Parallel()
	w := apitest.New(t, apitest.Options{Project: standin.Options{Signing: standin.SigningHS256}})
	created := must(t, w, w.Alice, "POST", "/projects", registration(w, "acme"))
	if created["project"].(map[string]any)["signing"] != "hs256" {
		t.Errorf("%v", created)
	}
	must(t, w, w.Alice, "PUT", "/projects/acme/schema", w.Snapshot(t))
	status, refused := send(t, w, w.Alice, "POST", "/projects/acme/surfaces/main/publish", map[string]string{"file": surfaceFile})
	issues, _ := refused["issues"].([]any)
	if status != 422 || len(issues) == 0 {
		t.Fatalf("%d %v", status, refused)
	}
	said := issues[0].(map[string]any)["message"].(string)
	if !strings.Contains(said, "HS256") || !strings.Contains(said, "JWT Keys") || !strings.Contains(said, "bridge") {
		t.Errorf("said %q", said)
	}
}

func TestProbingAgainLearnsWhatChanged(t *testing.T) {
	t.Parallel()
	w := apitest.New(t, apitest.Options{Project: standin.Options{OAuthOff: true}})
	created := must(t, w, w.Alice, "POST", "/projects", registration(w, "acme"))
	if created["project"].(map[string]any)["oauth_enabled"] != false {
		t.Fatalf("%v", created)
	}
	w.Project.SetOAuth(true)
	again := must(t, w, w.Alice, "POST", "/projects/acme/probe", nil)
	if again["project"].(map[string]any)["oauth_enabled"] != true {
		t.Errorf("%v", again)
	}
	status, refused := send(t, w, w.Alice, "POST", "/projects/acme/probe", map[string]string{"publishable_key": "sb_publishable_wrong"})
	if status != 422 || refused["code"] != "probe_failed" {
		t.Errorf("a wrong key answered %d %v", status, refused)
	}
	have := must(t, w, w.Alice, "GET", "/projects/acme", nil)["project"].(map[string]any)
	if have["publishable_key"] != w.Project.PublishableKey() {
		t.Errorf("the key is now %v", have["publishable_key"])
	}
}

func TestUnprovenProjectSaysThatNothingIsServed(t *testing.T) {
	t.Parallel()
	w := published(t, apitest.Options{RequireOwnership: true})
	answer := must(t, w, w.Alice, "POST", "/projects/acme/surfaces/main/publish", map[string]string{"file": surfaceFile})
	notes, _ := answer["notes"].([]any)
	if len(notes) != 1 || !strings.Contains(notes[0].(string), "CHUMBO_REQUIRE_OWNERSHIP=false") {
		t.Errorf("notes %v", answer["notes"])
	}
}

func TestTakenNameIsAConflict(t *testing.T) {
	t.Parallel()
	w := published(t, apitest.Options{})
	for _, token := range []string{w.Alice, w.Bob} {
		status, refused := send(t, w, token, "POST", "/projects", registration(w, "acme"))
		if status != 409 || refused["detail"] == "" {
			t.Errorf("%d %v", status, refused)
		}
	}
	status, refused := send(t, w, w.Alice, "POST", "/projects", registration(w, "dashboard"))
	if status < 400 || status >= 500 || !strings.Contains(refused["detail"].(string), "reserved") {
		t.Errorf("a reserved name answered %d %v", status, refused)
	}
}
