package tenants_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

func (b *bundle) recheck(t *testing.T, w tenants.Prover) tenants.Recheck {
	t.Helper()
	done, err := b.service.RecheckOwnership(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	return done
}

func TestProofIsRepeatedDailyAndThreeMissesPauseSignIn(t *testing.T) {
	t.Parallel()
	b, w := setup(t, tenants.Hosts{}), newWorld()
	b.project(t, b.alice, "acme-crm", facts())
	b.project(t, b.bob, "globex-crm", at("https://globex.example.test"))
	b.proven(t, w, b.alice, "acme-crm")
	b.proven(t, w, b.bob, "globex-crm")
	project := func() tenants.Project {
		p, err := b.service.Project(t.Context(), b.alice, "acme-crm")
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	token := project().Ownership.Token
	if got := b.recheck(t, w); got != (tenants.Recheck{}) {
		t.Errorf("right after the proof: %+v", got)
	}
	b.clock.Advance(24 * time.Hour)
	if got := b.recheck(t, w); got != (tenants.Recheck{Checked: 2}) {
		t.Errorf("a day later: %+v", got)
	}
	if at := project().Ownership.CheckedAt; at == nil || !at.Equal(b.clock.Now()) {
		t.Errorf("checked at %v", at)
	}
	gone := fault.New(fault.NotFound, "ownership_missing", "The function is gone.")
	w.says(facts().APIOrigin, "", gone)
	for day, want := range []tenants.Recheck{{Checked: 2, Missed: 1}, {Checked: 2, Missed: 1}, {Checked: 2, Missed: 1, Paused: 1}, {Checked: 2, Missed: 1}} {
		b.clock.Advance(24 * time.Hour)
		if got := b.recheck(t, w); got != want {
			t.Errorf("day %d without the function: %+v, want %+v", day+1, got, want)
		}
		if o := project().Ownership; o.Misses != day+1 || o.SignInPaused() != (day+1 >= tenants.MissesToPause) {
			t.Errorf("day %d: %+v", day+1, o)
		}
	}
	told := b.notices(t, b.alice)
	if len(told) != 2 || told[0].Kind != "ownership.sign_in_paused" || told[1].Kind != "ownership.missed" ||
		!strings.Contains(told[1].Text, "The function is gone.") || *told[0].Project != project().ID {
		t.Errorf("alice was told %+v", told)
	}
	if told := b.notices(t, b.bob); len(told) != 0 {
		t.Errorf("bob was told %+v", told)
	}
	if project().VerifiedAt == nil {
		t.Error("misses took the proof itself away")
	}
	w.says(facts().APIOrigin, token, nil)
	b.clock.Advance(24 * time.Hour)
	b.recheck(t, w)
	if o := project().Ownership; o.Misses != 0 || o.SignInPaused() {
		t.Errorf("with the function back: %+v", o)
	}
}

func TestWhatCannotBeReachedIsNoMissAndIsTriedTheNextRound(t *testing.T) {
	t.Parallel()
	b, w := setup(t, tenants.Hosts{}), newWorld()
	project := b.project(t, b.alice, "acme-crm", facts())
	b.proven(t, w, b.alice, "acme-crm")
	b.clock.Advance(24 * time.Hour)
	for name, err := range map[string]error{
		"unreachable": fault.New(fault.Unavailable, "project_unreachable", "away"),
		"timeout":     fault.New(fault.Timeout, "project_timeout", "slow"),
		"paused":      &supabase.Error{Status: 540, Gateway: true},
		"busy":        &supabase.Error{Status: 429, Gateway: true},
		"starting":    &supabase.Error{Status: 503, Code: "PGRST002"},
		"cut short":   fmt.Errorf("call: %w", context.DeadlineExceeded),
	} {
		before := w.timesAsked()[project.APIOrigin]
		w.says(project.APIOrigin, "", err)
		if got := b.recheck(t, w); got != (tenants.Recheck{}) {
			t.Errorf("%s: %+v", name, got)
		}
		if got := w.timesAsked()[project.APIOrigin] - before; got != 1 {
			t.Errorf("%s: asked %d times in one round", name, got)
		}
		b.clock.Advance(time.Hour)
	}
	for name, err := range map[string]error{"key refused": &supabase.Error{Status: 401, Gateway: true}, "another owner's page": &supabase.Error{Status: 404, Gateway: true}} {
		w.says(project.APIOrigin, "", err)
		if got := b.recheck(t, w); got.Missed != 1 {
			t.Errorf("%s: %+v, want a miss", name, got)
		}
		b.clock.Advance(24 * time.Hour)
	}
}

func TestOnlyProofsThatCanBeRepeatedAre(t *testing.T) {
	t.Parallel()
	b, w := setup(t, tenants.Hosts{}), newWorld()
	w.keys[facts().APIOrigin] = bobsKey
	b.project(t, b.alice, "acme-crm", facts())
	b.project(t, b.alice, "acme-new", at("https://new.example.test")) // never proven
	b.proven(t, w, b.alice, "acme-crm")
	if _, err := b.service.ProveBySecretKey(t.Context(), b.alice, "acme-crm", seal.NewSecret(bobsKey), w); err != nil {
		t.Fatal(err)
	}
	b.project(t, b.bob, "globex-crm", at("https://globex.example.test"))
	b.proven(t, w, b.bob, "globex-crm")
	if _, err := b.service.UpdateProject(t.Context(), b.bob, "globex-crm", at("https://moved.example.test")); err != nil {
		t.Fatal(err)
	}
	b.clock.Advance(48 * time.Hour)
	if got := b.recheck(t, w); got != (tenants.Recheck{}) {
		t.Errorf("rechecked %+v", got)
	}
}

func TestWorkersShareTheProofsThatAreDue(t *testing.T) {
	t.Parallel()
	b, w := setup(t, tenants.Hosts{}), newWorld()
	const projects = 120 // more than two batches
	b.Exec(t, `insert into projects (organization_id, id, slug, name, typed_url, api_origin, issuer, jwks_uri, publishable_key, signing,
		oauth_enabled, scopes_supported, verified_at, verified_by, ownership_due_at, created_at, updated_at)
		select $1, gen_random_uuid(), 'acme-' || n, 'n', 'u', 'https://p' || n || '.example.test', 'i', 'j', 'k', 'hs256', true, '{}', now(), 'function', $2, now(), now()
		from generate_series(1, $3::integer) n`, b.alice.Organization.ID.UUID(), b.clock.Now(), projects)
	var mu sync.Mutex
	running, most := 0, 0
	w.before = func(supabase.Project) {
		mu.Lock()
		running++
		most = max(most, running)
		mu.Unlock()
		defer func() { mu.Lock(); running--; mu.Unlock() }()
	}
	results := make([]tenants.Recheck, 3)
	var wg sync.WaitGroup
	for i := range results {
		wg.Go(func() { results[i] = b.recheck(t, w) })
	}
	wg.Wait()
	total := 0
	for _, r := range results {
		total += r.Missed
	}
	if total != projects {
		t.Errorf("%d misses in all, want %d", total, projects)
	}
	for origin, n := range w.timesAsked() {
		if n != 1 {
			t.Errorf("%s was asked %d times", origin, n)
		}
	}
	if most > 8*len(results) {
		t.Errorf("%d at once", most)
	}
	if n := b.count(t, "notices", "kind = 'ownership.missed'"); n != projects {
		t.Errorf("%d notices, want %d", n, projects)
	}
}

func TestMissOfAProjectThatWasProvenAnewMeanwhileDoesNotCount(t *testing.T) {
	t.Parallel()
	b, w := setup(t, tenants.Hosts{}), newWorld()
	project := b.project(t, b.alice, "acme-crm", facts())
	b.proven(t, w, b.alice, "acme-crm")
	b.clock.Advance(24 * time.Hour)
	w.says(project.APIOrigin, "", nil)
	anew := newWorld()
	anew.says(project.APIOrigin, project.Ownership.Token, nil)
	w.before = func(supabase.Project) {
		b.clock.Advance(time.Second)
		if _, err := b.service.ProveByFunction(t.Context(), b.alice, "acme-crm", anew); err != nil {
			t.Error(err)
		}
	}
	if got := b.recheck(t, w); got != (tenants.Recheck{}) {
		t.Errorf("counted: %+v", got)
	}
	if told := b.notices(t, b.alice); len(told) != 0 {
		t.Errorf("alice was told %+v", told)
	}
}

func TestRecheckThatIsStoppedCountsNothing(t *testing.T) {
	t.Parallel()
	b, w := setup(t, tenants.Hosts{}), newWorld()
	project := b.project(t, b.alice, "acme-crm", facts())
	b.proven(t, w, b.alice, "acme-crm")
	b.clock.Advance(24 * time.Hour)
	w.says(project.APIOrigin, "", nil)
	ctx, cancel := context.WithCancel(t.Context())
	w.before = func(supabase.Project) { cancel() }
	if got, err := b.service.RecheckOwnership(ctx, w); err == nil || got != (tenants.Recheck{}) {
		t.Errorf("%+v, %v", got, err)
	}
	if n := b.count(t, "projects", "ownership_misses > 0"); n != 0 {
		t.Error("a stopped check is a miss")
	}
}
