package demo

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/standin"
)

// deskWorld is a service whose project has the example's desk, and who writes
// at it.
func deskWorld(t *testing.T) (target string, alice, bob *dance) {
	t.Helper()
	w := newWorld(t)
	p := w.tenant(t, "Acme builders", "crm", standin.Options{})
	p.importSchema()
	file, err := surfaceFile("desk")
	if err != nil {
		t.Fatal(err)
	}
	target = p.publishAs("desk", string(file))
	return target, signedIn(t, w, target, standin.AliceEmail), signedIn(t, w, target, standin.BobEmail)
}

// row is the structure of an answer that is one row.
func (r reply) row(t testing.TB) map[string]any {
	t.Helper()
	result := r.result(t)
	var row map[string]any
	if result.IsError || json.Unmarshal(result.Structured, &row) != nil {
		t.Fatalf("no row: %d %s", r.status, r.body)
	}
	return row
}

// TestDeskWritesAsItsCaller: the surface that reads and writes, end to end, in
// both ways of speaking.
func TestDeskWritesAsItsCaller(t *testing.T) {
	t.Parallel()
	target, alice, bob := deskWorld(t)
	for _, era := range eras {
		made := call(t, target, alice.access, era, "customers_create", map[string]any{"name": "Ada of " + era, "email": "ada-" + era + "@example.test", "tags": []string{"new"}}).row(t)
		id, seen := made["id"].(string), made["updated_at"].(string)
		if found := call(t, target, alice.access, era, "customers_list", map[string]any{"search": "ada of " + era}).page(t); len(found.Items) != 1 || found.Items[0]["id"] != id {
			t.Errorf("%s: the new customer is not found: %v", era, found.Items)
		}
		if found := call(t, target, bob.access, era, "customers_list", map[string]any{"search": "ada of " + era}).page(t); len(found.Items) != 0 {
			t.Errorf("%s: Bob sees Alice's customer", era)
		}

		changed := call(t, target, alice.access, era, "customers_update", map[string]any{"id": id, "updated_at": seen, "patch": map[string]any{"email": nil, "status": "active"}}).row(t)
		if changed["email"] != nil || changed["status"] != "active" || changed["updated_at"] == seen {
			t.Errorf("%s: %v", era, changed)
		}
		late := call(t, target, alice.access, era, "customers_update", map[string]any{"id": id, "updated_at": seen, "patch": map[string]any{"status": "lead"}}).failed(t)
		if !strings.Contains(late, `"kind":"conflict"`) || !strings.Contains(late, changed["updated_at"].(string)) {
			t.Errorf("%s: a late change is told %s", era, late)
		}
		theirs := call(t, target, bob.access, era, "customers_update", map[string]any{"id": id, "updated_at": changed["updated_at"], "patch": map[string]any{"status": "lead"}}).failed(t)
		none := call(t, target, bob.access, era, "customers_update", map[string]any{"id": "999999", "updated_at": changed["updated_at"], "patch": map[string]any{"status": "lead"}}).failed(t)
		if withoutTrace(theirs) != withoutTrace(none) || !strings.Contains(theirs, "not_found") {
			t.Errorf("%s: Bob is told of Alice's customer %s, of none %s", era, theirs, none)
		}

		note := map[string]any{"customer_id": id, "body": "Asked for a quote."}
		first := call(t, target, alice.access, era, "notes_create", note).row(t)
		again := call(t, target, alice.access, era, "notes_create", note).row(t)
		if first["id"] != again["id"] {
			t.Errorf("%s: a note sent twice is two: %v, %v", era, first, again)
		}
		if denied := call(t, target, bob.access, era, "notes_create", note).failed(t); !strings.Contains(denied, `"kind":"forbidden"`) {
			t.Errorf("%s: Bob writes about Alice's customer: %s", era, denied)
		}
		whole := call(t, target, alice.access, era, "customers_get", map[string]any{"id": id}).row(t)
		if notes := whole["notes"].(map[string]any); len(notes["items"].([]any)) != 1 || notes["truncated"] != false {
			t.Errorf("%s: %v", era, whole)
		}
		if kept := call(t, target, bob.access, era, "notes_delete", map[string]any{"id": first["id"]}).failed(t); !strings.Contains(kept, "not_found") {
			t.Errorf("%s: %s", era, kept)
		}
		if gone := call(t, target, alice.access, era, "notes_delete", map[string]any{"id": first["id"]}).row(t); gone["body"] != "Asked for a quote." {
			t.Errorf("%s: %v", era, gone)
		}
	}
	for _, who := range []*dance{alice, bob} {
		for _, customer := range call(t, target, who.access, eras[0], "customers_list", map[string]any{"search": "ada of", "limit": 100}).page(t).Items {
			if who == bob || customer["status"] != "active" {
				t.Errorf("left behind: %v", customer)
			}
		}
	}
}

// TestDeskTakesNoOrganization: what is set for the caller cannot be given.
func TestDeskTakesNoOrganization(t *testing.T) {
	t.Parallel()
	target, alice, _ := deskWorld(t)
	told := call(t, target, alice.access, eras[0], "customers_create", map[string]any{"name": "Mallory", "organization_id": "00000000-0000-4000-8000-0000000000b0"}).failed(t)
	if !strings.Contains(told, "organization_id") || !strings.Contains(told, `"kind":"invalid"`) {
		t.Error(told)
	}
	list := speak(t, target, alice.access, eras[0], "tools/list", nil)
	if strings.Contains(list.body, "organization_id") || strings.Contains(list.body, "author_id") || strings.Contains(list.body, "request_id") {
		t.Errorf("a client sees what is set for it: %s", list.body)
	}
}

// withoutTrace is a tool error without what differs from call to call.
func withoutTrace(text string) string {
	before, _, _ := strings.Cut(text, `"trace_id"`)
	return before
}
