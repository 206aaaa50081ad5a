package api_test

import (
	"strings"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/api/apitest"
)

func TestField48_EveryPathAnswersJSON(t *testing.T) {
	t.Parallel()
	w := apitest.New(t, apitest.Options{})
	for _, r := range []struct {
		method, path string
		status       int
	}{
		{"GET", "/api/v1", 404},
		{"GET", "/api/v1/", 404},
		{"GET", "/api/v1/nope", 404},
		{"POST", "/api/v1/nope", 404},
		{"GET", "/api/v2/projects", 404},
		{"GET", "/api/v1/projects/", 404},
		{"GET", "/api/v1/projects/acme/surfaces/main/nope", 404},
		{"PUT", "/api/v1/projects/acme/surfaces/main", 405},
		{"DELETE", "/api/v1/projects", 405},
		{"GET", "/api/v1/device/token", 405},
		{"GET", "/api/v1/projects/acme/ownership/secret", 405},
		{"PATCH", "/api/v1/me", 405},
		{"GET", "/api/v1/projects/acme/probe", 405},
		{"DELETE", "/schema/surface-v1.json", 405},
		{"GET", "/schema/nope.json", 404},
	} {
		status, header, body := w.Do(t, w.Alice, r.method, r.path, "", "")
		if status != r.status || header.Get("Content-Type") != "application/problem+json" || !strings.Contains(body, `"status":`) {
			t.Errorf("%s %s answered %d %q %s, want %d as a problem", r.method, r.path, status, header.Get("Content-Type"), body, r.status)
		}
		if r.status == 405 && header.Get("Allow") == "" {
			t.Errorf("%s %s answered 405 without Allow", r.method, r.path)
		}
		if header.Get("Access-Control-Allow-Origin") != "" || header.Get("Set-Cookie") != "" {
			t.Errorf("%s %s answered with CORS or a cookie: %v", r.method, r.path, header)
		}
	}
}

func TestPagesOfOtherOriginsAreNotLetIn(t *testing.T) {
	t.Parallel()
	w := apitest.New(t, apitest.Options{})
	for _, method := range []string{"OPTIONS", "GET"} {
		_, header, _ := w.Do(t, w.Alice, method, "/api/v1/projects", "", "")
		for name := range header {
			if strings.HasPrefix(name, "Access-Control-") || name == "Set-Cookie" {
				t.Errorf("%s answered with %s", method, name)
			}
		}
	}
}

func TestAnswersCarryTheirRequestID(t *testing.T) {
	t.Parallel()
	w := apitest.New(t, apitest.Options{})
	status, header, body := w.Do(t, w.Alice, "GET", "/api/v1/projects/nobody", "", "")
	id := header.Get("Chumbo-Request-Id")
	if status != 404 || len(id) < 16 || !strings.Contains(body, `"trace_id":"`+id+`"`) || header.Get("Cache-Control") != "no-store" {
		t.Errorf("%d %v %s", status, header, body)
	}
	if !strings.Contains(w.Log.String(), id) {
		t.Error("the log does not know the request")
	}
}

func TestBadBodiesAreRefused(t *testing.T) {
	t.Parallel()
	w := apitest.New(t, apitest.Options{})
	const big = 2 << 20
	for name, r := range map[string]struct {
		contentType, body string
		status            int
		says              string
	}{
		"unknown member":  {"application/json", `{"url":"https://a.example.test","colour":"red"}`, 400, "colour"},
		"wrong type":      {"application/json", `{"url":7}`, 400, "url"},
		"two values":      {"application/json", `{} {}`, 400, "one"},
		"not JSON":        {"application/json", `{"url":`, 400, "JSON"},
		"no media type":   {"", `{}`, 400, "application/json"},
		"other media":     {"text/plain", `{}`, 400, "application/json"},
		"two megabytes":   {"application/json", `{"name":"` + strings.Repeat("x", big) + `"}`, 413, "1024 KiB"},
		"no key":          {"application/json", `{"url":"https://a.example.test","slug":"acme"}`, 400, "publishable key"},
		"name not usable": {"application/json", `{"url":"https://a.example.test","slug":"Acme Inc","publishable_key":"sb_publishable_x"}`, 400, "lower-case"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status, _, body := w.Do(t, w.Alice, "POST", "/api/v1/projects", r.contentType, r.body)
			if status != r.status || !strings.Contains(body, r.says) {
				t.Errorf("answered %d %s, want %d and %q", status, body, r.status, r.says)
			}
		})
	}
}

func TestSecretKeysAreRefusedEverywhereAndNeverRepeated(t *testing.T) {
	t.Parallel()
	w := published(t, apitest.Options{})
	before := state(t, w)
	for kind, secret := range map[string]string{"new": w.Project.SecretKey(), "legacy": w.Project.ServiceRoleKey()} {
		field := func(name string) map[string]string {
			in := registration(w, "second")
			in[name] = secret
			return in
		}
		withURL := registration(w, "second")
		withURL["url"] = w.Project.URL() + "?apikey=" + secret
		file := map[string]string{"file": surfaceFile + "# " + secret + "\n"}
		for _, r := range []route{
			{"POST", "/projects", field("url"), write},
			{"POST", "/projects", withURL, write},
			{"POST", "/projects", field("publishable_key"), write},
			{"POST", "/projects", field("slug"), write},
			{"POST", "/projects", field("name"), write},
			{"POST", "/projects/acme/probe", map[string]string{"publishable_key": secret}, write},
			{"PUT", "/projects/acme/surfaces/main/file", file, write},
			{"PUT", "/projects/acme/surfaces/main/file?dry_run=true", file, write},
			{"POST", "/projects/acme/surfaces/main/publish", file, write},
			{"PUT", "/projects/acme/surfaces/main/state", map[string]string{"state": secret}, write},
			{"GET", "/projects/" + secret, nil, write},
			{"GET", "/projects?apikey=" + secret, nil, write},
			{"PUT", "/projects/acme/schema", map[string]string{"format": secret}, write},
		} {
			status, answer := send(t, w, w.Alice, r.method, r.path, r.body)
			detail, _ := answer["detail"].(string)
			if status < 400 || status >= 500 || !strings.Contains(strings.ToLower(detail), "revoke") || strings.Contains(detail, secret) {
				t.Errorf("%s key: %s %s answered %d %v", kind, r.method, strings.ReplaceAll(r.path, secret, "…"), status, answer)
			}
		}
		status, _, body := w.Do(t, secret, "GET", "/api/v1/me", "", "")
		if status < 400 || !strings.Contains(strings.ToLower(body), "revoke") {
			t.Errorf("%s key as token answered %d %s", kind, status, body)
		}
		if strings.Contains(w.Log.String(), secret) {
			t.Errorf("the %s key is in the log", kind)
		}
	}
	if after := state(t, w); after != before {
		t.Errorf("state was\n%s\nand is\n%s", before, after)
	}
}

func TestPublishedSchemasNeedNoToken(t *testing.T) {
	t.Parallel()
	w := apitest.New(t, apitest.Options{})
	for _, path := range []string{"/schema/surface-v1.json", "/schema/schema-snapshot-v1.json"} {
		status, header, body := w.Do(t, "", "GET", path, "", "")
		if status != 200 || !strings.Contains(header.Get("Content-Type"), "schema+json") || !strings.Contains(body, "$schema") {
			t.Errorf("%s answered %d %v", path, status, header)
		}
	}
}
