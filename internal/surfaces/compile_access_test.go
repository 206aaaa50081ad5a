package surfaces

import (
	"fmt"
	"strings"
	"testing"
)

// accessFile is a file whose access section holds this, over a function that
// anybody may call.
func accessFile(access string) []byte {
	return []byte("version: 1\ntitle: T\naccess: { " + access + " }\ntools:\n  - { rpc: greet }\n")
}

const (
	externalAccess = "mode: oauth, authorization: external, issuer: 'https://login.example.test', audience: [crm]"
	publicRateOf   = "public: { confirm: true, calls: 60, per: 1m }"
)

func TestAccessIsRefusedWhereItWouldHoldNobodyBack(t *testing.T) {
	t.Parallel()
	external := func(more string) string { return externalAccess + ", " + more }
	for access, words := range map[string]string{
		"mode: oauth, issuer: 'https://login.example.test'":                                   "issuer belongs to authorization: external",
		"mode: oauth, audience: [a]":                                                          "audience belongs to",
		"mode: oauth, clients: [a]":                                                           "clients belongs to",
		"mode: oauth, introspection: { client_id: a }":                                        "introspection belongs to",
		"mode: oauth, keys: { rpc: check_key }":                                               "keys belongs to mode api-key",
		"mode: oauth, " + publicRateOf:                                                        "public belongs to mode public",
		"mode: oauth, isolation: client":                                                      "isolation belongs to authorization: direct",
		"mode: oauth, isolation: project":                                                     "isolation belongs to authorization: direct",
		"mode: oauth, session_check: 5m":                                                      "session_check belongs to",
		"mode: oauth, scopes_from: { claim: app_metadata.scopes }":                            "scopes_from belongs to",
		"mode: api-key, required_roles: [admin]":                                              "required_roles belongs to",
		"mode: api-key, aal: aal2":                                                            "aal belongs to",
		"mode: bearer, require: [a]":                                                          "scopes belong to mode oauth",
		external("roles: [clerk]"):                                                            "roles are those of the project's own tokens",
		external("isolation: client"):                                                         "isolation belongs to authorization: direct",
		external("session_check: 5m"):                                                         "session_check belongs to",
		external("scopes_from: { rpc: my_scopes }"):                                           "name a claim instead",
		external("advertise: [offline_access]"):                                               "never advertised",
		external("require: [openid]"):                                                         "OpenID Connect's scopes",
		external("introspection: { client_id: c, endpoint: 'https://other.example.test/i' }"): "not at the issuer's origin",
		external("introspection: { client_id: c, endpoint: 'https://login.example.test:8443/introspect' }"):                                                "not at the issuer's origin",
		"mode: [oauth, api-key], authorization: external, issuer: 'https://login.example.test', introspection: { client_id: c }, keys: { rpc: check_key }": "exclude each other",
		"mode: oauth, authorization: external":                                             "needs issuer",
		"mode: oauth, authorization: external, issuer: 'http://login.example.test'":        "must be https",
		"mode: oauth, authorization: external, issuer: 'https://a:b@login.example.test'":   "more than an origin and a path",
		"mode: oauth, authorization: external, issuer: 'https://login.example.test/?a=b'":  "more than an origin and a path",
		"mode: oauth, authorization: external, issuer: 'https://abc.supabase.co/auth/v1/'": "the project's own issuer",
		"mode: oauth, authorization: external, issuer: 'https://ABC.supabase.co/auth/v1'":  "the project's own issuer",
		"mode: public, public: { confirm: true, calls: 60 }":                               "public.per is missing",
		"mode: public, public: { confirm: false, calls: 60, per: 1m }":                     "public.confirm must be true",
		"mode: public, public: { calls: 60, per: 1m }":                                     "public.confirm must be true",
		"mode: public, public: { confirm: true, calls: 60, per: 1m, total: 10 }":           "is below public.calls",
		"mode: public, public: { confirm: true, calls: 60, per: 25h }":                     "must be from 1s to 24h",
		"mode: [oauth, public]":                                                                                                     "needs a confirmation and a rate",
		"mode: bearer, session_check: 30s":                                                                                          "must be from 1m to 24h",
		"mode: bearer, session_check: 300":                                                                                          "a whole number and its unit",
		"mode: bearer, required_roles: { claim: user_metadata.role, roles: [a] }":                                                   "written by users themselves",
		"mode: bearer, required_roles: { claim: [User_Metadata, role], roles: [a] }":                                                "written by users themselves",
		"mode: bearer, required_roles: []":                                                                                          "would let nobody in",
		"mode: bearer, required_roles: { claim: app_metadata..role, roles: [a] }":                                                   "has an empty name",
		"mode: bearer, required_roles: { claim: a.b.c.d.e.f.g.h.i, roles: [a] }":                                                    "1 to 8 names",
		"mode: oauth, authorization: direct, scopes_from: { claim: raw_user_meta_data.scopes }":                                     "written by users themselves",
		"mode: oauth, authorization: direct, scopes_from: { claim: scopes, rpc: my_scopes }":                                        "not both",
		"mode: oauth, authorization: direct, scopes_from: {}":                                                                       "needs claim",
		"mode: oauth, authorization: direct, scopes_from: { rpc: my_scopes }, advertise: [crm.r]":                                   "cannot issue the scope",
		"mode: api-key, documentation: 'http://example.test'":                                                                       "not an https URL",
		"mode: oauth, authorization: external, issuer: 'https://login.example.test', audience: [" + strings.Repeat("a, ", 30) + "]": "listed twice",
		"mode: oauth, clients: [" + numbers(101) + "]":                                                                              "at most 100",
	} {
		facts := known()
		facts.Issuer = "https://abc.supabase.co/auth/v1"
		if c, problems := Compile(accessFile(access), loadSnapshot(t), facts); c != nil || !mentions(problems, 3, words) {
			t.Errorf("%.160s\n compiled %t, want %q: %v", access, c != nil, words, problems)
		}
	}
}

func numbers(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "c%d, ", i)
	}
	return b.String()
}

func TestAccessThatIsTaken(t *testing.T) {
	t.Parallel()
	for access, roles := range map[string]string{ // that must be able to execute what is called
		"mode: bearer":  "authenticated",
		"mode: api-key": "anon",
		"mode: api-key, keys: { rpc: check_key }": "anon",
		externalAccess: "anon",
		"mode: oauth, authorization: external, audience: [a], issuer: 'http://localhost:9/x/'":                               "anon",
		"mode: oauth, authorization: external, audience: [a], issuer: 'http://127.0.0.1:9', introspection: { client_id: c }": "anon",
		"mode: [oauth, bearer], session_check: 1h, required_roles: admin":                                                    "authenticated",
		"mode: [oauth, api-key]": "authenticated anon",
		"mode: oauth, authorization: direct, require: [crm.read], scopes_from: { claim: app_metadata.scopes }, isolation: client": "authenticated",
	} {
		snap := loadSnapshot(t)
		if c, problems := Compile(accessFile(access), snap, known()); c == nil {
			t.Errorf("%s is refused: %v", access, problems)
			continue
		}
		greet := newIndex(snap).functions["public.greet"][0]
		greet.Execute = nil
		_, problems := Compile(accessFile(access), snap, known())
		for _, role := range []string{"authenticated", "anon"} {
			if got, want := mentions(problems, 5, role+" may not execute"), strings.Contains(roles, role); got != want {
				t.Errorf("%s: %s is asked for: %t, want %t", access, role, got, want)
			}
		}
	}
}

func TestKeysThatAreNoDefaultsAreFilledIn(t *testing.T) {
	t.Parallel()
	c, problems := Compile(accessFile(externalAccess+", scopes_from: { claim: ['https://example.test/c', p] }, clients: a"), loadSnapshot(t), known())
	if c == nil {
		t.Fatal(problems)
	}
	e, s := c.Access.Issuer, c.Access.ScopesFrom
	if e == nil || e.URL != "https://login.example.test" || e.Audience[0] != "crm" || e.Clients[0] != "a" || len(c.Access.Roles) != 0 ||
		s == nil || len(s.Claim) != 2 || s.Claim[0] != "https://example.test/c" {
		t.Errorf("access %+v, issuer %+v, scopes from %+v", c.Access, e, s)
	}
}

// TestField19_LintTellsWhereAdvertisedScopesLoseTheRefreshToken: clients that
// ask only for what metadata lists never ask for offline_access.
func TestField19_LintTellsWhereAdvertisedScopesLoseTheRefreshToken(t *testing.T) {
	t.Parallel()
	const words = "refresh token"
	for access, warned := range map[string]bool{
		externalAccess: false,
		externalAccess + ", advertise: [crm.read]": true,
		"mode: oauth, advertise: [crm.read]":       false, // the bridge gives one to everybody who may have one
		"mode: oauth, authorization: direct":       false,
	} {
		c, problems := Compile(accessFile(access), loadSnapshot(t), known())
		if c == nil || mentions(problems, 3, words) != warned {
			t.Errorf("%s: compiled %t, want a warning %t: %v", access, c != nil, warned, problems)
		}
	}
}

func TestField40_BearerOverHS256IsRefusedInItsOwnWords(t *testing.T) {
	t.Parallel()
	facts := known()
	facts.Signing = SigningHS256
	c, problems := Compile(accessFile("mode: [oauth, bearer]"), loadSnapshot(t), facts)
	if c != nil || !mentions(problems, 3, "mode bearer cannot tell") || !mentions(problems, 3, "Rotate keys") || mentions(problems, 3, "direct authorization") {
		t.Errorf("compiled %t: %v", c != nil, problems)
	}
	if c, problems := Compile(accessFile("mode: [oauth, api-key]"), loadSnapshot(t), facts); c == nil {
		t.Errorf("keys and the bridge need no key set: %v", problems)
	}
}

func TestAudienceThatIsMissingIsWarnedOf(t *testing.T) {
	t.Parallel()
	access := strings.TrimSuffix(externalAccess, ", audience: [crm]")
	if c, problems := Compile(accessFile(access), loadSnapshot(t), known()); c == nil || !mentions(problems, 3, "without audience") {
		t.Errorf("compiled %t: %v", c != nil, problems)
	}
}

func TestSecondFactorIsWarnedOfWhereNobodyIsAskedForIt(t *testing.T) {
	t.Parallel()
	for access, warned := range map[string]map[bool]bool{ // by whether sign-in is the hosted page
		"mode: oauth, aal: aal2":                        {false: true, true: false},
		"mode: oauth, authorization: direct, aal: aal2": {false: true, true: true},
		externalAccess + ", aal: aal2":                  {false: true, true: true},
		"mode: bearer, aal: aal2":                       {false: false, true: false},
	} {
		for hosted, want := range warned {
			facts := known()
			facts.HostedSignIn = hosted
			c, problems := Compile(accessFile(access), loadSnapshot(t), facts)
			if c == nil || mentions(problems, 3, "second factor") != want {
				t.Errorf("%s, hosted %t: compiled %t, want a warning %t: %v", access, hosted, c != nil, want, problems)
			}
		}
	}
}

func TestScopesOfKeysAreTheAppsOwn(t *testing.T) {
	t.Parallel()
	file := func(access, scope string) []byte {
		return []byte("version: 1\ntitle: T\naccess: { " + access + " }\ntools:\n  - { rpc: greet, scopes: [" + scope + "] }\n")
	}
	for _, access := range []string{"mode: api-key", externalAccess, "mode: [oauth, api-key]"} {
		for scope, taken := range map[string]bool{"crm.read": true, "email": false, "offline_access": false} {
			if c, problems := Compile(file(access, scope), loadSnapshot(t), known()); (c != nil) != taken {
				t.Errorf("%s, scope %s: compiled %t: %v", access, scope, c != nil, problems)
			}
		}
	}
	if _, problems := Compile(file("mode: bearer", "crm.read"), loadSnapshot(t), known()); !mentions(problems, 5, "limit no caller here") {
		t.Errorf("nobody is told that scopes bind nobody: %v", problems)
	}
}
