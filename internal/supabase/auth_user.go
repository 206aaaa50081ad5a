package supabase

import (
	"context"
	"errors"
	"net/http"

	"github.com/chumbo-dev/chumbo/internal/seal"
)

// CurrentUser asks Auth who the access token belongs to, which also proves
// that its session is alive. Auth looks at neither iss nor aud. Errors:
// *AuthRefusal (SessionEnded; Other with code bad_jwt for a token that is
// expired or not the project's), *fault.Error.
func (c *Client) CurrentUser(ctx context.Context, p Project, access seal.Secret) (User, error) {
	req, err := c.authRequest(ctx, p, http.MethodGet, "user", "", nil)
	if err != nil {
		return User{}, err
	}
	r, err := c.askAuthAs(req, p, access, callSession)
	if err != nil {
		return User{}, err
	}
	u, err := readUser(r.body)
	if err != nil {
		return User{}, authUnavailable(err, 0)
	}
	return *u, nil
}

// SignOutLocal ends the access token's session and no other of the user. A
// session already gone is no error. Errors: *AuthRefusal (Other with code
// bad_jwt for an expired token: the session lives on), *fault.Error.
func (c *Client) SignOutLocal(ctx context.Context, p Project, access seal.Secret) error {
	req, err := c.authRequest(ctx, p, http.MethodPost, "logout?scope=local", "", nil)
	if err != nil {
		return err
	}
	_, err = c.askAuthAs(req, p, access, callSession)
	var refusal *AuthRefusal
	if errors.As(err, &refusal) && (refusal.Code == "session_not_found" || refusal.Code == "user_not_found") {
		return nil
	}
	return err
}
