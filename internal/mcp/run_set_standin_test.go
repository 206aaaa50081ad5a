package mcp

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/standin"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

const markContext = `
create table public.teams (person uuid primary key, answer jsonb not null);
alter table public.teams enable row level security;
create policy own on public.teams for select to authenticated using (person = auth.uid());
grant select on public.teams to authenticated;
insert into public.teams values ('` + standin.AliceID + `', '{"team": "red", "extra": {"n": 12345678901234567890, "of": "alice"}, "number": 9007199254740993}'),
  ('` + standin.BobID + `', '{"team": "blue", "extra": {"n": 1, "of": "bob"}, "number": "7"}');
create function public.my_team() returns jsonb language sql stable as $$ select answer from public.teams $$;
revoke execute on function public.my_team() from public;
grant execute on function public.my_team() to authenticated;
grant select, update on public.marks to authenticated;
create policy own_marks on public.marks for all to authenticated using (made_by = auth.uid()) with check (true);
`

const markTools = `
version: 1
title: Marks
access: { mode: oauth, authorization: direct }
context: { rpc: my_team }
tools:
  - table: marks
    operations: [create, update]
    columns: [id, word, made_by, team, source, extra, big]
    write: [word]
    set:
      create: { made_by: claims.sub, team: context.team, source: { value: mcp }, extra: context.extra, big: context.number }
      update: { team: context.team, source: { claim: app_metadata.device } }
`

// edge serves the surface file over the project, with callers by email.
func (w *writeWorld) edge(src string, claims map[string]string) *bundle {
	w.t.Helper()
	compiled := compileFor(w.t, w.realProject, src)
	b := setupOver(w.t, w.runner)
	ep := b.surface("acme", func(ep *tenants.Endpoint, c *surfaces.Compiled) {
		ep.Project.ID, ep.Project.APIOrigin, ep.Project.PublishableKey = w.project, w.URL(), w.PublishableKey()
		*c = *compiled
	})
	for email, said := range claims {
		c := w.callAs(w.t, email).caller
		c.Key.Surface = ep.Surface
		if said != "" {
			c.Claims = json.RawMessage(said)
		}
		b.auth.admit(email, c)
	}
	b.auth.admit("key", &oauth.Caller{Key: oauth.CallerKey{Surface: ep.Surface, Mode: oauth.ModeAPIKey, Subject: "key_1", Client: "key_1"}})
	return b
}

func TestWhatIsSetIsTheCallersOwn(t *testing.T) {
	t.Parallel()
	w := newWriteWorld(t, markContext)
	alice, bob := standin.AliceEmail, standin.BobEmail
	b := w.edge(markTools, map[string]string{
		alice: `{"sub":"` + standin.AliceID + `","app_metadata":{"device":"desk"}}`, bob: `{"sub":"` + standin.BobID + `","app_metadata":{}}`,
	})
	marks := func() string {
		return w.text(`select coalesce(string_agg(concat_ws(' ', word, right(made_by::text, 1), team, source, extra->>'of', extra->>'n', big), ', ' order by word, made_by), '') from public.marks`)
	}
	var wait sync.WaitGroup
	for i := range 4 {
		for _, who := range []string{alice, bob} {
			wait.Go(func() {
				if got := b.call("marks_create", who, fmt.Sprintf(`{"word":"w%d"}`, i)); !got.ran() {
					t.Errorf("%s: %s", who, got.body)
				}
			})
		}
	}
	wait.Wait()
	var want []string
	for i := range 4 {
		want = append(want, fmt.Sprintf("w%d 1 red mcp alice 12345678901234567890 9007199254740993, w%d 2 blue mcp bob 1 7", i, i))
	}
	before := strings.Join(want, ", ")
	if got := marks(); got != before {
		t.Fatalf("marks\n got %s\nwant %s", got, before)
	}
	// Nobody can say otherwise.
	for _, more := range []string{`"made_by":"` + standin.AliceID + `"`, `"team":"red"`, `"source":"x"`, `"extra":{}`, `"big":"1"`, `"set":{"team":"red"}`} {
		if got := b.call("marks_create", bob, `{"word":"forged",`+more+`}`); !strings.Contains(got.body, `\"kind\":\"invalid\"`) || marks() != before {
			t.Errorf("%s: %s", more, got.body)
		}
	}
	id := w.text(`select id::text from public.marks where word = 'w0' and team = 'red'`)
	update := func(who, id, patch string) called {
		return b.call("marks_update", who, `{"id":"`+id+`","patch":`+patch+`}`)
	}
	if got := update(alice, id, `{"word":"w0","team":"green"}`); !strings.Contains(got.body, `\"kind\":\"invalid\"`) || marks() != before {
		t.Errorf("%s", got.body)
	}
	// Bob's account has no device: nothing is sent.
	w.ForgetRequests()
	bobs := w.text(`select id::text from public.marks where word = 'w0' and team = 'blue'`)
	if got := update(bob, bobs, `{"word":"changed"}`); !got.forbidden(codeSetUnavailable, "Nothing was changed") || marks() != before {
		t.Errorf("%s", got.body)
	}
	if n := len(w.RequestsTo("/rest/v1/marks")); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
	if got := update(alice, id, `{"word":"w0"}`); !got.ran() || marks() != strings.Replace(before, "w0 1 red mcp", "w0 1 red desk", 1) {
		t.Errorf("%s\n%s", got.body, marks())
	}
	// Without what it comes from, a tool does nothing.
	before = marks()
	if got := b.call("marks_create", "key", `{"word":"x"}`); !got.forbidden(codeSetUnavailable) {
		t.Errorf("a key: %s", got.body)
	}
	for answer, device := range map[string]string{`{}`: "set", `null`: "set", `[]`: "set", `{"team":null,"extra":1,"number":1}`: "null", `{"team":7,"extra":1,"number":1}`: "a number", `{"team":"red","extra":1,"number":true}`: "a boolean", `{"team":"red","extra":null,"number":1}`: "null for JSON"} {
		w.text(`update public.teams set answer = $1 where person = $2 returning 'x'`, answer, standin.AliceID)
		if got := b.call("marks_create", alice, `{"word":"x"}`); !got.forbidden(codeSetUnavailable) || marks() != before {
			t.Errorf("%s (%s): %s", answer, device, got.body)
		}
	}
	w.text(`delete from public.teams where person = $1 returning 'x'`, standin.AliceID)
	if got := b.call("marks_create", alice, `{"word":"x"}`); !got.forbidden(codeSetUnavailable) || marks() != before {
		t.Errorf("no context: %s", got.body)
	}
	w.FailNext("/rest/v1/rpc/my_team", 503, "text/html", "away")
	if got := b.call("marks_create", bob, `{"word":"x"}`); got.ran() || strings.Contains(got.body, codeSetUnavailable) || marks() != before {
		t.Errorf("a context that cannot be had now: %s", got.body)
	}
}
