package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chumbo-dev/chumbo/internal/clocktest"
	"github.com/chumbo-dev/chumbo/internal/db/dbtest"
	"github.com/chumbo-dev/chumbo/internal/dedupe"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/standin"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

const dedupedPapers = `
version: 1
title: Papers
access: { mode: oauth, authorization: direct }
tools:
  - table: papers
    operations: [create]
    columns: [id, title, big]
    write: { title: , email: , big: , data: , amount: }
    dedupe: request_id
`

// dedupeWorld is a write world and what several servers share to remember
// creates.
type dedupeWorld struct {
	*writeWorld
	tool  *surfaces.Tool
	clock *clocktest.Clock
	make  func() Creates
}

func newDedupeWorld(t *testing.T) *dedupeWorld {
	t.Helper()
	w := &dedupeWorld{writeWorld: newWriteWorld(t), clock: clocktest.New(time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC))}
	w.tool = w.compiled(dedupedPapers)["create"]
	if w.tool.Create.Dedupe == nil || len(w.tool.Create.Dedupe.Constraints) == 0 {
		t.Fatalf("plan %+v", w.tool.Create)
	}
	database, keys := dbtest.NewDatabase(t), testKeys(t)
	w.make = func() Creates {
		creates, err := dedupe.New(dedupe.Config{Store: database.Store, Keys: keys, Now: w.clock.Now, Logger: slog.New(slog.NewTextHandler(&bytes.Buffer{}, nil))})
		if err != nil {
			t.Fatal(err)
		}
		return creates
	}
	return w
}

// server is another server's runner.
func (w *dedupeWorld) server() *toolRunner { return w.runner.withCreates(w.make()) }

// lapsing is a context whose time is over when end is called.
type lapsing struct {
	context.Context
	done chan struct{}
}

func newLapsing(parent context.Context) (*lapsing, func()) {
	l := &lapsing{Context: parent, done: make(chan struct{})}
	return l, func() { close(l.done) }
}

func (l *lapsing) Done() <-chan struct{} { return l.done }

func (l *lapsing) Err() error {
	select {
	case <-l.done:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// lapse runs a tool whose answer does not come before its time is over,
// although the change is made.
func (w *writeWorld) lapse(t *testing.T, r *toolRunner, c *call, tool *surfaces.Tool, arguments, path string) ran {
	t.Helper()
	hold := w.HoldNext(standin.AfterCommit, path)
	ctx, end := newLapsing(t.Context())
	result := make(chan ran, 1)
	go func() {
		defer close(result)
		res, err := r.run(ctx, c, tool, []byte(arguments))
		if err != nil {
			t.Errorf("run: %v", err)
			return
		}
		result <- resultOf(res, c)
	}()
	select {
	case <-hold.Reached():
	case got := <-result:
		t.Errorf("%s was not made: %s", tool.Name, got.text)
		return got
	}
	end()
	return <-result
}

func TestACreateThatTimedOutIsMadeOnce(t *testing.T) {
	t.Parallel()
	w := newDedupeWorld(t)
	alice, bob := w.callAs(t, standin.AliceEmail), w.callAs(t, standin.BobEmail)
	count := func() string { return w.text(`select count(*)::text from public.papers`) }
	const arguments = `{"title":"one","big":7,"data":{"a":1,"b":["x"]}}`
	timedOut := w.lapse(t, w.server(), alice, w.tool, arguments, "/rest/v1/papers")
	if timedOut.kind() != "outcome_unknown" || !strings.Contains(timedOut.text, "exactly the same arguments") || count() != "1" {
		t.Fatalf("%s rows, %s", count(), timedOut.text)
	}
	id := w.text(`select id::text from public.papers`)
	w.clock.Advance(9 * time.Minute)
	for _, same := range []string{arguments, `{"data" : { "b":["\u0078"], "a":1 }, "title":"one", "big":"007"}`} {
		again := runTool(t, w.server(), alice, w.tool, same)
		if again.isError || !strings.HasPrefix(again.text, "Already created by an identical call.\nid: "+id+"\n") || again.member("id") != `"`+id+`"` || count() != "1" {
			t.Errorf("%s rows, %s", count(), again.text)
		}
	}
	other := func(name string, c *call, tool *surfaces.Tool, arguments string) {
		t.Helper()
		before := count()
		got := runTool(t, w.server(), c, tool, arguments)
		if got.isError || !strings.HasPrefix(got.text, "Created.") || count() == before {
			t.Errorf("%s: %s", name, got.text)
		}
	}
	other("Bob's", bob, w.tool, arguments)
	other("other arguments", alice, w.tool, `{"title":"one","big":8,"data":{"a":1,"b":["x"]}}`)
	other("a number that is none", alice, w.tool, `{"title":"one","amount":"NaN"}`)
	other("another number that is none", alice, w.tool, `{"title":"one","amount":"Infinity"}`)
	other("null is not left out", alice, w.tool, `{"title":"one","big":7,"data":{"a":1,"b":["x"],"c":null}}`)
	renamed := *w.tool
	renamed.Name = "another_tool"
	other("another tool", alice, &renamed, arguments)
	client := w.callAs(t, standin.AliceEmail)
	client.caller.Key.Client = "another"
	other("another client", client, w.tool, arguments)
	elsewhere := w.callAs(t, standin.AliceEmail)
	elsewhere.endpoint.Surface = newSurfaceID()
	other("another surface", elsewhere, w.tool, arguments)
	w.clock.Advance(2 * time.Minute)
	other("ten minutes later", alice, w.tool, arguments)
}

func TestIdenticalCreatesAtOnceAreOne(t *testing.T) {
	t.Parallel()
	w := newDedupeWorld(t)
	for _, arguments := range []string{`{"title":"x"}`, `{"title":"y","email":"once@example.test"}`} {
		var ids sync.Map
		var wait sync.WaitGroup
		for range 6 {
			for _, email := range []string{standin.AliceEmail, standin.BobEmail} {
				c, r := w.callAs(t, email), w.server()
				wait.Go(func() {
					got := runTool(t, r, c, w.tool, arguments)
					if got.isError {
						t.Error(got.text)
					}
					ids.Store(email+" "+got.member("id"), true)
				})
			}
		}
		wait.Wait()
		n := 0
		ids.Range(func(any, any) bool { n++; return true })
		if rows := w.text(`select count(*)::text from public.papers where title = $1`, arguments[10:11]); n != 2 || rows != "2" {
			t.Errorf("%s: %d answers, %s rows", arguments, n, rows)
		}
	}
}

func TestWhatBecameOfTheFirstRow(t *testing.T) {
	t.Parallel()
	w := newDedupeWorld(t)
	alice, r := w.callAs(t, standin.AliceEmail), w.server()
	made := runTool(t, r, alice, w.tool, `{"title":"x","email":"a@example.test"}`)
	if made.isError {
		t.Fatal(made.text)
	}
	// Another unique key says the same of an identical call, and the truth of another.
	if got := runTool(t, r, alice, w.tool, `{"title":"x","email":"a@example.test"}`); got.isError || got.member("id") != made.member("id") {
		t.Errorf("%s", got.text)
	}
	if got := runTool(t, r, alice, w.tool, `{"title":"y","email":"a@example.test"}`); got.kind() != "conflict" {
		t.Errorf("%s", got.text)
	}
	// Changed: answered as it is now.
	w.text(`update public.papers set title = 'changed' where id = ` + strings.Trim(made.member("id"), `"`) + ` returning id::text`)
	if got := runTool(t, r, alice, w.tool, `{"title":"x","email":"a@example.test"}`); got.member("title") != `"changed"` {
		t.Errorf("%s", got.text)
	}
	// Out of sight: made all the same.
	w.text(`update public.papers set organization_id = '` + globex + `' where id = ` + strings.Trim(made.member("id"), `"`) + ` returning id::text`)
	if got := runTool(t, r, alice, w.tool, `{"title":"x","email":"a@example.test"}`); got.text != "Already created by an identical call." || string(got.structured) != `{"ok":true}` {
		t.Errorf("%s %s", got.text, got.structured)
	}
	// Gone: it may be made again.
	w.text(`delete from public.papers returning id::text`)
	if got := runTool(t, r, alice, w.tool, `{"title":"x","email":"a@example.test"}`); got.isError || !strings.HasPrefix(got.text, "Created.") {
		t.Errorf("%s", got.text)
	}
}

func newSurfaceID() id.Surface { return id.New[id.SurfaceKind]() }

// resultOf is a result as runTool gives one.
func resultOf(res *mcp.CallToolResult, c *call) ran {
	out := ran{text: res.Content[0].(*mcp.TextContent).Text, isError: res.IsError, call: c}
	if res.StructuredContent != nil {
		out.structured = res.StructuredContent.(json.RawMessage)
	}
	return out
}
