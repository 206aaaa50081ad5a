package surfaces

import (
	"net"
	"net/url"
	"strings"
)

// Bounds of what access lists.
const (
	maxAudience  = 20
	maxClients   = 100
	maxRoleNames = 50
	maxClaimPath = 8
)

// external reads what belongs to authorization: external.
func (r *reader) external(m mapping, a *AccessSpec) {
	if t, ok := m.text("issuer", ruleURL); ok {
		if why := notIssuer(t.Value); why != "" {
			r.errorf(t.at, "%s is not an issuer: %s; write it byte for byte as tokens have it in iss, such as https://login.example.com", quoteName(t.Value), why)
		} else {
			a.Issuer = t
		}
	}
	a.Audience = r.bounded(m, "audience", ruleURL, maxAudience, "leave it out to accept any token of the issuer that names its client")
	a.Clients = r.bounded(m, "clients", ruleURL, maxClients, "leave it out to accept every client")
	a.Introspection = r.introspection(m)
}

// bounded reads a list that is not empty and not endless.
func (r *reader) bounded(m mapping, key string, rule textRule, most int, instead string) []Text {
	texts, ok := m.list(key, rule)
	switch {
	case ok && len(texts) == 0:
		r.errorf(m.entries[key].at, "%s is an empty list, which would let nobody in: %s", key, instead)
	case len(texts) > most:
		r.errorf(m.entries[key].at, "%s lists %d; at most %d", key, len(texts), most)
		return nil
	}
	return texts
}

// notIssuer says why a text is no issuer identifier (RFC 8414 section 2);
// empty when it is one. Plain http is for loopback only.
func notIssuer(s string) string {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Host == "" || u.Hostname() == "":
		return "it is no URL"
	case u.Scheme != "https" && (u.Scheme != "http" || !loopbackHost(u.Hostname())):
		return "it must be https"
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || strings.Contains(s, "#"):
		return "it has more than an origin and a path"
	}
	return ""
}

func loopbackHost(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// introspection reads how opaque tokens are checked (RFC 7662).
func (r *reader) introspection(m mapping) *IntrospectionSpec {
	n, at, ok := m.get("introspection")
	if !ok {
		return nil
	}
	sub, ok := r.mapping(n, at, "introspection", introspectionKeys)
	if !ok {
		return nil
	}
	s := &IntrospectionSpec{}
	if s.ClientID, ok = sub.text("client_id", ruleURL); !ok && !sub.given("client_id") {
		r.errorf(at, "client_id is missing: name the client that Chumbo is at the issuer; its secret is set apart from this file")
	}
	if t, ok := sub.text("endpoint", ruleURL); ok {
		if why := notIssuer(t.Value); why != "" {
			r.errorf(t.at, "%s is not an endpoint: %s", quoteName(t.Value), why)
		} else {
			s.Endpoint = t
		}
	}
	return s
}

// doors reads what belongs to single modes.
func (r *reader) doors(m mapping, a *AccessSpec) {
	a.Keys = r.function(m, "keys")
	a.Public = r.publicRate(m)
	if m.given("isolation") && r.choice(m, "isolation", "project", string(IsolationClient)) == string(IsolationClient) {
		a.Isolation = Text{Value: string(IsolationClient), at: m.entries["isolation"].at}
	}
	a.SessionCheck, _ = m.seconds("session_check", 60, 24*3600)
	a.ScopesFrom = r.scopesFrom(m)
	a.RequiredRoles = r.requiredRoles(m)
	if t, ok := m.text("documentation", ruleURL); ok {
		if u, err := url.Parse(t.Value); err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil {
			r.errorf(t.at, "%s is not an https URL: write where people read about this surface, such as https://example.com/docs", quoteName(t.Value))
		} else {
			a.Documentation = t
		}
	}
}

// function reads { rpc: name }.
func (r *reader) function(m mapping, key string) *FunctionSpec {
	n, at, ok := m.get(key)
	if !ok {
		return nil
	}
	sub, ok := r.mapping(n, at, key, functionKeys)
	if !ok {
		return nil
	}
	t, ok := sub.text("rpc", textRule{max: 200, oneLine: true})
	if !ok {
		if !sub.given("rpc") {
			r.errorf(at, "%s needs rpc: the name of a function of the project", key)
		}
		return nil
	}
	return &FunctionSpec{Function: t}
}

func (r *reader) publicRate(m mapping) *PublicSpec {
	n, at, ok := m.get("public")
	if !ok {
		return nil
	}
	sub, ok := r.mapping(n, at, "access.public", publicKeys)
	if !ok {
		return nil
	}
	p := &PublicSpec{at: at}
	p.Confirm, _ = sub.boolean("confirm")
	p.Calls, _ = sub.integer("calls", 1, 1_000_000)
	p.Total, _ = sub.integer("total", 1, 100_000_000)
	p.Per, _ = sub.seconds("per", 1, 24*3600)
	for _, key := range []string{"calls", "per"} {
		if !sub.given(key) {
			r.errorf(at, "public.%s is missing: say how often one address may call, such as calls: 60, per: 1m", key)
		}
	}
	if p.Total > 0 && p.Total < p.Calls {
		r.errorf(sub.entries["total"].at, "public.total (%d) is below public.calls (%d): all addresses together may call no less than one", p.Total, p.Calls)
	}
	return p
}

func (r *reader) scopesFrom(m mapping) *ScopesFromSpec {
	n, at, ok := m.get("scopes_from")
	if !ok {
		return nil
	}
	sub, ok := r.mapping(n, at, "scopes_from", scopesFromKeys)
	if !ok {
		return nil
	}
	s := &ScopesFromSpec{at: at}
	switch {
	case sub.given("claim") && sub.given("rpc"):
		r.errorf(at, "scopes_from names a claim or an rpc, not both")
	case sub.given("claim"):
		s.Claim = r.claim(sub)
	case sub.given("rpc"):
		s.Function = r.function(m, "scopes_from")
	default:
		r.errorf(at, "scopes_from needs claim: (a claim of the token) or rpc: (a function of the project)")
	}
	return s
}

// requiredRoles reads the short form, roles alone, and the long one.
func (r *reader) requiredRoles(m mapping) *RequiredRolesSpec {
	n, at, ok := m.get("required_roles")
	if !ok {
		return nil
	}
	s := &RequiredRolesSpec{Claim: claimPath{"app_metadata", "role"}, at: at}
	if !isMapping(n) {
		s.Roles = r.bounded(m, "required_roles", ruleName, maxRoleNames, "leave it out to admit every role")
		return s
	}
	sub, ok := r.mapping(n, at, "required_roles", requiredRolesKeys)
	if !ok {
		return nil
	}
	if sub.given("claim") {
		s.Claim = r.claim(sub)
	}
	s.Roles = r.bounded(sub, "roles", ruleName, maxRoleNames, "name at least one")
	if !sub.given("roles") {
		r.errorf(at, "required_roles.roles is missing: list the roles that may come in")
	}
	return s
}

// claim reads the path to a claim: names with dots between them, or a list of
// names, which may then have dots of their own.
func (r *reader) claim(m mapping) claimPath {
	n, at, ok := m.get("claim")
	if !ok {
		return nil
	}
	return r.path(n, at, "claim")
}

func (r *reader) checkClaim(path claimPath, at place) claimPath {
	if len(path) == 0 || len(path) > maxClaimPath {
		r.errorf(at, "the path to a claim has 1 to %d names", maxClaimPath)
		return nil
	}
	for _, name := range path {
		switch {
		case strings.TrimSpace(name) == "":
			r.errorf(at, "the path to a claim has an empty name: write names with a dot between them, such as app_metadata.role")
			return nil
		case userWritten(name):
			r.errorf(at, "%s is written by users themselves, so nothing may be decided by it: use app_metadata, which only your server writes", name)
			return nil
		}
	}
	return path
}

// userWritten reports whether a name stands for what users may change of
// themselves, however it is spelled.
func userWritten(name string) bool {
	name = strings.ToLower(strings.TrimSpace(name))
	return name == "user_metadata" || name == "raw_user_meta_data"
}
