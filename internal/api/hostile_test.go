package api_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/api/apitest"
)

// TestTextPostgresCannotKeepIsTheSendersMistake: NUL and broken UTF-8 get as
// far as the database from paths and JSON; none of it is a failure of ours.
func TestTextPostgresCannotKeepIsTheSendersMistake(t *testing.T) {
	t.Parallel()
	w := published(t, apitest.Options{})
	named := func(field, value string) map[string]string {
		in := registration(w, "second")
		in[field] = value
		return in
	}
	snapshot, err := json.Marshal(w.Snapshot(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []route{
		{"GET", "/projects/acme%00", nil, write},
		{"GET", "/projects/%ff%fe", nil, write},
		{"GET", "/projects/acme/surfaces/%00/file", nil, write},
		{"PUT", "/projects/acme/surfaces/%00/file", map[string]string{"file": surfaceFile}, write},
		{"PUT", "/projects/acme/surfaces/main/file", map[string]string{"file": surfaceFile + "# \x00"}, write},
		{"POST", "/projects/acme/surfaces/main/publish", map[string]string{"file": surfaceFile + "# \x00"}, write},
		{"POST", "/projects", named("name", "Acme\x00"), write},
		{"POST", "/projects", named("slug", "acme\x00"), write},
		{"POST", "/projects", named("url", w.Project.URL()+"\x00"), write},
		{"POST", "/projects", named("publishable_key", "sb_publishable_x\r\nApikey: y"), write},
		{"PUT", "/projects/acme/schema", strings.Replace(string(snapshot), `"comment":"`, `"comment":"\u0000`, 1), write},
	} {
		if status, answer := send(t, w, w.Alice, r.method, r.path, r.body); status < 400 || status >= 500 {
			t.Errorf("%s %s answered %d %v", r.method, r.path, status, answer)
		}
	}
	if strings.Contains(w.Log.String(), "SQLSTATE") {
		t.Errorf("the database saw it: %s", w.Log.String())
	}
}

// TestTextNobodyCanKeepInAnyFieldIsTheSendersMistake goes through every text
// of every route's example.
func TestTextNobodyCanKeepInAnyFieldIsTheSendersMistake(t *testing.T) {
	t.Parallel()
	w := published(t, apitest.Options{})
	tried := 0
	for _, r := range everyRoute(t, w) {
		if r.method == "PUT" && r.path == "/projects/acme/schema" {
			continue // tried above
		}
		for _, text := range []string{"\x00", "a\x00b", strings.Repeat("x", 100_000), "\u202e\u2066", "'; drop table projects; --"} {
			for place, body := range withSecret(t, r.body, text) {
				tried++
				if status, answer := send(t, w, w.Alice, r.method, r.path, body); status >= 500 || strings.Contains(text, "\x00") && r.needs != read && status < 400 {
					t.Errorf("%.20q in %s of %s %s answered %d %v", text, place, r.method, r.path, status, answer)
				}
			}
		}
	}
	for _, r := range []route{
		{"DELETE", "/tokens/%00", nil, read},
		{"POST", "/notices/%00/dismiss", nil, write},
		{"POST", "/projects/%00/rename", map[string]string{"slug": "other"}, admin},
		{"POST", "/projects/acme/surfaces/%ff/plan", map[string]string{"file": surfaceFile}, read},
		{"PUT", "/projects/acme/surfaces/%00/pin", map[string]string{"digest": strings.Repeat("0", 64)}, write},
		{"GET", "/projects/acme/surfaces/main/revisions/%00", nil, read},
		{"GET", "/projects/acme/schema/starter?tables=%00", nil, read},
		{"POST", "/projects/acme/surfaces/main/publish", `{"file":"\n","expect":"x","overrides":[1e999]}`, write},
	} {
		if status, answer := send(t, w, w.Alice, r.method, r.path, r.body); status < 400 || status >= 500 {
			t.Errorf("%s %s answered %d %v", r.method, r.path, status, answer)
		}
	}
	if tried < 100 || strings.Contains(w.Log.String(), "SQLSTATE") {
		t.Errorf("%d tried; the log is %s", tried, w.Log.String())
	}
}

func TestNumberThatDoesNotFitIsNotRepeated(t *testing.T) {
	t.Parallel()
	w := published(t, apitest.Options{})
	status, answer := send(t, w, w.Alice, "POST", "/projects/acme/surfaces/main/rollback", `{"revision":1234567890123456789012345678901234567890}`)
	text, err := json.Marshal(answer)
	if err != nil {
		t.Fatal(err)
	}
	if status != 400 || strings.Contains(string(text), "12345") {
		t.Errorf("answered %d %s", status, text)
	}
}
