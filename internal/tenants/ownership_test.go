package tenants_test

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/egress"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/localpg"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/standin"
	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

func TestProjectIsServedOnceItsFunctionProvedIt(t *testing.T) {
	t.Parallel()
	b, w := setup(t, tenants.Hosts{}), newWorld()
	b.surface(t, b.alice, "acme-crm", "main")
	d := directory(t, b, tenants.DirectoryConfig{RequireOwnership: true})
	run(t, d)
	served := func() bool { _, err := d.Lookup(t.Context(), host, "/acme-crm/mcp"); return err == nil }
	if served() {
		t.Fatal("an unverified project is served")
	}
	project := b.proven(t, w, b.alice, "acme-crm")
	if project.VerifiedAt == nil || project.Ownership.Method != tenants.ProofFunction || project.Ownership.CheckedAt == nil {
		t.Errorf("after the proof: %+v", project)
	}
	eventually(t, "the proven project is served", served) // the clock stands still: by notice alone
	again, err := b.service.ProveByFunction(t.Context(), b.alice, "acme-crm", w)
	if err != nil || again.VerifiedAt == nil {
		t.Errorf("proven again: %v", err)
	}
	if n := b.count(t, "audit_events", "action = 'project.prove' and outcome = 'ok' and actor like 'tok_%' and detail ->> 'method' = 'function'"); n != 2 {
		t.Errorf("%d audit rows of proofs, want 2", n)
	}
	if list := b.notices(t, b.alice); len(list) != 0 {
		t.Errorf("alice was told %+v", list)
	}
}

func TestEveryProjectGetsATokenOfItsOwn(t *testing.T) {
	t.Parallel()
	b := setup(t, tenants.Hosts{})
	seen := map[string]bool{}
	for _, p := range []tenants.Principal{b.alice, b.bob} {
		for i := range 3 {
			project := b.project(t, p, fmt.Sprintf("%s-crm-%d", p.Organization.Slug, i), facts())
			if !regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(project.Ownership.Token) || seen[project.Ownership.Token] {
				t.Errorf("token %q", project.Ownership.Token)
			}
			seen[project.Ownership.Token] = true
		}
	}
	// A row of an older version, or of one still running, gets one by the database.
	b.Exec(t, `insert into projects (organization_id, id, slug, name, typed_url, api_origin, issuer, jwks_uri, publishable_key, signing, oauth_enabled, scopes_supported, created_at, updated_at)
		select organization_id, gen_random_uuid(), 'older-' || slug, name, typed_url, api_origin, issuer, jwks_uri, publishable_key, signing, oauth_enabled, scopes_supported, now(), now()
		from projects where organization_id = $1`, b.alice.Organization.ID.UUID())
	if n := b.count(t, "projects", "ownership_token !~ '^[0-9a-f]{64}$'"); n != 0 {
		t.Errorf("%d projects have no token", n)
	}
	if n := b.count(t, "projects p", "not exists (select from chumbo.projects o where o.ownership_token = p.ownership_token and o.id <> p.id)"); n != 9 {
		t.Errorf("%d tokens of their own, want 9", n)
	}
}

func TestWhatIsNoProofIsRefusedWithWhatWasSeen(t *testing.T) {
	t.Parallel()
	b, w := setup(t, tenants.Hosts{}), newWorld()
	project := b.project(t, b.alice, "acme-crm", facts())
	refusals := 0
	for _, c := range []struct {
		name, token string
		err         error
		kind        fault.Kind
		says        string
	}{
		{"no function", "", fault.New(fault.NotFound, "ownership_missing", "There is no function."), fault.Unprocessable, "no function"},
		{"not callable", "", fault.New(fault.Forbidden, "ownership_not_callable", "The role anon may not."), fault.Unprocessable, "anon"},
		{"null", "", nil, fault.Unprocessable, "another value"},
		{"another token", strings.Repeat("0", 64), nil, fault.Unprocessable, "another value"},
		{"a longer one", project.Ownership.Token + "0", nil, fault.Unprocessable, "another value"},
		{"key refused", "", &supabase.Error{Status: 401, Gateway: true}, fault.Unprocessable, "publishable key (401)"},
		{"odd answer", "", &supabase.Error{Status: 400, Code: "PGRST100"}, fault.Unprocessable, "400 (PGRST100)"},
		{"unreachable", "", fault.New(fault.Unavailable, "project_unreachable", "The project cannot be reached."), fault.Unavailable, "cannot be reached"},
	} {
		w.says(facts().APIOrigin, c.token, c.err)
		_, err := b.service.ProveByFunction(t.Context(), b.alice, "acme-crm", w)
		if f := fault.From(err); f.Kind != c.kind || !strings.Contains(f.Message, c.says) {
			t.Errorf("%s: %v", c.name, err)
		}
		refusals++
	}
	if n := b.count(t, "projects", "verified_at is not null or verified_by is not null"); n != 0 {
		t.Error("something was verified")
	}
	if n := b.count(t, "audit_events", "action = 'project.prove' and outcome = 'refused' and target like 'prj_%'"); n != refusals {
		t.Errorf("%d audit rows of refusals, want %d", n, refusals)
	}
}

func TestBobProvesNothingWithWhatStandsInAlicesProject(t *testing.T) {
	t.Parallel()
	b, w := setup(t, tenants.Hosts{}), newWorld()
	b.project(t, b.alice, "acme-crm", facts())
	b.proven(t, w, b.alice, "acme-crm")
	b.project(t, b.bob, "globex-crm", facts()) // the same Supabase project
	if _, err := b.service.ProveByFunction(t.Context(), b.bob, "globex-crm", w); fault.From(err).Code != "ownership_other_token" {
		t.Errorf("bob proves alice's project: %v", err)
	}
	if _, err := b.service.ProveByFunction(t.Context(), b.bob, "acme-crm", w); !fault.Is(err, fault.NotFound) {
		t.Errorf("bob proves alice's row: %v", err)
	}
	// His own origin proven first, then moved onto hers.
	b.project(t, b.bob, "globex-own", at("https://globex.example.test"))
	b.proven(t, w, b.bob, "globex-own")
	moved, err := b.service.UpdateProject(t.Context(), b.bob, "globex-own", facts())
	if err != nil || moved.VerifiedAt != nil || moved.Ownership.Method != "" || moved.Ownership.CheckedAt != nil {
		t.Errorf("moved onto alice's origin: %+v, %v", moved, err)
	}
	viewer := b.alice
	viewer.Role = tenants.RoleViewer
	if _, err := b.service.ProveByFunction(t.Context(), viewer, "acme-crm", w); !fault.Is(err, fault.Forbidden) {
		t.Errorf("a viewer proves: %v", err)
	}
	if n := b.count(t, "projects", "verified_at is not null and slug = 'acme-crm'"); n != 1 {
		t.Error("alice lost her proof")
	}
}

func TestSecretKeyProvesAndIsKeptNowhere(t *testing.T) {
	t.Parallel()
	b, w := setup(t, tenants.Hosts{}), newWorld()
	b.project(t, b.alice, "acme-crm", facts())
	good := "sb_secret_0123456789abcdefABCDEF"
	w.keys[facts().APIOrigin] = good
	for code, key := range map[string]string{
		"key_is_publishable":   "sb_publishable_0123456789abcdef",
		"key_is_access_token":  "sbp_0123456789abcdef0123456789abcdef01234567",
		"secret_key_malformed": "my sb_secret_0123456789abcdef",
	} {
		_, err := b.service.ProveBySecretKey(t.Context(), b.alice, "acme-crm", seal.NewSecret(key), w)
		if f := fault.From(err); f.Kind != fault.Invalid || f.Code != code || strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v", code, err)
		}
	}
	for _, key := range []string{"", jwt(`{"role":"anon"}`), jwt(`{"role":"authenticated"}`), jwt(`{"role":"service_role"}`) + " and more", "sb_secret_"} {
		if _, err := b.service.ProveBySecretKey(t.Context(), b.alice, "acme-crm", seal.NewSecret(key), w); !fault.Is(err, fault.Invalid) {
			t.Errorf("%q: %v", key, err)
		}
	}
	if len(w.sent) != 0 {
		t.Errorf("%d keys were sent that are no secret keys", len(w.sent))
	}
	for _, key := range []string{"sb_secret_of_another_project", jwt(`{"role":"service_role","ref":"other"}`)} {
		_, err := b.service.ProveBySecretKey(t.Context(), b.alice, "acme-crm", seal.NewSecret(key), w)
		if f := fault.From(err); f.Kind != fault.Unprocessable || strings.Contains(err.Error(), key) {
			t.Errorf("another project's key: %v", err)
		}
	}
	project, err := b.service.ProveBySecretKey(t.Context(), b.alice, "acme-crm", seal.NewSecret("  "+good+"\n"), w)
	if err != nil || project.VerifiedAt == nil || project.Ownership.Method != tenants.ProofSecretKey {
		t.Errorf("the right key: %+v, %v", project, err)
	}
	if n := b.count(t, "projects", "ownership_due_at is not null"); n != 0 {
		t.Error("a proof by key is to be repeated")
	}
	for _, table := range []string{"audit_events", "projects", "notices"} {
		if n := b.count(t, table+" t", "t::text ~ 'sb_secret|eyJ'"); n != 0 {
			t.Errorf("%s holds a key", table)
		}
	}
}

func TestAccessTokenProvesOnlyWhatItsReferenceNames(t *testing.T) {
	t.Parallel()
	b, w := setup(t, tenants.Hosts{}), newWorld()
	const ref, token = "abcdefghijklmnopqrst", "sbp_0123456789abcdef0123456789abcdef01234567"
	w.keys[ref] = token
	b.project(t, b.alice, "acme-crm", at("https://"+ref+".supabase.co"))
	for code, typed := range map[string]string{"token_is_project_key": "sb_secret_0123456789abcdef", "access_token_malformed": "hello"} {
		if _, err := b.service.ProveByManagement(t.Context(), b.alice, "acme-crm", seal.NewSecret(typed), w); fault.From(err).Code != code {
			t.Errorf("%s: %v", code, err)
		}
	}
	// Tokens of a hosted issuer that go to another origin: the token opens the
	// issuer's project, not the place that gets the callers' tokens.
	split := at("https://api.globex.example.test")
	split.Issuer = "https://" + ref + ".supabase.co/auth/v1"
	b.project(t, b.bob, "globex-crm", split)
	if _, err := b.service.ProveByManagement(t.Context(), b.bob, "globex-crm", seal.NewSecret(token), w); fault.From(err).Code != "not_hosted" {
		t.Errorf("a split issuer: %v", err)
	}
	if len(w.sent) != 0 {
		t.Errorf("%d tokens were sent", len(w.sent))
	}
	project, err := b.service.ProveByManagement(t.Context(), b.alice, "acme-crm", seal.NewSecret(token), w)
	if err != nil || project.Ownership.Method != tenants.ProofManagement {
		t.Errorf("the right token: %+v, %v", project, err)
	}
}

func TestProofOfAProjectThatMovedMeanwhileDoesNotCount(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(b *bundle) error{
		"moved": func(b *bundle) error {
			_, err := b.service.UpdateProject(t.Context(), b.alice, "acme-crm", at("https://other.example.test"))
			return err
		},
		"deleted": func(b *bundle) error {
			return b.service.DeleteProject(t.Context(), b.alice, "acme-crm", "acme-crm")
		},
		"registered anew": func(b *bundle) error {
			gone := b.service.DeleteProject(t.Context(), b.alice, "acme-crm", "acme-crm")
			_, err := b.service.CreateProject(t.Context(), b.alice, tenants.NewProject{Slug: "acme-crm", ProjectFacts: facts()})
			return errors.Join(gone, err)
		},
	} {
		b, w := setup(t, tenants.Hosts{}), newWorld()
		project := b.project(t, b.alice, "acme-crm", facts())
		w.says(project.APIOrigin, project.Ownership.Token, nil)
		w.before = func(supabase.Project) {
			if err := change(b); err != nil {
				t.Error(err)
			}
		}
		if _, err := b.service.ProveByFunction(t.Context(), b.alice, "acme-crm", w); fault.From(err).Code != "project_moved" {
			t.Errorf("%s: %v", name, err)
		}
		if n := b.count(t, "projects", "verified_at is not null"); n != 0 {
			t.Errorf("%s: verified", name)
		}
	}
}

func TestOwnershipSQLTakesNothingButATokenOfOurs(t *testing.T) {
	t.Parallel()
	for _, token := range []string{"", "x", strings.Repeat("a", 63) + "'", strings.Repeat("A", 64)} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%q became SQL", token)
				}
			}()
			tenants.OwnershipSQL(token)
		}()
	}
}

func TestOwnershipOfAStandInProject(t *testing.T) {
	t.Parallel()
	b := setup(t, tenants.Hosts{})
	there, err := standin.Start(t.Context(), standin.Options{Postgres: localpg.Shared(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = there.Close() })
	client := supabase.New(egress.New(egress.Policy{AllowHTTP: true, AllowLoopback: true, AllowAnyPort: true}))
	prover := struct {
		*supabase.Client
		*supabase.Management
	}{client, nil}
	f := at(there.URL())
	f.PublishableKey = there.PublishableKey()
	project := b.project(t, b.alice, "acme-crm", f)
	prove := func() error {
		_, err := b.service.ProveByFunction(t.Context(), b.alice, "acme-crm", prover)
		return err
	}
	if err := prove(); fault.From(err).Code != "ownership_missing" || !fault.Is(err, fault.Unprocessable) {
		t.Errorf("without the function: %v", err)
	}
	for range 2 { // as often as one likes
		if err := there.Exec(t.Context(), tenants.OwnershipSQL(project.Ownership.Token)); err != nil {
			t.Fatal(err)
		}
	}
	if err := there.ReloadSchema(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := prove(); err != nil {
		t.Errorf("with the function: %v", err)
	}
	if err := there.Exec(t.Context(), "revoke execute on function public.chumbo_ownership() from anon"); err != nil {
		t.Fatal(err)
	}
	if err := prove(); fault.From(err).Code != "ownership_not_callable" {
		t.Errorf("not granted: %v", err)
	}
	for name, key := range map[string]string{"secret key": there.SecretKey(), "service_role key": there.ServiceRoleKey()} {
		if _, err := b.service.ProveBySecretKey(t.Context(), b.alice, "acme-crm", seal.NewSecret(key), prover); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, wrong := range []string{"sb_secret_0123456789abcdef", jwt(`{"role":"service_role"}`)} {
		_, err := b.service.ProveBySecretKey(t.Context(), b.alice, "acme-crm", seal.NewSecret(wrong), prover)
		if fault.From(err).Code != "secret_key_refused" || strings.Contains(err.Error(), wrong) {
			t.Errorf("a wrong key: %v", err)
		}
	}
}
