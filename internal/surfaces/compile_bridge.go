package surfaces

import "slices"

const (
	offlineAccess = "offline_access"
	offlineNever  = "offline_access is never advertised: clients that want to stay signed in ask for it themselves; leave it out"
)

// identityScopes are OpenID Connect's. They say what a client may learn of a
// person, not what it may do in the app.
var identityScopes = []string{"openid", "email", "profile", "phone", "address"}

// bridgeRules are what the bridge needs of the surface's scopes: they are its
// own, whatever the project can issue, and however it signs its tokens.
func (c *compiler) bridgeRules(a AccessSpec) {
	for _, t := range slices.Concat(a.Advertise, a.Require) {
		c.ownScope(t)
	}
}

// ownScope refuses what is no permission of the app.
func (c *compiler) ownScope(t Text) {
	switch {
	case t.Value == offlineAccess:
		c.errorf(t.at, offlineNever)
	case slices.Contains(identityScopes, t.Value):
		c.errorf(t.at, "%s is one of Supabase's identity scopes, which are never shown as app permissions: name what clients may do in your app, such as crm.read", t.Value)
	}
}

// knownScopes lists every scope that the surface's authorization server can
// grant, once each, in the order they are named.
func knownScopes(c *Compiled) []string {
	var known []string
	add := func(scopes []string) {
		for _, s := range scopes {
			if !slices.Contains(known, s) {
				known = append(known, s)
			}
		}
	}
	add(c.Access.Advertise)
	add(c.Access.Require)
	for i := range c.Tools {
		add(c.Tools[i].Scopes)
	}
	for i := range c.Resources {
		add(c.Resources[i].Scopes)
	}
	for i := range c.Prompts {
		add(c.Prompts[i].Scopes)
	}
	return known
}
