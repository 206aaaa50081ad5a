package bridge

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/standin"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

func TestAWindowIsCountedOnAllServersTogether(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	other := w.replica(t)
	var group sync.WaitGroup
	var counted atomic.Int32
	for i := range 40 {
		group.Add(1)
		go func() {
			defer group.Done()
			s := w.service
			if i%2 == 1 {
				s = other.service
			}
			_, ok, err := s.limits.take(t.Context(), "test", "alice", 10, time.Minute)
			if err != nil {
				t.Error(err)
			}
			if ok {
				counted.Add(1)
			}
		}()
	}
	group.Wait()
	if counted.Load() != 10 {
		t.Errorf("%d tries counted", counted.Load())
	}
	take := func(name, key string) (time.Duration, bool) {
		retry, ok, err := w.service.limits.take(t.Context(), name, key, 10, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		return retry, ok
	}
	w.clock.Advance(20 * time.Second)
	if retry, ok := take("test", "alice"); ok || retry != 40*time.Second {
		t.Errorf("try again in %s, %v", retry, ok)
	}
	if _, ok := take("test", "bob"); !ok {
		t.Error("Bob is counted with Alice")
	}
	if _, ok := take("another", "alice"); !ok {
		t.Error("two bounds share a window")
	}
	w.clock.Advance(40 * time.Second)
	if _, ok := take("test", "alice"); !ok {
		t.Error("the window does not end")
	}
	var stored string
	w.query(t, &stored, "select string_agg(l::text, ' ') from bridge_limits l")
	if strings.Contains(stored, "alice") {
		t.Error("who tried is stored")
	}
}

func TestARefusedTryCountsNowhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	full, beside := limit{"full", "k", 1, time.Minute}, limit{"beside", "k", 2, time.Minute}
	if err := w.service.limits.allow(t.Context(), full); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		wantFault(t, w.service.limits.allow(t.Context(), beside, full), fault.RateLimited, "too_many_tries")
	}
	for range 2 {
		if err := w.service.limits.allow(t.Context(), beside); err != nil {
			t.Fatal("a refused try was counted")
		}
	}
	wantFault(t, w.service.limits.allow(t.Context(), beside), fault.RateLimited, "too_many_tries")
	if err := w.service.limits.forget(t.Context(), beside); err != nil {
		t.Fatal(err)
	}
	if err := w.service.limits.allow(t.Context(), beside); err != nil {
		t.Error(err)
	}
}

func TestGuessingAtOnePersonEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hosted())
	in, _ := w.begun(t, w.ep)
	there := w.onOwnHost(t, in)
	guess := func(email string, password seal.Secret, from string) error {
		_, err := w.service.Password(t.Context(), there, email, password, "", Visitor{Address: from})
		return err
	}
	wrong := seal.NewSecret("wrong password")
	addresses := []string{"192.0.2.1", "192.0.2.2", "2001:db8::1"}
	for i := range 10 {
		wantFault(t, guess("alice@example.test", wrong, addresses[i%3]), fault.Invalid, "wrong_credentials")
	}
	wantFault(t, guess("ALICE@example.test", crmPassword, "192.0.2.9"), fault.RateLimited, "too_many_tries")
	if err := guess("bob@example.test", crmPassword, "192.0.2.1"); err != nil {
		t.Errorf("Bob: %v", err)
	}
	w.clock.Advance(15 * time.Minute)
	in, _ = w.begun(t, w.ep)
	there = w.onOwnHost(t, in)
	for range 12 { // right ones are taken back
		if err := guess("alice@example.test", crmPassword, addresses[0]); err != nil {
			t.Fatal(err)
		}
	}
	for range 8 {
		_ = guess("carol@example.test", wrong, addresses[0])
	}
	wantFault(t, guess("dave@example.test", wrong, addresses[0]), fault.RateLimited, "too_many_tries")
}

// The people of one project share what its Auth allows us; another project's
// do not.
func TestThrottlesAreOfOneProject(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	globex := w.member(t, "owner@globex.example.test", "Globex")
	other := w.surface(t, globex, w.standin(t, nil), "globex", "main", nil)
	for range mailCalls(w.ep).n {
		if err := w.service.limits.allow(t.Context(), mailCalls(w.ep)); err != nil {
			t.Fatal(err)
		}
	}
	wantFault(t, w.service.limits.allow(t.Context(), mailCalls(w.ep)), fault.RateLimited, "too_many_tries")
	if err := w.service.limits.allow(t.Context(), mailCalls(other)); err != nil {
		t.Errorf("another project: %v", err)
	}
}

// However many people of one project come at once, from wherever: its Auth,
// which takes 30 calls of a kind at once from our address, refuses none of
// ours. Whoever waits is told for how long.
func TestWeStopBeforeTheProjectDoes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		bound limit
		path  string
		try   func(w *world, in, there *SignIn, email string, v Visitor) error
	}{
		"passwords": {tokenCalls(&tenants.Endpoint{}), "/auth/v1/token", func(w *world, _, there *SignIn, email string, v Visitor) error {
			_, err := w.service.Password(context.Background(), there, email, seal.NewSecret("a wrong password"), "", v)
			return err
		}},
		"mails": {mailCalls(&tenants.Endpoint{}), "/auth/v1/otp", func(w *world, in, _ *SignIn, email string, v Visitor) error {
			_, err := w.service.SendCode(context.Background(), in, email, "", v)
			return err
		}},
		"codes": {codeCalls(&tenants.Endpoint{}), "/auth/v1/verify", func(w *world, in, _ *SignIn, email string, v Visitor) error {
			in.Email = email
			_, err := w.service.VerifyEmailCode(context.Background(), in, "000000", v)
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, hosted(func(o *standin.Options) { o.RateLimits = true }))
			for round := range 2 {
				in, _ := w.begun(t, w.ep)
				there := w.onOwnHost(t, in)
				w.project.ForgetRequests()
				waits := 0
				for i := range 40 {
					err := c.try(w, in, there, fmt.Sprintf("person%d-%d@example.test", round, i), Visitor{Address: fmt.Sprintf("192.0.2.%d", i)})
					f := fault.From(err)
					if !fault.Is(err, fault.RateLimited) {
						continue
					}
					if waits++; f.Cause != nil || f.RetryAfter <= 0 || f.RetryAfter > c.bound.window {
						t.Fatalf("try %d: %v, in %s", i, f.Cause, f.RetryAfter)
					}
				}
				if n := len(w.project.RequestsTo(c.path)); n != c.bound.n || waits != 40-n {
					t.Errorf("%d calls and %d who wait, want %d calls", n, waits, c.bound.n)
				}
				w.clock.Advance(c.bound.window)
			}
		})
	}
}

// A code is tried at each authenticator app of its person, and each of these
// tries counts.
func TestEveryAuthenticatorTriedIsCounted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hosted(func(o *standin.Options) { o.RateLimits = true }))
	for range 3 {
		if _, err := w.project.EnrollTOTP(t.Context(), alice); err != nil {
			t.Fatal(err)
		}
	}
	in, _ := w.begun(t, w.ep)
	there := w.onOwnHost(t, in)
	if out, err := w.service.Password(t.Context(), there, alice, crmPassword, "", visitor); err != nil || !out.Factor {
		t.Fatalf("%+v, %v", out, err)
	}
	w.project.ForgetRequests()
	for range 5 {
		_, err := w.service.VerifyFactor(t.Context(), there, "000000", visitor)
		wantFault(t, err, fault.Invalid, "factor_wrong")
	}
	_, err := w.service.VerifyFactor(t.Context(), there, "000000", visitor)
	wantFault(t, err, fault.RateLimited, "too_many_tries")
	if n := len(w.project.RequestsTo("/auth/v1/factors/")); fault.From(err).Cause != nil || n != 2*factorCalls(w.ep).n {
		t.Errorf("%d calls, then %v", n, err)
	}
	if !there.Factor {
		t.Error("the sign-in is lost")
	}
}

func TestAProjectsOwnRefusalSaysWhen(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hosted())
	in, _ := w.begun(t, w.ep)
	w.project.FailNext("/auth/v1/token", 429, "application/json", `{"code":429,"error_code":"over_request_rate_limit","msg":"Request rate limit reached"}`)
	_, err := w.service.Password(t.Context(), w.onOwnHost(t, in), "alice@example.test", seal.NewSecret(standin.CRMPassword), "", visitor)
	wantFault(t, err, fault.RateLimited, "too_many_tries")
	if f := fault.From(err); f.RetryAfter != time.Minute || f.Message != "Too many tries. Try again in 60 s." {
		t.Errorf("told %q, %s", f.Message, f.RetryAfter)
	}
	w.project.FailNext("/auth/v1/otp", 429, "application/json", `{"code":429,"error_code":"over_email_send_rate_limit","msg":"For security purposes, you can only request this after 17 seconds."}`)
	_, err = w.service.SendCode(t.Context(), in, "alice@example.test", "", visitor)
	if f := fault.From(err); f.Kind != fault.RateLimited || f.RetryAfter != 17*time.Second {
		t.Errorf("told %q, %s", f.Message, f.RetryAfter)
	}
}
