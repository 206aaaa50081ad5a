package standin

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chumbo-dev/chumbo/internal/clocktest"
)

// post sends JSON to the project's Auth with its publishable key.
func post(t *testing.T, p *Project, path, bearer string, body any) reply {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.URL()+"/auth/v1"+path, bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Apikey", p.PublishableKey())
	req.Header.Set("Content-Type", "application/json")
	if bearer != "" {
		req.Header.Set("Authorization", "Bearer "+bearer)
	}
	return send(t, req)
}

// answer is the JSON of a call that has to succeed.
func answer(t *testing.T, r reply) map[string]any {
	t.Helper()
	var body map[string]any
	if err := json.Unmarshal([]byte(r.body), &body); err != nil || r.status >= http.StatusBadRequest {
		t.Fatalf("%d %s", r.status, r.body)
	}
	return body
}

func errorCode(r reply) string { return r.header.Get("x-sb-error-code") }

func passwordOf(email string) map[string]string {
	return map[string]string{"email": email, "password": CRMPassword}
}

func TestEnrolledPersonIsAskedForACode(t *testing.T) {
	t.Parallel()
	p := startCRM(t, nil)
	before := tokensOf(answer(t, post(t, p, "/token?grant_type=password", "", passwordOf(AliceEmail))))
	secret, err := p.EnrollTOTP(t.Context(), AliceEmail)
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Sessions(AliceEmail); got != 0 {
		t.Errorf("alice has %d sessions without her factor", got)
	}
	if r := post(t, p, "/token?grant_type=refresh_token", "", map[string]string{"refresh_token": before.refresh}); errorCode(r) != "refresh_token_not_found" {
		t.Errorf("the session from before: %d %s", r.status, r.body)
	}
	signedIn := answer(t, post(t, p, "/token?grant_type=password", "", passwordOf(AliceEmail)))
	user, _ := signedIn["user"].(map[string]any)
	factors, _ := user["factors"].([]any)
	if len(factors) != 1 {
		t.Fatalf("factors: %v", user["factors"])
	}
	factor, _ := factors[0].(map[string]any)
	id, _ := factor["id"].(string)
	bearer := tokensOf(signedIn).access
	asked := answer(t, post(t, p, "/factors/"+id+"/challenge", bearer, map[string]string{}))
	raised := tokensOf(answer(t, post(t, p, "/factors/"+id+"/verify", bearer,
		map[string]any{"challenge_id": asked["id"], "code": TOTPCode(secret, time.Now())})))
	if _, claims := decodeToken(raised.access); claims["aal"] != "aal2" {
		t.Errorf("after the code: %v", claims["aal"])
	}
	bobs := answer(t, post(t, p, "/token?grant_type=password", "", passwordOf(BobEmail)))
	if user, _ := bobs["user"].(map[string]any); user["factors"] != nil {
		t.Errorf("bob has %v", user["factors"])
	}
	if _, err := p.EnrollTOTP(t.Context(), "nobody@example.test"); err == nil {
		t.Error("a factor for nobody")
	}
}

func TestMailsReachTheirAddressOnly(t *testing.T) {
	t.Parallel()
	var to string
	var told Mail
	p := startCRM(t, func(o *Options) { o.Mailed = func(address string, m Mail) { to, told = address, m } })
	answer(t, post(t, p, "/otp", "", map[string]any{"email": AliceEmail, "create_user": false}))
	mails := p.Mails(AliceEmail)
	if len(mails) != 1 || len(mails[0].Code) != 6 || !strings.HasPrefix(mails[0].Link, p.Issuer()+"/verify?token=") {
		t.Fatalf("mails: %+v", mails)
	}
	if to != AliceEmail || told != mails[0] {
		t.Errorf("told of %+v to %s", told, to)
	}
	if others := p.Mails(BobEmail); len(others) != 0 {
		t.Fatalf("bob got %+v", others)
	}
	got := answer(t, post(t, p, "/verify", "", map[string]string{"type": "email", "email": AliceEmail, "token": mails[0].Code}))
	if user, _ := got["user"].(map[string]any); user["id"] != AliceID {
		t.Errorf("signed in as %v", user["id"])
	}

	plain := startCRM(t, func(o *Options) { o.NoMailCodes = true })
	answer(t, post(t, plain, "/otp", "", map[string]any{"email": AliceEmail, "create_user": false}))
	if mails := plain.Mails(AliceEmail); len(mails) != 1 || mails[0].Code != "" || mails[0].Link == "" {
		t.Errorf("a mail of the default template: %+v", mails)
	}
}

func TestProjectSwitchesSignInOff(t *testing.T) {
	t.Parallel()
	post := func(p *Project, path string, body any) string { return errorCode(post(t, p, path, "", body)) }
	fresh := map[string]any{"email": "carol@example.test", "password": "carol-password"}
	for name, c := range map[string]struct {
		change func(*Options)
		path   string
		body   any
		code   string
	}{
		"email":      {func(o *Options) { o.EmailOff = true }, "/token?grant_type=password", passwordOf(AliceEmail), "email_provider_disabled"},
		"magic link": {func(o *Options) { o.MagicLinkOff = true }, "/otp", map[string]any{"email": AliceEmail}, "email_provider_disabled"},
		"sign-up":    {func(o *Options) { o.SignupOff = true }, "/signup", fresh, "signup_disabled"},
		"anonymous":  {nil, "/signup", map[string]any{}, "anonymous_provider_disabled"},
	} {
		if got := post(startCRM(t, c.change), c.path, c.body); got != c.code {
			t.Errorf("%s: %q, want %q", name, got, c.code)
		}
	}
	p := startCRM(t, func(o *Options) { o.ConfirmationOn, o.AnonymousOn, o.TOTPVerifyOff = true, true, true })
	if got := post(p, "/signup", fresh); got != "" || len(p.Mails("carol@example.test")) != 1 {
		t.Errorf("sign-up with confirmation: %q, %d mails", got, len(p.Mails("carol@example.test")))
	}
	if got := post(p, "/token?grant_type=password", fresh); got != "email_not_confirmed" {
		t.Errorf("sign-in before confirmation: %q", got)
	}
	if got := post(p, "/signup", map[string]any{}); got != "" {
		t.Errorf("anonymous sign-in: %q", got)
	}
}

func TestCaptchaTokensAreGoodOnce(t *testing.T) {
	t.Parallel()
	p := startCRM(t, func(o *Options) { o.Captcha = func(token string) bool { return strings.HasPrefix(token, "solved") } })
	signIn := func(token string) reply {
		return post(t, p, "/token?grant_type=password", "", map[string]any{"email": AliceEmail, "password": CRMPassword,
			"gotrue_meta_security": map[string]string{"captcha_token": token}})
	}
	for _, c := range []struct {
		token string
		want  int
	}{{"", 400}, {"guessed", 400}, {"solved-1", 200}, {"solved-1", 400}, {"solved-2", 200}} {
		if r := signIn(c.token); r.status != c.want || (c.want == 400 && errorCode(r) != "captcha_failed") {
			t.Errorf("%q: %d %s", c.token, r.status, r.body)
		}
	}
}

// TestRateLimitsAreOfTheConnection: everybody on this machine shares one.
func TestRateLimitsAreOfTheConnection(t *testing.T) {
	t.Parallel()
	clock := clocktest.New(time.Now())
	p := startCRM(t, func(o *Options) { o.RateLimits, o.Now = true, clock.Now })
	wrong := map[string]string{"email": AliceEmail, "password": "wrong"}
	for range bucketBurst {
		if r := post(t, p, "/token?grant_type=password", "", wrong); errorCode(r) != "invalid_credentials" {
			t.Fatalf("%d %s", r.status, r.body)
		}
	}
	if r := post(t, p, "/token?grant_type=password", "", wrong); errorCode(r) != "over_request_rate_limit" {
		t.Fatalf("after the burst: %d %s", r.status, r.body)
	}
	clock.Advance(2 * time.Second)
	if r := post(t, p, "/token?grant_type=password", "", wrong); errorCode(r) != "invalid_credentials" {
		t.Fatalf("once the bucket was refilled: %d %s", r.status, r.body)
	}
}

// TestPeopleAreSignedOutAndClientsDeleted looks at what the project's owner
// and its app do behind a client's back.
func TestPeopleAreSignedOutAndClientsDeleted(t *testing.T) {
	t.Parallel()
	p := startCRM(t, nil)
	answered := connectClient(t, p, url.Values{"scope": {"email"}})
	_, claims := decodeToken(tokensOf(answered).access)
	clientID, _ := claims["client_id"].(string)
	refresh := func(token string) reply {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.URL()+"/auth/v1/oauth/token", strings.NewReader(
			url.Values{"grant_type": {"refresh_token"}, "refresh_token": {token}, "client_id": {clientID}}.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		return send(t, req)
	}
	bobs := tokensOf(answer(t, post(t, p, "/token?grant_type=password", "", passwordOf(BobEmail))))
	next := tokensOf(answer(t, refresh(tokensOf(answered).refresh)))
	answer(t, post(t, p, "/token?grant_type=refresh_token", "", map[string]string{"refresh_token": bobs.refresh}))
	refresh("nonsense")
	post(t, p, "/token?grant_type=refresh_token", "", map[string]string{"refresh_token": "nonsense"})
	if got := p.Refreshes(); got != 4 {
		t.Errorf("%d refreshes, want 4", got)
	}
	if alices, bobs := p.Sessions(AliceEmail), p.Sessions(BobEmail); alices != 2 || bobs != 1 {
		t.Errorf("alice has %d sessions, bob %d", alices, bobs) // hers: the app's and the client's
	}
	if err := p.EndSessions(t.Context(), AliceEmail); err != nil {
		t.Fatal(err)
	}
	if alices, bobs := p.Sessions(AliceEmail), p.Sessions(BobEmail); alices != 0 || bobs != 1 {
		t.Errorf("after the sign-out alice has %d sessions, bob %d", alices, bobs)
	}
	if r := refresh(next.refresh); errorCode(r) != "refresh_token_not_found" {
		t.Errorf("refresh after the sign-out: %d %s", r.status, r.body)
	}
	if err := p.DeleteClient(t.Context(), clientID); err != nil {
		t.Fatal(err)
	}
	if r := refresh(next.refresh); errorCode(r) != "invalid_credentials" {
		t.Errorf("refresh of a deleted client: %d %s", r.status, r.body)
	}
	if p.DeleteClient(t.Context(), clientID) == nil || p.EndSessions(t.Context(), "nobody@example.test") == nil || p.Sessions("nobody@example.test") != 0 {
		t.Error("something was there that is not")
	}
}
