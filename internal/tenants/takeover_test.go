package tenants_test

import (
	"sync"
	"testing"
	"time"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

const bobsKey = "sb_secret_that_bob_found_somewhere"

func TestProofTakesTheOriginOverFromEverybodyElse(t *testing.T) {
	t.Parallel()
	b, w := setup(t, tenants.Hosts{}), newWorld()
	w.keys[facts().APIOrigin] = bobsKey
	b.surface(t, b.alice, "acme-crm", "main")
	b.surface(t, b.bob, "globex-crm", "main")
	b.surface(t, b.bob, "globex-crm", "sales")
	b.surface(t, b.bob, "globex-two", "main") // never proven
	b.project(t, b.bob, "globex-own", at("https://globex.example.test"))
	b.surface(t, b.bob, "globex-own", "main")
	b.proven(t, w, b.bob, "globex-own")
	if _, err := b.service.ProveBySecretKey(t.Context(), b.bob, "globex-crm", seal.NewSecret(bobsKey), w); err != nil {
		t.Fatal(err)
	}
	if s, err := b.service.Surface(t.Context(), b.alice, "acme-crm", "main"); err != nil || s.State != tenants.StatePaused {
		t.Errorf("alice's surface after bob's proof: %+v, %v", s, err)
	}
	if _, err := b.service.SetState(t.Context(), b.alice, "acme-crm", "main", tenants.StateReadOnly); err != nil {
		t.Fatal(err)
	}
	for range 2 { // a second proof tells nobody again
		b.proven(t, w, b.alice, "acme-crm")
	}

	mine, err := b.service.Surface(t.Context(), b.alice, "acme-crm", "main")
	if err != nil || mine.State != tenants.StateReadOnly {
		t.Errorf("alice's own surface: %+v, %v", mine, err)
	}
	for slug, surfaces := range map[string][]string{"globex-crm": {"main", "sales"}, "globex-two": {"main"}} {
		project, err := b.service.Project(t.Context(), b.bob, slug)
		if err != nil || project.VerifiedAt != nil || project.Ownership.Method != "" || project.Ownership.TakenOverAt == nil {
			t.Errorf("bob's %s: %+v, %v", slug, project, err)
		}
		for _, name := range surfaces {
			if s, err := b.service.Surface(t.Context(), b.bob, slug, name); err != nil || s.State != tenants.StatePaused {
				t.Errorf("bob's %s %s: %+v, %v", slug, name, s, err)
			}
		}
	}
	own, err := b.service.Project(t.Context(), b.bob, "globex-own")
	if s, _ := b.service.Surface(t.Context(), b.bob, "globex-own", "main"); err != nil || own.VerifiedAt == nil || s.State != tenants.StateLive {
		t.Errorf("bob's project elsewhere: %+v, %+v, %v", own, s, err)
	}

	told := b.notices(t, b.bob)
	kinds := map[string]int{}
	for _, n := range told {
		kinds[n.Kind]++
	}
	// Of globex-two by his own proof; of globex-crm by alice's first, and of
	// globex-two not again.
	if len(told) != 2 || kinds["ownership.taken_over"] != 2 {
		t.Errorf("bob was told %+v", told)
	}
	if told := b.notices(t, b.alice); len(told) != 1 { // of bob's proof
		t.Errorf("alice was told %+v", told)
	}
	org := "organization_id = '" + b.bob.Organization.ID.UUID().String() + "'"
	if n := b.count(t, "audit_events", org+" and action = 'project.taken_over' and actor = 'system'"); n != 2 {
		t.Errorf("%d audit rows of the takeover for bob, want 2", n)
	}
	alices := b.alice.Organization.ID.String() + "|" + b.alice.Builder.ID.String() + "|" + b.alice.Token.String() + "|acme"
	if n := b.count(t, "audit_events t", org+" and t::text ~ '"+alices+"'"); n != 0 {
		t.Error("bob's audit log names alice")
	}
	if n := b.count(t, "notices t", org+" and t::text ~ '"+alices+"'"); n != 0 {
		t.Error("bob's notices name alice")
	}

	// Back, by another proof.
	if _, err := b.service.ProveBySecretKey(t.Context(), b.bob, "globex-crm", seal.NewSecret(bobsKey), w); err != nil {
		t.Fatal(err)
	}
	again, err := b.service.Project(t.Context(), b.bob, "globex-crm")
	if err != nil || again.VerifiedAt == nil || again.Ownership.TakenOverAt != nil {
		t.Errorf("bob's project proven again: %+v, %v", again, err)
	}
	if n := b.count(t, "projects", "verified_at is not null and api_origin = '"+facts().APIOrigin+"'"); n != 1 {
		t.Errorf("%d verified projects of one origin", n)
	}
}

func TestTwoOrganizationsProvingAtOnceBothSucceedAndOneKeepsIt(t *testing.T) {
	t.Parallel()
	b, w := setup(t, tenants.Hosts{}), newWorld()
	w.keys[facts().APIOrigin] = bobsKey
	slugs := map[string]tenants.Principal{"acme-crm": b.alice, "acme-two": b.alice, "globex-crm": b.bob, "globex-two": b.bob}
	for slug, p := range slugs {
		b.surface(t, p, slug, "main")
	}
	var wg sync.WaitGroup
	for slug, p := range slugs {
		for range 4 {
			wg.Go(func() {
				if _, err := b.service.ProveBySecretKey(t.Context(), p, slug, seal.NewSecret(bobsKey), w); err != nil {
					t.Errorf("%s: %v", slug, err)
				}
			})
			wg.Go(func() { // meanwhile its builder works on
				if _, err := b.service.UpdateProject(t.Context(), p, slug, facts()); err != nil {
					t.Errorf("update %s: %v", slug, err)
				}
				if _, err := b.service.SetState(t.Context(), p, slug, "main", tenants.StatePaused); err != nil {
					t.Errorf("pause %s: %v", slug, err)
				}
			})
		}
	}
	wg.Wait()
	if n := b.count(t, "projects", "verified_at is not null"); n != 1 {
		t.Errorf("%d verified projects, want 1", n)
	}
	if n := b.count(t, "projects", "verified_at is null and taken_over_at is null"); n != 0 {
		t.Errorf("%d projects lost the origin without being told", n)
	}
}

func TestUnprovenProjectOfAnOriginThatSomebodyProvedIsNeverServed(t *testing.T) {
	t.Parallel()
	b, w := setup(t, tenants.Hosts{}), newWorld()
	b.surface(t, b.bob, "globex-crm", "main")
	d := directory(t, b, tenants.DirectoryConfig{}) // an operator who asks for no proofs
	run(t, d)
	served := func(path string) bool { _, err := d.Lookup(t.Context(), host, path); return err == nil }
	if !served("/globex-crm/mcp") {
		t.Fatal("an unproven project is not served although it may be")
	}
	b.surface(t, b.alice, "acme-crm", "main")
	b.proven(t, w, b.alice, "acme-crm")
	eventually(t, "bob's is gone", func() bool { return !served("/globex-crm/mcp") })
	// Switched on again, or registered after the proof: still nobody's.
	if _, err := b.service.SetState(t.Context(), b.bob, "globex-crm", "main", tenants.StateLive); err != nil {
		t.Fatal(err)
	}
	b.surface(t, b.bob, "globex-late", "main")
	b.clock.Advance(time.Minute) // past every memory
	for _, path := range []string{"/globex-crm/mcp", "/globex-late/mcp"} {
		if _, err := d.Lookup(t.Context(), host, path); !fault.Is(err, fault.NotFound) {
			t.Errorf("%s: %v, want not found", path, err)
		}
	}
	if !served("/acme-crm/mcp") {
		t.Error("alice's own is not served")
	}
	if err := b.service.DeleteProject(t.Context(), b.alice, "acme-crm", "acme-crm"); err != nil {
		t.Fatal(err)
	}
	b.clock.Advance(time.Minute)
	if !served("/globex-late/mcp") {
		t.Error("not served although nobody has proven the origin any more")
	}
}
