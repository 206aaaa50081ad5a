package api_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/api/apitest"
	"github.com/chumbo-dev/chumbo/internal/localpg"
)

func TestMain(m *testing.M) { localpg.TestMain(m) }

const surfaceFile = `version: 1
title: Acme CRM
access: { mode: oauth, authorization: direct }
tools:
  - table: customers
    operations: [list, get]
    columns: [id, name, status]
`

// send sends JSON (body may be a string, taken as it is) and decodes the
// answer.
func send(t *testing.T, w *apitest.World, token, method, path string, body any) (int, map[string]any) {
	t.Helper()
	text, contentType := "", ""
	switch b := body.(type) {
	case nil:
	case string:
		text, contentType = b, "application/json"
	default:
		raw, err := json.Marshal(b)
		if err != nil {
			t.Fatalf("marshal: %v", err)
		}
		text, contentType = string(raw), "application/json"
	}
	status, header, answer := w.Do(t, token, method, "/api/v1"+path, contentType, text)
	if !strings.Contains(header.Get("Content-Type"), "json") {
		t.Fatalf("%s %s answered %d with %q: %s", method, path, status, header.Get("Content-Type"), answer)
	}
	var decoded map[string]any
	if err := json.Unmarshal([]byte(answer), &decoded); err != nil {
		t.Fatalf("%s %s answered %d: %v: %s", method, path, status, err, answer)
	}
	return status, decoded
}

// must is send for what has to work.
func must(t *testing.T, w *apitest.World, token, method, path string, body any) map[string]any {
	t.Helper()
	status, answer := send(t, w, token, method, path, body)
	if status >= 300 {
		t.Fatalf("%s %s answered %d: %v", method, path, status, answer)
	}
	return answer
}

func registration(w *apitest.World, slug string) map[string]string {
	return map[string]string{"url": w.Project.URL(), "publishable_key": w.Project.PublishableKey(), "slug": slug, "name": "Acme"}
}

// published is a world where Alice has published main of project acme, where
// somebody allowed a client and an application has a key, and has a notice to
// read.
func published(t *testing.T, o apitest.Options) *apitest.World {
	t.Helper()
	w := apitest.New(t, o)
	must(t, w, w.Alice, "POST", "/projects", registration(w, "acme"))
	must(t, w, w.Alice, "PUT", "/projects/acme/schema", w.Snapshot(t))
	must(t, w, w.Alice, "POST", "/projects/acme/surfaces/main/publish", map[string]string{"file": surfaceFile})
	noticeOf(t, w, w.Alice)
	w.Grant(t, w.Alice, "acme", "main", "somebody")
	must(t, w, w.Alice, "POST", "/projects/acme/surfaces/main/keys", map[string]string{"name": "backend"})
	w.DirectClient(t, w.Alice, "acme", "main", "11111111-0000-4000-8000-000000000001", "Claude")
	return w
}
