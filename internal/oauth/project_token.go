package oauth

import (
	"context"
	"encoding/base64"
	"errors"
	"strings"
	"time"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// ProjectToken is what a project's own access token says, once it is known to
// be the project's.
type ProjectToken struct {
	Subject   string
	Client    string // client_id; empty for a first-party session
	Delegated bool   // any of the three marks of an OAuth client's token
	Session   string // session_id at the project
	Role      string
	Anonymous bool
	Email     string // as the token says; for its owner's eyes only
	AAL       string // aal1 or aal2
	Expires   time.Time
	// Shared tells that the project signs with a shared secret (HS256): nothing
	// was verified here, and the caller must ask the project (GET /user).
	Shared bool
}

// VerifyProjectToken checks a token that the project's Auth just handed to us:
// signature, issuer and time. A token signed with a shared secret cannot be
// checked and comes back with Shared set, issuer and time checked. Errors: a
// *fault.Error, Unavailable when the keys cannot be read, else Unauthenticated
// with the reason as its code.
func (a *Authenticator) VerifyProjectToken(ctx context.Context, p *tenants.ProjectRef, token seal.Secret) (ProjectToken, error) {
	c, shared, err := a.projectClaims(ctx, p, token.Reveal())
	if err == nil {
		var t ProjectToken
		if t, err = projectToken(c); err == nil {
			t.Shared = shared
			return t, nil
		}
	}
	var why reason
	if errors.As(err, &why) {
		return ProjectToken{}, fault.Wrap(why, fault.Unauthenticated, string(why),
			"Sign-in did not work: the app's sign-in gave a token that cannot be used here. Try again; if it stays, tell the app's owner (%s).", string(why))
	}
	return ProjectToken{}, err
}

// projectClaims reads and checks a token. The bool says that it is signed with
// a shared secret, and that its signature was therefore not looked at.
func (a *Authenticator) projectClaims(ctx context.Context, p *tenants.ProjectRef, text string) (*claims, bool, error) {
	if len(text) > maxToken {
		return nil, false, reasonTooLarge
	}
	ep := &tenants.Endpoint{Project: *p}
	t, err := parseToken(text)
	if errors.Is(err, reasonSharedSecret) {
		c, err := sharedClaims(text)
		if err != nil {
			return nil, true, err
		}
		return c, true, a.judge(ep, c)
	}
	if err != nil {
		return nil, false, err
	}
	if err := a.judge(ep, t.claims); err != nil {
		return nil, false, err
	}
	signer, err := a.keys.lookup(ctx, p, t.kid)
	if err != nil {
		return nil, false, err
	}
	if signer.alg != t.alg {
		return nil, false, reasonAlgorithm
	}
	if _, err := t.signed.Verify(signer.public); err != nil {
		return nil, false, reasonSignature
	}
	return t.claims, false, nil
}

// sharedClaims reads the claims of a token whose header parseToken has looked
// at, as strictly as those of any other.
func sharedClaims(text string) (*claims, error) {
	parts := strings.Split(text, ".")
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return nil, reasonMalformed
	}
	return parseClaims(payload)
}

func projectToken(c *claims) (ProjectToken, error) {
	o, err := parseObject(c.rest)
	if err != nil {
		return ProjectToken{}, err
	}
	t := ProjectToken{
		Subject: c.subject, Client: c.client, Delegated: c.delegated, Role: c.role, Anonymous: c.anonymous, Expires: c.expires,
		Session: o.Text("session_id"), Email: o.Text("email"), AAL: o.Text("aal"),
	}
	if o.Wrong {
		return ProjectToken{}, reasonMalformed
	}
	return t, nil
}
