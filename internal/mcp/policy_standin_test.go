package mcp

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/standin"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

const policyFunctions = `
create table public.staff (person uuid primary key, company text not null);
alter table public.staff enable row level security;
create policy own on public.staff for select to authenticated using (person = auth.uid());
grant select on public.staff to authenticated;
insert into public.staff values ('` + standin.AliceID + `', 'acme'), ('` + standin.BobID + `', 'globex');
create function public.chumbo_context() returns jsonb language sql stable as $$
  select jsonb_build_object('company', company, 'person', person) from public.staff $$;
create function public.chumbo_authorize(checks jsonb) returns jsonb language sql stable as $$
  select jsonb_agg(jsonb_build_object('allowed', s.company = 'acme' and (c->'arguments' = 'null' or c->'arguments'->>'status' is distinct from 'archived'),
    'reason', 'Not for ' || s.company || '.', 'code', 'WRONG_COMPANY'))
  from jsonb_array_elements(checks) c, public.staff s $$;
create function public.my_scopes() returns setof text language sql stable as $$
  select 'company.' || company from public.staff $$;
revoke execute on function public.chumbo_context(), public.chumbo_authorize(jsonb), public.my_scopes() from public;
grant execute on function public.chumbo_context(), public.chumbo_authorize(jsonb), public.my_scopes() to authenticated;
`

// TestRulesAskTheAppAsTheCaller: context, authorizer and scopes of a real
// project, whose row level security decides what each caller's answer is.
func TestRulesAskTheAppAsTheCaller(t *testing.T) {
	t.Parallel()
	p := startReal(t, policyFunctions)
	b := setupOver(t, p.runner)
	ep := b.surface("acme", func(ep *tenants.Endpoint, c *surfaces.Compiled) {
		c.Title, ep.Title = "CRM", "CRM"
		ep.Project.ID, ep.Project.APIOrigin, ep.Project.PublishableKey = p.project, p.URL(), p.PublishableKey()
		c.Access.ScopesFrom = &surfaces.ScopesFrom{Function: function("my_scopes", "")}
		c.Policy.Context, c.Policy.Authorizer = function("chumbo_context", ""), function("chumbo_authorize", "checks")
		tool := func(name string, edit func(*surfaces.Tool)) surfaces.Tool {
			list := *crmList()
			list.Name, list.Title, list.Description = name, name, name
			list.Input = json.RawMessage(`{"type":"object","properties":{"limit":{"type":"integer"},"status":{"type":"string"}}}`)
			list.Annotations = surfaces.Annotations{ReadOnly: true}
			edit(&list)
			return list
		}
		c.Tools = []surfaces.Tool{
			tool("by_context", func(s *surfaces.Tool) { s.Visible = `context.company == "globex" && context.person == subject` }),
			tool("by_permission", func(s *surfaces.Tool) { s.Permission = "customers.read" }),
			tool("by_scope", func(s *surfaces.Tool) { s.Scopes = []string{"company.acme"} }),
			tool("by_rule", func(s *surfaces.Tool) {
				s.Allow = &surfaces.Allow{Rule: `context.company != "globex" || args.limit < 3`, Reason: "Globex reads two at most."}
			}),
		}
	})
	for email, subject := range map[string]string{standin.AliceEmail: standin.AliceID, standin.BobEmail: standin.BobID} {
		c := p.callAs(t, email).caller
		c.Key.Surface, c.Key.Subject = ep.Surface, subject
		b.auth.admit(email, c)
	}
	key := &oauth.Caller{Key: oauth.CallerKey{Surface: ep.Surface, Mode: oauth.ModeAPIKey, Subject: "key_1", Client: "key_1"}}
	b.auth.admit("key", key)
	check := func() error {
		for who, want := range map[string][]string{
			standin.AliceEmail: {"by_permission", "by_scope", "by_rule"}, standin.BobEmail: {"by_context", "by_rule"}, "key": {"by_rule"},
		} {
			if got := b.tools("/acme/mcp", who); !slices.Equal(got, want) {
				return fmt.Errorf("%s sees %v, want %v", who, got, want)
			}
		}
		alice, bob := standin.AliceEmail, standin.BobEmail
		for _, one := range []struct {
			who, tool, arguments string
			ok                   func(called) bool
		}{
			{alice, "by_permission", `{"limit":1}`, called.ran},
			{alice, "by_permission", `{"limit":1,"status":"archived"}`, func(c called) bool { return c.forbidden("WRONG_COMPANY", "Not for acme.") }},
			{alice, "by_scope", `{"limit":1}`, called.ran},
			{alice, "by_context", `{"limit":1}`, called.unknown},
			{alice, "by_rule", `{"limit":5}`, called.ran},
			{bob, "by_permission", `{"limit":1}`, func(c called) bool { return c.forbidden("WRONG_COMPANY", "Not for globex.") }},
			{bob, "by_scope", `{"limit":1}`, func(c called) bool { return c.forbidden("insufficient_scope", "company.acme") }},
			{bob, "by_context", `{"limit":1}`, called.ran},
			{bob, "by_rule", `{"limit":5}`, func(c called) bool { return c.forbidden("NOT_ALLOWED", "Globex reads two at most.") }},
			{bob, "by_rule", `{"limit":2}`, called.ran},
			{"key", "by_rule", `{"limit":2}`, func(c called) bool { return c.forbidden() }}, // anon may not ask for the context
			{"key", "by_permission", `{"limit":2}`, func(c called) bool { return c.forbidden("PERMISSION_DENIED", "customers.read") }},
		} {
			got := b.call(one.tool, one.who, one.arguments)
			if !one.ok(got) {
				return fmt.Errorf("%s, %s %s: %+v", one.who, one.tool, one.arguments, got)
			}
			if one.who == alice && strings.Contains(got.body, "Globex ") || one.who == bob && strings.Contains(got.body, "Acme") {
				return fmt.Errorf("%s sees rows of another: %s", one.who, got.body)
			}
		}
		return nil
	}
	var group sync.WaitGroup
	for range 3 {
		group.Go(func() {
			for range 2 {
				if err := check(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	for _, r := range p.RequestsTo("/rest/v1/rpc/") {
		if r.Bearer == "" && r.Header.Get("Authorization") != "" {
			t.Error("a key's question carries a token")
		}
	}
}
