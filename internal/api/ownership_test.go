package api_test

import (
	"strings"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/api/apitest"
)

func ownership(t *testing.T, w *apitest.World, token, project string) map[string]any {
	t.Helper()
	return must(t, w, token, "GET", "/projects/"+project+"/ownership", nil)
}

func TestProjectIsProvenByItsFunction(t *testing.T) {
	t.Parallel()
	w := published(t, apitest.Options{RequireOwnership: true})
	before := ownership(t, w, w.Vera, "acme")
	if before["verified"] != false || before["served"] != false || before["why"] == "" || before["misses"] != 0.0 || !strings.Contains(before["sql"].(string), before["token"].(string)) {
		t.Errorf("ownership %v", before)
	}
	status, answer := send(t, w, w.Alice, "POST", "/projects/acme/ownership/check", nil)
	if status != 422 || answer["code"] != "ownership_missing" {
		t.Errorf("without the function: %d %v", status, answer)
	}
	w.Run(t, before["sql"].(string))
	proven := must(t, w, w.Alice, "POST", "/projects/acme/ownership/check", map[string]string{})
	if proven["project"].(map[string]any)["verified"] != true || proven["notes"] != nil {
		t.Errorf("proven %v", proven)
	}
	after := ownership(t, w, w.Vera, "acme")
	if after["verified"] != true || after["method"] != "function" || after["served"] != true || after["verified_at"] == nil {
		t.Errorf("ownership %v", after)
	}
	list := must(t, w, w.Alice, "GET", "/projects", nil)["projects"].([]any)
	if list[0].(map[string]any)["verified"] != true || list[0].(map[string]any)["served"] != true {
		t.Errorf("projects %v", list)
	}
}

// TestProxyOfSomebodyElsesProjectIsTakenBack: Bob registers Alice's project
// first; her proof takes it, and he is told.
func TestProxyOfSomebodyElsesProjectIsTakenBack(t *testing.T) {
	t.Parallel()
	w := apitest.New(t, apitest.Options{})
	must(t, w, w.Bob, "POST", "/projects", registration(w, "globex"))
	must(t, w, w.Bob, "PUT", "/projects/globex/schema", w.Snapshot(t))
	must(t, w, w.Bob, "POST", "/projects/globex/surfaces/main/publish", map[string]string{"file": surfaceFile})
	must(t, w, w.Alice, "POST", "/projects", registration(w, "acme"))
	w.Prove(t, w.Alice, "acme")
	must(t, w, w.Alice, "POST", "/projects/acme/ownership/check", nil)

	if status, answer := send(t, w, w.Bob, "POST", "/projects/globex/ownership/check", nil); status != 422 || answer["code"] != "ownership_other_token" {
		t.Errorf("Alice's function proves Bob's: %d %v", status, answer)
	}
	if surface := must(t, w, w.Bob, "GET", "/projects/globex/surfaces/main", nil); surface["state"] != "paused" {
		t.Errorf("Bob's surface is %v", surface["state"])
	}
	if o := ownership(t, w, w.Bob, "globex"); o["taken_over_at"] == nil || o["verified"] != false {
		t.Errorf("ownership %v", o)
	}
	list := must(t, w, w.Bob, "GET", "/projects", nil)["projects"].([]any)
	notices := must(t, w, w.Bob, "GET", "/notices", nil)["notices"].([]any)
	if len(notices) != 1 || notices[0].(map[string]any)["kind"] != "ownership.taken_over" || list[0].(map[string]any)["notices"] != 1.0 {
		t.Fatalf("notices %v, projects %v", notices, list)
	}
	id := notices[0].(map[string]any)["id"].(string)
	if done := must(t, w, w.Bob, "POST", "/notices/"+id+"/dismiss", nil); done["dismissed"] != id {
		t.Errorf("dismissed %v", done)
	}
	if left := must(t, w, w.Bob, "GET", "/notices", nil)["notices"].([]any); len(left) != 0 {
		t.Errorf("notices %v", left)
	}
}

func TestSecretKeyProvesOnceAndIsKeptNowhere(t *testing.T) {
	t.Parallel()
	for kind, key := range map[string]func(*apitest.World) string{
		"new":    func(w *apitest.World) string { return w.Project.SecretKey() },
		"legacy": func(w *apitest.World) string { return w.Project.ServiceRoleKey() },
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			w := published(t, apitest.Options{RequireOwnership: true})
			secret := key(w)
			answer := must(t, w, w.Alice, "POST", "/projects/acme/ownership/secret", map[string]string{"secret_key": secret})
			if answer["project"].(map[string]any)["verified"] != true || ownership(t, w, w.Alice, "acme")["method"] != "secret_key" {
				t.Errorf("%v", answer)
			}
			keptNowhere(t, w, secret)
		})
	}
}

func TestAccessTokenProvesHostedProjectsAndIsKeptNowhere(t *testing.T) {
	t.Parallel()
	w := apitest.New(t, apitest.Options{RequireOwnership: true})
	w.Hosted(t, w.Alice, "hosted")
	token := w.Management.Token()
	answer := must(t, w, w.Alice, "POST", "/projects/hosted/ownership/management", map[string]string{"access_token": token})
	if answer["project"].(map[string]any)["verified"] != true || ownership(t, w, w.Alice, "hosted")["method"] != "management" {
		t.Errorf("%v", answer)
	}
	imported := must(t, w, w.Alice, "POST", "/projects/hosted/schema/import/management", map[string]string{"access_token": token})
	if imported["source"] != "management" || imported["relations"].(float64) < 4 {
		t.Errorf("imported %v", imported)
	}
	keptNowhere(t, w, token)
}

func TestKeysThatProveNothingAreRefusedAndKeptNowhere(t *testing.T) {
	t.Parallel()
	w := published(t, apitest.Options{})
	w.Hosted(t, w.Alice, "hosted")
	before := state(t, w)
	wrong := "sb_secret_" + strings.Repeat("w", 31)
	wrongToken := "sbp_" + strings.Repeat("0", 40)
	for _, c := range []struct {
		path, member, value string
		status              int
	}{
		{"/projects/acme/ownership/secret", "secret_key", wrong, 422},
		{"/projects/acme/ownership/secret", "secret_key", w.Project.PublishableKey(), 400},
		{"/projects/acme/ownership/secret", "secret_key", wrongToken, 400},
		{"/projects/acme/ownership/secret", "secret_key", "hunter2-hunter2", 400},
		{"/projects/acme/ownership/secret", "secret_key", "", 400},
		{"/projects/acme/ownership/secret", "access_token", wrong, 400},
		{"/projects/acme/ownership/secret", wrong, wrong, 400},
		{"/projects/acme/ownership/management", "access_token", wrongToken, 422}, // not hosted
		{"/projects/hosted/ownership/management", "access_token", wrongToken, 422},
		{"/projects/hosted/ownership/management", "access_token", wrong, 400},
		{"/projects/acme/schema/import/management", "access_token", wrongToken, 422},
		{"/projects/hosted/schema/import/management", "access_token", wrongToken, 422},
		{"/projects/hosted/schema/import/management", "access_token", wrong, 400},
	} {
		status, answer := send(t, w, w.Alice, "POST", c.path, map[string]string{c.member: c.value})
		if status != c.status || c.value != "" && strings.Contains(asJSON(t, answer), c.value) {
			t.Errorf("%s with %.9s…: %d %v", c.path, c.member, status, answer)
		}
	}
	for _, body := range []string{`{"secret_key":"` + wrong, `{"secret_key":["` + wrong + `"]}`, `"` + wrong + `"`, `[]`, `{"secret_key":"` + strings.Repeat("x", 20<<10) + `"}`} {
		status, answer := send(t, w, w.Alice, "POST", "/projects/acme/ownership/secret", body)
		if status != 400 && status != 413 || strings.Contains(asJSON(t, answer), wrong) {
			t.Errorf("%.20s… answered %d %v", body, status, answer)
		}
	}
	// One that went to the wrong place is refused there.
	for _, path := range []string{"/projects/acme/ownership/check", "/projects/acme/schema/import"} {
		if status, answer := send(t, w, w.Alice, "POST", path, map[string]string{"secret_key": wrong}); status != 400 || answer["code"] != "secret_key" {
			t.Errorf("%s answered %d %v", path, status, answer)
		}
	}
	if status, answer := send(t, w, w.Alice, "POST", "/projects/acme/ownership/secret?key="+wrong, map[string]string{"secret_key": wrong}); status != 400 || answer["code"] != "secret_key" {
		t.Errorf("a key in the query answered %d %v", status, answer)
	}
	keptNowhere(t, w, wrong)
	keptNowhere(t, w, wrongToken)
	if after := state(t, w); after != before {
		t.Errorf("state was\n%s\nand is\n%s", before, after)
	}
}

// keptNowhere looks for a secret in the log and in every table.
func keptNowhere(t *testing.T, w *apitest.World, secret string) {
	t.Helper()
	if strings.Contains(w.Log.String(), secret) {
		t.Error("the log holds the secret")
	}
	if n := tablesWith(t, w, secret); n != 0 {
		t.Errorf("%d tables hold the secret", n)
	}
}

func tablesWith(t *testing.T, w *apitest.World, text string) int {
	t.Helper()
	return count(t, w, `select count(*) from (
		select query_to_xml(format('select 1 from %I.%I r where position(%L in r::text) > 0', schemaname, tablename, $1::text), false, true, '')::text as found
		from pg_tables where schemaname = 'chumbo') f where found like '%<row%'`, text)
}

// TestSearchOfEveryTableFinds: keptNowhere would find one.
func TestSearchOfEveryTableFinds(t *testing.T) {
	t.Parallel()
	w := published(t, apitest.Options{})
	if tablesWith(t, w, "alice@example.test") == 0 {
		t.Error("no table holds Alice's email")
	}
}
