package dashboard_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/chumbo-dev/chumbo/internal/browsertest"
	"github.com/chumbo-dev/chumbo/internal/standin"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

func (b *browser) cookies() []*http.Cookie {
	b.t.Helper()
	at, err := url.Parse(b.w.base)
	if err != nil {
		b.t.Fatal(err)
	}
	return b.jar.Cookies(at)
}

const surfaceYAML = `version: 1
title: Acme CRM
access: { mode: oauth, authorization: direct }
tools:
  - table: customers
    operations: [list, get]
    columns: [id, name, status]
`

// TestPagesBeforeSignInAreWellMade looks at what people see who are nobody yet.
func TestPagesBeforeSignInAreWellMade(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	ctx := browsertest.Open(t, 6*time.Minute)
	wellMade(t, ctx, "setup", w.base+"/")
	act(t, ctx, chromedp.SendKeys("[name=code]", "not the code"), chromedp.SendKeys("[name=email]", "alice@example.test"), chromedp.SendKeys("[name=password]", alicePassword))
	follow(t, ctx, chromedp.SendKeys("[name=organization]", "Acme\r"))
	wellMadeAsItIs(t, ctx, "setup-refused-390")
	if kept := see(t, ctx, chromedp.Evaluate[string](`[...document.querySelectorAll("input")].map(i => i.value).join("|")`)); !strings.Contains(kept, "alice@example.test") || strings.Contains(kept, alicePassword) || strings.Contains(kept, "not the code") {
		t.Errorf("the form holds %q", kept)
	}
	w.setUp(t)
	wellMade(t, ctx, "sign-in", w.base+"/app/account")
	wellMade(t, ctx, "no-page", w.base+"/app/nowhere")
}

// TestPagesOfABuilderAreWellMade looks at every page of builders, empty and
// full.
func TestPagesOfABuilderAreWellMade(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{project: standin.Options{RegistrationOff: true}})
	alice := w.setUp(t)
	ctx := browsertest.Open(t, 6*time.Minute)
	enter(t, ctx, w.base, alice.cookies())
	for name, path := range map[string]string{
		"projects-empty": "/app", "register": "/app/register", "account": "/app/account", "tokens-empty": "/app/tokens",
		"device": "/app/device", "organization-new": "/app/organizations/new",
	} {
		wellMade(t, ctx, name, w.base+path)
	}

	begun := alice.post("/app/register", "url", w.project.URL()).location
	alice.submit(begun + "/check")
	wellMade(t, ctx, "registration", w.base+begun)
	broken := alice.post("/app/register", "url", w.project.URL()+"/nowhere").location
	alice.submit(broken + "/check")
	wellMade(t, ctx, "registration-broken", w.base+broken)
	alice.submit(begun, "publishable_key", w.project.PublishableKey(), "name", "Acme CRM", "slug", "acme-crm")

	const project = "/app/projects/acme-crm"
	wellMade(t, ctx, "project-empty", w.base+project)
	wellMade(t, ctx, "ownership", w.base+project+"/ownership")
	wellMade(t, ctx, "schema-empty", w.base+project+"/schema")

	p := w.principal(t, "alice@example.test", alicePassword)
	if err := w.project.Exec(context.Background(), `
		create table public.orders (id bigint primary key, total numeric); grant select, insert on public.orders to anon, authenticated;
		create view public.everybody as select id, name from public.customers; grant select on public.everybody to authenticated;
		create function public.wipe() returns void language sql security definer as 'delete from public.notes'; grant execute on function public.wipe() to authenticated`); err != nil {
		t.Fatal(err)
	}
	w.importSchema(t, p, "acme-crm")
	w.publish(t, p, "acme-crm", "main", surfaceYAML)
	w.db.Exec(t, "update projects set verified_at = now(), verified_by = 'function', ownership_checked_at = now() - interval '3 hours', ownership_misses = 1")
	w.db.Exec(t, `insert into notices (organization_id, id, kind, text, created_at)
		values ($1, gen_random_uuid(), 'ownership.missed', 'The daily look found no proof of ownership for Acme CRM. Run the SQL again; after three misses hosted sign-in is paused.', now() - interval '20 minutes')`, p.Organization.ID.UUID())
	grant, err := w.server.Tenants.BeginDevice(context.Background(), tenants.DeviceRequest{ClientName: "alices-laptop", Address: "192.0.2.7"})
	if err != nil {
		t.Fatal(err)
	}
	made := alice.post("/app/tokens", "name", "GitHub Actions", "scope", "write", "days", "90")
	if made.status != http.StatusOK || !strings.Contains(made.body, "cht_") {
		t.Fatalf("make a token: %d %s", made.status, textOf(made.body))
	}
	for name, path := range map[string]string{
		"projects": "/app", "project": project, "schema": project + "/schema", "settings": project + "/settings", "ownership-proven": project + "/ownership",
		"tokens": "/app/tokens?done=revoked", "device-code": "/app/device?user_code=" + grant.UserCode,
	} {
		wellMade(t, ctx, name, w.base+path)
	}
	catalog := alice.post(project+"/schema/catalog", "relations", "public.customers\npublic.notes")
	if !strings.Contains(catalog.body, "chumbo_catalog") {
		t.Errorf("no SQL: %s", textOf(catalog.body))
	}
}
