package standin

import (
	"net/http"
	"time"

	"github.com/google/uuid"
)

// flowLifetime bounds a PKCE sign-in: from /authorize with a provider, from
// the click with a mailed link.
const flowLifetime = 5 * time.Minute

// flowState is a sign-in that leaves Auth and comes back. Without a challenge
// it is the implicit flow and has no code.
type flowState struct {
	id        string
	provider  string
	method    string // amr method of the session to come
	to        string // where the browser goes in the end
	challenge string
	chMethod  string // lower case: s256 or plain
	startedAt time.Time
	returned  bool

	userID          string
	code            string
	providerToken   string
	providerRefresh string
}

func (f *flowState) expired(now time.Time) bool { return now.Sub(f.startedAt) > flowLifetime }

// flowChallenge checks the PKCE parameters of the sign-in endpoints.
func flowChallenge(challenge, method string) error {
	switch {
	case challenge == "" && method == "":
		return nil
	case challenge == "" || method == "":
		return invalidInput("PKCE flow requires code_challenge_method and code_challenge")
	case method != "s256" && method != "plain":
		return invalidInput("Invalid code_challenge_method")
	case len(challenge) < 43 || len(challenge) > 128:
		return invalidInput("code challenge has to be between 43 and 128 characters")
	default:
		return nil
	}
}

// pkceGrant ends a flow: the code that came back and the verifier kept.
func (a *authServer) pkceGrant(w http.ResponseWriter, r *http.Request, in *credentials) error {
	if in.AuthCode == "" || in.CodeVerifier == "" {
		return invalidInput("invalid request: both auth code and code verifier should be non-empty")
	}
	f, err := a.takeFlow(in.AuthCode, in.CodeVerifier)
	if err != nil {
		return err
	}
	p, err := a.people.byID(r.Context(), f.userID)
	if err != nil {
		return err
	}
	i, err := a.startSession(r.Context(), p, f.method, "", "")
	if err != nil {
		return err
	}
	extra := map[string]any{}
	putIfSet(extra, "provider_token", f.providerToken)
	putIfSet(extra, "provider_refresh_token", f.providerRefresh)
	return a.writeSession(w, i, p, extra)
}

// takeFlow uses the code up; a wrong verifier does not.
func (a *authServer) takeFlow(code, verifier string) (*flowState, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var f *flowState
	for _, candidate := range a.state.flows {
		if candidate.code != "" && candidate.code == code {
			f = candidate
		}
	}
	switch {
	case f == nil:
		return nil, newAuthError(http.StatusNotFound, "flow_state_not_found", "invalid flow state, no valid flow state found")
	case f.expired(a.cfg.now()):
		return nil, newAuthError(http.StatusUnprocessableEntity, "flow_state_expired", "invalid flow state, flow state has expired")
	case !verifierMatches(f.challenge, f.chMethod, verifier):
		return nil, newAuthError(http.StatusBadRequest, "bad_code_verifier", "code challenge does not match previously saved code verifier")
	}
	f.code = ""
	return f, nil
}

// giveCode marks the flow as come back and makes its code.
func (a *authServer) giveCode(f *flowState, userID string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	f.userID, f.code = userID, uuid.NewString()
	a.state.flows[f.id] = f
	return f.code
}
