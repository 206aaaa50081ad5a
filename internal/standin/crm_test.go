package standin

import (
	"testing"
)

func TestCRMShowsEachPersonTheirOwnOrganization(t *testing.T) {
	t.Parallel()
	p := startCRM(t, nil)
	for email, want := range map[string]string{AliceEmail: `[{"name":"Acme"}]`, BobEmail: `[{"name":"Globex"}]`} {
		c := as(t, p, email)
		if got := c.get("organizations?select=name"); got.status != 200 || compact(t, got.body) != want {
			t.Errorf("%s: %d %s, want %s", email, got.status, got.body, want)
		}
		got := c.get("customers?select=id&limit=1", "Prefer", "count=exact")
		if r := got.header.Get("Content-Range"); got.status != 206 || r != "0-0/60" {
			t.Errorf("%s: customers %d %q, want 206 0-0/60", email, got.status, r)
		}
	}
	if got := as(t, p, "").get("customers"); got.status != 401 || got.code() != "42501" {
		t.Errorf("anon: %d %s, want 401 42501", got.status, got.body)
	}
	if got := as(t, p, "").get("announcements?select=title&order=id"); compact(t, got.body) != `[{"title":"Welcome"},{"title":"Closed on Sunday"}]` {
		t.Errorf("anon: announcements %s", got.body)
	}
}
