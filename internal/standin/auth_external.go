package standin

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

// externalAuthorize sends the browser to a provider. The caller has no state of
// its own: Auth makes it. Parameters it does not know go along to the provider,
// redirect_to included.
func (a *authServer) externalAuthorize(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	name := q.Get("provider")
	provider, configured := a.cfg.providers[name]
	switch {
	case !configured && !slices.Contains(knownProviders, name):
		return invalidInput(fmt.Sprintf("Unsupported provider: Provider %s could not be found", name))
	case provider.url == "":
		return invalidInput("Unsupported provider: provider is not enabled")
	}
	challenge, method := q.Get("code_challenge"), strings.ToLower(q.Get("code_challenge_method"))
	if err := flowChallenge(challenge, method); err != nil {
		return err
	}
	f := &flowState{id: uuid.NewString(), provider: name, method: methodExternal, to: a.redirectTo(r),
		challenge: challenge, chMethod: method, startedAt: a.cfg.now()}
	a.mu.Lock()
	a.state.flows[f.id] = f
	a.mu.Unlock()
	scope := strings.TrimSpace("profile email " + q.Get("scopes"))
	for _, own := range []string{"provider", "scopes", "code_challenge", "code_challenge_method", "skip_http_redirect",
		"client_id", "client_secret", "redirect_uri", "response_type", "state", "scope"} {
		q.Del(own)
	}
	q.Set("client_id", provider.clientID)
	q.Set("redirect_uri", a.issuer()+"/callback")
	q.Set("response_type", "code")
	q.Set("scope", scope)
	q.Set("state", f.id)
	http.Redirect(w, r, withQuery(provider.url, q), http.StatusFound)
	return nil
}

// externalCallback is where the provider sends the browser back. Without a
// usable state nobody knows where to go on to, so it ends at the site.
func (a *authServer) externalCallback(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	f, problem := a.returnToFlow(q.Get("state"))
	if problem != nil {
		to := withQuery(a.cfg.siteURL, url.Values{"error": {"invalid_request"}, "error_code": {problem.code}, "error_description": {problem.msg}})
		http.Redirect(w, r, to, http.StatusSeeOther)
		writeAuthError(w, r, problem)
		return nil
	}
	if q.Get("error") != "" {
		params := url.Values{"error": {q.Get("error")}, "error_description": {q.Get("error_description")}}
		http.Redirect(w, r, withFragment(withQuery(f.to, params), params), http.StatusFound)
		return nil
	}
	who, err := a.cfg.providers[f.provider].exchange(q.Get("code"))
	if err != nil {
		return a.refuseFlow(w, r, f, newAuthError(http.StatusInternalServerError, "unexpected_failure", "Unable to exchange external code"))
	}
	p, err := a.personOfIdentity(r.Context(), f.provider, who)
	if err != nil {
		return a.refuseFlow(w, r, f, err)
	}
	f.providerToken, f.providerRefresh = who.accessToken, who.refreshToken
	if f.challenge != "" {
		http.Redirect(w, r, withQuery(f.to, url.Values{"code": {a.giveCode(f, p.ID)}}), http.StatusFound)
		return nil
	}
	return a.redirectWithTokens(w, r, f, p, http.StatusFound, url.Values{})
}

// refuseFlow tells the app what went wrong after the provider sent the browser
// back, in the query and in the fragment.
func (a *authServer) refuseFlow(w http.ResponseWriter, r *http.Request, f *flowState, err error) error {
	var why *authError
	if !errors.As(err, &why) {
		return err
	}
	params := url.Values{"error": {"server_error"}, "error_code": {why.code}, "error_description": {why.msg}}
	if why.code == "signup_disabled" || why.code == "user_banned" || why.code == "provider_email_needs_verification" {
		params.Set("error", "access_denied")
	}
	http.Redirect(w, r, withFragment(withQuery(f.to, params), params), http.StatusFound)
	return nil
}

func (a *authServer) returnToFlow(state string) (*flowState, *authError) {
	refuse := func(code, msg string) (*flowState, *authError) {
		return nil, &authError{status: http.StatusBadRequest, code: code, msg: msg, noHeader: true}
	}
	if state == "" {
		return refuse("bad_oauth_callback", "OAuth state parameter missing")
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	f := a.state.flows[state]
	switch {
	case f == nil || f.expired(a.cfg.now()):
		return refuse("bad_oauth_state", "OAuth state not found or expired")
	case f.returned:
		return refuse("flow_state_already_used", "State has already been used")
	}
	f.returned = true
	return f, nil
}

// redirectWithTokens ends an implicit flow: the session travels in the
// fragment.
func (a *authServer) redirectWithTokens(w http.ResponseWriter, r *http.Request, f *flowState, p *person, status int, more url.Values) error {
	i, err := a.startSession(r.Context(), p, f.method, "", "")
	if err != nil {
		return err
	}
	i.tell(w)
	if err := a.sign(i, p); err != nil {
		return err
	}
	params := url.Values{
		"access_token": {i.accessT}, "token_type": {"bearer"}, "refresh_token": {i.refresh},
		"expires_in": {strconv.Itoa(int(i.lifetime.Seconds()))},
		"expires_at": {strconv.FormatInt(i.expiresAt.Unix(), 10)},
	}
	if f.providerToken != "" {
		params.Set("provider_token", f.providerToken)
	}
	if f.providerRefresh != "" {
		params.Set("provider_refresh_token", f.providerRefresh)
	}
	maps.Copy(params, more)
	http.Redirect(w, r, withFragment(f.to, params), status)
	return nil
}

// personOfIdentity finds or makes the account. A verified address links to the
// account that has it, and the provider's claims overwrite its metadata.
func (a *authServer) personOfIdentity(ctx context.Context, provider string, who externalIdentity) (*person, error) {
	now := a.cfg.now().UTC()
	data := maps.Clone(who.claims)
	if data == nil {
		data = map[string]any{}
	}
	maps.Copy(data, map[string]any{"email": who.email, "email_verified": who.emailVerified, "phone_verified": false,
		"provider_id": who.subject, "sub": who.subject})
	p, err := a.people.byEmail(ctx, who.email)
	write := a.people.update
	switch {
	case errors.Is(err, errNoPerson) && a.cfg.signupOff:
		return nil, signupDisabled()
	case errors.Is(err, errNoPerson):
		p = &person{ID: uuid.NewString(), Aud: "authenticated", Role: "authenticated", Email: strings.ToLower(who.email),
			CreatedAt: now, AppMetadata: map[string]any{"provider": provider, "providers": []any{}}, UserMetadata: map[string]any{}}
		p.EmailConfirmedAt = &now
		write = a.people.insert
	case err != nil:
		return nil, err
	case !who.emailVerified:
		return nil, newAuthError(http.StatusUnprocessableEntity, "provider_email_needs_verification",
			fmt.Sprintf("Unverified email with %s. Verify the email with %s in order to sign in", provider, provider))
	case p.banned(now):
		return nil, newAuthError(http.StatusForbidden, "user_banned", "User is banned")
	case p.EmailConfirmedAt == nil: // whoever signed up with it never showed that it is theirs
		p.passwordHash = ""
		p.confirm(now)
	}
	known := slices.IndexFunc(p.Identities, func(i identity) bool { return i.Provider == provider && i.ID == who.subject })
	if known < 0 {
		p.addIdentity(provider, who.subject, data, now)
		providers, _ := p.AppMetadata["providers"].([]any)
		p.AppMetadata["providers"] = append(providers, provider)
	}
	maps.Copy(p.UserMetadata, data)
	p.UpdatedAt = now
	if err := write(ctx, p); err != nil {
		return nil, err
	}
	return a.people.byID(ctx, p.ID)
}
