package supabase

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/chumbo-dev/chumbo/internal/seal"
)

// ChallengeFactor begins the check of a second factor and returns the
// challenge's id, good for five minutes and one right code. Errors:
// *AuthRefusal (FactorGone, NotAvailable while the type is off, SessionEnded,
// RateLimited), *fault.Error.
func (c *Client) ChallengeFactor(ctx context.Context, p Project, access seal.Secret, factor string) (challenge string, err error) {
	path, err := factorPath(factor, "challenge")
	if err != nil {
		return "", err
	}
	r, err := c.authPostAs(ctx, p, access, callFactor, path, struct{}{})
	if err != nil {
		return "", err
	}
	return readChallenge(r.body)
}

func readChallenge(body []byte) (string, error) {
	var made struct {
		ID string `json:"id"`
	}
	if json.Unmarshal(body, &made) != nil || !tokenText(made.ID) {
		return "", authUnavailable(errors.New("no challenge in the answer"), 0)
	}
	return made.ID, nil
}

// VerifyFactor checks a code and returns the same session at aal2. It replaces
// the tokens of before, and ends the user's other sessions at aal1. Errors:
// *AuthRefusal (FactorWrong: the challenge lives on; FactorGone: make a new
// one; Rejected: all sessions of the user have ended; SessionEnded,
// NotAvailable, RateLimited), *fault.Error.
func (c *Client) VerifyFactor(ctx context.Context, p Project, access seal.Secret, factor, challenge, code string) (Tokens, error) {
	path, err := factorPath(factor, "verify")
	if err != nil {
		return Tokens{}, err
	}
	r, err := c.authPostAs(ctx, p, access, callFactor, path, struct {
		Challenge string `json:"challenge_id"`
		Code      string `json:"code"`
	}{challenge, code})
	if err != nil {
		return Tokens{}, err
	}
	return r.tokens()
}

// factorPath keeps an id that a form brought in its own path segment, and
// answers as Auth does for one that is no id.
func factorPath(factor, verb string) (string, error) {
	segment, err := relationPath(factor)
	if err != nil {
		return "", &AuthRefusal{Kind: FactorGone, Status: http.StatusNotFound, Code: "validation_failed"}
	}
	return "factors/" + segment + "/" + verb, nil
}
