package directclients

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestUsesAreWrittenOnceAMinute(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	open := isolated(w.main, false)
	first := w.clock.Now()
	w.admits(t, open, "client-1")
	if list := w.clients(t, w.alice, open.Project.ID); len(list) != 0 {
		t.Errorf("written at once: %+v", list)
	}
	w.service.writeUses()
	used := func(want time.Time) {
		t.Helper()
		c := w.clients(t, w.alice, open.Project.ID)["client-1"]
		if !c.FirstSeenAt.Equal(first) || !c.LastUsedAt.Equal(want) || c.Surface != open.Surface || c.SurfaceSlug != "main" {
			t.Errorf("got %+v, want last use %s", c, want)
		}
	}
	used(first)
	w.clock.Advance(59 * time.Second)
	w.admits(t, open, "client-1")
	w.service.writeUses()
	used(first)
	w.clock.Advance(time.Second)
	w.admits(t, isolated(w.sales, false), "client-1")
	w.service.writeUses()
	used(first.Add(time.Minute))
}

func TestTheFirstOfABatchIsTheFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.admits(t, isolated(w.main, false), "client-1")
	w.clock.Advance(2 * time.Minute)
	w.admits(t, isolated(w.sales, false), "client-1")
	w.service.writeUses()
	if c := w.clients(t, w.alice, w.main.Project.ID)["client-1"]; c.Surface != w.main.Surface {
		t.Errorf("got %+v", c)
	}
}

func TestNamesAreKeptOnceAnHour(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	name := func(text string) string {
		w.service.Name(w.main, w.caller(w.main, "client-1"), text)
		w.service.writeUses()
		return w.clients(t, w.alice, w.main.Project.ID)["client-1"].Name
	}
	if got := name("Before"); got != "" { // not seen yet
		t.Errorf("got %q", got)
	}
	w.clock.Advance(time.Hour)
	w.admits(t, w.main, "client-1")
	for text, want := range map[string]string{"": "", " \n\x00 ": ""} {
		if got := name(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
	if got := name("Claude"); got != "Claude" {
		t.Errorf("got %q", got)
	}
	if got := name("Another"); got != "Claude" {
		t.Errorf("within the hour: %q", got)
	}
	w.clock.Advance(time.Hour)
	if got := name("Another"); got != "Another" {
		t.Errorf("after an hour: %q", got)
	}
}

func TestNamesAreOneTidyLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"  Claude \n Desktop\t": "Claude Desktop", "a\x00b": "a b", "a\u202eb": "a b", "\xff": "", strings.Repeat("a", 101): strings.Repeat("a", 100),
		strings.Repeat("é", 60): strings.Repeat("é", 50), "x" + strings.Repeat("é", 60): "x" + strings.Repeat("é", 49), strings.Repeat("a", 99) + " b": strings.Repeat("a", 99),
	} {
		if got := tidy(text); got != want || len(got) > nameBytes || !utf8.ValidString(got) {
			t.Errorf("%q: %q", text, got)
		}
	}
}

func TestTheBatchIsBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range batchMost + 10 {
		w.service.noteUse(clientKey{w.main.Organization, w.main.Project.ID, fmt.Sprint("client-", i)}, w.main.Surface)
	}
	due, _ := w.service.uses.take()
	if len(due) != batchMost {
		t.Errorf("%d gathered", len(due))
	}
}

func TestOneOrganizationsFailureIsNotAnothers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.admits(t, isolated(w.main, false), "client-1")
	w.admits(t, isolated(w.globex, false), "client-1")
	w.Exec(t, "delete from surface_urls where surface_id = $1", w.main.Surface.UUID())
	w.Exec(t, "delete from surfaces where id = $1", w.main.Surface.UUID())
	w.service.writeUses()
	if list := w.clients(t, w.bob, w.globex.Project.ID); len(list) != 1 {
		t.Errorf("Bob's: %+v", list)
	}
	if !strings.Contains(w.logs.String(), "uses of clients were not written") {
		t.Error("the failure is not logged")
	}
}
