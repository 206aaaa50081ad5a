package supabase

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/seal"
)

// recorded answers of Auth, by case name (testdata/auth-answers.json).
type recorded struct {
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers"`
	Body    json.RawMessage   `json:"body"`
}

var recordings = sync.OnceValues(func() (map[string]recorded, error) {
	raw, err := os.ReadFile("testdata/auth-answers.json")
	if err != nil {
		return nil, err
	}
	var all map[string]recorded
	return all, json.Unmarshal(raw, &all)
})

func recording(t testing.TB, name string) recorded {
	t.Helper()
	all, err := recordings()
	if err != nil {
		t.Fatal(err)
	}
	r, ok := all[name]
	if !ok {
		t.Fatalf("no recording %s", name)
	}
	var text string
	if json.Unmarshal(r.Body, &text) == nil {
		r.Body = json.RawMessage(text)
	}
	return r
}

func (r recorded) serve() http.HandlerFunc { return answer(r.Status, r.Headers, string(r.Body)) }

// Every value that a call of authCalls sends, to be looked for where it must
// not be.
const (
	alicePassword = "alice-password-1"
	aliceAccess   = "alice.access.token"
	aliceRefresh  = "alice-refresh"
	clientSecret  = "client-secret-1"
	clientID      = "00000000-0000-4000-8000-000000000010"
	factorID      = "00000000-0000-4000-8000-000000000504"
	callback      = "https://gateway.example.test/connect/callback"
)

type authAnswer struct {
	tokens    Tokens
	user      User
	client    OAuthClient
	challenge string
	mail      bool
}

type authCase struct {
	call        func(context.Context, *Client, Project) (authAnswer, error)
	answer      string // recording of a success
	request     string // method and what follows /auth/v1/
	bearer      string // Authorization, whole
	contentType string
	body        string
}

const (
	ofJSON = "application/json"
	ofForm = "application/x-www-form-urlencoded"
)

func tokensOnly(t Tokens, err error) (authAnswer, error) { return authAnswer{tokens: t}, err }

func authCases() map[string]authCase {
	client := OAuthClient{ID: clientID, Secret: seal.NewSecret(clientSecret)}
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte(clientID+":"+clientSecret))
	access, refresh, password := seal.NewSecret(aliceAccess), seal.NewSecret(aliceRefresh), seal.NewSecret(alicePassword)
	verifier := seal.NewSecret("verifier-1")
	options := EmailOptions{RedirectTo: callback + "?t=1", CodeChallenge: "challenge-1", Captcha: "captcha-1"}
	redirect := "?redirect_to=https%3A%2F%2Fgateway.example.test%2Fconnect%2Fcallback%3Ft%3D1"
	return map[string]authCase{
		"RegisterOAuthClient": {func(ctx context.Context, c *Client, p Project) (authAnswer, error) {
			cl, err := c.RegisterOAuthClient(ctx, p, NewOAuthClient{Name: "Chumbo", URI: "https://gateway.example.test", RedirectURIs: []string{"https://client.example.test/cb"}})
			return authAnswer{client: cl}, err
		}, "b03-register-confidential-basic", "POST oauth/clients/register", "", ofJSON,
			`{"client_name":"Chumbo","client_uri":"https://gateway.example.test","redirect_uris":["https://client.example.test/cb"],"token_endpoint_auth_method":"client_secret_basic","grant_types":["authorization_code","refresh_token"],"response_types":["code"]}`},
		"ExchangeCode": {func(ctx context.Context, c *Client, p Project) (authAnswer, error) {
			return tokensOnly(c.ExchangeCode(ctx, p, client, "code-1", callback, verifier))
		}, "e15-code-exchange-confidential-basic", "POST oauth/token", basic, ofForm,
			"code=code-1&code_verifier=verifier-1&grant_type=authorization_code&redirect_uri=https%3A%2F%2Fgateway.example.test%2Fconnect%2Fcallback"},
		"RefreshOAuth": {func(ctx context.Context, c *Client, p Project) (authAnswer, error) {
			return tokensOnly(c.RefreshOAuth(ctx, p, client, refresh))
		}, "e49-refresh-confidential-basic", "POST oauth/token", basic, ofForm, "grant_type=refresh_token&refresh_token=" + aliceRefresh},
		"RefreshSession": {func(ctx context.Context, c *Client, p Project) (authAnswer, error) {
			return tokensOnly(c.RefreshSession(ctx, p, refresh))
		}, "g13-refresh", "POST token?grant_type=refresh_token", "", ofJSON, `{"refresh_token":"alice-refresh"}`},
		"SignInPassword": {func(ctx context.Context, c *Client, p Project) (authAnswer, error) {
			return tokensOnly(c.SignInPassword(ctx, p, "alice@example.test", password, ""))
		}, "g03-password-grant", "POST token?grant_type=password", "", ofJSON, `{"email":"alice@example.test","password":"alice-password-1"}`},
		"SignInPassword with captcha": {func(ctx context.Context, c *Client, p Project) (authAnswer, error) {
			return tokensOnly(c.SignInPassword(ctx, p, "alice@example.test", password, "captcha-1"))
		}, "g03-password-grant", "POST token?grant_type=password", "", ofJSON,
			`{"email":"alice@example.test","password":"alice-password-1","gotrue_meta_security":{"captcha_token":"captcha-1"}}`},
		"SignUp": {func(ctx context.Context, c *Client, p Project) (authAnswer, error) {
			tokens, mail, err := c.SignUp(ctx, p, "alice@example.test", password, options)
			return authAnswer{tokens: tokens, mail: mail}, err
		}, "g01-signup-alice", "POST signup" + redirect, "", ofJSON,
			`{"email":"alice@example.test","password":"alice-password-1","code_challenge":"challenge-1","code_challenge_method":"s256","gotrue_meta_security":{"captcha_token":"captcha-1"}}`},
		"SendCode": {func(ctx context.Context, c *Client, p Project) (authAnswer, error) {
			return authAnswer{}, c.SendCode(ctx, p, "alice@example.test", false, options)
		}, "h01-otp-magic-link-pkce", "POST otp" + redirect, "", ofJSON,
			`{"email":"alice@example.test","create_user":false,"code_challenge":"challenge-1","code_challenge_method":"s256","gotrue_meta_security":{"captcha_token":"captcha-1"}}`},
		"SendCode, plain": {func(ctx context.Context, c *Client, p Project) (authAnswer, error) {
			return authAnswer{}, c.SendCode(ctx, p, "alice@example.test", true, EmailOptions{})
		}, "h01-otp-magic-link-pkce", "POST otp", "", ofJSON, `{"email":"alice@example.test","create_user":true}`},
		"Resend": {func(ctx context.Context, c *Client, p Project) (authAnswer, error) {
			return authAnswer{}, c.Resend(ctx, p, "alice@example.test", options)
		}, "m104-resend-unknown-user", "POST resend" + redirect, "", ofJSON,
			`{"type":"signup","email":"alice@example.test","code_challenge":"challenge-1","code_challenge_method":"s256","gotrue_meta_security":{"captcha_token":"captcha-1"}}`},
		"VerifyEmailCode": {func(ctx context.Context, c *Client, p Project) (authAnswer, error) {
			return tokensOnly(c.VerifyEmailCode(ctx, p, "alice@example.test", "123456"))
		}, "h15-verify-otp-email", "POST verify", "", ofJSON, `{"type":"email","email":"alice@example.test","token":"123456"}`},
		"ExchangePKCE": {func(ctx context.Context, c *Client, p Project) (authAnswer, error) {
			return tokensOnly(c.ExchangePKCE(ctx, p, "code-1", verifier))
		}, "g35-pkce-exchange", "POST token?grant_type=pkce", "", ofJSON, `{"auth_code":"code-1","code_verifier":"verifier-1"}`},
		"ChallengeFactor": {func(ctx context.Context, c *Client, p Project) (authAnswer, error) {
			challenge, err := c.ChallengeFactor(ctx, p, access, factorID)
			return authAnswer{challenge: challenge}, err
		}, "m10-challenge-totp", "POST factors/" + factorID + "/challenge", "Bearer " + aliceAccess, ofJSON, `{}`},
		"VerifyFactor": {func(ctx context.Context, c *Client, p Project) (authAnswer, error) {
			return tokensOnly(c.VerifyFactor(ctx, p, access, factorID, "challenge-1", "123456"))
		}, "m15-verify-right-code-first-factor", "POST factors/" + factorID + "/verify", "Bearer " + aliceAccess, ofJSON, `{"challenge_id":"challenge-1","code":"123456"}`},
		"CurrentUser": {func(ctx context.Context, c *Client, p Project) (authAnswer, error) {
			u, err := c.CurrentUser(ctx, p, access)
			return authAnswer{user: u}, err
		}, "g20-user", "GET user", "Bearer " + aliceAccess, "", ""},
		"SignOutLocal": {func(ctx context.Context, c *Client, p Project) (authAnswer, error) {
			return authAnswer{}, c.SignOutLocal(ctx, p, access)
		}, "", "POST logout?scope=local", "Bearer " + aliceAccess, "", ""},
	}
}

func TestAuthCallsSendExactlyWhatAuthWants(t *testing.T) {
	t.Parallel()
	for name, test := range authCases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			handle := answer(http.StatusNoContent, nil, "")
			if test.answer != "" {
				handle = recording(t, test.answer).serve()
			}
			p := newFakeProject(t, handle)
			if _, err := test.call(t.Context(), newTestClient(), p.project()); err != nil {
				t.Fatal(err)
			}
			requests, bodies := p.seen()
			if len(requests) != 1 {
				t.Fatalf("%d requests", len(requests))
			}
			r := requests[0]
			if got := r.Method + " " + strings.TrimPrefix(r.URL.RequestURI(), "/auth/v1/"); got != test.request {
				t.Errorf("request %s, want %s", got, test.request)
			}
			if bodies[0] != test.body {
				t.Errorf("body %s, want %s", bodies[0], test.body)
			}
			want := map[string]string{"Apikey": "sb_publishable_test", "Accept": "application/json", "Authorization": test.bearer, "Content-Type": test.contentType}
			for header, value := range want {
				if got := r.Header.Get(header); got != value {
					t.Errorf("%s %q, want %q", header, got, value)
				}
			}
			known := []string{"Accept", "Accept-Encoding", "Apikey", "Authorization", "Content-Length", "Content-Type", "User-Agent", "X-Client-Info"}
			for header := range r.Header {
				if !slices.Contains(known, header) {
					t.Errorf("a header %s is sent", header)
				}
			}
		})
	}
}

func TestAuthAnswersAreRead(t *testing.T) {
	t.Parallel()
	const alice, dora = "00000000-0000-4000-8000-000000000002", "00000000-0000-4000-8000-000000000502"
	tokens := func(access, refresh string, u *User) Tokens {
		return Tokens{seal.NewSecret(access), seal.NewSecret(refresh), time.Hour, u}
	}
	aliceUser := &User{ID: alice, Email: "alice@example.test"}
	factors := []Factor{{"00000000-0000-4000-8000-000000000505", "totp", FactorUnverified, ""}, {factorID, "totp", FactorVerified, "phone app"}}
	for _, test := range []struct {
		call, answer string
		want         authAnswer
	}{
		{"SignInPassword", "g03-password-grant", authAnswer{tokens: tokens("<jwt-60>", "rtoken000270", aliceUser)}},
		{"SignInPassword", "m23-password-signin-verified-factor", authAnswer{tokens: tokens("<jwt-510>", "rtoken000543",
			&User{dora, "dora@example.test", false, []Factor{{factorID, "totp", FactorVerified, "phone app"}}})}},
		{"RefreshSession", "j11-v2-refresh", authAnswer{tokens: tokens("<jwt-82>", "refresh-token-v2-323-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", aliceUser)}},
		{"SignUp", "g01-signup-alice", authAnswer{tokens: tokens("<jwt-1>", "rtoken000004", aliceUser)}},
		{"SignUp", "m75-anonymous-signin", authAnswer{tokens: tokens("<jwt-716>", "rtoken000764", &User{ID: "00000000-0000-4000-8000-000000000732", Anonymous: true})}},
		{"SignUp", "j20-signup-confirmation-required", authAnswer{mail: true}},
		{"SignUp", "j21-signup-existing-obfuscated", authAnswer{mail: true}},
		{"ExchangeCode", "e15-code-exchange-confidential-basic", authAnswer{tokens: tokens("<jwt-15>", "rtoken000126", nil)}},
		{"RefreshOAuth", "e49-refresh-confidential-basic", authAnswer{tokens: tokens("<jwt-33>", "rtoken000162", nil)}},
		{"VerifyFactor", "m15-verify-right-code-first-factor", authAnswer{tokens: tokens("<jwt-504>", "rtoken000537", &User{dora, "dora@example.test", false, factors})}},
		{"CurrentUser", "g20-user", authAnswer{user: *aliceUser}},
		{"CurrentUser", "m09-user-with-unverified-factors", authAnswer{user: User{dora, "dora@example.test", false, []Factor{
			{factorID, "totp", FactorUnverified, "phone app"}, {"00000000-0000-4000-8000-000000000505", "totp", FactorUnverified, ""}}}}},
		{"ChallengeFactor", "m10-challenge-totp", authAnswer{challenge: "00000000-0000-4000-8000-000000000507"}},
		{"RegisterOAuthClient", "b03-register-confidential-basic", authAnswer{client: OAuthClient{clientID, seal.NewSecret("client-secret-7-xxxxxxxxxxxxxxxxxxxxxxxxxxx")}}},
	} {
		t.Run(test.call+" "+test.answer, func(t *testing.T) {
			t.Parallel()
			p := newFakeProject(t, recording(t, test.answer).serve())
			got, err := authCases()[test.call].call(t.Context(), newTestClient(), p.project())
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %s\nwant %s", shown(got), shown(test.want))
			}
		})
	}
}

// shown prints what Secret hides, and what a pointer does.
func shown(a authAnswer) string {
	u := User{}
	if a.tokens.User != nil {
		u = *a.tokens.User
	}
	return fmt.Sprintf("%q %q %v %+v; %+v; %s %q; %q; %v", a.tokens.Access.Reveal(), a.tokens.Refresh.Reveal(), a.tokens.ExpiresIn, u,
		a.user, a.client.ID, a.client.Secret.Reveal(), a.challenge, a.mail)
}

func TestAuthFailuresThatLeaveEverythingAsItWas(t *testing.T) {
	t.Parallel()
	const private = "private words"
	html := map[string]string{"Content-Type": "text/html"}
	for name, handle := range map[string]http.HandlerFunc{
		"a gateway's page":                         answer(502, html, "<html>"),
		"a page with 200":                          answer(200, html, "<html>"),
		"a page with 403":                          answer(403, html, "<html>"),
		"the gateway wants a key":                  answer(401, nil, `{"message":"No API key found in request"}`),
		"the gateway knows no key":                 answer(401, nil, `{"message":"Invalid API key","hint":"Double check"}`),
		"a gateway's own error text":               answer(404, nil, `{"error":"requested path is invalid"}`),
		"a paused project":                         answer(540, nil, `{"error":"paused"}`),
		"a code without words":                     answer(400, nil, `{"code":"session_not_found"}`),
		"Auth is gone":                             answer(404, map[string]string{"Content-Type": "text/plain"}, "404 page not found\n"),
		"a wrong method":                           answer(405, nil, ""),
		"an internal error":                        answer(500, nil, `{"code":500,"error_code":"unexpected_failure","msg":"`+private+`"}`),
		"a locked row":                             answer(409, nil, `{"code":409,"error_code":"conflict","msg":"`+private+`"}`),
		"a slow hook":                              answer(422, nil, `{"code":422,"error_code":"hook_timeout","msg":"`+private+`"}`),
		"a slow request":                           answer(504, nil, `{"code":504,"error_code":"request_timeout","msg":"`+private+`"}`),
		"a session that ended, on a gateway's 503": answer(503, nil, `{"code":503,"error_code":"refresh_token_not_found","msg":"`+private+`"}`),
		"half an answer":                           answer(200, nil, `{"access_token":"a","token_type":"bearer"`),
		"no refresh":                               answer(200, nil, `{"access_token":"a","token_type":"bearer"}`),
		"no type":                                  answer(200, nil, `{"access_token":"a","refresh_token":"r"}`),
		"another type":                             answer(200, nil, `{"access_token":"a","refresh_token":"r","token_type":"DPoP"}`),
		"no token text":                            answer(200, nil, `{"access_token":"a\r\nX: y","refresh_token":"r","token_type":"bearer"}`),
		"nothing":                                  answer(200, nil, ``),
		"a list":                                   answer(200, nil, `[]`),
		"too much":                                 answer(200, nil, `{"access_token":"`+strings.Repeat("a", maxSession)+`"}`),
		"a redirect":                               answer(302, map[string]string{"Location": "https://elsewhere.example.test/"}, ""),
		"no answer":                                func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for call, test := range authCases() {
				if test.answer == "" || strings.HasPrefix(call, "Send") || call == "Resend" {
					continue // they have nothing to read in a success
				}
				p := newFakeProject(t, handle)
				got, err := test.call(t.Context(), newTestClient(), p.project())
				if !fault.Is(err, fault.Unavailable) {
					t.Errorf("%s: %v", call, err)
				}
				if f := fault.From(err); f.RetryAfter <= 0 || strings.Contains(err.Error(), private) {
					t.Errorf("%s: %v after %v", call, err, f.RetryAfter)
				}
				if !reflect.DeepEqual(got, authAnswer{}) {
					t.Errorf("%s: something besides the error: %s", call, shown(got))
				}
				if requests, _ := p.seen(); len(requests) != 1 {
					t.Errorf("%s: %d requests", call, len(requests))
				}
			}
		})
	}
}

func TestAMailIsNotBelievedToAPage(t *testing.T) {
	t.Parallel()
	p := newFakeProject(t, answer(200, map[string]string{"Content-Type": "text/html"}, "<html>"))
	if err := newTestClient().SendCode(t.Context(), p.project(), "alice@example.test", false, EmailOptions{}); !fault.Is(err, fault.Unavailable) {
		t.Error(err)
	}
}

func TestAuthTimeoutIsTemporary(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	p := newFakeProject(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-hold:
		case <-r.Context().Done():
		}
	})
	defer close(hold)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := newTestClient().RefreshSession(ctx, p.project(), seal.NewSecret("r")); !fault.Is(err, fault.Unavailable) {
		t.Errorf("%v", err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := newTestClient().RefreshSession(gone, p.project(), seal.NewSecret("r")); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestAuthSendsNothingWithoutWhatItNeeds(t *testing.T) {
	t.Parallel()
	p := newFakeProject(t, recording(t, "g03-password-grant").serve())
	c, project, ctx := newTestClient(), p.project(), t.Context()
	password, none := seal.NewSecret(alicePassword), seal.Secret{}
	client := OAuthClient{ID: clientID, Secret: seal.NewSecret(clientSecret)}
	for name, call := range map[string]func() error{
		"an anonymous sign-up":         func() error { _, _, err := c.SignUp(ctx, project, " ", password, EmailOptions{}); return err },
		"a password without an email":  func() error { _, err := c.SignInPassword(ctx, project, "", password, ""); return err },
		"a code without an email":      func() error { _, err := c.VerifyEmailCode(ctx, project, "", "123456"); return err },
		"a mail to nobody":             func() error { return c.SendCode(ctx, project, "", true, EmailOptions{}) },
		"a confirmation to nobody":     func() error { return c.Resend(ctx, project, "", EmailOptions{}) },
		"no refresh token":             func() error { _, err := c.RefreshSession(ctx, project, none); return err },
		"no refresh token of a client": func() error { _, err := c.RefreshOAuth(ctx, project, client, none); return err },
		"no client secret": func() error {
			_, err := c.RefreshOAuth(ctx, project, OAuthClient{ID: clientID}, password)
			return err
		},
		"no client": func() error {
			_, err := c.ExchangeCode(ctx, project, OAuthClient{}, "c", callback, password)
			return err
		},
		"nobody's user":    func() error { _, err := c.CurrentUser(ctx, project, none); return err },
		"nobody's session": func() error { return c.SignOutLocal(ctx, project, none) },
		"nobody's factor":  func() error { _, err := c.ChallengeFactor(ctx, project, none, factorID); return err },
		"another path":     func() error { _, err := c.ChallengeFactor(ctx, project, password, "../../logout?"); return err },
		"the path above":   func() error { _, err := c.VerifyFactor(ctx, project, password, "..", "c", "1"); return err },
		"two redirect URIs as one": func() error {
			_, err := c.RegisterOAuthClient(ctx, project, NewOAuthClient{RedirectURIs: []string{"https://a.example.test/?a,https://b.example.test/"}})
			return err
		},
		"a broken address": func() error {
			_, err := c.SignInPassword(ctx, Project{APIOrigin: "https://a b"}, "alice@example.test", password, "")
			return err
		},
	} {
		if err := call(); err == nil {
			t.Errorf("%s: no error", name)
		} else if strings.Contains(err.Error(), alicePassword) || strings.Contains(err.Error(), clientSecret) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if requests, _ := p.seen(); len(requests) != 0 {
		t.Errorf("%d requests, first %s", len(requests), requests[0].URL)
	}
	// One that only looks like a path stays one segment.
	if _, err := c.ChallengeFactor(ctx, project, password, "a?b#c%2F"); err == nil {
		t.Error("no challenge in a session's answer")
	}
	if requests, _ := p.seen(); len(requests) != 1 || requests[0].URL.EscapedPath() != "/auth/v1/factors/a%3Fb%23c%252F/challenge" {
		t.Errorf("%d requests", len(requests))
	}
}

func TestRegistrationTakesOnlyTheClientAskedFor(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"public":        `{"client_id":"i","client_type":"public","redirect_uris":["https://client.example.test/cb"],"token_endpoint_auth_method":"none"}`,
		"another way":   `{"client_id":"i","client_secret":"s","redirect_uris":["https://client.example.test/cb"],"token_endpoint_auth_method":"client_secret_post"}`,
		"another place": `{"client_id":"i","client_secret":"s","redirect_uris":["https://elsewhere.example.test/cb"],"token_endpoint_auth_method":"client_secret_basic"}`,
	} {
		p := newFakeProject(t, answer(201, nil, body))
		cl, err := authCases()["RegisterOAuthClient"].call(t.Context(), newTestClient(), p.project())
		if !fault.Is(err, fault.Unavailable) || cl.client.ID != "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Two people sign in through one Client at once: nobody gets the other's
// session, whatever order the answers come in.
func TestAliceAndBobNeverShareASession(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Email, Password string }
		bearer := r.Header.Get("Authorization")
		switch {
		case r.URL.Path == "/auth/v1/user":
			answer(200, nil, fmt.Sprintf(`{"id":"%s"}`, strings.TrimSuffix(strings.TrimPrefix(bearer, "Bearer "), ".access")))(w, r)
		case bearer != "" || json.NewDecoder(r.Body).Decode(&in) != nil || in.Email != in.Password:
			answer(500, nil, "a sign-in carries a session, or another's password")(w, r)
		default:
			answer(200, nil, fmt.Sprintf(`{"access_token":"%[1]s.access","token_type":"bearer","refresh_token":"%[1]s-next","user":{"id":"%[1]s"}}`, in.Email))(w, r)
		}
	}))
	t.Cleanup(server.Close)
	c, project := newTestClient(), Project{ID: id.New[id.ProjectKind](), APIOrigin: server.URL}
	var wg sync.WaitGroup
	for i := range 40 {
		who := []string{"alice", "bob"}[i%2]
		wg.Go(func() {
			tokens, err := c.SignInPassword(t.Context(), project, who, seal.NewSecret(who), "")
			if err != nil || tokens.Access.Reveal() != who+".access" || tokens.Refresh.Reveal() != who+"-next" || tokens.User.ID != who {
				t.Errorf("%s has %s, %v", who, shown(authAnswer{tokens: tokens}), err)
				return
			}
			if u, err := c.CurrentUser(t.Context(), project, tokens.Access); err != nil || u.ID != who {
				t.Errorf("%s is %s, %v", who, u.ID, err)
			}
		})
	}
	wg.Wait()
}

func TestPKCE(t *testing.T) {
	t.Parallel()
	// RFC 7636 appendix B.
	if got := Challenge(seal.NewSecret("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")); got != "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM" {
		t.Errorf("challenge %s", got)
	}
	a, b := NewVerifier(), NewVerifier()
	if len(a.Reveal()) != 43 || a.Reveal() == b.Reveal() {
		t.Errorf("verifiers of %d characters", len(a.Reveal()))
	}
}

func TestBrowserAddresses(t *testing.T) {
	t.Parallel()
	const issuer = "https://ref.example.test/auth/v1"
	got := AuthorizeURL(issuer, AuthorizeRequest{ClientID: clientID, RedirectURI: callback + "?a=1&b=2", State: "s&t", Challenge: "c"})
	u, err := url.Parse(got)
	want := url.Values{"response_type": {"code"}, "client_id": {clientID}, "redirect_uri": {callback + "?a=1&b=2"}, "scope": {"email"},
		"state": {"s&t"}, "code_challenge": {"c"}, "code_challenge_method": {"S256"}}
	if err != nil || !strings.HasPrefix(got, issuer+"/oauth/authorize?") || !reflect.DeepEqual(u.Query(), want) {
		t.Errorf("authorize %s", got)
	}
	got = ProviderURL(issuer, "google", callback+"?t=1", "c")
	u, err = url.Parse(got)
	want = url.Values{"provider": {"google"}, "redirect_to": {callback + "?t=1"}, "code_challenge": {"c"}, "code_challenge_method": {"s256"}}
	if err != nil || !strings.HasPrefix(got, issuer+"/authorize?") || !reflect.DeepEqual(u.Query(), want) {
		t.Errorf("provider %s", got)
	}
}
