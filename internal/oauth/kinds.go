package oauth

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// kind is what a credential is by its form and, of a JWT, by its issuer: before
// anybody judged it, and whether or not the surface takes such a one. It decides
// who judges, alone: no other is asked afterwards.
type kind uint8

const (
	kindKey      kind = iota + 1 // a key made here
	kindPersonal                 // a personal token
	kindOurs                     // another credential of ours, or what opens a whole project: never shown to anybody
	kindBridge                   // a JWT of this very surface
	kindProject                  // a JWT of the project
	kindExternal                 // a JWT of access.issuer
	kindOpaque                   // anything that is no JWT
)

// kindOf tells the kind of a credential. Its error is a reason: a JWT that
// cannot be read, or of an issuer unknown here.
func kindOf(ep *tenants.Endpoint, text string) (kind, error) {
	switch {
	case strings.HasPrefix(text, "chk_"):
		return kindKey, nil
	case strings.HasPrefix(text, "chp_"):
		return kindPersonal, nil
	case isChumboKey(text), opensProjects(text):
		return kindOurs, nil
	}
	payload, ok := jwtPayload(text)
	switch {
	case !ok && holdsJWT(text):
		return 0, reasonMalformed
	case !ok:
		return kindOpaque, nil
	}
	o, err := parseObject(payload)
	if err != nil {
		return 0, err
	}
	issuer := o.Text("iss")
	switch {
	case o.Wrong:
		return 0, reasonMalformed
	case issuer == "":
		return 0, reasonIssuer
	case ownURL(ep, issuer):
		return kindBridge, nil
	case issuer == ep.Project.Issuer:
		return kindProject, nil
	case ep.Access.Issuer != nil && issuer == ep.Access.Issuer.URL:
		return kindExternal, nil
	}
	return 0, reasonIssuer
}

// jwtPayload returns the middle part of what has the form of a JWT: three parts
// of base64url, the first of them a JSON object. Padding does not count, so that
// a token which somebody padded is not taken for an opaque one and shown around.
func jwtPayload(text string) ([]byte, bool) {
	parts := strings.Split(strings.TrimRight(text, "="), ".")
	if len(parts) != 3 {
		return nil, false
	}
	var read [3][]byte
	for i, part := range parts {
		var err error
		if read[i], err = base64.RawURLEncoding.DecodeString(part); err != nil {
			return nil, false
		}
	}
	header := strings.TrimLeft(string(read[0]), " \t\r\n")
	return read[1], strings.HasPrefix(header, "{") && json.Valid(read[0])
}

// holdsJWT reports whether what is no JWT holds the header and claims of one all
// the same: somebody cut or lengthened it, or wrote it in another alphabet.
// Whoever is shown it could put it right and use it.
func holdsJWT(text string) bool {
	parts := strings.SplitN(strings.NewReplacer("+", "-", "/", "_", "=", "").Replace(text), ".", 3)
	if len(parts) < 2 {
		return false
	}
	for _, part := range parts[:2] {
		read, err := base64.RawURLEncoding.DecodeString(part)
		if err != nil || !strings.HasPrefix(strings.TrimLeft(string(read), " \t\r\n"), "{") || !json.Valid(read) {
			return false
		}
	}
	return true
}

// takesDirect reports whether tokens count that the project's Auth issued to
// OAuth clients.
func takesDirect(ep *tenants.Endpoint) bool {
	return ep.Access.Has(surfaces.ModeOAuth) && ep.Access.Authorization == surfaces.AuthorizationDirect
}

// takesExternal reports whether tokens of access.issuer count.
func takesExternal(ep *tenants.Endpoint) bool {
	return ep.Access.Has(surfaces.ModeOAuth) && ep.Access.Authorization == surfaces.AuthorizationExternal && ep.Access.Issuer != nil
}

// ownURL reports whether the text is one of the surface's URLs, byte for byte.
func ownURL(ep *tenants.Endpoint, text string) bool { return looksLikeURL(text) && ep.HasURL(text) }

func looksLikeURL(s string) bool { return strings.Contains(s, "://") }
