package standin

import (
	"strings"
	"testing"
)

// TestWrites runs one story step by step: what each write answers and what it
// leaves in the table slots.
func TestWrites(t *testing.T) {
	t.Parallel()
	c := as(t, startOdd(t, nil), AliceEmail)
	const shown, singular = "return=representation", "application/vnd.pgrst.object+json"
	steps := []struct {
		name, method, path, body string
		prefer, accept           string
		status                   int
		contentRange, want       string // want: the body
		left                     string // the table afterwards: id label note
	}{
		{"insert answers nothing", "POST", "slots", `{"id":1}`, "", "", 201, "*/*", "", "1 free -"},
		{"insert shows the row", "POST", "slots?select=id,label", `{"id":2,"label":"a"}`, shown, "", 201, "*/*", `[{"id":2,"label":"a"}]`, "1 free -;2 a -"},
		{"an empty list is no row", "POST", "slots", `[]`, "", "", 201, "*/*", "", "1 free -;2 a -"},
		{"a scalar is no row", "POST", "slots", `5`, "", "", 201, "*/*", "", "1 free -;2 a -"},
		{"all or nothing", "POST", "slots", `[{"id":3},{"id":1}]`, "", "", 409, "", "", "1 free -;2 a -"},
		{"columns: absent is null", "POST", "slots?columns=id,note", `[{"id":3,"label":"ignored"}]`, "count=exact", "", 201, "*/1", "", "1 free -;2 a -;3 free -"},
		{"missing=default", "POST", "slots?columns=id,label", `[{"id":4}]`, "missing=default", "", 201, "*/*", "", "1 free -;2 a -;3 free -;4 free -"},
		{"upsert, only updates", "POST", "slots", `[{"id":1,"note":"up"}]`, "resolution=merge-duplicates", "", 200, "*/*", "", "1 free up;2 a -;3 free -;4 free -"},
		{"upsert, one inserted", "POST", "slots?on_conflict=id", `[{"id":1,"note":"up2"},{"id":5,"note":"new"}]`, "resolution=merge-duplicates", "", 201, "*/*", "", "1 free up2;2 a -;3 free -;4 free -;5 free new"},
		{"ignore duplicates", "POST", "slots?select=id", `[{"id":1},{"id":6}]`, "resolution=ignore-duplicates," + shown, "", 201, "*/*", `[{"id":6}]`, "1 free up2;2 a -;3 free -;4 free -;5 free new;6 free -"},
		{"delete counts", "DELETE", "slots?id=gt.3", "", "count=exact", "", 204, "*/3", "", "1 free up2;2 a -;3 free -"},
		{"delete of nothing", "DELETE", "slots?id=eq.77", "", shown, "", 200, "*/*", `[]`, "1 free up2;2 a -;3 free -"},
		{"patch tells the count unasked", "PATCH", "slots?id=lt.3", `{"note":"n"}`, "", "", 204, "0-1/*", "", "1 free n;2 a n;3 free -"},
		{"patch of nothing", "PATCH", "slots?id=eq.77", `{"note":"x"}`, "", "", 204, "*/*", "", "1 free n;2 a n;3 free -"},
		{"patch with a count", "PATCH", "slots?id=eq.1&select=note", `{"note":"m"}`, "count=exact," + shown, "", 200, "0-0/1", `[{"note":"m"}]`, "1 free m;2 a n;3 free -"},
		{"patch with nothing to set", "PATCH", "slots?id=eq.1", `{}`, "", "", 204, "*/*", "", "1 free m;2 a n;3 free -"},
		{"singular holds a patch to one row", "PATCH", "slots?id=lt.3", `{"note":"no"}`, "", singular, 406, "", "", "1 free m;2 a n;3 free -"},
		{"singular, no row", "DELETE", "slots?id=eq.77", "", "", singular, 406, "", "", "1 free m;2 a n;3 free -"},
		{"singular, one row", "PATCH", "slots?id=eq.2&select=id,note", `{"note":"one"}`, shown, singular, 200, "0-0/*", `{"id":2,"note":"one"}`, "1 free m;2 a one;3 free -"},
		{"max-affected holds", "PATCH", "slots?id=lt.3", `{"note":"no"}`, "handling=strict,max-affected=1", "", 400, "", "", "1 free m;2 a one;3 free -"},
		{"max-affected needs strict handling", "PATCH", "slots?id=lt.3", `{"note":"z"}`, "max-affected=1", "", 204, "0-1/*", "", "1 free z;2 a z;3 free -"},
		{"tx=rollback is ignored", "PATCH", "slots?id=eq.1", `{"note":"kept"}`, "tx=rollback", "", 204, "0-0/*", "", "1 free kept;2 a z;3 free -"},
		{"limit does not hold a delete", "DELETE", "slots?id=gt.1&limit=1", "", "", "", 204, "*/*", "", "1 free kept"},
	}
	for _, s := range steps {
		got := c.do(s.method, s.path, s.body, "Prefer", s.prefer, "Accept", s.accept)
		if got.status != s.status || got.header.Get("Content-Range") != s.contentRange {
			t.Errorf("%s: %d %q %s, want %d %q", s.name, got.status, got.header.Get("Content-Range"), got.body, s.status, s.contentRange)
		}
		body := got.body
		if body != "" && s.status < 300 {
			body = compact(t, body)
		}
		if s.status < 300 && body != s.want {
			t.Errorf("%s: body %q, want %q", s.name, body, s.want)
		}
		if left := slots(t, c); left != s.left {
			t.Fatalf("%s: left %q, want %q", s.name, left, s.left)
		}
	}
}

func slots(t *testing.T, c client) string {
	t.Helper()
	s := compact(t, c.get("slots?order=id").body)
	return strings.NewReplacer(`[{`, "", `}]`, "", `},{`, ";", `"id":`, "", `,"label":"`, " ", `","note":null`, " -", `","note":"`, " ", `"`, "").Replace(s)
}

func TestWriteAnswersNameTheRowAndThePreferences(t *testing.T) {
	t.Parallel()
	c := as(t, startOdd(t, nil), AliceEmail)
	got := c.do("POST", "slots", `{"id":34}`, "Prefer", "return=headers-only")
	if got.status != 201 || got.header.Get("Location") != "/slots?id=eq.34" || got.body != "" {
		t.Errorf("headers-only: %d Location %q body %q", got.status, got.header.Get("Location"), got.body)
	}
	got = c.do("PATCH", "slots?id=eq.34", `{"note":"x"}`, "Prefer", "handling=strict, max-affected=1, return=minimal")
	if applied := got.header.Get("Preference-Applied"); applied != "return=minimal, handling=strict, max-affected=1" {
		t.Errorf("Preference-Applied %q", applied)
	}
}

// TestRowLevelSecurityOfWrites pins what Row Level Security says to writes.
func TestRowLevelSecurityOfWrites(t *testing.T) {
	t.Parallel()
	p := startOdd(t, nil)
	alice := as(t, p, AliceEmail)
	own := `{"id":1,"owner":"` + AliceID + `","body":"x"}`
	if got := alice.do("POST", "secrets", own); got.status != 201 {
		t.Errorf("insert with an insert policy only: %d %s", got.status, got.body)
	}
	if got := alice.do("POST", "secrets", strings.Replace(own, `"id":1`, `"id":2`, 1), "Prefer", "return=representation"); got.status != 403 || got.code() != "42501" {
		t.Errorf("and with representation: %d %s, want 403 42501", got.status, got.body)
	}
	foreign := strings.Replace(own, AliceID, BobID, 1)
	if got := alice.do("POST", "secrets", foreign); got.status != 403 || got.code() != "42501" {
		t.Errorf("a row of somebody else's: %d %s, want 403 42501", got.status, got.body)
	}
	if got := alice.get("secrets"); got.status != 200 || got.body != "[]" {
		t.Errorf("rows that no policy shows: %d %s, want 200 []", got.status, got.body)
	}
}

// TestAliceCannotChangeWhatIsBobs writes to another organization's customers
// in every way and then looks as Bob.
func TestAliceCannotChangeWhatIsBobs(t *testing.T) {
	t.Parallel()
	p := startCRM(t, nil)
	alice, bob := as(t, p, AliceEmail), as(t, p, BobEmail)
	const look = "customers?order=id&limit=1&select=id,name,status,organization_id"
	before := bob.get(look)
	id := ids(t, bob.get("customers?order=id&limit=1&select=id").body)

	for name, got := range map[string]reply{
		"patch":  alice.do("PATCH", "customers?id=eq."+id, `{"name":"Mine"}`),
		"delete": alice.do("DELETE", "customers?id=eq."+id, ""),
	} {
		if got.status != 204 {
			t.Errorf("%s: %d %s, want 204 and no row", name, got.status, got.body)
		}
	}
	if got := alice.do("POST", "rpc/archive_customer", `{"id":`+id+`}`); got.status != 400 || got.code() != "P0001" {
		t.Errorf("archive: %d %s, want 400 P0001", got.status, got.body)
	}
	if got := alice.get("customers?id=eq." + id); got.body != "[]" {
		t.Errorf("Alice sees %s", got.body)
	}
	if after := bob.get(look); after.body != before.body {
		t.Errorf("Bob's customer is now %s, was %s", after.body, before.body)
	}
}
