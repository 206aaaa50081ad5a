package apikeys

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

const check = "/rest/v1/rpc/check_key"

func (w *world) asked() int { return len(w.project.RequestsTo(check)) }

func TestTheAppsFunctionSaysWhoAKeyIs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.admitted(t, w.main, "partner-acme")
	want := oauth.CallerKey{Surface: w.main.Surface, Mode: oauth.ModeAPIKey, Issuer: w.project.Issuer(), Subject: "acme", Client: "backend"}
	if c.Key != want || !c.Token.IsZero() || c.Role != "anon" || c.Claims != nil || !c.Expires.IsZero() || !slices.Equal(c.Scopes, []string{"crm.read"}) {
		t.Errorf("caller %+v", c)
	}
	if bare := w.admitted(t, w.main, "partner-bare"); bare.Key.Subject != "bare" || bare.Key.Client != "" || len(bare.Scopes) != 0 {
		t.Errorf("caller %+v", bare)
	}
	wantDenied(t, w, w.main, "partner-nobody", "key_unknown")
	wantDenied(t, w, w.main, "partner-odd", "key_unknown")
	for _, r := range w.project.RequestsTo(check) {
		if r.Bearer != "" || r.Header.Get("Authorization") != "" || r.APIKey != w.project.PublishableKey() || r.Method != http.MethodPost || r.RawQuery != "" {
			t.Errorf("asked as %+v", r)
		}
	}
	if log := w.logs.String(); strings.Contains(log, "partner-") || !strings.Contains(log, `"kind":"malformed"`) {
		t.Errorf("logged %s", log)
	}
}

func TestAnswersCountForAWhile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for range 3 {
		w.admitted(t, w.main, "partner-acme")
		wantDenied(t, w, w.main, "partner-new", "key_unknown")
	}
	if n := w.asked(); n != 2 {
		t.Errorf("asked %d times", n)
	}
	w.app(t, `insert into partner_keys values ('partner-new', '{"subject": "new"}'); delete from partner_keys where secret = 'partner-acme'`)
	w.clock.Advance(noFor - time.Second)
	wantDenied(t, w, w.main, "partner-new", "key_unknown")
	w.clock.Advance(time.Second)
	w.admitted(t, w.main, "partner-new")
	w.clock.Advance(yesFor - noFor - time.Second)
	w.admitted(t, w.main, "partner-acme")
	w.clock.Advance(time.Second)
	wantDenied(t, w, w.main, "partner-acme", "key_unknown")
	w.app(t, `insert into partner_keys values ('partner-acme', '{"subject": "acme"}')`)
	w.clock.Advance(noFor)
	w.admitted(t, w.main, "partner-acme")
}

func TestAnAnswerCountsAtMostUntilItsKeyExpires(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	set := func(at time.Time) {
		w.app(t, `update partner_keys set answer = jsonb_build_object('subject', 'bare', 'expires_at', to_timestamp(`+unix(at)+`)) where secret = 'partner-bare'`)
	}
	until := w.clock.Now().Add(5 * time.Second)
	set(until)
	if c := w.admitted(t, w.main, "partner-bare"); !c.Expires.Equal(until) {
		t.Errorf("expires %s", c.Expires)
	}
	set(until.Add(time.Minute)) // renewed by the app
	w.clock.Advance(5 * time.Second)
	w.admitted(t, w.main, "partner-bare")
	w.clock.Advance(time.Minute)
	wantDenied(t, w, w.main, "partner-bare", "key_expired")
	before := w.asked()
	wantDenied(t, w, w.main, "partner-bare", "key_expired")
	if w.asked() != before {
		t.Error("an expired key is asked about at once again")
	}
}

// What an app says at one surface says nothing at another one, and another
// function, or another project, is asked for itself.
func TestAliceAndBobDoNotShareWhatAnAppSaid(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.app(t, `create function their_key(token text) returns jsonb language sql as $$ select jsonb_build_object('subject', 'of another function', 'client_id', token) $$;`)
	if err := w.project.ReloadSchema(t.Context()); err != nil {
		t.Fatal(err)
	}
	other := *w.main
	other.Access.Keys = &surfaces.KeyCheck{Function: surfaces.Function{Relation: surfaces.Relation{Schema: "public", Name: "their_key"}, Argument: "token"}}
	moved := *w.main
	moved.Project.APIOrigin = "http://127.0.0.1:1"
	closed := *w.main
	closed.Access.Modes = []surfaces.Mode{surfaces.ModeOAuth}
	none := *w.main
	none.Access.Keys = nil
	var wg sync.WaitGroup
	for range 4 {
		for _, ep := range []*tenants.Endpoint{w.main, w.sales, w.globex} {
			wg.Go(func() {
				if c := w.admitted(t, ep, "partner-acme"); c.Key.Surface != ep.Surface || c.Key.Subject != "acme" {
					t.Errorf("caller %+v", c.Key)
				}
			})
		}
	}
	wg.Wait()
	if n := w.asked(); n != 3 {
		t.Errorf("asked %d times for 3 surfaces", n)
	}
	if c := w.admitted(t, &other, "partner-acme"); c.Key.Subject != "of another function" || c.Key.Client != "partner-acme" {
		t.Errorf("caller %+v", c.Key)
	}
	if c, err := w.admit(t, &moved, "partner-acme", visitor); !fault.Is(err, fault.Unavailable) {
		t.Errorf("of another project: %v, %v", c, err)
	}
	wantDenied(t, w, &closed, "partner-acme", "token_kind")
	wantDenied(t, w, &none, "partner-acme", "token_kind")
}

// When the app cannot say, nobody is told that the key is bad, and it is asked
// again the next time.
func TestAnAppThatCannotSayIsNoRefusal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	unsaid := func(what, kind string) {
		t.Helper()
		c, err := w.admit(t, w.main, "partner-acme", visitor)
		f := fault.From(err)
		var challenge *oauth.Challenge
		if c != nil || f.Kind != fault.Unavailable || f.RetryAfter < time.Second || errors.As(err, &challenge) {
			t.Errorf("%s: %v, %v", what, c, err)
		}
		if !strings.Contains(w.logs.String(), `"kind":"`+kind+`"`) {
			t.Errorf("%s: the log says %s", what, w.logs.String())
		}
	}
	w.project.FailNext(check, 503, "text/html", "<html>")
	unsaid("a gateway that is down", "gateway_503")
	w.project.FailNext(check, 401, "application/json", `{"message":"Invalid API key","hint":"x"}`)
	unsaid("a gateway that refuses the publishable key", "gateway_401")
	w.project.FailNext(check, 200, "text/html", "<html>")
	unsaid("a page", "gateway_200")
	w.project.AnswerNext(check, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	unsaid("a line that breaks", "unavailable")
	w.app(t, `create or replace function check_key(key text) returns jsonb language plpgsql as $$ begin raise exception 'no such key: %', key; end $$`)
	unsaid("a function that raises", "function_400")
	w.app(t, `create or replace function check_key(key text) returns jsonb language sql as $$ select '{"subject":"acme"}'::jsonb $$`)
	if c := w.admitted(t, w.main, "partner-acme"); c.Key.Subject != "acme" {
		t.Errorf("caller %+v", c.Key)
	}
	if strings.Contains(w.logs.String(), "partner-") {
		t.Errorf("logged %s", w.logs.String())
	}
}

func TestGuessesAreCountedByAddressAndSurface(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.admitted(t, w.main, "partner-bare")
	guess := func(ep *tenants.Endpoint, from string) error {
		_, err := w.service.AdmitChecked(t.Context(), ep, newSecret().Reveal()[4:], from)
		return err
	}
	n := 0
	for ; n < guesses+5; n++ {
		if err := guess(w.main, visitor); fault.Is(err, fault.RateLimited) {
			if fault.From(err).RetryAfter <= 0 {
				t.Error("not told when to come back")
			}
			break
		} else if !fault.Is(err, fault.Unauthenticated) {
			t.Fatal(err)
		}
	}
	if n != guesses-1 { // the first was a good one
		t.Errorf("%d guesses", n)
	}
	before := w.asked()
	if err := guess(w.main, visitor); !fault.Is(err, fault.RateLimited) || w.asked() != before {
		t.Errorf("one more: %v", err)
	}
	w.admitted(t, w.main, "partner-bare") // known, so nobody is asked
	for name, err := range map[string]error{
		"another address": guess(w.main, "192.0.2.8"), "another surface": guess(w.sales, visitor), "another organization": guess(w.globex, visitor),
	} {
		if !fault.Is(err, fault.Unauthenticated) {
			t.Errorf("%s: %v", name, err)
		}
	}
	w.clock.Advance(guessesIn)
	if err := guess(w.main, visitor); !fault.Is(err, fault.Unauthenticated) {
		t.Errorf("a minute later: %v", err)
	}
}

// Credentials of another kind are shown to no project.
func TestWhatIsNoKeyOfAnAppIsNeverForwarded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, key := range []string{w.project.SecretKey(), "sbp_0123456789abcdef0123456789abcdef01234567", w.project.ServiceRoleKey()} {
		wantDenied(t, w, w.main, key, "key_unknown")
	}
	for _, key := range []string{"chk_x", "chp_x", "cht_x", newSecret().Reveal()} {
		if c, err := w.service.AdmitChecked(t.Context(), w.main, key, visitor); c != nil || !fault.Is(err, fault.Unauthenticated) {
			t.Errorf("%v, %v", c, err)
		}
	}
	if n := len(w.project.RequestsTo("/rest/")); n != 0 {
		t.Errorf("asked %d times", n)
	}
}

func TestThoseWhoWaitShareOneQuestion(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	arrived, answer := make(chan struct{}), make(chan struct{})
	w.project.Intercept(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if r.URL.Path == check {
				close(arrived) // a second question panics
				<-answer
			}
			next.ServeHTTP(rw, r)
		})
	})
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			if c, err := w.service.AdmitChecked(t.Context(), w.main, "partner-acme", visitor); err != nil || c.Key.Subject != "acme" {
				t.Errorf("%v, %v", c, err)
			}
		})
	}
	<-arrived
	close(answer)
	wg.Wait()
	if n := w.asked(); n != 1 {
		t.Errorf("asked %d times", n)
	}
}
