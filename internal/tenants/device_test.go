package tenants_test

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

func (b *bundle) device(t *testing.T, scope tenants.Scope) tenants.DeviceGrant {
	t.Helper()
	grant, err := b.service.BeginDevice(t.Context(), tenants.DeviceRequest{ClientName: "alices-laptop", Scope: scope, Address: alicesAddress})
	if err != nil {
		t.Fatal(err)
	}
	return grant
}

func (b *bundle) decide(t *testing.T, p tenants.Principal, grant tenants.DeviceGrant, approve bool) {
	t.Helper()
	if err := b.service.DecideDevice(t.Context(), p, grant.UserCode, approve); err != nil {
		t.Fatal(err)
	}
}

// polled expects an error of RFC 8628.
func (b *bundle) polled(t *testing.T, what string, grant tenants.DeviceGrant, code string) {
	t.Helper()
	_, err := b.service.PollDevice(t.Context(), grant.DeviceCode)
	refused(t, what, err, fault.Invalid, code)
}

func TestDeviceGetsATokenOnceItIsApproved(t *testing.T) {
	t.Parallel()
	b := signedIn(t)
	alice := b.signIn(t, asAlice()).Current
	grant := b.device(t, "")
	if !regexp.MustCompile(`^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$`).MatchString(grant.UserCode) {
		t.Errorf("user code %q", grant.UserCode)
	}
	if grant.ExpiresIn != 10*time.Minute || grant.Interval != 5*time.Second {
		t.Errorf("grant is %+v", grant)
	}
	b.polled(t, "before the decision", grant, "authorization_pending")
	pending, err := b.service.PendingDevice(t.Context(), alice, grant.UserCode)
	if err != nil {
		t.Fatal(err)
	}
	want := tenants.DevicePending{
		UserCode: grant.UserCode, ClientName: "alices-laptop", Scope: tenants.ScopeWrite, Address: alicesAddress,
		CreatedAt: pending.CreatedAt, ExpiresAt: pending.CreatedAt.Add(10 * time.Minute),
	}
	if pending != want {
		t.Errorf("pending is %+v, want %+v", pending, want)
	}
	b.decide(t, alice, grant, true)
	out, err := b.service.PollDevice(t.Context(), grant.DeviceCode)
	if err != nil {
		t.Fatal(err)
	}
	if out.Organization != alice.Organization || out.Builder != alice.Builder || out.Scope != tenants.ScopeWrite {
		t.Errorf("outcome is %+v", out)
	}
	p, err := b.service.VerifyToken(t.Context(), out.Token)
	if err != nil || p.Organization != alice.Organization || p.Builder != alice.Builder || p.Scope != tenants.ScopeWrite {
		t.Errorf("the token is %+v, %v", p, err)
	}
	b.polled(t, "a second time", grant, "expired_token")
	_, err = b.service.PendingDevice(t.Context(), alice, grant.UserCode)
	refused(t, "a decided code", err, fault.NotFound, "device_unknown")
	tokens, err := b.service.Tokens(t.Context(), alice)
	if err != nil || tokens[0].Name != "alices-laptop" || tokens[0].ID != p.Token {
		t.Errorf("tokens are %+v, %v", tokens, err)
	}
	for where, n := range map[string]int{
		"action = 'device.approve' and outcome = 'ok'":                                           1,
		"action = 'token.create' and target = '" + p.Token.String() + "' and actor like 'bld_%'": 1,
	} {
		if got := b.count(t, "audit_events", where+" and address = '"+alicesAddress+"'"); got != n {
			t.Errorf("%d audit rows where %s, want %d", got, where, n)
		}
	}
	for _, column := range []string{"device_hash", "user_code_hash"} {
		for _, value := range []string{grant.DeviceCode.Reveal(), strings.ReplaceAll(grant.UserCode, "-", "")} {
			if n := b.count(t, "device_authorizations", fmt.Sprintf("position(convert_to('%s', 'utf8') in %s) > 0", value, column)); n != 0 {
				t.Errorf("%s holds a code", column)
			}
		}
	}
}

func TestUserCodesForgiveHowTheyAreTyped(t *testing.T) {
	t.Parallel()
	b := setup(t, tenants.Hosts{})
	grant := b.device(t, tenants.ScopeRead)
	bare := strings.ReplaceAll(grant.UserCode, "-", "")
	for _, typed := range []string{bare, strings.ToLower(bare), " " + bare[:2] + " " + bare[2:] + "\n", strings.ToLower(grant.UserCode), bare[:4] + "--" + bare[4:]} {
		if _, err := b.service.PendingDevice(t.Context(), b.alice, typed); err != nil {
			t.Errorf("%q: %v", typed, err)
		}
	}
	for _, typed := range []string{"", "-", bare[:7], bare + "B", "\x00\xff"} {
		_, err := b.service.PendingDevice(t.Context(), b.alice, typed)
		refused(t, fmt.Sprintf("%q", typed), err, fault.NotFound, "device_unknown")
	}
}

func TestDevicesPollNoFasterThanTheirInterval(t *testing.T) {
	t.Parallel()
	b := setup(t, tenants.Hosts{})
	grant := b.device(t, tenants.ScopeRead)
	for _, step := range []struct {
		wait time.Duration
		code string
	}{
		{0, "authorization_pending"},
		{5 * time.Second, "authorization_pending"},
		{5*time.Second - time.Millisecond, "slow_down"}, // the interval is 10 s now
		{5 * time.Second, "slow_down"},                  // and now 15 s
		{15 * time.Second, "authorization_pending"},
		{15 * time.Second, "authorization_pending"},
	} {
		b.clock.Advance(step.wait)
		b.polled(t, fmt.Sprintf("after %s", step.wait), grant, step.code)
	}
}

func TestDeniedAndExpiredDevicesGetNothing(t *testing.T) {
	t.Parallel()
	b := setup(t, tenants.Hosts{})
	denied, late, never := b.device(t, tenants.ScopeRead), b.device(t, tenants.ScopeRead), b.device(t, tenants.ScopeRead)
	b.decide(t, b.alice, denied, false)
	b.polled(t, "denied", denied, "access_denied")
	b.polled(t, "denied, again", denied, "access_denied")
	refused(t, "approving what was denied", b.service.DecideDevice(t.Context(), b.alice, denied.UserCode, true), fault.NotFound, "device_unknown")
	b.polled(t, "still denied", denied, "access_denied")
	b.decide(t, b.alice, late, true)
	b.clock.Advance(10 * time.Minute)
	b.polled(t, "approved and not fetched in time", late, "expired_token")
	b.polled(t, "never decided", never, "expired_token")
	refused(t, "deciding too late", b.service.DecideDevice(t.Context(), b.alice, never.UserCode, true), fault.NotFound, "device_unknown")
	for _, code := range []string{"", "short", strings.Repeat("A", 43), never.UserCode} {
		_, err := b.service.PollDevice(t.Context(), secret(code))
		refused(t, "an unknown device code", err, fault.Invalid, "expired_token")
	}
	if n := b.count(t, "audit_events", "action = 'device.deny' and outcome = 'ok'"); n != 1 {
		t.Errorf("%d audit rows of the denial, want 1", n)
	}
	b.clock.Advance(25 * time.Hour)
	b.device(t, tenants.ScopeRead)
	if n := b.count(t, "device_authorizations", "true"); n != 1 {
		t.Errorf("%d device authorizations are stored, want the new one", n)
	}
}

func TestPollsThatRaceGiveOneToken(t *testing.T) {
	t.Parallel()
	b := setup(t, tenants.Hosts{})
	grant := b.device(t, tenants.ScopeWrite)
	b.decide(t, b.alice, grant, true)
	var wg sync.WaitGroup
	errs := make([]error, 6)
	for i := range errs {
		wg.Go(func() { _, errs[i] = b.service.PollDevice(t.Context(), grant.DeviceCode) })
	}
	wg.Wait()
	made := 0
	for _, err := range errs {
		if err == nil {
			made++
			continue
		}
		refused(t, "the loser", err, fault.Invalid, "expired_token")
	}
	if n := b.count(t, "api_tokens", "name = 'alices-laptop'"); made != 1 || n != 1 {
		t.Errorf("%d polls got a token, %d are stored, want one", made, n)
	}
}

func TestDecisionsThatRaceCountOnce(t *testing.T) {
	t.Parallel()
	b := setup(t, tenants.Hosts{})
	grant := b.device(t, tenants.ScopeWrite)
	var wg sync.WaitGroup
	errs := make([]error, 6)
	for i := range errs {
		p := []tenants.Principal{b.alice, b.bob}[i%2]
		wg.Go(func() { errs[i] = b.service.DecideDevice(t.Context(), p, grant.UserCode, true) })
	}
	wg.Wait()
	winner := -1
	for i, err := range errs {
		if err != nil {
			refused(t, "the loser", err, fault.NotFound, "device_unknown")
			continue
		}
		if winner >= 0 {
			t.Error("two decisions count")
		}
		winner = i
	}
	out, err := b.service.PollDevice(t.Context(), grant.DeviceCode)
	if err != nil || out.Builder != []tenants.Principal{b.alice, b.bob}[winner%2].Builder {
		t.Errorf("the token is %+v's, %v", out.Builder, err)
	}
}

func TestDeviceGetsNoMoreThanItsApproverMayDo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		role        tenants.Role
		asked, want tenants.Scope
	}{
		{tenants.RoleOwner, tenants.ScopeAdmin, tenants.ScopeAdmin},
		{tenants.RoleAdmin, tenants.ScopeAdmin, tenants.ScopeAdmin},
		{tenants.RoleOwner, tenants.ScopeRead, tenants.ScopeRead},
		{tenants.RoleDeveloper, tenants.ScopeAdmin, tenants.ScopeWrite},
		{tenants.RoleViewer, tenants.ScopeAdmin, tenants.ScopeRead},
		{tenants.RoleViewer, tenants.ScopeWrite, tenants.ScopeRead},
	} {
		t.Run(string(c.role)+" "+string(c.asked), func(t *testing.T) {
			t.Parallel()
			b := signedIn(t)
			b.Exec(t, "update members set role = $1", string(c.role))
			alice := b.signIn(t, asAlice()).Current
			grant := b.device(t, c.asked)
			if pending, err := b.service.PendingDevice(t.Context(), alice, grant.UserCode); err != nil || pending.Scope != c.want {
				t.Errorf("is asked for %s, %v, want %s", pending.Scope, err, c.want)
			}
			b.decide(t, alice, grant, true)
			out, err := b.service.PollDevice(t.Context(), grant.DeviceCode)
			if err != nil || out.Scope != c.want {
				t.Fatalf("got %s, %v, want %s", out.Scope, err, c.want)
			}
			if p, err := b.service.VerifyToken(t.Context(), out.Token); err != nil || p.Scope != c.want {
				t.Errorf("the token has %s, %v", p.Scope, err)
			}
		})
	}
}

func TestRoleLostBetweenApprovalAndPollCounts(t *testing.T) {
	t.Parallel()
	b := setup(t, tenants.Hosts{})
	demoted, left := b.device(t, tenants.ScopeAdmin), b.device(t, tenants.ScopeAdmin)
	b.decide(t, b.alice, demoted, true)
	b.decide(t, b.alice, left, true)
	b.Exec(t, "update members set role = 'viewer'")
	if out, err := b.service.PollDevice(t.Context(), demoted.DeviceCode); err != nil || out.Scope != tenants.ScopeRead {
		t.Errorf("a viewer by now gets %s, %v", out.Scope, err)
	}
	b.Exec(t, "delete from api_tokens")
	b.Exec(t, "delete from members where builder_id = $1", b.alice.Builder.ID.UUID())
	b.polled(t, "no member by now", left, "access_denied")
	again := b.device(t, tenants.ScopeRead)
	refused(t, "deciding as a member of before", b.service.DecideDevice(t.Context(), b.alice, again.UserCode, true), fault.Forbidden, "not_a_member")
	if n := b.count(t, "audit_events", "action = 'device.approve' and outcome = 'refused' and detail->>'code' = 'not_a_member'"); n != 1 {
		t.Errorf("%d audit rows of the refusal, want 1", n)
	}
}

func TestBobCannotDecideForAcme(t *testing.T) {
	t.Parallel()
	b := setup(t, tenants.Hosts{})
	grant := b.device(t, tenants.ScopeAdmin)
	forged := b.bob
	forged.Organization = b.alice.Organization
	refused(t, "bob with acme in his hand", b.service.DecideDevice(t.Context(), forged, grant.UserCode, true), fault.Forbidden, "not_a_member")
	b.decide(t, b.bob, grant, true)
	out, err := b.service.PollDevice(t.Context(), grant.DeviceCode)
	if err != nil || out.Organization != b.bob.Organization {
		t.Errorf("bob's approval gives a token of %q, %v", out.Organization.Slug, err)
	}
	if n := b.count(t, "api_tokens", "name = 'alices-laptop' and organization_id = '"+b.alice.Organization.ID.UUID().String()+"'"); n != 0 {
		t.Error("bob made a token of acme")
	}
}

func TestOnlyTokensThatMakeTokensDecide(t *testing.T) {
	t.Parallel()
	b := setup(t, tenants.Hosts{})
	grant := b.device(t, tenants.ScopeRead)
	for _, scope := range []tenants.Scope{tenants.ScopeRead, tenants.ScopeWrite} {
		p := b.alice
		p.Scope = scope
		refused(t, string(scope), b.service.DecideDevice(t.Context(), p, grant.UserCode, true), fault.Forbidden, "scope_write")
	}
	b.decide(t, b.alice, grant, true)
	if n := b.count(t, "audit_events", "action = 'device.approve' and outcome = 'refused'"); n != 2 {
		t.Errorf("%d audit rows of the refusals, want 2", n)
	}
}

func TestUserCodesAreThrottledByBuilderAndByAddress(t *testing.T) {
	t.Parallel()
	b := signedIn(t)
	grant := b.device(t, tenants.ScopeRead)
	alice, bob := b.signIn(t, asAlice()).Current, b.signIn(t, asBob()).Current
	for i := range 10 {
		alice.Address = fmt.Sprintf("203.0.113.%d", i)
		_, err := b.service.PendingDevice(t.Context(), alice, "BBBB-BBBB")
		refused(t, "a wrong code", err, fault.NotFound, "device_unknown")
	}
	_, err := b.service.PendingDevice(t.Context(), alice, grant.UserCode)
	throttled(t, "the right code after ten wrong ones", err)
	throttled(t, "deciding after ten wrong ones", b.service.DecideDevice(t.Context(), alice, grant.UserCode, true))
	for range 15 { // looking at the right code is no wrong try
		if _, err := b.service.PendingDevice(t.Context(), bob, grant.UserCode); err != nil {
			t.Fatal(err)
		}
	}
	// Thirty builders behind one address.
	for i := range 30 {
		carol := b.member(t, fmt.Sprintf("carol%d@example.test", i), fmt.Sprintf("Initech %d", i))
		carol.Address = "203.0.113.77"
		refused(t, "a wrong code", b.service.DecideDevice(t.Context(), carol, "BBBB-BBBB", true), fault.NotFound, "device_unknown")
	}
	bob.Address = "203.0.113.77"
	_, err = b.service.PendingDevice(t.Context(), bob, grant.UserCode)
	throttled(t, "the right code from that address", err)
}

func TestDeviceRequestsAreCheckedAndThrottled(t *testing.T) {
	t.Parallel()
	b := setup(t, tenants.Hosts{})
	for code, in := range map[string]tenants.DeviceRequest{
		"scope_invalid":       {ClientName: "laptop", Scope: "everything"},
		"client_name_invalid": {ClientName: "lap\x1b[2Jtop"},
		"secret_key":          {ClientName: "sb_secret_0123456789abcdef"},
	} {
		_, err := b.service.BeginDevice(t.Context(), in)
		refused(t, code, err, fault.Invalid, code)
	}
	if n := b.count(t, "device_authorizations", "true"); n != 0 {
		t.Errorf("%d refused requests are stored", n)
	}
	for range 30 {
		b.device(t, tenants.ScopeRead)
	}
	_, err := b.service.BeginDevice(t.Context(), tenants.DeviceRequest{ClientName: "laptop", Address: alicesAddress})
	throttled(t, "the 31st of an address", err)
	if _, err := b.service.BeginDevice(t.Context(), tenants.DeviceRequest{ClientName: "laptop", Address: bobsAddress}); err != nil {
		t.Errorf("another address: %v", err)
	}
}
