package api_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/chumbo-dev/chumbo/internal/api/apitest"
	"github.com/chumbo-dev/chumbo/internal/events"
	"github.com/chumbo-dev/chumbo/internal/id"
)

// record leaves an attempt at Alice's main surface that broke, of a client with
// that id.
func record(t *testing.T, w *apitest.World, client string) {
	t.Helper()
	surface, err := w.Tenants.Surface(t.Context(), w.Principal(t, w.Alice), "acme", "main")
	if err != nil {
		t.Fatal(err)
	}
	steps := events.NewSteps(w.DB.Store, slog.New(slog.DiscardHandler))
	step := events.Step{Organization: surface.Organization, Surface: surface.ID, At: time.Now().Add(-time.Minute), Kind: events.StepRegistration, Client: client, ClientName: "Claude", Address: [32]byte{1}, Agent: "python-httpx", RequestID: "req-1"}
	steps.Record(step)
	step.At, step.Kind, step.SignIn = time.Now(), events.StepAuthorize, id.New[id.SignInKind]()
	steps.Record(step)
	step.At, step.Kind, step.Failed, step.Code = time.Now(), events.StepSignIn, true, "wrong_credentials"
	steps.Record(step)
	if err := steps.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestConnectionsSayWhatBrokeAndWhatToDo(t *testing.T) {
	t.Parallel()
	w := published(t, apitest.Options{})
	const path = "/projects/acme/surfaces/main/connections"
	record(t, w, "client-a")
	for query, want := range map[string]int{
		"": 1, "?state=failed": 1, "?state=connected": 0, "?client=client-a": 1, "?client=cLaU": 1, "?client=other": 0,
		"?since=2020-01-01T00:00:00Z": 1, "?since=2100-01-01T00:00:00Z": 0,
	} {
		if list := must(t, w, w.Vera, "GET", path+query, nil)["connections"].([]any); len(list) != want {
			t.Errorf("%s lists %d, want %d", query, len(list), want)
		}
	}
	one := must(t, w, w.Alice, "GET", path, nil)["connections"].([]any)[0].(map[string]any)
	broke, _ := one["broke"].(map[string]any)
	if one["state"] != "failed" || one["client_id"] != "client-a" || one["client_name"] != "Claude" || len(one["steps"].([]any)) != 3 ||
		broke["step"] != "sign_in" || broke["code"] != "wrong_credentials" || broke["why"] == "" || broke["do"] == "" || broke["request_id"] != "req-1" {
		t.Errorf("an attempt reads %s", asJSON(t, one))
	}
	if one["address"] != nil {
		t.Errorf("an attempt tells an address: %s", asJSON(t, one))
	}
	for _, query := range []string{"?state=broken", "?since=yesterday", "?since=0001-01-01T00:00:00Z", "?cursor=x"} {
		if status, answer := send(t, w, w.Alice, "GET", path+query, nil); status != 400 {
			t.Errorf("%s answers %d %v", query, status, answer)
		}
	}
	if status, _ := send(t, w, w.Bob, "GET", path, nil); status != 404 {
		t.Errorf("Bob reads Alice's connections: %d", status)
	}
}

func TestGrantsAreListedAndRevoked(t *testing.T) {
	t.Parallel()
	w := published(t, apitest.Options{})
	const path = "/projects/acme/surfaces/main/grants"
	must(t, w, w.Alice, "POST", "/projects/acme/surfaces/second/publish", map[string]string{"file": surfaceFile})
	other := w.Grant(t, w.Alice, "acme", "second", "somebody").String()
	var last string
	for range 52 {
		last = w.Grant(t, w.Alice, "acme", "main", "somebody").String()
	}
	first := must(t, w, w.Vera, "GET", path, nil)
	list := first["grants"].([]any)
	rest := must(t, w, w.Vera, "GET", path+"?after="+first["next_after"].(string), nil)
	if len(list) != 50 || len(rest["grants"].([]any)) != 3 || rest["next_after"] != nil {
		t.Fatalf("pages of %d and %d", len(list), len(rest["grants"].([]any)))
	}
	newest := list[0].(map[string]any)
	if newest["id"] != last || newest["state"] != "live" || newest["subject"] != "somebody" || newest["read_only"] != true || newest["client_name"] != "Claude" {
		t.Errorf("a grant reads %s", asJSON(t, newest))
	}
	if strings.Contains(asJSON(t, list), "@example.test") {
		t.Error("the list tells emails")
	}
	if status, answer := send(t, w, w.Alice, "DELETE", path+"/"+other, nil); status != 404 {
		t.Errorf("a grant of another surface is revoked: %d %v", status, answer)
	}
	for _, nothing := range []string{"x", id.New[id.GrantKind]().String(), id.New[id.TokenKind]().String()} {
		if status, answer := send(t, w, w.Alice, "DELETE", path+"/"+nothing, nil); status != 404 {
			t.Errorf("%s is revoked: %d %v", nothing, status, answer)
		}
	}
	if answer := must(t, w, w.Alice, "DELETE", path+"/"+last, nil); answer["revoked"] != last {
		t.Errorf("revoking answered %v", answer)
	}
	newest = must(t, w, w.Alice, "GET", path, nil)["grants"].([]any)[0].(map[string]any)
	if newest["state"] != "revoked" || newest["revoked_why"] != "by_builder" {
		t.Errorf("a revoked grant reads %s", asJSON(t, newest))
	}
	if n := count(t, w, "select count(*) from audit_events where action = 'grant.revoke' and outcome = 'ok' and target = $1", last); n != 1 {
		t.Errorf("%d lines in the audit log", n)
	}
	if status, answer := send(t, w, w.Alice, "GET", path+"?after=x", nil); status != 400 {
		t.Errorf("a strange page answers %d %v", status, answer)
	}
}

func TestSecretOfTheSignInClientIsTakenAndNeverShown(t *testing.T) {
	t.Parallel()
	w := published(t, apitest.Options{})
	const path, secret = "/projects/acme/sign-in", "a-client-secret-of-the-project"
	before := must(t, w, w.Vera, "GET", path, nil)
	if before["method"] != "auto" || before["callback_url"] != apitest.PublicURL+"/connect/callback" || before["client_id"] != nil {
		t.Errorf("settings begin as %v", before)
	}
	status, header, body := w.Do(t, w.Alice, "PUT", "/api/v1"+path, "application/json", `{"client_id":"our-client","client_secret":"`+secret+`"}`)
	if status != 200 || header.Get("Cache-Control") != "no-store" || strings.Contains(body, secret) || !strings.Contains(body, `"client_source":"pasted"`) {
		t.Errorf("pasting answered %d %v %s", status, header, body)
	}
	after := must(t, w, w.Alice, "PUT", path, map[string]string{"method": "hosted"})
	if after["client_id"] != "our-client" || after["method"] != "hosted" {
		t.Errorf("what was left out is %v", after)
	}
	for _, body := range []any{map[string]any{}, map[string]any{"client_id": "alone"}, map[string]any{"client_secret": "alone"}, map[string]any{"method": "magic"}, map[string]any{"colour": "red"}} {
		if status, answer := send(t, w, w.Alice, "PUT", path, body); status != 400 {
			t.Errorf("%v answers %d %v", body, status, answer)
		}
	}
	if strings.Contains(w.Log.String(), secret) || tablesWith(t, w, secret) != 0 {
		t.Error("the secret is in the log, or in the database in the open")
	}
	if forgotten := must(t, w, w.Alice, "PUT", path, map[string]string{"client_id": ""}); forgotten["client_id"] != nil || forgotten["client_source"] != nil {
		t.Errorf("a forgotten client is %v", forgotten)
	}
	if n := count(t, w, "select count(*) from audit_events where action = 'project.sign_in' and outcome = 'ok'"); n != 3 {
		t.Errorf("%d lines in the audit log", n)
	}
}
