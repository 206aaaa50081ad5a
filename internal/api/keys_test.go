package api_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/chumbo-dev/chumbo/internal/api/apitest"
	"github.com/chumbo-dev/chumbo/internal/id"
)

func TestAKeyIsMadeShownOnceListedAndRevoked(t *testing.T) {
	t.Parallel()
	w := published(t, apitest.Options{})
	const path = "/projects/acme/surfaces/main/keys"
	until := time.Now().Add(24 * time.Hour).UTC().Truncate(time.Second).Format(time.RFC3339)
	status, header, body := w.Do(t, w.Alice, "POST", "/api/v1"+path, "application/json", `{"name":"Nightly sync","scopes":["crm.read","crm.read"],"expires_at":"`+until+`"}`)
	if status != 201 || header.Get("Cache-Control") != "no-store" {
		t.Fatalf("making a key answered %d %v %s", status, header, body)
	}
	var made map[string]any
	if err := json.Unmarshal([]byte(body), &made); err != nil {
		t.Fatal(err)
	}
	key, _ := made["key"].(string)
	if !strings.HasPrefix(key, "chk_") || len(key) != 47 || !strings.HasSuffix(key, made["hint"].(string)) || made["name"] != "Nightly sync" ||
		made["expires_at"] != until || len(made["scopes"].([]any)) != 1 || made["state"] != "live" {
		t.Errorf("a new key reads %s", body)
	}
	for _, path := range []string{path, "/projects/acme/surfaces/main", "/projects/acme"} {
		if text := asJSON(t, must(t, w, w.Alice, "GET", path, nil)); strings.Contains(text, key[4:20]) {
			t.Errorf("%s shows the key again: %s", path, text)
		}
	}
	newest := must(t, w, w.Vera, "GET", path, nil)["keys"].([]any)[0].(map[string]any)
	if newest["id"] != made["id"] || newest["key"] != nil || newest["created_by"] == nil || newest["last_used_at"] != nil {
		t.Errorf("a key reads %s", asJSON(t, newest))
	}
	if answer := must(t, w, w.Alice, "DELETE", path+"/"+made["id"].(string), nil); answer["revoked"] != made["id"] {
		t.Errorf("revoking answered %v", answer)
	}
	newest = must(t, w, w.Alice, "GET", path, nil)["keys"].([]any)[0].(map[string]any)
	if newest["state"] != "revoked" || newest["revoked_at"] == nil {
		t.Errorf("a revoked key reads %s", asJSON(t, newest))
	}
	for _, nothing := range []string{made["id"].(string), "x", id.New[id.KeyKind]().String(), id.New[id.GrantKind]().String()} {
		if status, answer := send(t, w, w.Alice, "DELETE", path+"/"+nothing, nil); status != 404 || answer["code"] != "unknown_key" {
			t.Errorf("%s is revoked: %d %v", nothing, status, answer)
		}
	}
	for _, action := range []string{"key.create", "key.revoke"} {
		if n := count(t, w, "select count(*) from audit_events where action = $1 and outcome = 'ok' and target = $2", action, made["id"]); n != 1 {
			t.Errorf("%d lines of %s in the audit log", n, action)
		}
	}
	if strings.Contains(w.Log.String(), key[4:]) {
		t.Error("the server logged the key")
	}
}

func TestKeysThatCannotBeAreNamedByField(t *testing.T) {
	t.Parallel()
	w := published(t, apitest.Options{})
	const path = "/projects/acme/surfaces/main/keys"
	before := count(t, w, "select count(*) from api_keys")
	for body, at := range map[string]string{
		`{"name":""}`: "name", `{"name":"a","scopes":["a b"]}`: "scopes[0]", `{"name":"a","expires_at":"tomorrow"}`: "expires_at",
		`{"name":"a","expires_at":"2020-01-01T00:00:00Z"}`: "expires_at", `{"name":"a","expires_at":"0001-01-01T00:00:00Z"}`: "expires_at",
		`{"name":"sb_secret_0123456789"}`: "body",
	} {
		status, answer := send(t, w, w.Alice, "POST", path, body)
		issues, _ := answer["issues"].([]any)
		if status != 400 || len(issues) != 1 || issues[0].(map[string]any)["path"] != at {
			t.Errorf("%s answers %d %v", body, status, answer)
		}
	}
	if after := count(t, w, "select count(*) from api_keys"); after != before {
		t.Errorf("%d keys were made", after-before)
	}
	if status, answer := send(t, w, w.Alice, "GET", path+"?after=x", nil); status != 400 {
		t.Errorf("a strange page answers %d %v", status, answer)
	}
}

func TestKeysComeInPages(t *testing.T) {
	t.Parallel()
	w := published(t, apitest.Options{})
	const path = "/projects/acme/surfaces/main/keys"
	w.DB.Exec(t, `insert into api_keys (organization_id, id, surface_id, name, key_hash, hint, scopes, created_by, created_at)
		select k.organization_id, gen_random_uuid(), k.surface_id, 'k', sha256(n::text::bytea), '', '{}', k.created_by, now() from api_keys k, generate_series(1, 51) n`)
	first := must(t, w, w.Vera, "GET", path, nil)
	rest := must(t, w, w.Vera, "GET", path+"?after="+first["next_after"].(string), nil)
	if len(first["keys"].([]any)) != 50 || len(rest["keys"].([]any)) != 2 || rest["next_after"] != nil {
		t.Errorf("pages of %d and %d", len(first["keys"].([]any)), len(rest["keys"].([]any)))
	}
}

func TestClientsOfAProjectAreListed(t *testing.T) {
	t.Parallel()
	w := published(t, apitest.Options{})
	must(t, w, w.Bob, "POST", "/projects", registration(w, "globex"))
	must(t, w, w.Bob, "PUT", "/projects/globex/schema", w.Snapshot(t))
	must(t, w, w.Bob, "POST", "/projects/globex/surfaces/main/publish", map[string]string{"file": surfaceFile})
	w.DirectClient(t, w.Bob, "globex", "main", "client-of-bob", "")
	list := must(t, w, w.Vera, "GET", "/projects/acme/clients", nil)["clients"].([]any)
	if len(list) != 1 {
		t.Fatalf("lists %s", asJSON(t, list))
	}
	one := list[0].(map[string]any)
	if one["client_id"] != "11111111-0000-4000-8000-000000000001" || one["client_name"] != "Claude" || one["surface"] != "main" || one["last_used_at"] == nil || one["first_seen_at"] == nil {
		t.Errorf("a client reads %s", asJSON(t, one))
	}
	if bobs := must(t, w, w.Bob, "GET", "/projects/globex/clients", nil)["clients"].([]any); len(bobs) != 1 || bobs[0].(map[string]any)["client_id"] != "client-of-bob" {
		t.Errorf("Bob lists %s", asJSON(t, bobs))
	}
}
