package supabase

import (
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/seal"
)

// Project is where and with which public key a project is reached.
type Project struct {
	ID             id.Project
	APIOrigin      string // scheme://host[:port]
	PublishableKey string // or a legacy anon key; never a secret one
	Lane           string // whose slowness and failures count together; empty: the project's
}

// Session is a project reached as somebody. Make one with AsUser or AsAnon:
// the two are separate so that a missing token can never become an anonymous
// call.
type Session struct {
	project Project
	token   seal.Secret
	anon    bool
}

// AsUser reaches the project as the user the token belongs to. It panics on an
// empty token: the caller of this function must have refused the request
// before.
func AsUser(p Project, token seal.Secret) Session {
	if token.IsZero() {
		panic("supabase: AsUser without a token")
	}
	return Session{project: p, token: token}
}

// AsAnon reaches the project as its anon role: no Authorization is sent.
func AsAnon(p Project) Session { return Session{project: p, anon: true} }
