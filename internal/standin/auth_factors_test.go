package standin

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestAliceAndBobsFactorsStayTheirs runs both through enrolment and step-up at
// once: nobody sees, answers or takes away the other's.
func TestAliceAndBobsFactorsStayTheirs(t *testing.T) {
	t.Parallel()
	w, _ := newPeopledWorld(t, nil)
	first := map[string]tokens{alice: w.signIn(alice, "alice-password"), bob: w.signIn(bob, "bob-password")}
	factor := map[string]string{}
	for who, got := range first {
		factor[who] = w.enroll(got.access, who)
	}
	var wg sync.WaitGroup
	for _, pair := range [][2]string{{alice, bob}, {bob, alice}} {
		who, other := pair[0], pair[1]
		for round := range 6 {
			wg.Go(func() {
				bearer := first[who].access
				for _, call := range []struct{ method, path string }{
					{"POST", "/factors/" + factor[other] + "/challenge"},
					{"POST", "/factors/" + factor[other] + "/verify"},
					{"DELETE", "/factors/" + factor[other]},
				} {
					if res := w.send(call.method, call.path, bearer, map[string]string{}); res.StatusCode != http.StatusNotFound {
						t.Errorf("%s: %s %s: %d", who, call.method, call.path, res.StatusCode)
					}
				}
				raised := w.stepUp(bearer, factor[who])
				if _, claims := decodeToken(raised.access); claims["aal"] != "aal2" || claims["email"] != who {
					t.Errorf("%s round %d: %v %v", who, round, claims["email"], claims["aal"])
				}
				user := w.must("GET", "/user", raised.access, nil)
				if text := fmt.Sprint(user["factors"]); !strings.Contains(text, factor[who]) || strings.Contains(text, factor[other]) {
					t.Errorf("%s sees %s", who, text)
				}
			})
		}
	}
	wg.Wait()
	// Nobody's challenge answers for the other's factor.
	challenge := w.challenge(first[bob].access, factor[bob])
	res := w.send("POST", "/factors/"+factor[alice]+"/verify", first[alice].access,
		map[string]string{"challenge_id": challenge, "code": w.codeOf(factor[alice], 0)})
	if code := res.Header.Get("x-sb-error-code"); res.StatusCode != http.StatusUnprocessableEntity || code != "mfa_factor_not_found" {
		t.Errorf("bob's challenge at alice's factor: %d %s", res.StatusCode, code)
	}
	// Alice's step-up ended none of bob's sessions.
	w.must("GET", "/user", first[bob].access, nil)
}

func TestChallengeIsAnsweredOnce(t *testing.T) {
	t.Parallel()
	w, _ := newPeopledWorld(t, nil)
	first := w.signIn(alice, "alice-password")
	factor := w.enroll(first.access, "phone app")
	answer := map[string]string{"challenge_id": w.challenge(first.access, factor), "code": w.codeOf(factor, 0)}
	counts := map[int]int{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			res := w.send("POST", "/factors/"+factor+"/verify", first.access, answer)
			mu.Lock()
			defer mu.Unlock()
			counts[res.StatusCode]++
		})
	}
	wg.Wait()
	if counts[http.StatusOK] != 1 || counts[http.StatusUnprocessableEntity] != 5 {
		t.Fatalf("answers: %v", counts)
	}
}

// TestStepUpEndsOtherSessionsOfThePersonOnly pins which sessions a second
// factor ends.
func TestStepUpEndsOtherSessionsOfThePersonOnly(t *testing.T) {
	t.Parallel()
	w, client := newPeopledWorld(t, nil)
	first, other, raisedBefore := w.signIn(alice, "alice-password"), w.signIn(alice, "alice-password"), w.signIn(alice, "alice-password")
	atClient := w.connect(exampleFlow(client, "a"), first.access)
	bobs := w.signIn(bob, "bob-password")
	factor := w.enroll(raisedBefore.access, "phone app")
	w.auth.mu.Lock()
	w.auth.state.sessions[sessionOf(raisedBefore)].addMethod(methodTOTP, w.tick())
	w.auth.mu.Unlock()
	w.stepUp(first.access, factor)
	for name, c := range map[string]struct {
		token string
		lives bool
	}{"the session itself": {first.access, true}, "one at aal2": {raisedBefore.access, true}, "bob's": {bobs.access, true},
		"one at aal1": {other.access, false}, "a client's": {atClient.access, false}} {
		if res := w.send("GET", "/user", c.token, nil); (res.StatusCode == http.StatusOK) != c.lives {
			t.Errorf("%s: %d", name, res.StatusCode)
		}
	}
}

func sessionOf(got tokens) string {
	_, claims := decodeToken(got.access)
	id, _ := claims["session_id"].(string)
	return id
}

// TestChallengedFactorsOutliveTheirTime: only what was never challenged goes.
func TestChallengedFactorsOutliveTheirTime(t *testing.T) {
	t.Parallel()
	w, _ := newPeopledWorld(t, nil)
	bearer := w.signIn(alice, "alice-password").access
	asked := w.enroll(bearer, "asked")
	w.challenge(bearer, asked)
	w.enroll(bearer, "left")
	w.advance(unverifiedFactorLife + time.Second)
	w.enroll(bearer, "third")
	user := fmt.Sprint(w.must("GET", "/user", bearer, nil)["factors"])
	if !strings.Contains(user, asked) || strings.Contains(user, "left") || !strings.Contains(user, "third") {
		t.Fatalf("factors: %s", user)
	}
}

// TestMailIsUsedOnce lets many use a link and its code at once.
func TestMailIsUsedOnce(t *testing.T) {
	t.Parallel()
	w, _ := newPeopledWorld(t, nil)
	mail := w.mail("/otp", alice, "")
	var mu sync.Mutex
	signedIn := 0
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			in := map[string]string{"type": "email", "email": alice, "token": mail.Code}
			if i%2 == 0 {
				in = map[string]string{"type": "magiclink", "token_hash": w.tokenIn(mail)}
			}
			res := w.send("POST", "/verify", "", in)
			mu.Lock()
			defer mu.Unlock()
			if res.StatusCode == http.StatusOK {
				signedIn++
			}
		})
	}
	wg.Wait()
	if signedIn != 1 {
		t.Fatalf("%d sign-ins by one mail", signedIn)
	}
}

// TestCodesAreOfTheirAddress: bob's mail is nothing for alice, nor the other
// way round.
func TestCodesAreOfTheirAddress(t *testing.T) {
	t.Parallel()
	w, _ := newPeopledWorld(t, nil)
	hers, his := w.mail("/otp", alice, ""), w.mail("/recover", bob, "")
	for who, code := range map[string]string{alice: his.Code, bob: hers.Code} {
		if res := w.send("POST", "/verify", "", map[string]string{"type": "email", "email": who, "token": code}); hers.Code != his.Code && res.StatusCode != http.StatusForbidden {
			t.Errorf("%s with the other's code: %d", who, res.StatusCode)
		}
	}
	for who, code := range map[string]string{alice: hers.Code, bob: his.Code} {
		got := w.must("POST", "/verify", "", map[string]string{"type": "email", "email": who, "token": code})
		if user, _ := got["user"].(map[string]any); user["email"] != who {
			t.Errorf("%s is signed in as %v", who, user["email"])
		}
	}
}
