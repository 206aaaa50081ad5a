package standin

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// providerLogin is somebody who said yes at a built-in provider; the code for
// it is used once, within a minute.
type providerLogin struct {
	provider string
	email    string
	at       time.Time
}

// providerPath is where a built-in social provider has its page.
func providerPath(name string) string { return "/providers/" + name }

// addProviders switches the built-in social providers on.
func (a *authServer) addProviders(names []string) error {
	for _, name := range names {
		if !slices.Contains(knownProviders, name) || name == "anonymous_users" || name == "phone" {
			return fmt.Errorf("provider %q is none of those that Auth knows", name)
		}
		a.cfg.providers[name] = externalProvider{url: a.cfg.baseURL + providerPath(name), clientID: "standin-" + name,
			exchange: func(code string) (externalIdentity, error) { return a.exchangeLogin(name, code) }}
	}
	return nil
}

// providerTitle is the provider's name for people.
func providerTitle(name string) string {
	if name == "github" {
		return "GitHub"
	}
	return strings.ToUpper(name[:1]) + name[1:]
}

// builtInProvider is the provider of a page's path, if it is switched on and
// one of the stand-in's own.
func (a *authServer) builtInProvider(r *http.Request) (string, bool) {
	name := r.PathValue("provider")
	return name, a.cfg.providers[name].url == a.cfg.baseURL+providerPath(name)
}

// providerPage asks whom to sign in: one button for each of the project's
// people, and a field for anybody else.
func (a *authServer) providerPage(w http.ResponseWriter, r *http.Request) {
	name, ok := a.builtInProvider(r)
	if !ok {
		http.NotFound(w, r)
		return
	}
	if r.FormValue("redirect_uri") != a.issuer()+"/callback" {
		showPage(w, http.StatusBadRequest, "notice", pageData{Title: "This sign-in cannot be answered",
			Text: "It does not come from the app's own sign-in. Start again there."})
		return
	}
	data := pageData{Title: "Sign in with " + providerTitle(name), ID: r.FormValue("state"), Next: providerPath(name)}
	for _, u := range a.cfg.users {
		data.People = append(data.People, strings.ToLower(u.Email))
	}
	showPage(w, http.StatusOK, "provider", data)
}

// providerAnswer sends the browser back to Auth with a code, or with the
// refusal where no address came along.
func (a *authServer) providerAnswer(w http.ResponseWriter, r *http.Request) {
	name, ok := a.builtInProvider(r)
	if !ok {
		http.NotFound(w, r)
		return
	}
	params := url.Values{"state": {r.PostFormValue("state")}}
	email := strings.ToLower(r.PostFormValue("email"))
	if email == "" {
		params.Set("error", "access_denied")
		params.Set("error_description", "The user has denied your application access.")
	} else {
		params.Set("code", a.noteLogin(name, email))
	}
	http.Redirect(w, r, withQuery(a.issuer()+"/callback", params), http.StatusSeeOther)
}

func (a *authServer) noteLogin(provider, email string) (code string) {
	code = randomBase64(24)
	now := a.cfg.now()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.state.logins[code] = providerLogin{provider, email, now}
	return code
}

func (a *authServer) exchangeLogin(provider, code string) (externalIdentity, error) {
	now := a.cfg.now()
	a.mu.Lock()
	defer a.mu.Unlock()
	login, ok := a.state.logins[code]
	delete(a.state.logins, code)
	if !ok || login.provider != provider || now.Sub(login.at) > time.Minute {
		return externalIdentity{}, errors.New("the provider does not know the code")
	}
	user, _, _ := strings.Cut(login.email, "@")
	return externalIdentity{
		subject: provider + ":" + login.email, email: login.email, emailVerified: true,
		claims: map[string]any{"name": user, "full_name": user, "user_name": user, "preferred_username": user,
			"iss": a.cfg.baseURL + providerPath(provider)},
		accessToken: "standin-provider-token-" + randomBase64(12),
	}, nil
}
