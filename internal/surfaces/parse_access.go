package surfaces

import (
	"net/url"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// access reads who may call.
func (r *reader) access(n *yaml.Node, at place) AccessSpec {
	a := AccessSpec{at: at, authorization: at}
	m, ok := r.mapping(n, at, "access", accessKeys)
	if !ok {
		return a
	}
	before := len(r.problems)
	a.Modes = r.modes(m)
	a.Authorization, _ = m.text("authorization", ruleName)
	if e, ok := m.entries["authorization"]; ok {
		a.authorization = e.at
	}
	r.checkAuthorization(a)
	a.unclear = HasErrors(r.problems[before:])
	if a.has(ModeOAuth) && !m.given("authorization") {
		a.Authorization = Text{Value: AuthorizationBridge, at: at}
	}
	a.Advertise = r.scopes(m, "advertise")
	a.Require = r.scopes(m, "require")
	a.Roles = r.roles(m)
	a.AnonymousUsers, _ = m.boolean("anonymous_users")
	a.Origins = r.origins(m)
	a.given = map[string]place{}
	for name, e := range m.entries {
		a.given[name] = e.at
	}
	r.external(m, &a)
	r.doors(m, &a)
	a.AAL = r.aal(m)
	a.ApprovalPage, _ = m.boolean("approval_page")
	a.Visible, _ = m.text("visible", ruleExpression)
	a.Allow = r.allow(m)
	return a
}

var modeNames = []string{string(ModeOAuth), string(ModeBearer), string(ModeAPIKey), string(ModePublic)}

func (r *reader) modes(m mapping) []Text {
	texts, ok := m.list("mode", ruleName)
	if !ok {
		if !m.given("mode") {
			r.errorf(m.at, "access.mode is missing: write mode: oauth")
		}
		return nil
	}
	var modes []Text
	for _, t := range texts {
		if slices.Contains(modeNames, t.Value) {
			modes = append(modes, t)
			continue
		}
		r.errorf(t.at, "unknown mode %s%s", quoteName(t.Value), r.suggest(t.Value, modeNames, "; this version has "))
	}
	if len(texts) == 0 {
		r.errorf(m.at, "access.mode is an empty list: write mode: oauth")
	}
	return modes
}

func (r *reader) checkAuthorization(a AccessSpec) {
	value := a.Authorization.Value
	known := slices.Contains([]string{AuthorizationBridge, AuthorizationDirect, AuthorizationExternal}, value)
	switch {
	case known && !a.has(ModeOAuth) && len(a.Modes) > 0:
		r.errorf(a.authorization, "authorization belongs to mode oauth: add oauth to mode, or leave authorization out")
	case known || value == "":
	default:
		r.errorf(a.authorization, "unknown authorization %s: write authorization: bridge (or direct, or external)", quoteName(value))
	}
}

// scopes reads a list of OAuth scopes (RFC 6749 section 3.3).
func (r *reader) scopes(m mapping, key string) []Text {
	texts, _ := m.list(key, ruleName)
	return r.checkScopes(texts)
}

func (r *reader) checkScopes(texts []Text) []Text {
	for _, t := range texts {
		if strings.ContainsFunc(t.Value, notOfAWord) {
			r.errorf(t.at, "%s is not a scope: one word of visible ASCII without quotes or backslashes; list several as [a, b]", quoteName(t.Value))
		}
	}
	return texts
}

// notOfAWord reports whether a character cannot be part of a scope.
func notOfAWord(c rune) bool { return c <= ' ' || c == '"' || c == '\\' || c > '~' }

func (r *reader) roles(m mapping) []Text {
	texts, ok := m.list("roles", ruleName)
	if !ok {
		return []Text{{Value: "authenticated", at: m.at}}
	}
	for _, t := range texts {
		if slices.Contains([]string{"anon", "service_role", "postgres", "authenticator"}, t.Value) {
			r.errorf(t.at, "the role %s is never accepted: list roles that stand for signed-in users", t.Value)
		}
	}
	if len(texts) == 0 {
		r.errorf(m.entries["roles"].at, "roles is an empty list, which would let nobody in: leave it out for [authenticated]")
	}
	return texts
}

func (r *reader) origins(m mapping) []Text {
	texts, ok := m.list("origins", textRule{max: 300, oneLine: true})
	if ok && len(texts) == 0 {
		r.errorf(m.entries["origins"].at, "origins is an empty list: leave it out to allow any browser origin")
	}
	for _, t := range texts {
		if !isOrigin(t.Value) {
			r.errorf(t.at, "%s is not a browser origin: write scheme and host only, such as https://app.example.com", quoteName(t.Value))
		}
	}
	return texts
}

// isOrigin reports whether s is a serialized origin (RFC 6454 section 6.2).
func isOrigin(s string) bool {
	u, err := url.Parse(s)
	if err != nil || (u.Scheme != "https" && u.Scheme != "http") || u.Hostname() == "" || u.User != nil {
		return false
	}
	port := u.Port()
	if (u.Scheme == "https" && port == "443") || (u.Scheme == "http" && port == "80") || strings.HasSuffix(u.Host, ":") {
		return false
	}
	return s == u.Scheme+"://"+u.Host && s == strings.ToLower(s) && !strings.Contains(s, "*")
}
