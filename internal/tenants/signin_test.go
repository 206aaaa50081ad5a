package tenants_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

func TestSignInTellsNothingAboutWhoIsKnown(t *testing.T) {
	t.Parallel()
	b := signedIn(t)
	var texts []string
	for _, in := range []tenants.SignIn{
		{Email: "alice@example.test", Password: secret("not the password"), Address: alicesAddress},
		{Email: "nobody@example.test", Password: secret("not the password"), Address: alicesAddress},
		{Email: "no email at all", Password: secret("not the password"), Address: alicesAddress},
		{Email: "nul\x00@example.test", Password: secret("not the password"), Address: alicesAddress},
		{Email: "\xff\xfe", Password: secret("\xff"), Address: alicesAddress},
		{Email: strings.Repeat("a", 300) + "@example.test", Password: secret(""), Address: alicesAddress},
		{Email: "alice@example.test", Password: secret(strings.Repeat("x", 1<<20)), Address: alicesAddress},
	} {
		_, err := b.service.SignIn(t.Context(), in)
		refused(t, in.Email, err, fault.Unauthenticated, "sign_in_refused")
		texts = append(texts, fmt.Sprint(err))
	}
	for _, text := range texts {
		if text != texts[0] {
			t.Errorf("two answers: %q and %q", text, texts[0])
		}
	}
}

func TestBuilderWithoutPasswordCannotSignIn(t *testing.T) {
	t.Parallel()
	b := setup(t, tenants.Hosts{})
	for _, password := range []string{"", alicesPassword, "\x00"} {
		in := asAlice()
		in.Password = secret(password)
		_, err := b.service.SignIn(t.Context(), in)
		refused(t, "no password is set", err, fault.Unauthenticated, "sign_in_refused")
	}
}

func TestEmailIsForgivingAndPasswordIsNot(t *testing.T) {
	t.Parallel()
	b := signedIn(t)
	in := asAlice()
	in.Email = "  ALICE@Example.Test "
	b.signIn(t, in)
	in.Password = secret(strings.ToUpper(alicesPassword))
	_, err := b.service.SignIn(t.Context(), in)
	refused(t, "the password in capitals", err, fault.Unauthenticated, "sign_in_refused")
	// One character, written in two ways by two keyboards.
	if err := b.service.SetPassword(t.Context(), "alice@example.test", secret("caf\u00e9 caf\u00e9 caf\u00e9")); err != nil {
		t.Fatal(err)
	}
	in.Password = secret("cafe\u0301 cafe\u0301 cafe\u0301")
	b.signIn(t, in)
}

func TestSignInsAndTheirRefusalsAreInEveryOrganizationsAuditLog(t *testing.T) {
	t.Parallel()
	b := signedIn(t)
	if _, err := b.service.NewOrganization(t.Context(), b.signIn(t, asAlice()), "Zeta"); err != nil {
		t.Fatal(err)
	}
	wrong := asAlice()
	wrong.Password, wrong.Address = secret("not the password"), "203.0.113.9"
	_, _ = b.service.SignIn(t.Context(), wrong)
	wrong.Email = "nobody@example.test"
	_, _ = b.service.SignIn(t.Context(), wrong)
	good := asAlice()
	good.Address = "203.0.113.10"
	b.signIn(t, good)
	target := "target = '" + b.alice.Builder.ID.String() + "' and action = 'session.sign_in'"
	if n := b.count(t, "audit_events", target+" and outcome = 'refused' and address = '203.0.113.9' and actor = 'system'"); n != 2 {
		t.Errorf("%d audit rows of the refusal, want one in each of Alice's two organizations", n)
	}
	if n := b.count(t, "audit_events", target+" and outcome = 'ok' and address = '203.0.113.10' and actor = target"); n != 2 {
		t.Errorf("%d audit rows of the sign-in, want two", n)
	}
	if n := b.count(t, "audit_events", "address like '203.%' and organization_id = '"+b.bob.Organization.ID.UUID().String()+"'"); n != 0 {
		t.Errorf("%d of them are in Bob's organization", n)
	}
	if n := b.count(t, "audit_events", "detail::text ~ 'password|nobody' or target ~ 'nobody'"); n != 0 {
		t.Error("the audit log holds what somebody typed")
	}
}

func TestSignInIsThrottledByEmail(t *testing.T) {
	t.Parallel()
	b := signedIn(t)
	one, two := b.replica(t), b.replica(t)
	wrong := asAlice()
	wrong.Password = secret("not the password")
	for i := range 10 {
		s := []*tenants.Service{one, two}[i%2] // replicas count together
		wrong.Address = fmt.Sprintf("203.0.113.%d", i)
		wrong.Email = []string{"alice@example.test", "ALICE@example.test "}[i/2%2]
		_, err := s.SignIn(t.Context(), wrong)
		refused(t, "a wrong password", err, fault.Unauthenticated, "sign_in_refused")
	}
	_, err := two.SignIn(t.Context(), asAlice())
	throttled(t, "the right password after ten wrong ones", err)
	if _, err := one.SignIn(t.Context(), asBob()); err != nil {
		t.Errorf("bob meanwhile: %v", err)
	}
	b.clock.Advance(15*time.Minute - time.Second)
	_, err = one.SignIn(t.Context(), asAlice())
	throttled(t, "a second before the end", err)
	b.clock.Advance(time.Second)
	if _, err := one.SignIn(t.Context(), asAlice()); err != nil {
		t.Errorf("after fifteen minutes: %v", err)
	}
}

// TestUnknownEmailIsThrottledLikeAKnownOne: else the eleventh try would tell.
func TestUnknownEmailIsThrottledLikeAKnownOne(t *testing.T) {
	t.Parallel()
	b := signedIn(t)
	in := tenants.SignIn{Password: secret("not the password"), Address: alicesAddress}
	for i := range 10 {
		in.Email = []string{"nobody@example.test", " Nobody@Example.test"}[i%2]
		_, err := b.service.SignIn(t.Context(), in)
		refused(t, "a try", err, fault.Unauthenticated, "sign_in_refused")
	}
	_, err := b.service.SignIn(t.Context(), in)
	throttled(t, "the eleventh try", err)
}

func TestRightPasswordClearsTheCountOfTheEmail(t *testing.T) {
	t.Parallel()
	b := signedIn(t)
	wrong := asAlice()
	wrong.Password = secret("not the password")
	for i := range 27 { // nine wrong, one right, three times; the address has thirty wrong ones
		_, err := b.service.SignIn(t.Context(), wrong)
		refused(t, "a wrong password", err, fault.Unauthenticated, "sign_in_refused")
		if i%9 == 8 {
			b.signIn(t, asAlice())
		}
	}
}

func TestSignInIsThrottledByAddress(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		address func(i int) string
		same    string
		other   string
	}{
		"IPv4":            {func(int) string { return "203.0.113.7" }, "::ffff:203.0.113.7", "203.0.113.8"},
		"an IPv6 network": {func(i int) string { return fmt.Sprintf("2001:db8:1:2:%x::1", i+1) }, "2001:db8:1:2:ffff::%eth0", "2001:db8:1:3::1"},
		"no address":      {func(int) string { return "" }, "unknown", "203.0.113.8"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			b := signedIn(t)
			for i := range 30 {
				_, err := b.service.SignIn(t.Context(), tenants.SignIn{Email: fmt.Sprintf("n%d@example.test", i), Password: secret("not the password"), Address: c.address(i)})
				refused(t, "a wrong password", err, fault.Unauthenticated, "sign_in_refused")
			}
			in := asAlice()
			in.Address = c.same
			for range 12 {
				_, err := b.service.SignIn(t.Context(), in)
				throttled(t, "the right password from the address", err)
			}
			// What a blocked address tries does not lock the email.
			in.Address = c.other
			b.signIn(t, in)
		})
	}
}

func TestTriesThatComeAtOnceAreAllCounted(t *testing.T) {
	t.Parallel()
	b := signedIn(t)
	wrong := asAlice()
	wrong.Password = secret("not the password")
	var wg sync.WaitGroup
	errs := make([]error, 25)
	for i := range errs {
		wg.Go(func() { _, errs[i] = b.service.SignIn(t.Context(), wrong) })
	}
	wg.Wait()
	compared := 0
	for _, err := range errs {
		if fault.Is(err, fault.Unauthenticated) {
			compared++
			continue
		}
		throttled(t, "over the bound", err)
	}
	if compared != 10 {
		t.Errorf("%d passwords were compared, want ten", compared)
	}
}

func TestThrottlesHoldNoEmailAndNoAddress(t *testing.T) {
	t.Parallel()
	b := signedIn(t)
	_, _ = b.service.SignIn(t.Context(), tenants.SignIn{Email: "nobody@example.test", Password: secret("not the password"), Address: alicesAddress})
	if n := b.count(t, "throttles", "octet_length(key) = 32"); n != 2 {
		t.Fatalf("%d throttles, want one of the email and one of the address", n)
	}
	if n := b.count(t, "throttles", "key in (sha256('nobody@example.test'), sha256('"+alicesAddress+"'))"); n != 0 {
		t.Error("a throttle's key can be guessed without the master key")
	}
	b.clock.Advance(25 * time.Hour)
	b.signIn(t, asBob())
	if n := b.count(t, "throttles", "window_start < now() + interval '1 hour'"); n != 0 {
		t.Errorf("%d old throttles are left", n)
	}
}

func TestChangedPasswordEndsTheOtherSessions(t *testing.T) {
	t.Parallel()
	b := signedIn(t)
	mine, other, bobs := b.signIn(t, asAlice()), b.signIn(t, asAlice()), b.signIn(t, asBob())
	next := secret("five words in a long row")
	if err := b.service.ChangePassword(t.Context(), mine, secret(alicesPassword), next); err != nil {
		t.Fatal(err)
	}
	b.session(t, mine.Cookie)
	b.session(t, bobs.Cookie)
	gone(t, b, "the other session", other.Cookie, "session_ended")
	_, err := b.service.SignIn(t.Context(), asAlice())
	refused(t, "the old password", err, fault.Unauthenticated, "sign_in_refused")
	in := asAlice()
	in.Password = next
	b.signIn(t, in)
	if n := b.count(t, "audit_events", "action = 'password.change' and outcome = 'ok' and address = '"+alicesAddress+"'"); n != 1 {
		t.Errorf("%d audit rows of the change, want 1", n)
	}
}

func TestPasswordIsNotChangedWithoutTheCurrentOne(t *testing.T) {
	t.Parallel()
	b := signedIn(t)
	mine := b.signIn(t, asAlice())
	next := secret("five words in a long row")
	err := b.service.ChangePassword(t.Context(), mine, secret("not the password"), next)
	refused(t, "a wrong current one", err, fault.Forbidden, "password_wrong")
	err = b.service.ChangePassword(t.Context(), mine, secret(alicesPassword), secret("short"))
	refused(t, "a weak one", err, fault.Invalid, "password_weak")
	for range 9 {
		err = b.service.ChangePassword(t.Context(), mine, secret("not the password"), next)
		refused(t, "a wrong current one", err, fault.Forbidden, "password_wrong")
	}
	throttled(t, "guessing from an open session", b.service.ChangePassword(t.Context(), mine, secret(alicesPassword), next))
	b.clock.Advance(15 * time.Minute)
	b.signIn(t, asAlice())
	if n := b.count(t, "audit_events", "action = 'password.change' and outcome = 'refused'"); n != 12 {
		t.Errorf("%d audit rows of the refusals, want 12", n)
	}
}

func TestPasswordsThatWouldBeGuessedAreRefused(t *testing.T) {
	t.Parallel()
	b := setup(t, tenants.Hosts{})
	for password, code := range map[string]string{
		"":                                 "password_weak",
		"nine char":                        "password_weak",
		"ALICE@example.test":               "password_weak",
		"Password123":                      "password_weak",
		"1234567890":                       "password_weak",
		"aaaaaaaaaaaa":                     "password_weak",
		"éééééééééééé":                     "password_weak",
		strings.Repeat("ab", 129):          "password_weak",
		"broken \xff UTF-8":                "password_weak",
		"sb_secret_0123456789abcdef":       "secret_key",
		"my key is sb_secret_0123456789ab": "secret_key",
	} {
		err := b.service.SetPassword(t.Context(), "alice@example.test", secret(password))
		refused(t, fmt.Sprintf("%q", password), err, fault.Invalid, code)
		if password != "" && err != nil && strings.Contains(err.Error(), password) {
			t.Errorf("the refusal quotes %q", password)
		}
	}
	for _, password := range []string{"ten chars!", strings.Repeat("語", 255) + "x", "tab\tand\nline break", "😀🐎🔋📎 and more"} {
		if err := b.service.SetPassword(t.Context(), "alice@example.test", secret(password)); err != nil {
			t.Errorf("%q: %v", password, err)
		}
		in := asAlice()
		in.Password = secret(password)
		b.signIn(t, in)
	}
	err := b.service.SetPassword(t.Context(), "nobody@example.test", secret(alicesPassword))
	refused(t, "nobody", err, fault.NotFound, "builder_unknown")
}

func TestPasswordsAreStoredAsArgon2id(t *testing.T) {
	t.Parallel()
	b := setup(t, tenants.Hosts{})
	dear, err := tenants.NewService(tenants.ServiceConfig{Store: b.Store, Hosts: tenants.Hosts{PublicURL: publicURL}, Now: b.clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	if err := dear.SetPassword(t.Context(), "alice@example.test", secret(alicesPassword)); err != nil {
		t.Fatal(err)
	}
	if n := b.count(t, "builders", "password_hash like '$argon2id$v=19$m=65536,t=3,p=4$%' and password_hash !~ 'four'"); n != 1 {
		t.Error("the password is not stored as argon2id with 64 MiB and 3 passes")
	}
	if _, err := dear.SignIn(t.Context(), asAlice()); err != nil {
		t.Errorf("sign-in at the full cost: %v", err)
	}
	// Nobody's takes the same way through the same work.
	_, err = dear.SignIn(t.Context(), tenants.SignIn{Email: "nobody@example.test", Password: secret(alicesPassword)})
	refused(t, "nobody", err, fault.Unauthenticated, "sign_in_refused")
}

// TestSignInThatBeganWithTheOldPasswordIsRefused: it compares, then waits for
// the change of password that is under way.
func TestSignInThatBeganWithTheOldPasswordIsRefused(t *testing.T) {
	t.Parallel()
	b := signedIn(t)
	release := b.hold(t, `update chumbo.builders set password_hash = (select password_hash from chumbo.builders where email = 'bob@example.test')
		where email = 'alice@example.test'`)
	done := make(chan error, 1)
	go func() { _, err := b.service.SignIn(t.Context(), asAlice()); done <- err }()
	b.waiting(t, 1)
	release()
	refused(t, "the old password", <-done, fault.Unauthenticated, "sign_in_refused")
	if n := b.count(t, "builder_sessions", "true"); n != 0 {
		t.Errorf("%d sessions began with the old password", n)
	}
}
