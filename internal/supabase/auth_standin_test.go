package supabase_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chumbo-dev/chumbo/internal/clocktest"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/standin"
	"github.com/chumbo-dev/chumbo/internal/supabase"
)

const (
	alice = "alice@example.test"
	bob   = "bob@example.test"
	carol = "carol@example.test" // not confirmed

	password = "correct-horse-1"
	callback = "https://gateway.example.test/connect/callback"
)

// signIns is a project with people, as a sign-in page meets it.
type signIns struct {
	*standin.Project
	*supabase.Client
	at supabase.Project
}

func startSignIns(t *testing.T, o standin.Options) signIns {
	t.Helper()
	o.Users = []standin.User{{Email: alice, Password: password}, {Email: bob, Password: password}, {Email: carol, Password: password, Unconfirmed: true}}
	o.RedirectURLs = append(o.RedirectURLs, callback+"**")
	p, client := start(t, o)
	return signIns{p, client, supabase.Project{ID: id.New[id.ProjectKind](), APIOrigin: p.URL(), PublishableKey: p.PublishableKey()}}
}

func (s signIns) signIn(t *testing.T, email string) supabase.Tokens {
	t.Helper()
	tokens, err := s.SignInPassword(t.Context(), s.at, email, seal.NewSecret(password), "")
	if err != nil {
		t.Fatal(err)
	}
	return tokens
}

// refused checks the kind of a refusal.
func refused(t *testing.T, what string, err error, kind supabase.RefusalKind) {
	t.Helper()
	if !supabase.IsRefusal(err, kind) {
		t.Errorf("%s: %v, want %s", what, err, kind)
	}
}

// refusal is a refused one, to be looked at.
func refusal(t *testing.T, what string, err error, kind supabase.RefusalKind) *supabase.AuthRefusal {
	t.Helper()
	refused(t, what, err, kind)
	e := &supabase.AuthRefusal{}
	errors.As(err, &e)
	return e
}

// browser does not follow: where it is sent is what is looked at.
var browser = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// browse gets a page and returns where it sends the browser.
func (s signIns) browse(t *testing.T, address string) *url.URL {
	t.Helper()
	res := s.send(t, http.MethodGet, address, "", "")
	to, err := res.Location()
	if err != nil {
		t.Fatalf("%s: %d, %v", address, res.StatusCode, err)
	}
	return to
}

func (s signIns) send(t *testing.T, method, address, bearer, body string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Apikey", s.PublishableKey())
	req.Header.Set("Content-Type", "application/json")
	if bearer != "" {
		req.Header.Set("Authorization", "Bearer "+bearer)
	}
	res, err := browser.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	read, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	res.Body = io.NopCloser(bytes.NewReader(read))
	return res
}

// approve takes email through an authorization of cl, as the project's consent
// page does, and returns the code.
func (s signIns) approve(t *testing.T, cl supabase.OAuthClient, verifier seal.Secret, email string) string {
	t.Helper()
	page := s.browse(t, supabase.AuthorizeURL(s.Issuer(), supabase.AuthorizeRequest{
		ClientID: cl.ID, RedirectURI: callback, State: "state-1", Challenge: supabase.Challenge(verifier)}))
	authorization := s.Issuer() + "/oauth/authorizations/" + page.Query().Get("authorization_id")
	access := s.signIn(t, email).Access.Reveal()
	var done struct {
		URL string `json:"redirect_url"`
	}
	first := s.send(t, http.MethodGet, authorization, access, "")
	if err := json.NewDecoder(first.Body).Decode(&done); err != nil {
		t.Fatal(err)
	}
	if done.URL == "" { // not consented before
		second := s.send(t, http.MethodPost, authorization+"/consent", access, `{"action":"approve"}`)
		if err := json.NewDecoder(second.Body).Decode(&done); err != nil {
			t.Fatal(err)
		}
	}
	back, err := url.Parse(done.URL)
	if err != nil || !strings.HasPrefix(done.URL, callback) || back.Query().Get("state") != "state-1" {
		t.Fatalf("back at %q", done.URL)
	}
	return back.Query().Get("code")
}

func (s signIns) register(t *testing.T) supabase.OAuthClient {
	t.Helper()
	cl, err := s.RegisterOAuthClient(t.Context(), s.at, supabase.NewOAuthClient{Name: "Chumbo", RedirectURIs: []string{callback}})
	if err != nil {
		t.Fatal(err)
	}
	return cl
}

func (s signIns) authorize(t *testing.T, cl supabase.OAuthClient, email string) supabase.Tokens {
	t.Helper()
	verifier := supabase.NewVerifier()
	tokens, err := s.ExchangeCode(t.Context(), s.at, cl, s.approve(t, cl, verifier, email), callback, verifier)
	if err != nil {
		t.Fatal(err)
	}
	return tokens
}

func TestSignInAsAnOAuthClient(t *testing.T) {
	t.Parallel()
	s, ctx := startSignIns(t, standin.Options{}), t.Context()
	cl, verifier := s.register(t), supabase.NewVerifier()
	code := s.approve(t, cl, verifier, alice)

	_, err := s.ExchangeCode(ctx, s.at, cl, code, callback, supabase.NewVerifier())
	refused(t, "another verifier", err, supabase.SessionEnded)
	_, err = s.ExchangeCode(ctx, s.at, cl, code, callback+"/other", verifier)
	refused(t, "another redirect", err, supabase.SessionEnded)
	_, err = s.ExchangeCode(ctx, s.at, supabase.OAuthClient{ID: cl.ID, Secret: seal.NewSecret("wrong")}, code, callback, verifier)
	refused(t, "another secret", err, supabase.ClientGone)
	other := s.register(t)
	_, err = s.ExchangeCode(ctx, s.at, other, code, callback, verifier)
	refused(t, "another client", err, supabase.SessionEnded)

	tokens, err := s.ExchangeCode(ctx, s.at, cl, code, callback, verifier)
	if err != nil || tokens.ExpiresIn != time.Hour || tokens.User != nil {
		t.Fatalf("%v, %v, %v", tokens.ExpiresIn, tokens.User, err)
	}
	_, err = s.ExchangeCode(ctx, s.at, cl, code, callback, verifier)
	refused(t, "the code again", err, supabase.SessionEnded)
	if u, err := s.CurrentUser(ctx, s.at, tokens.Access); err != nil || u.Email != alice || u.Anonymous {
		t.Errorf("%+v, %v", u, err)
	}

	_, err = s.RefreshOAuth(ctx, s.at, other, tokens.Refresh)
	refused(t, "refreshed by another client", err, supabase.SessionEnded)
	_, err = s.RefreshSession(ctx, s.at, tokens.Refresh)
	refused(t, "refreshed as a first-party session", err, supabase.SessionEnded)
	_, err = s.RefreshOAuth(ctx, s.at, cl, s.signIn(t, alice).Refresh)
	refused(t, "a first-party session refreshed by a client", err, supabase.SessionEnded)
	next, err := s.RefreshOAuth(ctx, s.at, cl, tokens.Refresh)
	if err != nil || next.Refresh.Reveal() == tokens.Refresh.Reveal() {
		t.Fatalf("refresh: %v", err)
	}
	again, err := s.RefreshOAuth(ctx, s.at, cl, tokens.Refresh)
	if err != nil || again.Refresh.Reveal() != next.Refresh.Reveal() {
		t.Errorf("refresh after a lost answer: %v", err)
	}

	if err := s.SignOutLocal(ctx, s.at, next.Access); err != nil {
		t.Error(err)
	}
	_, err = s.RefreshOAuth(ctx, s.at, cl, next.Refresh)
	refused(t, "refresh after signing out", err, supabase.SessionEnded)
	_, err = s.CurrentUser(ctx, s.at, next.Access)
	refused(t, "the user after signing out", err, supabase.SessionEnded)
	if err := s.SignOutLocal(ctx, s.at, next.Access); err != nil {
		t.Errorf("signing out again: %v", err)
	}
}

func TestWhatEndsAnOAuthSession(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		end  func(*testing.T, signIns, supabase.OAuthClient) error
		kind supabase.RefusalKind
	}{
		"signed out everywhere": {func(t *testing.T, s signIns, _ supabase.OAuthClient) error { return s.EndSessions(t.Context(), alice) }, supabase.SessionEnded},
		"the client deleted": {func(t *testing.T, s signIns, cl supabase.OAuthClient) error {
			return s.DeleteClient(t.Context(), cl.ID)
		}, supabase.ClientGone},
		"the user banned": {func(t *testing.T, s signIns, _ supabase.OAuthClient) error {
			return s.Exec(t.Context(), `update auth.users set banned_until = now() + interval '1 day' where email = $1`, alice)
		}, supabase.SessionEnded},
		"the OAuth server switched off": {func(_ *testing.T, s signIns, _ supabase.OAuthClient) error { s.SetOAuth(false); return nil }, supabase.NotAvailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startSignIns(t, standin.Options{})
			cl := s.register(t)
			tokens := s.authorize(t, cl, alice)
			if err := test.end(t, s, cl); err != nil {
				t.Fatal(err)
			}
			_, err := s.RefreshOAuth(t.Context(), s.at, cl, tokens.Refresh)
			refused(t, "refresh", err, test.kind)
		})
	}
}

func TestAliceAndBobSignInThroughOneClient(t *testing.T) {
	t.Parallel()
	s := startSignIns(t, standin.Options{})
	cl := s.register(t)
	hers, his := s.authorize(t, cl, alice), s.authorize(t, cl, bob)
	if err := s.EndSessions(t.Context(), alice); err != nil {
		t.Fatal(err)
	}
	_, err := s.RefreshOAuth(t.Context(), s.at, cl, hers.Refresh)
	refused(t, "alice", err, supabase.SessionEnded)
	next, err := s.RefreshOAuth(t.Context(), s.at, cl, his.Refresh)
	if err != nil {
		t.Fatal(err)
	}
	if u, err := s.CurrentUser(t.Context(), s.at, next.Access); err != nil || u.Email != bob {
		t.Errorf("%+v, %v", u, err)
	}
}

func TestRegistrationSwitchedOff(t *testing.T) {
	t.Parallel()
	for _, o := range []standin.Options{{RegistrationOff: true}, {OAuthOff: true}} {
		s := startSignIns(t, o)
		_, err := s.RegisterOAuthClient(t.Context(), s.at, supabase.NewOAuthClient{Name: "Chumbo", RedirectURIs: []string{callback}})
		refused(t, "registration", err, supabase.NotAvailable)
	}
	s := startSignIns(t, standin.Options{})
	_, err := s.RegisterOAuthClient(t.Context(), s.at, supabase.NewOAuthClient{Name: "Chumbo"})
	refused(t, "no redirect URI", err, supabase.Other)
}

// A gateway that wants another key is not Auth: nobody's session has ended.
func TestAWrongKeyEndsNoSession(t *testing.T) {
	t.Parallel()
	s := startSignIns(t, standin.Options{})
	tokens := s.signIn(t, alice)
	s.at.PublishableKey = "sb_publishable_wrong"
	if _, err := s.RefreshSession(t.Context(), s.at, tokens.Refresh); !fault.Is(err, fault.Unavailable) {
		t.Error(err)
	}
}

func TestAFailingAuthEndsNoSession(t *testing.T) {
	t.Parallel()
	s := startSignIns(t, standin.Options{})
	tokens := s.signIn(t, alice)
	for _, body := range []string{"<html>", `{"code":500,"error_code":"unexpected_failure","msg":"m"}`} {
		s.FailNext("/auth/v1/token", 500, "application/json", body)
		if _, err := s.RefreshSession(t.Context(), s.at, tokens.Refresh); !fault.Is(err, fault.Unavailable) {
			t.Error(err)
		}
	}
	if _, err := s.RefreshSession(t.Context(), s.at, tokens.Refresh); err != nil {
		t.Errorf("the session did not survive: %v", err)
	}
}

func TestSignInWithAPassword(t *testing.T) {
	t.Parallel()
	s, ctx := startSignIns(t, standin.Options{}), t.Context()
	right, wrong := seal.NewSecret(password), seal.NewSecret("wrong")
	tokens, err := s.SignInPassword(ctx, s.at, alice, right, "")
	if err != nil || tokens.User == nil || tokens.User.Email != alice || len(tokens.User.Factors) != 0 || tokens.ExpiresIn != time.Hour {
		t.Fatalf("%+v, %v", tokens.User, err)
	}
	_, err = s.SignInPassword(ctx, s.at, alice, wrong, "")
	refused(t, "a wrong password", err, supabase.WrongCredentials)
	_, err = s.SignInPassword(ctx, s.at, "nobody@example.test", right, "")
	refused(t, "nobody", err, supabase.WrongCredentials)
	_, err = s.SignInPassword(ctx, s.at, carol, right, "")
	refused(t, "not confirmed", err, supabase.NotConfirmed)
	if err := s.Exec(ctx, `update auth.users set banned_until = now() + interval '1 day' where email = $1`, bob); err != nil {
		t.Fatal(err)
	}
	_, err = s.SignInPassword(ctx, s.at, bob, wrong, "")
	refused(t, "banned", err, supabase.Banned)

	next, err := s.RefreshSession(ctx, s.at, tokens.Refresh)
	if err != nil || next.User == nil || next.User.Email != alice {
		t.Fatalf("refresh: %v", err)
	}
	_, err = s.RefreshSession(ctx, s.at, seal.NewSecret("abcdefghijkl"))
	refused(t, "an unknown refresh token", err, supabase.SessionEnded)
	_, err = s.RefreshSession(ctx, s.at, seal.NewSecret("short"))
	refused(t, "no refresh token at all", err, supabase.SessionEnded)
	_, err = s.CurrentUser(ctx, s.at, seal.NewSecret(s.AnonKey()))
	refused(t, "the anon key as a user", err, supabase.Other)

	elsewhere := s.signIn(t, alice)
	if err := s.SignOutLocal(ctx, s.at, next.Access); err != nil {
		t.Fatal(err)
	}
	if _, err := s.RefreshSession(ctx, s.at, elsewhere.Refresh); err != nil {
		t.Errorf("another session ended too: %v", err)
	}
}

func TestACaptchaTokenIsUsedUp(t *testing.T) {
	t.Parallel()
	s, ctx := startSignIns(t, standin.Options{Captcha: func(token string) bool { return strings.HasPrefix(token, "good") }}), t.Context()
	right := seal.NewSecret(password)
	_, err := s.SignInPassword(ctx, s.at, alice, right, "")
	refused(t, "no token", err, supabase.CaptchaFailed)
	_, err = s.SignInPassword(ctx, s.at, alice, right, "bad")
	refused(t, "a bad token", err, supabase.CaptchaFailed)
	_, err = s.SignInPassword(ctx, s.at, alice, seal.NewSecret("wrong"), "good-1")
	refused(t, "a wrong password", err, supabase.WrongCredentials)
	_, err = s.SignInPassword(ctx, s.at, alice, right, "good-1")
	refused(t, "a used token", err, supabase.CaptchaFailed)
	tokens, err := s.SignInPassword(ctx, s.at, alice, right, "good-2")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.RefreshSession(ctx, s.at, tokens.Refresh); err != nil {
		t.Errorf("a refresh needs none: %v", err)
	}
	for name, call := range map[string]func(supabase.EmailOptions) error{
		"otp":    func(o supabase.EmailOptions) error { return s.SendCode(ctx, s.at, alice, false, o) },
		"resend": func(o supabase.EmailOptions) error { return s.Resend(ctx, s.at, alice, o) },
		"signup": func(o supabase.EmailOptions) error {
			_, _, err := s.SignUp(ctx, s.at, "dora@example.test", right, o)
			return err
		},
	} {
		refused(t, name, call(supabase.EmailOptions{}), supabase.CaptchaFailed)
		if err := call(supabase.EmailOptions{Captcha: "good-" + name}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPasswordsShareOneRateLimit(t *testing.T) {
	t.Parallel()
	clock := clocktest.New(time.Now()) // a slow machine must not earn a try meanwhile
	s := startSignIns(t, standin.Options{RateLimits: true, Now: clock.Now})
	var last error
	for range 31 {
		_, last = s.SignInPassword(t.Context(), s.at, alice, seal.NewSecret("wrong"), "")
	}
	if e := refusal(t, "31st try", last, supabase.RateLimited); e.RetryAfter != 0 || e.Code != "over_request_rate_limit" {
		t.Errorf("%v after %v", e, e.RetryAfter)
	}
}

func TestSignUpAtOnce(t *testing.T) {
	t.Parallel()
	s, ctx := startSignIns(t, standin.Options{}), t.Context()
	tokens, mail, err := s.SignUp(ctx, s.at, "dora@example.test", seal.NewSecret(password), supabase.EmailOptions{})
	if err != nil || mail || tokens.User == nil || tokens.User.Email != "dora@example.test" {
		t.Fatalf("%+v, mail %v, %v", tokens.User, mail, err)
	}
	_, _, err = s.SignUp(ctx, s.at, alice, seal.NewSecret(password), supabase.EmailOptions{})
	refused(t, "an account that is there", err, supabase.UserExists)
	_, _, err = s.SignUp(ctx, s.at, "erin@example.test", seal.NewSecret("abc"), supabase.EmailOptions{})
	if e := refusal(t, "a weak password", err, supabase.WeakPassword); !slices.Equal(e.Reasons, []string{"length"}) {
		t.Errorf("reasons %v", e.Reasons)
	}
}

func TestSignUpByMail(t *testing.T) {
	t.Parallel()
	clock := clocktest.New(time.Now())
	s, ctx := startSignIns(t, standin.Options{ConfirmationOn: true, Now: clock.Now}), t.Context()
	const dora = "dora@example.test"
	first, second := supabase.NewVerifier(), supabase.NewVerifier()
	options := supabase.EmailOptions{RedirectTo: callback + "?t=1", CodeChallenge: supabase.Challenge(first)}
	tokens, mail, err := s.SignUp(ctx, s.at, dora, seal.NewSecret(password), options)
	if err != nil || !mail || !tokens.Access.IsZero() {
		t.Fatalf("mail %v, %v", mail, err)
	}
	_, mail, err = s.SignUp(ctx, s.at, alice, seal.NewSecret(password), options)
	if err != nil || !mail || len(s.Mails(alice)) != 0 {
		t.Errorf("an account that is there looks different: mail %v, %v", mail, err)
	}
	options.CodeChallenge = supabase.Challenge(second)
	if e := refusal(t, "a second mail at once", s.Resend(ctx, s.at, dora, options), supabase.RateLimited); e.RetryAfter <= 0 || e.RetryAfter > time.Minute {
		t.Errorf("wait %v", e.RetryAfter)
	}
	clock.Advance(2 * time.Minute)
	for _, who := range []string{dora, "nobody@example.test"} {
		if err := s.Resend(ctx, s.at, who, options); err != nil {
			t.Errorf("%s: %v", who, err)
		}
	}
	mails := s.Mails(dora)
	if len(mails) != 2 {
		t.Fatalf("%d mails", len(mails))
	}
	back := s.browse(t, mails[1].Link)
	if !strings.HasPrefix(back.String(), callback) || back.Query().Get("t") != "1" {
		t.Fatalf("back at %s", back)
	}
	_, err = s.ExchangePKCE(ctx, s.at, back.Query().Get("code"), first)
	refused(t, "the verifier of the first mail", err, supabase.CodeWrong)
	tokens, err = s.ExchangePKCE(ctx, s.at, back.Query().Get("code"), second)
	if err != nil || tokens.User.Email != dora {
		t.Fatalf("%+v, %v", tokens.User, err)
	}
	_, err = s.ExchangePKCE(ctx, s.at, back.Query().Get("code"), second)
	refused(t, "the code again", err, supabase.CodeWrong)
}

func TestSignInByMail(t *testing.T) {
	t.Parallel()
	clock := clocktest.New(time.Now())
	s, ctx := startSignIns(t, standin.Options{Now: clock.Now}), t.Context()
	verifier := supabase.NewVerifier()
	options := supabase.EmailOptions{RedirectTo: callback, CodeChallenge: supabase.Challenge(verifier)}
	if err := s.SendCode(ctx, s.at, alice, false, options); err != nil {
		t.Fatal(err)
	}
	if e := refusal(t, "again at once", s.SendCode(ctx, s.at, alice, false, options), supabase.RateLimited); e.RetryAfter <= 0 || e.RetryAfter > time.Minute {
		t.Errorf("wait %v", e.RetryAfter)
	}
	code := s.Mails(alice)[0].Code
	_, err := s.VerifyEmailCode(ctx, s.at, bob, code)
	refused(t, "alice's code for bob", err, supabase.CodeWrong)
	_, err = s.VerifyEmailCode(ctx, s.at, alice, "000000x")
	refused(t, "a wrong code", err, supabase.CodeWrong)
	_, err = s.VerifyEmailCode(ctx, s.at, alice, "")
	refused(t, "no code", err, supabase.CodeWrong)
	tokens, err := s.VerifyEmailCode(ctx, s.at, alice, code)
	if err != nil || tokens.User.Email != alice {
		t.Fatalf("%+v, %v", tokens.User, err)
	}
	_, err = s.VerifyEmailCode(ctx, s.at, alice, code)
	refused(t, "the code again", err, supabase.CodeWrong)

	if err := s.SendCode(ctx, s.at, bob, false, options); err != nil {
		t.Fatal(err)
	}
	back := s.browse(t, s.Mails(bob)[0].Link)
	clock.Advance(6 * time.Minute)
	_, err = s.ExchangePKCE(ctx, s.at, back.Query().Get("code"), verifier)
	refused(t, "a link followed long ago", err, supabase.CodeWrong)

	e := refusal(t, "an unknown address", s.SendCode(ctx, s.at, "nobody@example.test", false, options), supabase.NotAvailable)
	if e.Code != "otp_disabled" {
		t.Errorf("%v", e)
	}
	if err := s.SendCode(ctx, s.at, "frank@example.test", true, options); err != nil || len(s.Mails("frank@example.test")) != 1 {
		t.Errorf("a new address: %v", err)
	}
}

func TestWhatAProjectHasSwitchedOff(t *testing.T) {
	t.Parallel()
	right := seal.NewSecret(password)
	for name, test := range map[string]struct {
		options standin.Options
		call    func(*testing.T, signIns) error
	}{
		"email, password": {standin.Options{EmailOff: true}, func(t *testing.T, s signIns) error {
			_, err := s.SignInPassword(t.Context(), s.at, alice, right, "")
			return err
		}},
		"email, code": {standin.Options{EmailOff: true}, func(t *testing.T, s signIns) error {
			return s.SendCode(t.Context(), s.at, alice, false, supabase.EmailOptions{})
		}},
		"email, resend": {standin.Options{EmailOff: true}, func(t *testing.T, s signIns) error {
			return s.Resend(t.Context(), s.at, alice, supabase.EmailOptions{})
		}},
		"magic link": {standin.Options{MagicLinkOff: true}, func(t *testing.T, s signIns) error {
			return s.SendCode(t.Context(), s.at, alice, false, supabase.EmailOptions{})
		}},
		"sign-up": {standin.Options{SignupOff: true}, func(t *testing.T, s signIns) error {
			_, _, err := s.SignUp(t.Context(), s.at, "dora@example.test", right, supabase.EmailOptions{})
			return err
		}},
		"sign-up by code": {standin.Options{SignupOff: true}, func(t *testing.T, s signIns) error {
			return s.SendCode(t.Context(), s.at, "dora@example.test", true, supabase.EmailOptions{})
		}},
		"second factors": {standin.Options{TOTPVerifyOff: true}, func(t *testing.T, s signIns) error {
			if _, err := s.EnrollTOTP(t.Context(), alice); err != nil {
				t.Fatal(err)
			}
			tokens := s.signIn(t, alice)
			_, err := s.ChallengeFactor(t.Context(), s.at, tokens.Access, tokens.User.Factors[0].ID)
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refused(t, name, test.call(t, startSignIns(t, test.options)), supabase.NotAvailable)
		})
	}
}

// An anonymous account must never come of an empty form.
func TestNoAnonymousSignUp(t *testing.T) {
	t.Parallel()
	s := startSignIns(t, standin.Options{AnonymousOn: true})
	for _, email := range []string{"", " ", "\t"} {
		tokens, _, err := s.SignUp(t.Context(), s.at, email, seal.Secret{}, supabase.EmailOptions{})
		if err == nil || !tokens.Access.IsZero() {
			t.Errorf("%q: %v", email, err)
		}
	}
	if got := s.RequestsTo("/auth/v1/signup"); len(got) != 0 {
		t.Errorf("%d requests", len(got))
	}
}

func TestSignInWithASecondFactor(t *testing.T) {
	t.Parallel()
	clock := clocktest.New(time.Now())
	s, ctx := startSignIns(t, standin.Options{Now: clock.Now}), t.Context()
	secret, err := s.EnrollTOTP(ctx, alice)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.EnrollTOTP(ctx, bob); err != nil {
		t.Fatal(err)
	}
	tokens, his := s.signIn(t, alice), s.signIn(t, bob)
	if f := tokens.User.Factors; len(f) != 1 || f[0].Type != "totp" || f[0].Status != supabase.FactorVerified || f[0].ID == "" {
		t.Fatalf("factors %+v", f)
	}
	factor := tokens.User.Factors[0].ID
	if u, err := s.CurrentUser(ctx, s.at, tokens.Access); err != nil || len(u.Factors) != 1 || u.Factors[0].ID != factor {
		t.Errorf("%+v, %v", u, err)
	}

	_, err = s.ChallengeFactor(ctx, s.at, tokens.Access, his.User.Factors[0].ID)
	refused(t, "bob's factor", err, supabase.FactorGone)
	_, err = s.ChallengeFactor(ctx, s.at, tokens.Access, "no-factor")
	refused(t, "no factor", err, supabase.FactorGone)
	challenge, err := s.ChallengeFactor(ctx, s.at, tokens.Access, factor)
	if err != nil {
		t.Fatal(err)
	}
	verify := func(challenge, code string) (supabase.Tokens, error) {
		return s.VerifyFactor(ctx, s.at, tokens.Access, factor, challenge, code)
	}
	_, err = verify(challenge, "000000x")
	refused(t, "a wrong code", err, supabase.FactorWrong)
	_, err = verify(challenge, "")
	refused(t, "no code", err, supabase.FactorWrong)
	_, err = verify("00000000-0000-4000-8000-000000000001", standin.TOTPCode(secret, clock.Now()))
	refused(t, "an unknown challenge", err, supabase.FactorGone)
	stronger, err := verify(challenge, standin.TOTPCode(secret, clock.Now()))
	if err != nil || stronger.User == nil || stronger.User.Email != alice || stronger.Access.Reveal() == tokens.Access.Reveal() {
		t.Fatalf("%+v, %v", stronger.User, err)
	}
	_, err = verify(challenge, standin.TOTPCode(secret, clock.Now()))
	refused(t, "a used challenge", err, supabase.FactorGone)

	challenge, err = s.ChallengeFactor(ctx, s.at, stronger.Access, factor)
	if err != nil {
		t.Fatal(err)
	}
	clock.Advance(6 * time.Minute)
	_, err = verify(challenge, standin.TOTPCode(secret, clock.Now()))
	refused(t, "an expired challenge", err, supabase.FactorGone)
	if _, err := s.RefreshSession(ctx, s.at, stronger.Refresh); err != nil {
		t.Error(err)
	}
	if err := s.SignOutLocal(ctx, s.at, stronger.Access); err != nil {
		t.Fatal(err)
	}
	_, err = s.ChallengeFactor(ctx, s.at, stronger.Access, factor)
	refused(t, "signed out", err, supabase.SessionEnded)
}

func TestAnExpiredAccessToken(t *testing.T) {
	t.Parallel()
	clock := clocktest.New(time.Now())
	s := startSignIns(t, standin.Options{Now: clock.Now})
	tokens := s.signIn(t, alice)
	clock.Advance(2 * time.Hour)
	_, err := s.CurrentUser(t.Context(), s.at, tokens.Access)
	if e := refusal(t, "the user", err, supabase.Other); e.Code != "bad_jwt" {
		t.Errorf("%v", e)
	}
	refused(t, "signing out", s.SignOutLocal(t.Context(), s.at, tokens.Access), supabase.Other)
	if _, err := s.RefreshSession(t.Context(), s.at, tokens.Refresh); err != nil {
		t.Errorf("the session lives on: %v", err)
	}
}

func TestSignInWithAProvider(t *testing.T) {
	t.Parallel()
	s, ctx := startSignIns(t, standin.Options{Providers: []string{"github"}}), t.Context()
	settings, err := s.Settings(ctx, s.at)
	if err != nil || !slices.Equal(settings.SocialProviders(), []string{"github"}) || !settings.External["email"] {
		t.Fatalf("%+v, %v", settings, err)
	}
	verifier := supabase.NewVerifier()
	page := s.browse(t, supabase.ProviderURL(s.Issuer(), "github", callback+"?t=1", supabase.Challenge(verifier)))
	res, err := browser.PostForm(page.Scheme+"://"+page.Host+page.Path, url.Values{"state": page.Query()["state"], "email": {alice}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	back := s.browse(t, res.Header.Get("Location"))
	if !strings.HasPrefix(back.String(), callback) || back.Query().Get("t") != "1" {
		t.Fatalf("back at %s", back)
	}
	_, err = s.ExchangePKCE(ctx, s.at, back.Query().Get("code"), supabase.NewVerifier())
	refused(t, "another verifier", err, supabase.CodeWrong)
	tokens, err := s.ExchangePKCE(ctx, s.at, back.Query().Get("code"), verifier)
	if err != nil || tokens.User.Email != alice {
		t.Fatalf("%+v, %v", tokens.User, err)
	}
}
