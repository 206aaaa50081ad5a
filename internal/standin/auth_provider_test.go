package standin

import (
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/localpg"
)

// socialSignIn takes a browser from Auth through the provider's page and
// returns where it ends.
func socialSignIn(t *testing.T, p *Project, choose url.Values, verifier string) *url.URL {
	t.Helper()
	b := newBrowser(t, p.URL())
	asked := b.open("/auth/v1/authorize?" + url.Values{"provider": {"github"}, "redirect_to": {"http://127.0.0.1:9/back?tx=1"},
		"code_challenge": {challengeOf(verifier)}, "code_challenge_method": {"s256"}}.Encode())
	shown := b.open(strings.TrimPrefix(asked.to, p.URL()))
	for _, want := range []string{"Sign in with GitHub", "Continue as " + alice, "Continue as " + bob} {
		if !strings.Contains(shown.html, want) {
			t.Fatalf("the page does not show %q (%d)", want, shown.status)
		}
	}
	state, err := url.Parse(asked.to)
	if err != nil {
		t.Fatal(err)
	}
	choose.Set("state", state.Query().Get("state"))
	back := b.open(strings.TrimPrefix(b.submit("/providers/github", choose).to, p.URL()))
	end, err := url.Parse(back.to)
	if err != nil {
		t.Fatal(err)
	}
	return end
}

func TestPeopleSignInWithAProvider(t *testing.T) {
	t.Parallel()
	p := startCRM(t, func(o *Options) { o.Providers = []string{"github"} })
	var wg sync.WaitGroup
	for _, who := range []string{alice, bob, "carol@example.test"} {
		wg.Go(func() {
			verifier := (who + strings.Repeat("v", 43))[:43]
			end := socialSignIn(t, p, url.Values{"email": {who}}, verifier)
			if end.Host != "127.0.0.1:9" || end.Query().Get("tx") != "1" {
				t.Errorf("%s ends at %s", who, end)
			}
			exchange := map[string]string{"auth_code": end.Query().Get("code"), "code_verifier": verifier}
			got := answer(t, post(t, p, "/token?grant_type=pkce", "", exchange))
			user, _ := got["user"].(map[string]any)
			if user["email"] != who || got["provider_token"] == nil {
				t.Errorf("%s is signed in as %v", who, user["email"])
			}
			if who == alice && user["id"] != AliceID {
				t.Errorf("alice became %v", user["id"])
			}
		})
	}
	wg.Wait()
	if denied := socialSignIn(t, p, url.Values{"cancel": {"yes"}}, strings.Repeat("v", 43)); denied.Query().Get("error") != "access_denied" {
		t.Errorf("a refusal ends at %s", denied)
	}
	if settings := fetchSettings(t, p); settings["github"] != true || settings["google"] != false {
		t.Errorf("settings: %v", settings)
	}
}

func TestProviderTellsWhyNot(t *testing.T) {
	t.Parallel()
	p := startCRM(t, func(o *Options) { o.Providers, o.SignupOff = []string{"github"}, true })
	end := socialSignIn(t, p, url.Values{"email": {"carol@example.test"}}, strings.Repeat("v", 43))
	if q := end.Query(); q.Get("error") != "access_denied" || q.Get("error_code") != "signup_disabled" {
		t.Errorf("somebody new ends at %s", end)
	}
	if err := p.Exec(t.Context(), "update auth.users set banned_until = now() + interval '1 day' where email = $1", alice); err != nil {
		t.Fatal(err)
	}
	end = socialSignIn(t, p, url.Values{"email": {alice}}, strings.Repeat("v", 43))
	if end.Query().Get("error_code") != "user_banned" {
		t.Errorf("somebody banned ends at %s", end)
	}
}

func TestProviderPageAnswersAuthOnly(t *testing.T) {
	t.Parallel()
	p := startCRM(t, func(o *Options) { o.Providers = []string{"github"} })
	for path, want := range map[string]int{
		"/providers/github": http.StatusBadRequest,
		"/providers/github?redirect_uri=https%3A%2F%2Felsewhere.example.test%2Fcallback&state=s": http.StatusBadRequest,
		"/providers/google": http.StatusNotFound,
	} {
		if got := raw(t, p, http.MethodGet, path); got.status != want {
			t.Errorf("%s: %d, want %d", path, got.status, want)
		}
	}
	code := p.auth.noteLogin("github", alice)
	if _, err := p.auth.exchangeLogin("google", code); err == nil {
		t.Error("another provider took the code")
	}
	if _, err := p.auth.exchangeLogin("github", code); err == nil {
		t.Error("a code that was tried elsewhere still works")
	}
	_, err := Start(t.Context(), Options{Postgres: localpg.Shared(t), Providers: []string{"elsewhere"}})
	if err == nil {
		t.Error("a project with a provider that Auth does not know")
	}
}

// fetchSettings are the providers that Auth's settings show.
func fetchSettings(t *testing.T, p *Project) map[string]any {
	t.Helper()
	settings := answer(t, raw(t, p, http.MethodGet, "/auth/v1/settings", "Apikey", p.PublishableKey()))
	external, _ := settings["external"].(map[string]any)
	return external
}
