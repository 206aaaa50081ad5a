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
