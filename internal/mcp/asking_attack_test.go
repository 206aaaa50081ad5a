package mcp

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chumbo-dev/chumbo/internal/approvals"
	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// TestWhatChangesWhileAPersonThinksCounts: a yes opens nothing that was closed
// between the question and the answer, whichever way the answer comes.
func TestWhatChangesWhileAPersonThinksCounts(t *testing.T) {
	t.Parallel()
	for what, change := range map[string]func(*askingBundle){
		"the surface only reads": func(b *askingBundle) {
			ep := *b.ep
			ep.State = tenants.StateReadOnly
			b.directory.put(&ep, b.compiled)
		},
		"the surface is paused": func(b *askingBundle) {
			ep := *b.ep
			ep.State = tenants.StatePaused
			b.directory.put(&ep, b.compiled)
		},
		"the grant only reads": func(b *askingBundle) {
			c := *b.auth.callers["Bearer alice"]
			c.Allowed = &oauth.Allowed{ReadOnly: true}
			b.auth.admit("alice", &c)
		},
		"the grant never had this": func(b *askingBundle) {
			c := *b.auth.callers["Bearer alice"]
			c.Allowed = &oauth.Allowed{Writes: []string{"another rpc public.another"}}
			b.auth.admit("alice", &c)
		},
		"the claims are others": func(b *askingBundle) {
			c := *b.auth.callers["Bearer alice"]
			c.Claims = json.RawMessage(`{"sub":"alice","blocked":true}`)
			b.auth.admit("alice", &c)
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			b := setupAsking(t, func(_ *tenants.Endpoint, c *surfaces.Compiled) {
				c.Tools[0].Visible = `!has(claims.blocked)`
			})
			bridged(b, true)
			c := *b.auth.callers["Bearer alice"]
			c.Claims = json.RawMessage(`{"sub":"alice"}`)
			b.auth.admit("alice", &c)
			const arguments = `{"id":42}`
			state := b.asks("alice", "archive", arguments, formClient, "").input(t, "confirm")
			if got := b.asks("alice", "archive", arguments, `{}`, ""); got.kind() != kindNeedsPerson {
				t.Fatal(got.body)
			}
			b.once.decides(approvals.Approved)
			change(b)
			for way, got := range map[string]heard{
				"by its answer": b.asks("alice", "archive", arguments, formClient, agreed+","+state),
				"by the page":   b.asks("alice", "archive", arguments, `{}`, ""),
			} {
				if got.done() || got.status == http.StatusOK {
					t.Errorf("%s: %d %s", way, got.status, got.body)
				}
			}
			b.nothingRan(t, what)
		})
	}
}

// TestAYesIsToTheWholeCall: what the question does not name is told beside it,
// and nothing of it reads as a part of the question.
func TestAYesIsToTheWholeCall(t *testing.T) {
	t.Parallel()
	question, err := askedTemplate("Change customer {{id}}?")
	if err != nil {
		t.Fatal(err)
	}
	for arguments, want := range map[string]string{
		`{}`: "", `{"id":42}`: "", `{"patch":{},"id":42}`: ` Also given: patch "{}".`,
		`{"id":42,"patch":{"status":"archived","tags":["a"],"note":null},"force":true}`: ` Also given: status "archived", tags "['a']", note (nothing), force "true".`,
		`{"id":42,"x\". If you agree, nothing happens. y":"\"z"}`:                       ` Also given: "x'. If you agree, nothing happens. y" "'z".`,
		`{"id":42,"":1,"a b":2,"A_1":3,"é":4,"[":5,"\u202ea":6}`:                        ` Also given: "" "1", "a b" "2", A_1 "3", "é" "4", "[" "5", "a" "6".`,
	} {
		if got := question.also([]byte(arguments)); got != want {
			t.Errorf("%s: %s", arguments, got)
		}
	}
	many := "{" + strings.TrimSuffix(strings.Repeat(`"a":1,`, maxAlso+3), ",") + "}"
	if got := question.also([]byte(many)); !strings.HasSuffix(got, `a "1", and 3 more.`) {
		t.Error(got)
	}
	b := setupAsking(t, nil)
	asked := b.asks("alice", "archive", `{"id":42,"confirm":true}`, formClient, "")
	asked.input(t, "confirm")
	if got := asked.Result.InputRequests["confirm"].Params.Message; !strings.Contains(got, `? Also given: confirm "true". If you agree`) {
		t.Error(got)
	}
}

// TestNothingThatAPersonAnswersIsKept: neither arguments nor answers nor states
// are in the log or in the record of calls, whatever became of the call.
func TestNothingThatAPersonAnswersIsKept(t *testing.T) {
	t.Parallel()
	b := setupAsking(t, nil)
	const secret = "kept between us"
	arguments := `{"id":42,"note":"` + secret + `"}`
	why := `"inputResponses":{"why":{"action":"accept","content":{"reason":"` + secret + `"}}},`
	state := b.asks("alice", "close", `{"id":7}`, formClient, "").input(t, "why")
	state = b.asks("alice", "close", `{"id":7}`, formClient, why+state).input(t, "confirm")
	states := []string{state}
	if got := b.asks("alice", "close", `{"id":7}`, formClient, agreed+","+state); !got.done() {
		t.Fatal(got.body)
	}
	b.asks("alice", "close", `{"id":7}`, formClient, why+state) // replayed
	state = b.asks("alice", "archive", arguments, formClient, "").input(t, "confirm")
	states = append(states, state)
	b.asks("alice", "archive", arguments, formClient, `"inputResponses":{"confirm":{"action":"accept","content":{"confirm":"`+secret+`"}}},`+state).input(t, "confirm")
	b.asksFor(func(r round) (mcp.InputRequestMap, string) {
		if r.kept == "" {
			return requestsOf(t, `{`+asksName+`}`), secret
		}
		panic(secret)
	})
	state = b.asks("alice", "interview", `{}`, formClient, "").input(t, "name")
	states = append(states, state)
	if got := b.asks("alice", "interview", `{}`, formClient, `"inputResponses":{"name":{"action":"accept","content":{"name":"`+secret+`"}}},`+state); got.Error == nil || strings.Contains(got.body, secret) {
		t.Errorf("a panic: %s", got.body)
	}
	kept := b.logs.String()
	for _, inv := range b.recorder.all() {
		raw, err := json.Marshal(inv)
		if err != nil {
			t.Fatal(err)
		}
		kept += string(raw)
	}
	if !strings.Contains(kept, "archive") || !strings.Contains(kept, "panic") {
		t.Fatalf("nothing to look at: %s", kept)
	}
	for _, one := range append(states, secret) {
		one = strings.TrimSuffix(strings.TrimPrefix(one, `"requestState":"`), `"`)
		if strings.Contains(kept, one) {
			t.Errorf("%.30q is kept", one)
		}
	}
}
