package mcp

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/standin"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

func guardedTools(w *writeWorld, guard string) map[string]*surfaces.Tool {
	return w.compiled(`
version: 1
title: Papers
access: { mode: oauth, authorization: direct }
tools:
  - table: papers
    operations: [get, update, delete]
    columns: [id, title, counted, ` + guard + `]
    write: [title, counted]
    guard: ` + guard + `
`)
}

// guards are the columns of papers that a guard can be, each with how it moves
// on.
var guards = map[string]string{"version": surfaces.BumpIncrement, "stamp": surfaces.BumpUUID, "moved": surfaces.BumpNow, "updated_at": surfaces.BumpNow}

// currentOf is what a conflict says of the row.
func currentOf(t *testing.T, r ran) token {
	t.Helper()
	var body struct {
		Current json.RawMessage `json:"current"`
	}
	if err := json.Unmarshal([]byte(r.text), &body); err != nil || len(body.Current) == 0 {
		t.Fatalf("a conflict without the current row: %s", r.text)
	}
	return token(body.Current)
}

func TestAGuardLosesToEveryChangeThatCameFirst(t *testing.T) {
	t.Parallel()
	w := newWriteWorld(t)
	c := w.callAs(t, standin.AliceEmail)
	for guard, bump := range guards {
		t.Run(guard, func(t *testing.T) {
			tools := guardedTools(w, guard)
			if got := tools["update"].Update.Guard; got == nil || got.Bump != bump {
				t.Fatalf("guard %+v", got)
			}
			id := w.paper(acme, "")
			read := func() string {
				t.Helper()
				got := w.valid(t, c, tools["get"], `{"id":"`+id+`"}`)
				return got.member(guard)
			}
			update := func(seen, title string) ran {
				t.Helper()
				return w.valid(t, c, tools["update"], fmt.Sprintf(`{"id":%q,%q:%s,"patch":{"title":%q}}`, id, guard, seen, title))
			}
			first := read()
			done := update(first, "one")
			if done.isError || done.member(guard) == first || done.member(guard) != read() {
				t.Fatalf("%s %s", done.text, done.structured)
			}
			late := update(first, "two")
			current := currentOf(t, late)
			if late.kind() != "conflict" || string(memberOf(current, "title")) != `"one"` || string(memberOf(current, guard)) != done.member(guard) || strings.Count(late.text, "Nothing") > 1 {
				t.Errorf("%s", late.text)
			}
			if got := w.valid(t, c, tools["delete"], fmt.Sprintf(`{"id":%q,%q:%s}`, id, guard, first)); got.kind() != "conflict" {
				t.Errorf("a delete of what was seen before: %s", got.text)
			}
			if got := update(string(memberOf(current, guard)), "three"); got.isError {
				t.Errorf("with the version of current: %s", got.text)
			}
			if got := w.valid(t, c, tools["delete"], fmt.Sprintf(`{"id":%q,%q:%s}`, id, guard, read())); got.isError || got.member("title") != `"three"` {
				t.Errorf("%s", got.text)
			}
			if got := update(first, "four"); got.kind() != "not_found" {
				t.Errorf("after the delete: %s", got.text)
			}
		})
	}
}

func TestTwoWritersHeldOnTheirWay(t *testing.T) {
	t.Parallel()
	w := newWriteWorld(t)
	c := w.callAs(t, standin.AliceEmail)
	for guard := range guards {
		tools := guardedTools(w, guard)
		for _, point := range []standin.HoldPoint{standin.BeforeStatement, standin.BeforeCommit} {
			for _, second := range []string{"update", "delete"} {
				t.Run(fmt.Sprint(guard, " ", point, " ", second), func(t *testing.T) {
					id := w.paper(acme, "")
					seen := w.valid(t, c, tools["get"], `{"id":"`+id+`"}`).member(guard)
					key := fmt.Sprintf(`"id":%q,%q:%s`, id, guard, seen)
					arguments := map[string]string{"update": `{` + key + `,"patch":{"title":"second"}}`, "delete": `{` + key + `}`}
					hold := w.HoldNext(point, "/rest/v1/papers")
					results := make(chan ran, 2)
					one, other := w.callAs(t, standin.AliceEmail), w.callAs(t, standin.AliceEmail)
					go func() {
						results <- runTool(t, w.runner, one, tools["update"], `{`+key+`,"patch":{"title":"first"}}`)
					}()
					<-hold.Reached()
					if point == standin.BeforeStatement { // the other one overtakes it
						got := runTool(t, w.runner, other, tools[second], arguments[second])
						if got.isError {
							t.Error(got.text)
						}
						hold.Release()
						want := "conflict"
						if second == "delete" {
							want = "not_found"
						}
						if got := <-results; got.kind() != want {
							t.Errorf("overtaken: %s", got.text)
						}
						return
					}
					go func() { results <- runTool(t, w.runner, other, tools[second], arguments[second]) }()
					hold.Release()
					done, lost := <-results, <-results
					if done.isError {
						done, lost = lost, done
					}
					if done.isError || lost.kind() != "conflict" || string(memberOf(currentOf(t, lost), "title")) != `"first"` {
						t.Errorf("%s\n%s", done.text, lost.text)
					}
				})
			}
		}
	}
}

// TestNoGuardedChangeIsLost lets several writers count up as they happen to
// meet: the count is that of the changes that were said to be done.
func TestNoGuardedChangeIsLost(t *testing.T) {
	t.Parallel()
	w := newWriteWorld(t)
	for guard := range guards {
		t.Run(guard, func(t *testing.T) {
			t.Parallel()
			tools := guardedTools(&writeWorld{realProject: w.realProject, t: t}, guard)
			id := w.paper(acme, "")
			var done, lost atomic.Int64
			var wait sync.WaitGroup
			for worker := range 4 {
				c, random := w.callAs(t, standin.AliceEmail), rand.New(rand.NewPCG(uint64(worker), 1))
				wait.Go(func() {
					var row token
					for range 20 {
						if row == nil || random.IntN(2) == 0 {
							row = runTool(t, w.runner, c, tools["get"], `{"id":"`+id+`"}`).structured
						}
						var count int
						_ = json.Unmarshal(memberOf(row, "counted"), &count)
						got := runTool(t, w.runner, c, tools["update"], fmt.Sprintf(`{"id":%q,%q:%s,"patch":{"counted":%d}}`, id, guard, memberOf(row, guard), count+1))
						switch {
						case !got.isError:
							done.Add(1)
							row = got.structured
						case got.kind() == "conflict":
							lost.Add(1)
							row = currentOf(t, got)
						default:
							t.Error(got.text)
						}
					}
				})
			}
			wait.Wait()
			if got := w.text(`select counted::text from public.papers where id = $1::text::bigint`, id); got != fmt.Sprint(done.Load()) || done.Load()+lost.Load() != 80 {
				t.Errorf("counted to %s, with %d changes done and %d lost", got, done.Load(), lost.Load())
			}
		})
	}
}

func TestOneVersionInSeveralSpellings(t *testing.T) {
	t.Parallel()
	w := newWriteWorld(t)
	c := w.callAs(t, standin.AliceEmail)
	for _, one := range []struct{ guard, value, same, other string }{
		{"version", "7", `7.0`, `8`}, {"stamp", "a11ce000-0000-4000-8000-00000000000a", `"A11CE000-0000-4000-8000-00000000000A"`, `"a11ce000-0000-4000-8000-00000000000b"`},
		{"moved", "2026-01-31 10:00:00.123456+00", `"2026-01-31T12:00:00.123456+02:00"`, `"2026-01-31T10:00:00.123457+00:00"`}, {"moved", "", `null`, `"2026-01-31T10:00:00+00:00"`},
		{"moved", "2026-01-31 10:00:00+00", `"2026-01-31T10:00:00Z"`, `null`},
	} {
		tools := guardedTools(w, one.guard)
		value := "'" + one.value + "'"
		if one.value == "" {
			value = "null"
		}
		arguments := func(id, seen string) string {
			return fmt.Sprintf(`{"id":%q,%q:%s,"patch":{"title":"x"}}`, id, one.guard, seen)
		}
		id := w.paper(acme, one.guard+"="+value)
		if got := w.valid(t, c, tools["update"], arguments(id, one.other)); got.kind() != "conflict" {
			t.Errorf("%s %s: %s", one.guard, one.other, got.text)
		}
		if got := w.valid(t, c, tools["update"], arguments(id, one.same)); got.isError {
			t.Errorf("%s %s: %s", one.guard, one.same, got.text)
		}
		// A row in the version that was seen, and may not be changed, is no conflict.
		id = w.paper(acme, one.guard+"="+value)
		w.text(`update public.papers set locked = true where id = ` + id + ` returning id::text`)
		if got := w.valid(t, c, tools["update"], arguments(id, one.same)); got.kind() != "forbidden" {
			t.Errorf("%s %s, locked: %s", one.guard, one.same, got.text)
		}
	}
}
