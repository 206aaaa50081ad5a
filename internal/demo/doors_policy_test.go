package demo

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/standin"
)

// policySchema is what an app says of its people: context, permissions, and
// one privileged function.
const policySchema = `
create function public.chumbo_context() returns jsonb language sql stable as $$
  select jsonb_build_object('organization', (select o.name from public.organizations o limit 1))
$$;
create function public.chumbo_authorize(checks jsonb) returns jsonb language sql stable as $$
  select jsonb_agg(case
      when c.value->>'permission' = 'customers.read' then '{"allowed": true}'::jsonb
      when (select o.name from public.organizations o limit 1) = 'Acme' then '{"allowed": true}'::jsonb
      else '{"allowed": false, "reason": "Only Acme archives.", "code": "NOT_ACME"}'::jsonb end order by c.ordinality)
  from jsonb_array_elements(checks) with ordinality c
$$;
create function public.count_everything() returns bigint language sql stable security definer set search_path = '' as $$
  select count(*) from public.customers
$$;
revoke execute on function public.chumbo_context(), public.chumbo_authorize(jsonb), public.count_everything() from public;
grant execute on function public.chumbo_context(), public.chumbo_authorize(jsonb), public.count_everything() to authenticated;
update auth.users set raw_app_meta_data = raw_app_meta_data || '{"tier": "pro", "role": "admin"}' where email = 'alice@example.test';
notify pgrst, 'reload schema';
`

const policyFile = `version: 1
title: Policy
access: { mode: [oauth, bearer], authorization: %s }
context: { rpc: chumbo_context }
authorizer: { rpc: chumbo_authorize }
tools:
  - { table: customers, operations: [list], columns: [id, name], permission: customers.read }
  - tool: archive_customer
    rpc: archive_customer
    permission: customers.archive
    meta: { tier: pro }
    allow: { rule: "claims.app_metadata.tier == tool.meta.tier && args.id != '7'", reason: "Customer 7 stays." }
  - { tool: customer_summary, rpc: customer_summary, visible: "context.organization == 'Globex'" }
  - { tool: count_everything, rpc: count_everything, description: Counts all customers., privileged: true, allow: "claims.app_metadata.role == 'admin'" }
`

// toolNames are what a caller is listed.
func toolNames(t *testing.T, target, token string) []string {
	t.Helper()
	r := speak(t, target, token, eras[0], "tools/list", nil)
	var answer struct {
		Result struct {
			Tools []struct{ Name string } `json:"tools"`
			Scope string                  `json:"cacheScope"`
		} `json:"result"`
	}
	if err := json.Unmarshal([]byte(r.body), &answer); err != nil || r.status != http.StatusOK {
		t.Fatalf("list: %d %s", r.status, r.body)
	}
	if answer.Result.Scope != "private" {
		t.Errorf("a list that anybody may keep: %s", r.body)
	}
	if strings.Contains(r.body, "tier") || strings.Contains(r.body, "customers.archive") {
		t.Errorf("meta or permission reached a client: %s", r.body)
	}
	var names []string
	for _, tool := range answer.Result.Tools {
		names = append(names, tool.Name)
	}
	return names
}

// policyWorld is a project with policySchema, and a token of each person at its
// surface, in bridge mode or direct.
func policyWorld(t *testing.T, authorization string) (p *tenant, alice, bob string) {
	t.Helper()
	w := newWorld(t)
	p = w.tenant(t, "Acme builders", "crm", standin.Options{Schema: policySchema})
	p.importSchema()
	p.publish(strings.Replace(policyFile, "%s", authorization, 1))
	if authorization == "direct" {
		return p, p.signIn(standin.AliceEmail).AccessToken, p.signIn(standin.BobEmail).AccessToken
	}
	return p, signedInFor(t, w, p.mcp, standin.AliceEmail, "").access, signedInFor(t, w, p.mcp, standin.BobEmail, "").access
}

func TestPolicyDecidesWhatACallerSeesAndMayDo(t *testing.T) {
	t.Parallel()
	for _, authorization := range []string{"direct", "bridge"} {
		t.Run(authorization, func(t *testing.T) {
			t.Parallel()
			p, alice, bob := policyWorld(t, authorization)
			for range 2 { // Alice, the admin, lists first; Bob is not served her list
				if got, want := toolNames(t, p.mcp, alice), []string{"customers_list", "archive_customer", "count_everything"}; !slices.Equal(got, want) {
					t.Errorf("Alice sees %v, want %v", got, want)
				}
				if got, want := toolNames(t, p.mcp, bob), []string{"customers_list", "customer_summary", "count_everything"}; !slices.Equal(got, want) {
					t.Errorf("Bob sees %v, want %v", got, want)
				}
			}
			one := func(token, tool string, arguments map[string]any) reply {
				return call(t, p.mcp, token, eras[0], tool, arguments)
			}
			for _, seven := range []any{"7", 7, "007"} { // one row, however it is spelt
				r := one(alice, "archive_customer", map[string]any{"id": seven})
				if text := r.failed(t); !strings.Contains(text, `"forbidden"`) || !strings.Contains(text, "Customer 7 stays.") {
					t.Errorf("a rule over arguments, %v: %s", seven, text)
				}
			}
			if r := one(alice, "archive_customer", map[string]any{"id": "8"}); r.result(t).IsError {
				t.Errorf("Alice archives: %s", r.body)
			}
			if text := one(bob, "archive_customer", map[string]any{"id": "62"}).failed(t); !strings.Contains(text, "NOT_ACME") || !strings.Contains(text, "Only Acme archives.") {
				t.Errorf("the app's own reason: %s", text)
			}
			if r := one(alice, "customer_summary", nil); !strings.Contains(r.body, "Unknown tool") {
				t.Errorf("hidden is not unknown: %d %s", r.status, r.body)
			}
			if r := one(bob, "customer_summary", nil); r.result(t).IsError {
				t.Errorf("Bob's summary: %s", r.body)
			}
			if r := one(alice, "count_everything", nil); r.result(t).IsError || !strings.Contains(r.body, "120") {
				t.Errorf("the privileged one: %s", r.body)
			}
			if text := one(bob, "count_everything", nil).failed(t); !strings.Contains(text, `"forbidden"`) || strings.Contains(text, "120") {
				t.Errorf("the privileged one for Bob: %s", text)
			}
		})
	}
}

// TestABrokenPolicyOpensNothing breaks each part in turn.
func TestABrokenPolicyOpensNothing(t *testing.T) {
	t.Parallel()
	const (
		context   = "create or replace function public.chumbo_context() returns jsonb language plpgsql stable as $$ begin %s end $$;"
		authorize = "create or replace function public.chumbo_authorize(checks jsonb) returns jsonb language plpgsql stable as $$ begin %s end $$;"
	)
	breaks := map[string]struct {
		sql  string
		body string
		sees []string // by Bob; what is not touched stays
	}{
		"context raises":                {context, "raise exception 'broken';", []string{"customers_list", "count_everything"}},
		"context is null":               {context, "return null;", []string{"customers_list", "count_everything"}},
		"context is a list":             {context, "return '[1]';", []string{"customers_list", "count_everything"}},
		"context lacks the name":        {context, "return '{}';", []string{"customers_list", "count_everything"}},
		"context is of another type":    {context, "return '{\"organization\": 7}';", []string{"customers_list", "count_everything"}},
		"authorizer raises":             {authorize, "raise exception 'broken';", []string{"customer_summary", "count_everything"}},
		"authorizer is null":            {authorize, "return null;", []string{"customer_summary", "count_everything"}},
		"authorizer is an object":       {authorize, "return '{\"allowed\": true}';", []string{"customer_summary", "count_everything"}},
		"authorizer answers more":       {authorize, "return '[{\"allowed\": true},{\"allowed\": true},{\"allowed\": true}]';", []string{"customer_summary", "count_everything"}},
		"authorizer answers fewer":      {authorize, "return '[]';", []string{"customer_summary", "count_everything"}},
		"authorizer says it as text":    {authorize, "return '[{\"allowed\": \"true\"},{\"allowed\": \"true\"}]';", []string{"customer_summary", "count_everything"}},
		"authorizer answers with nulls": {authorize, "return '[null, null]';", []string{"customer_summary", "count_everything"}},
	}
	functions, _, _ := strings.Cut(policySchema, "create function public.count_everything")
	whole := strings.ReplaceAll(functions, "create function", "create or replace function")
	p, _, bob := policyWorld(t, "direct")
	for name, b := range breaks {
		if err := p.Exec(t.Context(), strings.Replace(b.sql, "%s", b.body, 1)); err != nil {
			t.Fatal(err)
		}
		if got := toolNames(t, p.mcp, bob); !slices.Equal(got, b.sees) {
			t.Errorf("%s: Bob sees %v, want %v", name, got, b.sees)
		}
		gone := "customers_list"
		if strings.HasPrefix(name, "context") {
			gone = "customer_summary"
		}
		p.ForgetRequests()
		if r := call(t, p.mcp, bob, eras[0], gone, nil); !strings.Contains(r.body, "Unknown tool") && !strings.Contains(r.failed(t), `"forbidden"`) {
			t.Errorf("%s: %s ran: %s", name, gone, r.body)
		}
		if len(p.RequestsTo("/rest/v1/customers")) > 0 || len(p.RequestsTo("/rest/v1/rpc/customer_summary")) > 0 {
			t.Errorf("%s: the project was asked all the same", name)
		}
		if err := p.Exec(t.Context(), whole); err != nil {
			t.Fatal(err)
		}
	}
	if got := toolNames(t, p.mcp, bob); !slices.Equal(got, []string{"customers_list", "customer_summary", "count_everything"}) {
		t.Errorf("whole again: Bob sees %v", got)
	}
}

// TestRequiredRolesAndScopesFromAClaim: who is not of the role may nothing; and
// a scope that a claim brings is never asked for by a challenge.
func TestRequiredRolesAndScopesFromAClaim(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.tenant(t, "Acme builders", "crm", standin.Options{Schema: policySchema + doorsSchema + `
update auth.users set raw_app_meta_data = raw_app_meta_data || '{"scopes": ["crm.write"]}' where email = 'alice@example.test';
update auth.users set raw_app_meta_data = raw_app_meta_data || '{"role": ["support"]}' where email = 'bob@example.test';`})
	p.importSchema()
	roles := p.publishAs("roles", doorsFile("mode: [oauth, bearer], "+directAccess+", required_roles: [admin]"))
	both := p.publishAs("both", doorsFile("mode: [oauth, bearer], "+directAccess+", required_roles: { claim: app_metadata.role, roles: [admin, support] }"))
	alice, bob := p.signIn(standin.AliceEmail).AccessToken, p.signIn(standin.BobEmail).AccessToken
	for _, token := range []string{bob} {
		r := call(t, roles, token, eras[0], "customers_list", nil)
		if r.status != http.StatusForbidden || !strings.Contains(r.body, "role_required") || r.header.Get("WWW-Authenticate") != "" {
			t.Errorf("not of the role: %d %v %s", r.status, r.header, r.body)
		}
		if r := speak(t, roles, token, eras[0], "tools/list", nil); r.status != http.StatusForbidden {
			t.Errorf("the list: %d %s", r.status, r.body)
		}
	}
	for target, token := range map[string]string{roles: alice, both: bob} {
		if r := call(t, target, token, eras[0], "customers_list", nil); r.status != http.StatusOK {
			t.Errorf("of the role: %d %s", r.status, r.body)
		}
	}
	if r := call(t, both, alice, eras[0], "archive_customer", map[string]any{"id": "9"}); r.result(t).IsError {
		t.Errorf("with the scope: %s", r.body)
	}
	if text := call(t, both, bob, eras[0], "archive_customer", map[string]any{"id": "70"}).failed(t); !strings.Contains(text, `"forbidden"`) || !strings.Contains(text, "crm.write") {
		t.Errorf("without the scope: %s", text)
	}
	if names := toolNames(t, both, bob); slices.Contains(names, "archive_customer") {
		t.Errorf("Bob sees %v", names)
	}
}
