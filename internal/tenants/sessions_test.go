package tenants_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// signedIn is a database with Alice and Bob, who have passwords.
func signedIn(t *testing.T) *bundle {
	t.Helper()
	b := setup(t, tenants.Hosts{})
	b.passwords(t)
	return b
}

func gone(t *testing.T, b *bundle, what string, cookie seal.Secret, code string) {
	t.Helper()
	_, err := b.service.Session(t.Context(), cookie, alicesAddress)
	refused(t, what, err, fault.Unauthenticated, code)
}

func TestSessionTellsWhoAndWhere(t *testing.T) {
	t.Parallel()
	b := signedIn(t)
	cookie := b.signIn(t, asAlice()).Cookie
	got := b.session(t, cookie)
	want := tenants.Principal{
		Organization: b.alice.Organization, Builder: b.alice.Builder, Role: tenants.RoleOwner,
		Session: got.ID, Scope: tenants.ScopeAdmin, Address: alicesAddress,
	}
	if got.Current != want || got.Builder != b.alice.Builder || len(got.Organizations) != 1 || !got.Cookie.IsZero() {
		t.Errorf("session is %+v, want current %+v", got, want)
	}
	if !got.ExpiresAt.Equal(b.clock.Now().Add(30 * 24 * time.Hour)) {
		t.Errorf("expires at %s", got.ExpiresAt)
	}
}

// TestValueSetBeforeSignInIsNeverAdopted is session fixation.
func TestValueSetBeforeSignInIsNeverAdopted(t *testing.T) {
	t.Parallel()
	b := signedIn(t)
	planted := secret(base64.RawURLEncoding.EncodeToString([]byte("a value that Mallory chose, 32 b")))
	gone(t, b, "a planted value", planted, "session_unknown")
	first, second := b.signIn(t, asAlice()), b.signIn(t, asAlice())
	if first.Cookie == planted || first.Cookie == second.Cookie || first.ID == second.ID {
		t.Error("a sign-in gives a value that was there before")
	}
	gone(t, b, "the planted value after the sign-in", planted, "session_unknown")
	for _, text := range []string{"", "short", planted.Reveal() + "A", strings.Repeat("=", 43), "\x00\xff", first.Cookie.Reveal() + "\n", first.ID.String()} {
		gone(t, b, fmt.Sprintf("value %q", text), secret(text), "session_unknown")
	}
	for _, hash := range []string{"token_hash", "previous_hash"} {
		if n := b.count(t, "builder_sessions", fmt.Sprintf("position(convert_to('%s', 'utf8') in coalesce(%s, '')) > 0", first.Cookie.Reveal(), hash)); n != 0 {
			t.Errorf("%s holds a cookie's value", hash)
		}
	}
}

func TestCookieIsRotatedEveryHourAndTheOldOneIsGoodForAMinute(t *testing.T) {
	t.Parallel()
	b := signedIn(t)
	old := b.signIn(t, asAlice())
	b.clock.Advance(59 * time.Minute)
	if got := b.session(t, old.Cookie); !got.Cookie.IsZero() {
		t.Error("rotated before the hour")
	}
	b.clock.Advance(time.Minute)
	rotated := b.session(t, old.Cookie)
	if rotated.Cookie.IsZero() || rotated.Cookie == old.Cookie {
		t.Fatal("not rotated after an hour")
	}
	if rotated.CSRF != old.CSRF || rotated.ID != old.ID {
		t.Error("the rotation changes what forms carry")
	}
	b.clock.Advance(59 * time.Second)
	if got := b.session(t, old.Cookie); !got.Cookie.IsZero() || got.ID != old.ID {
		t.Error("the old value is rotated again")
	}
	if got := b.session(t, rotated.Cookie); !got.Cookie.IsZero() {
		t.Error("the new value is rotated at once")
	}
	// A copy of the old value after its minute: the session ends for both.
	b.clock.Advance(time.Second)
	gone(t, b, "the old value after a minute", old.Cookie, "session_replayed")
	gone(t, b, "the new value after the replay", rotated.Cookie, "session_ended")
	if n := b.count(t, "audit_events", "action = 'session.replay' and outcome = 'refused' and address = '"+alicesAddress+"'"); n != 1 {
		t.Errorf("%d audit rows of the replay, want 1", n)
	}
}

func TestRotationsThatRaceHaveOneWinnerAndEverybodyKeepsWorking(t *testing.T) {
	t.Parallel()
	b := signedIn(t)
	old := b.signIn(t, asAlice())
	b.clock.Advance(time.Hour)
	replicas := []*tenants.Service{b.service, b.replica(t)}
	release := b.hold(t, "select from chumbo.builder_sessions for update")
	var wg sync.WaitGroup
	got := make([]tenants.Session, 6)
	for i := range got {
		wg.Go(func() {
			var err error
			if got[i], err = replicas[i%2].Session(t.Context(), old.Cookie, alicesAddress); err != nil {
				t.Errorf("request %d: %v", i, err)
			}
		})
	}
	b.waiting(t, 2) // of those that found the old value current
	release()
	wg.Wait()
	var winner seal.Secret
	for _, s := range got {
		if s.ID != old.ID {
			t.Errorf("a request found session %s, want %s", s.ID, old.ID)
		}
		if s.Cookie.IsZero() {
			continue
		}
		if !winner.IsZero() {
			t.Error("two rotations gave a new value")
		}
		winner = s.Cookie
	}
	if winner.IsZero() {
		t.Fatal("nobody got the new value")
	}
	b.session(t, winner)
}

func TestSessionsEndWhenIdleAndAtTheLatestAfterThirtyDays(t *testing.T) {
	t.Parallel()
	b := signedIn(t)
	idle := b.signIn(t, asAlice()).Cookie
	busy := b.signIn(t, asAlice()).Cookie
	b.clock.Advance(7*24*time.Hour - time.Second)
	for _, cookie := range []*seal.Secret{&idle, &busy} {
		*cookie = b.session(t, *cookie).Cookie
	}
	for range 3 { // one every six days
		b.clock.Advance(6 * 24 * time.Hour)
		if next := b.session(t, busy).Cookie; !next.IsZero() {
			busy = next
		}
	}
	gone(t, b, "a session that was not used for seven days", idle, "session_expired")
	b.clock.Advance(5*24*time.Hour + time.Second)
	gone(t, b, "a session of thirty days", busy, "session_expired")
	// What is over is deleted when somebody signs in.
	b.clock.Advance(25 * time.Hour)
	b.signIn(t, asBob())
	if n := b.count(t, "builder_sessions", "true"); n != 1 {
		t.Errorf("%d sessions are stored, want Bob's alone", n)
	}
}

func TestSignOutEndsTheSession(t *testing.T) {
	t.Parallel()
	b := signedIn(t)
	mine, other := b.signIn(t, asAlice()), b.signIn(t, asAlice())
	for range 2 {
		if err := b.service.SignOut(t.Context(), mine.Cookie, alicesAddress); err != nil {
			t.Fatal(err)
		}
	}
	for _, cookie := range []string{"", "short", base64.RawURLEncoding.EncodeToString(make([]byte, 32))} {
		if err := b.service.SignOut(t.Context(), secret(cookie), alicesAddress); err != nil {
			t.Errorf("signing out of nothing: %v", err)
		}
	}
	gone(t, b, "the session after its sign-out", mine.Cookie, "session_ended")
	b.session(t, other.Cookie)
	if n := b.count(t, "audit_events", "action = 'session.sign_out' and address = '"+alicesAddress+"'"); n != 1 {
		t.Errorf("%d audit rows of the sign-out, want 1", n)
	}
}

func TestFormsCarryWhatOnlyTheirSessionHas(t *testing.T) {
	t.Parallel()
	b := signedIn(t)
	alice, bob := b.signIn(t, asAlice()), b.signIn(t, asBob())
	if err := b.service.CheckCSRF(b.session(t, alice.Cookie), alice.CSRF); err != nil {
		t.Errorf("alice's own form: %v", err)
	}
	for what, given := range map[string]string{"bob's": bob.CSRF, "none": "", "no base64": "%%%", "cut": alice.CSRF[:20], "the cookie": alice.Cookie.Reveal()} {
		refused(t, what, b.service.CheckCSRF(alice, given), fault.Forbidden, "csrf")
	}
	refused(t, "no session", b.service.CheckCSRF(tenants.Session{}, alice.CSRF), fault.Forbidden, "csrf")
}

func TestFormsOfOneReplicaHoldAtAnother(t *testing.T) {
	t.Parallel()
	b := signedIn(t)
	one, two := b.replica(t), b.replica(t)
	session, err := one.SignIn(t.Context(), asAlice())
	if err != nil {
		t.Fatal(err)
	}
	found, err := two.Session(t.Context(), session.Cookie, alicesAddress)
	if err != nil {
		t.Fatal(err)
	}
	if err := two.CheckCSRF(found, session.CSRF); err != nil {
		t.Errorf("a form of another replica: %v", err)
	}
}

func TestBuilderWorksInTheOrganizationTheyChoose(t *testing.T) {
	t.Parallel()
	b := signedIn(t)
	session := b.signIn(t, asAlice())
	zeta, err := b.service.NewOrganization(t.Context(), session, " Zeta ")
	if err != nil || zeta.Name != "Zeta" || zeta.Slug != "zeta" {
		t.Fatalf("new organization: %+v %v", zeta, err)
	}
	now := b.session(t, session.Cookie)
	if now.Current.Organization != zeta || now.Current.Role != tenants.RoleOwner || len(now.Organizations) != 2 {
		t.Errorf("after making Zeta the session is %+v", now)
	}
	for _, name := range []string{"acme", zeta.ID.String(), b.alice.Organization.ID.String()} {
		if err := b.service.SwitchOrganization(t.Context(), session, name); err != nil {
			t.Errorf("switch to %s: %v", name, err)
		}
	}
	if now := b.session(t, session.Cookie); now.Current.Organization.Slug != "acme" {
		t.Errorf("works in %s, want acme", now.Current.Organization.Slug)
	}
	if again := b.signIn(t, asAlice()); again.Current.Organization.Slug != "acme" {
		t.Errorf("a new session works in %s, want the first by name", again.Current.Organization.Slug)
	}
	if n := b.count(t, "audit_events", "action = 'organization.create' and actor like 'bld_%' and organization_id = '"+zeta.ID.UUID().String()+"'"); n != 1 {
		t.Errorf("%d audit rows of Zeta, want 1", n)
	}
	for _, name := range []string{"", "a\nb", strings.Repeat("x", 81), "sb_secret_0123456789abcdef"} {
		if _, err := b.service.NewOrganization(t.Context(), session, name); !fault.Is(err, fault.Invalid) {
			t.Errorf("organization %q: %v, want invalid", name, err)
		}
	}
	if err := b.service.SignOut(t.Context(), session.Cookie, alicesAddress); err != nil {
		t.Fatal(err)
	}
	_, err = b.service.NewOrganization(t.Context(), session, "Late")
	refused(t, "an organization by an ended session", err, fault.Unauthenticated, "session_unknown")
	if n := b.count(t, "organizations", "slug = 'late'"); n != 0 {
		t.Error("an ended session made an organization")
	}
}

func TestBobsSessionCannotWorkInAcme(t *testing.T) {
	t.Parallel()
	b := signedIn(t)
	bob, alice := b.signIn(t, asBob()), b.signIn(t, asAlice())
	for _, name := range []string{"acme", b.alice.Organization.ID.String(), "", "nowhere"} {
		refused(t, "switch to "+name, b.service.SwitchOrganization(t.Context(), bob, name), fault.NotFound, "organization_unknown")
	}
	// Alice's session id beside Bob's name moves nothing.
	forged := bob
	forged.ID = alice.ID
	refused(t, "bob with alice's session", b.service.SwitchOrganization(t.Context(), forged, "globex"), fault.Unauthenticated, "session_unknown")
	// Even a row that names Acme does not let Bob in.
	b.Exec(t, "update builder_sessions set organization_id = $1 where id = $2", b.alice.Organization.ID.UUID(), bob.ID.UUID())
	if got := b.session(t, bob.Cookie); got.Current.Organization.Slug != "globex" {
		t.Errorf("bob works in %q", got.Current.Organization.Slug)
	}
}

func TestRemovalCountsAtOnce(t *testing.T) {
	t.Parallel()
	b := signedIn(t)
	alice := b.signIn(t, asAlice())
	b.Exec(t, "update members set role = 'viewer' where builder_id = $1", b.alice.Builder.ID.UUID())
	if got := b.session(t, alice.Cookie); got.Current.Role != tenants.RoleViewer || got.Current.MayWrite() == nil {
		t.Errorf("after the demotion the session is %+v", got.Current)
	}
	b.Exec(t, "alter table api_tokens drop constraint api_tokens_organization_id_builder_id_fkey")
	b.Exec(t, "delete from members where builder_id = $1", b.alice.Builder.ID.UUID())
	if got := b.session(t, alice.Cookie); got.Current != (tenants.Principal{}) || len(got.Organizations) != 0 {
		t.Errorf("after the removal the session is %+v", got)
	}
	if _, err := b.service.VerifyToken(t.Context(), b.token(t, b.bob)); err != nil {
		t.Errorf("bob's token: %v", err)
	}
}

// TestNoSessionYieldsSomebodyElse runs Alice and Bob side by side over two
// replicas, through sign-ins, rotations and sign-outs.
func TestNoSessionYieldsSomebodyElse(t *testing.T) {
	t.Parallel()
	b := signedIn(t)
	replicas := []*tenants.Service{b.replica(t), b.replica(t)}
	people := map[id.Builder]struct {
		in  tenants.SignIn
		org id.Organization
	}{
		b.alice.Builder.ID: {asAlice(), b.alice.Organization.ID},
		b.bob.Builder.ID:   {asBob(), b.bob.Organization.ID},
	}
	var wg sync.WaitGroup
	for builder, who := range people {
		for i := range 3 {
			wg.Go(func() {
				in := who.in
				in.Address = fmt.Sprintf("203.0.113.%d", i)
				session, err := replicas[i%2].SignIn(t.Context(), in)
				if err != nil {
					t.Error(err)
					return
				}
				cookie := session.Cookie
				for range 10 {
					b.clock.Advance(10 * time.Minute)
					got, err := replicas[(i+1)%2].Session(t.Context(), cookie, in.Address)
					if err != nil {
						t.Errorf("session of %s: %v", in.Email, err)
						return
					}
					if got.Builder.ID != builder || got.Current.Builder.ID != builder || got.Current.Organization.ID != who.org || got.ID != session.ID {
						t.Errorf("%s's session yields %+v", in.Email, got.Current)
					}
					if !got.Cookie.IsZero() {
						cookie = got.Cookie
					}
				}
				if err := replicas[i%2].SignOut(t.Context(), cookie, in.Address); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
}
