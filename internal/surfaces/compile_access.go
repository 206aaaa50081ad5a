package surfaces

import (
	"net/url"
	"slices"
	"strings"
)

// only reports whether this is the only mode.
func (a AccessSpec) only(mode Mode) bool { return len(a.Modes) == 1 && a.has(mode) }

func (a AccessSpec) external() bool {
	return a.has(ModeOAuth) && a.Authorization.Value == AuthorizationExternal
}

func (a AccessSpec) direct() bool {
	return a.has(ModeOAuth) && a.Authorization.Value == AuthorizationDirect
}

// claimed reports whether some callers have claims.
func (a AccessSpec) claimed() bool { return a.has(ModeOAuth) || a.has(ModeBearer) }

// access fills in who may call, and refuses what the project cannot do.
func (c *compiler) access() {
	a := c.file.Access
	out := &c.out.Access
	for _, m := range a.Modes {
		out.Modes = append(out.Modes, Mode(m.Value))
	}
	out.AnonymousUsers, out.ApprovalPage = a.AnonymousUsers, a.ApprovalPage
	out.Origins, out.Documentation, out.AAL = values(a.Origins), a.Documentation.Value, a.AAL.Value
	if roles := c.userRoles(); len(roles) > 0 {
		out.Roles = roles
		c.roleRules(a)
	}
	if a.has(ModeOAuth) {
		out.Authorization = a.Authorization.Value
		out.Advertise, out.Require = values(a.Advertise), values(a.Require)
		switch out.Authorization {
		case AuthorizationBridge:
			c.bridgeRules(a)
		case AuthorizationDirect:
			c.directRules(a)
		case AuthorizationExternal:
			c.externalRules(a)
		}
	} else if len(a.Modes) > 0 {
		c.onlyOAuth(a)
	}
	if a.has(ModeBearer) {
		c.bearerRules(a)
	}
	if !a.unclear {
		c.belongings(a)
	}
	c.publicRate(a)
	c.sessions(a)
	c.claimRules(a)
}

func (c *compiler) onlyOAuth(a AccessSpec) {
	for _, t := range slices.Concat(a.Advertise, a.Require) {
		c.errorf(t.at, "scopes belong to mode oauth: add oauth to mode, or leave them out")
	}
}

// belongings refuse what belongs to another way in than the file has: it would
// hold nobody back, whatever its author thinks.
func (c *compiler) belongings(a AccessSpec) {
	for _, b := range []struct {
		key, to string
		here    bool
	}{
		{"issuer", "authorization: external", a.external()},
		{"audience", "authorization: external", a.external()},
		{"clients", "authorization: external", a.external()},
		{"introspection", "authorization: external", a.external()},
		{"keys", "mode api-key", a.has(ModeAPIKey)},
		{"public", "mode public", a.has(ModePublic)},
		{"isolation", "authorization: direct", a.direct()},
		{"session_check", "authorization: direct and mode bearer", a.direct() || a.has(ModeBearer)},
		{"scopes_from", "authorization: direct and external", a.direct() || a.external()},
		{"required_roles", "modes oauth and bearer, whose callers have claims", a.claimed()},
		{"aal", "modes oauth and bearer, whose callers have claims", a.claimed()},
		{"approval_page", "authorization: bridge, which signs people in on pages of its own", a.has(ModeOAuth) && a.Authorization.Value == AuthorizationBridge},
	} {
		if at, given := a.given[b.key]; given && !b.here {
			c.errorf(at, "%s belongs to %s: leave it out here", b.key, b.to)
		}
	}
	if a.external() && !a.has(ModeBearer) {
		if at, given := a.given["roles"]; given {
			c.errorf(at, "roles are those of the project's own tokens, and with authorization: external calls run as anon: write required_roles for a claim of the issuer's tokens")
		}
	}
	if a.Keys != nil && a.Introspection != nil {
		c.errorf(a.given["introspection"], "keys and introspection exclude each other: a string that is no JWT could be either, so one of them would see what is meant for the other. Leave one out")
	}
}

// directRules are what direct mode needs of the project.
func (c *compiler) directRules(a AccessSpec) {
	if c.facts.Signing == SigningHS256 {
		c.errorf(a.authorization, "this project signs its tokens with a shared secret (HS256), which nobody else can verify, so direct authorization is not possible. "+
			"In the Supabase dashboard open Project Settings, JWT Keys: choose \"Migrate JWT secret\", then \"Rotate keys\" so that an asymmetric key (ES256) signs; "+
			"then check the project again (chumbo link) and publish. Or write authorization: bridge, which works with HS256 keys")
	}
	if c.facts.OAuthOff {
		c.errorf(a.authorization, "this project's OAuth server is off, so nobody could sign in. In the Supabase dashboard open Authentication, OAuth Server: enable it and allow dynamic client registration "+
			"(self-hosted: GOTRUE_OAUTH_SERVER_ENABLED=true and GOTRUE_OAUTH_SERVER_ALLOW_DYNAMIC_REGISTRATION=true); then check the project again (chumbo link) and publish. Or write authorization: bridge, which needs no OAuth server")
	}
	for _, t := range a.Advertise {
		if t.Value == offlineAccess {
			c.errorf(t.at, offlineNever)
			continue
		}
		c.knownScope(t)
	}
	for _, t := range a.Require {
		c.directScope(t)
	}
}

// roleRules warn about users who are more than signed in.
func (c *compiler) roleRules(a AccessSpec) {
	for _, t := range a.Roles {
		if t.Value != "authenticated" {
			c.warnf(t.at, "tokens with role %s are accepted: the Data API runs them as that database role, with its rights", t.Value)
		}
	}
}

// knownScope refuses a scope that the project's server cannot issue: asking
// for it would end every sign-in with an error.
func (c *compiler) knownScope(t Text) {
	if c.facts.knowsScope(t.Value) {
		return
	}
	c.errorf(t.at, "the project's OAuth server cannot issue the scope %s, so no token would ever have it%s. With authorization: bridge a surface has scopes of its own, and access.scopes_from may say where others come from",
		quoteName(t.Value), c.suggest(t.Value, c.facts.ScopesSupported, "; it issues "))
}

// directScope is knownScope, unless the file says where other scopes come from.
func (c *compiler) directScope(t Text) {
	if c.file.Access.ScopesFrom == nil {
		c.knownScope(t)
	}
}

// externalRules are what another issuer needs.
func (c *compiler) externalRules(a AccessSpec) {
	if _, given := a.given["issuer"]; !given {
		c.errorf(a.authorization, "authorization: external needs issuer: who issues the tokens, byte for byte as they have it in iss")
	}
	if a.Issuer.Value != "" && sameIssuer(a.Issuer.Value, c.facts.Issuer) {
		c.errorf(a.Issuer.at, "this is the project's own issuer, whose tokens would run as anon here: write authorization: bridge (or direct), where they run as their user")
	}
	if len(a.Audience) == 0 && a.Issuer.Value != "" {
		c.warnf(a.Issuer.at, "without audience a token is accepted that the issuer made for another app, as long as it names its client: write audience: [what your tokens have in aud]")
	}
	for _, t := range slices.Concat(a.Advertise, a.Require) {
		if t.Value == offlineAccess {
			c.errorf(t.at, offlineNever)
		}
	}
	for _, t := range a.Require {
		c.externalScope(t)
	}
	if len(a.Advertise) > 0 {
		c.warnf(a.Advertise[0].at, "clients that ask only for what is advertised never ask for offline_access, so they lose their sign-in when the token ends, unless the issuer gives them a refresh token without it: see to that there, or leave advertise out")
	}
	if a.Issuer.Value == "" {
		return
	}
	e := &ExternalIssuer{URL: a.Issuer.Value, Audience: values(a.Audience), Clients: values(a.Clients)}
	if s := a.Introspection; s != nil {
		e.Introspection = &Introspection{ClientID: s.ClientID.Value, Endpoint: s.Endpoint.Value}
		if s.Endpoint.Value != "" && !sameOrigin(s.Endpoint.Value, a.Issuer.Value) {
			c.errorf(s.Endpoint.at, "the endpoint is not at the issuer's origin, and tokens go only to who issued them: leave it out to take the one that the issuer's metadata names")
		}
	}
	c.out.Access.Issuer = e
}

// sameIssuer compares as a person would: what differs only in case of the host
// or a slash at the end is meant to be the same.
func sameIssuer(a, b string) bool {
	return b != "" && strings.EqualFold(strings.TrimRight(a, "/"), strings.TrimRight(b, "/"))
}

func sameOrigin(a, b string) bool {
	x, errX := url.Parse(a)
	y, errY := url.Parse(b)
	port := func(u *url.URL) string {
		if p := u.Port(); p != "" {
			return p
		}
		return map[string]string{"https": "443", "http": "80"}[u.Scheme]
	}
	return errX == nil && errY == nil && x.Scheme == y.Scheme && strings.EqualFold(x.Hostname(), y.Hostname()) && port(x) == port(y)
}

// bearerRules are what the app's own sessions need of the project.
func (c *compiler) bearerRules(a AccessSpec) {
	if c.facts.Signing == SigningHS256 {
		c.errorf(modeAt(a, ModeBearer), "this project signs its tokens with a shared secret (HS256), which nobody else can verify, so mode bearer cannot tell a session of your app from a forgery. "+
			"In the Supabase dashboard open Project Settings, JWT Keys: choose \"Migrate JWT secret\", then \"Rotate keys\" so that an asymmetric key (ES256) signs; "+
			"then check the project again (chumbo link) and publish. Or leave bearer out: mode oauth with authorization: bridge works with HS256 keys")
	}
}

// publicRate refuses mode public without somebody who meant it, and without a
// bound.
func (c *compiler) publicRate(a AccessSpec) {
	if !a.has(ModePublic) {
		return
	}
	p := a.Public
	if p == nil {
		if _, given := a.given["public"]; !given {
			c.errorf(modeAt(a, ModePublic), "mode public lets anybody on the internet call, so it needs a confirmation and a rate: write public: { confirm: true, calls: 60, per: 1m }")
		}
		return
	}
	if !p.Confirm {
		c.errorf(p.at, "public.confirm must be true: it says that anybody on the internet may call what is marked public: true, as the role anon")
	}
	c.out.Access.Public = &PublicRate{Calls: p.Calls, Total: p.Total, Seconds: p.Per}
}

// sessions fill in how far a token of the project is trusted, and for how long.
func (c *compiler) sessions(a AccessSpec) {
	c.out.Access.Isolation = Isolation(a.Isolation.Value)
	c.out.Access.SessionCheck = a.SessionCheck
}

// claimRules fill in what is asked of claims.
func (c *compiler) claimRules(a AccessSpec) {
	if r := a.RequiredRoles; r != nil && len(r.Claim) > 0 && len(r.Roles) > 0 {
		c.out.Access.RequiredRoles = &RequiredRoles{Claim: r.Claim, Roles: values(r.Roles)}
		c.emailClaim(r.Claim, r.at)
	}
	if s := a.ScopesFrom; s != nil && len(s.Claim) > 0 {
		c.out.Access.ScopesFrom = &ScopesFrom{Claim: s.Claim}
		c.emailClaim(s.Claim, s.at)
	}
}

func (c *compiler) emailClaim(path claimPath, at place) {
	if path[0] == "email" {
		c.warnf(at, emailNote)
	}
}

// capabilityScope refuses a scope of a tool that nobody could ever have, and
// one that is no permission of the app.
func (c *compiler) capabilityScope(t Text) {
	a := c.file.Access
	switch {
	case a.direct():
		c.directScope(t)
	case a.external():
		c.externalScope(t)
	case a.has(ModeOAuth) || a.has(ModeAPIKey):
		c.ownScope(t)
	}
}

// externalScope refuses what another issuer grants for itself, not for the app.
func (c *compiler) externalScope(t Text) {
	if t.Value == offlineAccess || slices.Contains(identityScopes, t.Value) {
		c.errorf(t.at, "%s is one of OpenID Connect's scopes, which are no permissions of your app: name what clients may do in it, such as crm.read", t.Value)
	}
}

func modeAt(a AccessSpec, mode Mode) place {
	for _, m := range a.Modes {
		if m.Value == string(mode) {
			return m.at
		}
	}
	return a.at
}
