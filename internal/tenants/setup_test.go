package tenants_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

func asFirst(code seal.Secret) tenants.Setup {
	return tenants.Setup{Code: code, Email: "alice@example.test", Password: secret(alicesPassword), Organization: "Acme", Address: alicesAddress, Agent: "Firefox"}
}

func (b *bundle) prepare(t *testing.T, configured seal.Secret) seal.Secret {
	t.Helper()
	code, err := b.service.PrepareSetup(t.Context(), configured)
	if err != nil {
		t.Fatal(err)
	}
	return code
}

func needs(t *testing.T, b *bundle, want bool) {
	t.Helper()
	if got, err := b.service.NeedsSetup(t.Context()); err != nil || got != want {
		t.Errorf("needs setup: %v %v, want %v", got, err, want)
	}
}

func TestSetupMakesTheFirstOwnerAndSignsThemIn(t *testing.T) {
	t.Parallel()
	b := empty(t)
	needs(t, b, true)
	code := b.prepare(t, seal.Secret{})
	typed := secret(" " + strings.ToLower(strings.ReplaceAll(code.Reveal(), "-", " ")) + "\n")
	session, err := b.service.CompleteSetup(t.Context(), asFirst(typed))
	if err != nil {
		t.Fatal(err)
	}
	if session.Current.Organization.Slug != "acme" || session.Current.Role != tenants.RoleOwner || session.Builder.Email != "alice@example.test" {
		t.Errorf("the first session is %+v", session)
	}
	if got := b.session(t, session.Cookie); got.ID != session.ID || got.Current != session.Current {
		t.Errorf("the cookie finds %+v, want %+v", got, session)
	}
	needs(t, b, false)
	b.signIn(t, asAlice())
	if n := b.count(t, "api_tokens", "true"); n != 0 {
		t.Errorf("setup made %d API tokens nobody was shown", n)
	}
	for action, want := range map[string]int{"organization.create": 1, "session.sign_in": 2} {
		if n := b.count(t, "audit_events", "action = '"+action+"' and actor like 'bld_%' and address = '"+alicesAddress+"'"); n != want {
			t.Errorf("%d audit rows of %s, want %d", n, action, want)
		}
	}
}

func TestStolenSetupCodeIsUselessAfterTheFirstOwner(t *testing.T) {
	t.Parallel()
	for how, make := range map[string]func(b *bundle, code seal.Secret) error{
		"by setup": func(b *bundle, code seal.Secret) error {
			_, err := b.service.CompleteSetup(t.Context(), asFirst(code))
			return err
		},
		"by bootstrap": func(b *bundle, _ seal.Secret) error {
			_, _, _, err := b.service.CreateOwner(t.Context(), "alice@example.test", "Acme")
			return err
		},
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			b := empty(t)
			code := b.prepare(t, seal.Secret{})
			if err := make(b, code); err != nil {
				t.Fatal(err)
			}
			thief := asFirst(code)
			thief.Email, thief.Organization = "mallory@example.test", "Mallory"
			_, err := b.service.CompleteSetup(t.Context(), thief)
			refused(t, "the stolen code", err, fault.Conflict, "already_bootstrapped")
			if n := b.count(t, "setup_codes", "true"); n != 0 {
				t.Errorf("%d setup codes are left", n)
			}
			if n := b.count(t, "builders", "true"); n != 1 {
				t.Errorf("%d builders, want the owner alone", n)
			}
			if again := b.prepare(t, secret("operators-own-code")); !again.IsZero() {
				t.Error("a start of an owned instance makes a setup code")
			}
			if n := b.count(t, "setup_codes", "true"); n != 0 {
				t.Error("a start of an owned instance stores a setup code")
			}
		})
	}
}

// TestSetupCodeLeftBehindIsUseless: a replica that starts while the first
// owner is made may store its code last.
func TestSetupCodeLeftBehindIsUseless(t *testing.T) {
	t.Parallel()
	b := empty(t)
	if _, err := b.service.CompleteSetup(t.Context(), asFirst(b.prepare(t, seal.Secret{}))); err != nil {
		t.Fatal(err)
	}
	b.Exec(t, "insert into setup_codes (code_hash, created_at) values (sha256('LEFTBEHIND'), now())")
	thief := asFirst(secret("leftbehind"))
	thief.Email = "mallory@example.test"
	_, err := b.service.CompleteSetup(t.Context(), thief)
	refused(t, "the code left behind", err, fault.Conflict, "already_bootstrapped")
}

func TestSetupCodeIsVoidAfterTenWrongTriesAcrossReplicas(t *testing.T) {
	t.Parallel()
	b := empty(t)
	b.service = b.replica(t)
	other := b.replica(t)
	code := b.prepare(t, seal.Secret{})
	var wg sync.WaitGroup
	errs := make([]error, 10)
	for i := range errs {
		s := []*tenants.Service{b.service, other}[i%2]
		wg.Go(func() { _, errs[i] = s.CompleteSetup(t.Context(), asFirst(secret("wrong-code-of-mine"))) })
	}
	wg.Wait()
	void := 0
	for _, err := range errs {
		if fault.From(err).Code == "setup_code_void" {
			void++
			continue
		}
		refused(t, "a wrong code", err, fault.Forbidden, "setup_code_wrong")
	}
	if void != 1 {
		t.Errorf("%d of ten tries said that the code is void, want the last", void)
	}
	_, err := b.service.CompleteSetup(t.Context(), asFirst(code))
	refused(t, "the right code after ten wrong ones", err, fault.Forbidden, "setup_code_void")
	next := b.prepare(t, seal.Secret{})
	if next == code {
		t.Error("a second start makes the same code")
	}
	if _, err := b.service.CompleteSetup(t.Context(), asFirst(next)); err != nil {
		t.Errorf("the code of the next start: %v", err)
	}
}

func TestOperatorsOwnCodeKeepsItsCountUntilItIsChanged(t *testing.T) {
	t.Parallel()
	b := empty(t)
	own := secret("operators-own-code")
	if got := b.prepare(t, own); got != own {
		t.Error("the operator's code is not kept")
	}
	for range 10 {
		_, _ = b.service.CompleteSetup(t.Context(), asFirst(secret("wrong-code-of-mine")))
	}
	b.prepare(t, own)
	_, err := b.service.CompleteSetup(t.Context(), asFirst(own))
	refused(t, "the same code after a restart", err, fault.Forbidden, "setup_code_void")
	b.prepare(t, secret("operators-next-code"))
	if _, err := b.service.CompleteSetup(t.Context(), asFirst(secret("operators-next-code"))); err != nil {
		t.Errorf("the changed code: %v", err)
	}
	if _, err := empty(t).service.PrepareSetup(t.Context(), secret("1-2-3-4-5-6")); err == nil {
		t.Error("a code of six characters is taken")
	}
}

func TestSetupAndBootstrapThatRaceMakeOneOwner(t *testing.T) {
	t.Parallel()
	for range 5 {
		b := empty(t)
		code := b.prepare(t, seal.Secret{})
		var wg sync.WaitGroup
		errs := make([]error, 6)
		for i := range errs {
			wg.Go(func() {
				if i%2 == 0 {
					_, _, _, errs[i] = b.service.CreateOwner(t.Context(), "carol@example.test", "Initech")
					return
				}
				_, errs[i] = b.service.CompleteSetup(t.Context(), asFirst(code))
			})
		}
		wg.Wait()
		made := 0
		for _, err := range errs {
			if err == nil {
				made++
			} else if !fault.Is(err, fault.Conflict) {
				t.Errorf("refused with %v, want a conflict", err)
			}
		}
		if n := b.count(t, "organizations", "true"); made != 1 || n != 1 {
			t.Errorf("%d first owners and %d organizations were made, want one", made, n)
		}
	}
}

func TestSetupRefusesBeforeItSpendsATry(t *testing.T) {
	t.Parallel()
	b := empty(t)
	code := b.prepare(t, seal.Secret{})
	for what, change := range map[string]func(*tenants.Setup){
		"email_invalid":        func(s *tenants.Setup) { s.Email = "Alice <alice@example.test>" },
		"organization_invalid": func(s *tenants.Setup) { s.Organization = "" },
		"password_weak":        func(s *tenants.Setup) { s.Password = secret("short") },
		"secret_key":           func(s *tenants.Setup) { s.Organization = "sb_secret_0123456789abcdef" },
	} {
		in := asFirst(code)
		change(&in)
		_, err := b.service.CompleteSetup(t.Context(), in)
		refused(t, what, err, fault.Invalid, what)
	}
	if n := b.count(t, "setup_codes", "tries = 0"); n != 1 {
		t.Error("a refused form spends a try")
	}
	_, err := b.service.CompleteSetup(t.Context(), tenants.Setup{Code: secret(""), Email: "a@example.test", Password: secret(alicesPassword), Organization: "Acme"})
	refused(t, "no code", err, fault.Forbidden, "setup_code_wrong")
}

func TestSetupCodesAreThrottledByAddress(t *testing.T) {
	t.Parallel()
	b := empty(t)
	var err error
	for range 31 { // each start brings a code with ten tries; the address has thirty
		b.prepare(t, seal.Secret{})
		_, err = b.service.CompleteSetup(t.Context(), asFirst(secret("wrong-code-of-mine")))
	}
	throttled(t, "the 31st wrong code of an address", err)
	elsewhere := asFirst(b.prepare(t, seal.Secret{}))
	elsewhere.Address = bobsAddress
	if _, err := b.service.CompleteSetup(t.Context(), elsewhere); err != nil {
		t.Errorf("the right code from another address: %v", err)
	}
}
