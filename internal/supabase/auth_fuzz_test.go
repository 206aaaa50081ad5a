package supabase

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/fault"
)

func seedWithRecordings(f *testing.F, add func(body []byte, status int)) {
	all, err := recordings()
	if err != nil {
		f.Fatal(err)
	}
	for _, r := range all {
		add(r.Body, r.Status)
	}
	add([]byte(`{"access_token":"a","refresh_token":"r","token_type":"Bearer","expires_in":1e300,"user":{"id":"i","factors":[null]}}`), 200)
	add([]byte(`{"code":400,"error_code":"x\n","error":"y","weak_password":{"reasons":["\u0000"]}}`), 400)
}

// FuzzAuthAnswers: whatever answers, a session is whole and fits a header, or
// there is none.
func FuzzAuthAnswers(f *testing.F) {
	seedWithRecordings(f, func(body []byte, _ int) { f.Add(body) })
	f.Fuzz(func(t *testing.T, body []byte) {
		tokens, err := readTokens(body)
		if err == nil && (!tokenText(tokens.Access.Reveal()) || !tokenText(tokens.Refresh.Reveal()) || tokens.ExpiresIn < 0 || tokens.ExpiresIn > maxLifetime) {
			t.Errorf("tokens good for %v", tokens.ExpiresIn)
		}
		if err == nil && tokens.User != nil && tokens.User.ID == "" {
			t.Error("a user without an id")
		}
		if err != nil && !tokens.Access.IsZero() {
			t.Error("tokens besides an error")
		}
		if u, err := readUser(body); err == nil && u.ID == "" {
			t.Error("a user without an id")
		}
		if cl, err := readRegistration(body, []string{"https://client.example.test/cb"}); err == nil && (cl.ID == "" || cl.Secret.IsZero()) {
			t.Error("half a client")
		}
		if challenge, err := readChallenge(body); err == nil && challenge == "" {
			t.Error("no challenge")
		}
		tokens, mail, err := readSignUp(reply{status: 200, header: http.Header{}, body: body})
		if count(err != nil, mail, !tokens.Access.IsZero()) != 1 {
			t.Errorf("sign-up: %v, mail %v, session %v", err, mail, !tokens.Access.IsZero())
		}
	})
}

func count(all ...bool) int {
	n := 0
	for _, b := range all {
		if b {
			n++
		}
	}
	return n
}

// FuzzAuthRefusals: every answer is either a refusal with a kind and a code
// that may be logged, or temporary; and never both.
func FuzzAuthRefusals(f *testing.F) {
	seedWithRecordings(f, func(body []byte, status int) {
		for call := callSignIn; call <= callFactor; call++ {
			f.Add(uint8(call), status, body)
		}
	})
	f.Fuzz(func(t *testing.T, call uint8, status int, body []byte) {
		err := refusalOf(authCall(call), reply{status: status, header: http.Header{}, body: body})
		var e *AuthRefusal
		if !errors.As(err, &e) {
			if !fault.Is(err, fault.Unavailable) {
				t.Errorf("%v", err)
			}
			return
		}
		if e.Kind == "" || e.Status < 400 || e.Status > 499 || e.RetryAfter < 0 || fault.Is(err, fault.Unavailable) {
			t.Errorf("%#v", e)
		}
		for _, word := range append(e.Reasons, e.Code) {
			if word != "" && !authWord(word) {
				t.Errorf("%q would be logged", word)
			}
		}
		if strings.ContainsAny(e.Error(), "\n\r\x00") {
			t.Errorf("%q", e.Error())
		}
	})
}
