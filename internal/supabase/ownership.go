package supabase

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/chumbo-dev/chumbo/internal/egress"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/seal"
)

// nobody is an id that no user has.
const nobody = "00000000-0000-0000-0000-000000000000"

// OwnershipToken calls chumbo_ownership() at the project's API origin with the
// publishable key and returns what it says; empty when it says null. Errors:
// fault.NotFound when there is no such function, fault.Forbidden when anon may
// not call it, fault.Unprocessable when it returns no text, else those of the
// Data API.
func (c *Client) OwnershipToken(ctx context.Context, p Project) (string, error) {
	a, err := c.Call(ctx, AsAnon(p), Call{Function: "chumbo_ownership", Profile: "public"})
	if err != nil {
		return "", ownershipError(err)
	}
	var token *string
	if json.Unmarshal(a.Body, &token) != nil {
		return "", fault.New(fault.Unprocessable, "ownership_no_text", "The project's function chumbo_ownership() returns something else than text. Run the SQL shown here again, whole.")
	}
	if token == nil {
		return "", nil
	}
	return *token, nil
}

func ownershipError(err error) error {
	var e *Error
	if !errors.As(err, &e) || e.Gateway {
		return err
	}
	switch {
	case e.Code == "PGRST106":
		return fault.Wrap(e, fault.NotFound, "ownership_schema", "The project's Data API does not expose the schema public, where chumbo_ownership() belongs. Expose it in the project's API settings, or prove ownership with a secret key.")
	case e.Code == "42501":
		return fault.Wrap(e, fault.Forbidden, "ownership_not_callable", "The project has the function chumbo_ownership(), but the role anon may not call it. Run the SQL shown here again, whole: its last lines grant that.")
	case e.Code == "PGRST202" || e.Status == http.StatusNotFound:
		return fault.Wrap(e, fault.NotFound, "ownership_missing", "The project has no function public.chumbo_ownership() yet. Run the SQL that makes it in the SQL editor, or apply the migration, and try again; right after that the Data API may need some seconds to see it.")
	}
	return err
}

// ProveSecretKey asks the project's Auth for a user whom nobody is: only a
// secret key (or a legacy service-role key) is told so, and nothing of anybody
// is read. fault.Forbidden when the project refuses the key,
// fault.Unprocessable for an answer that proves nothing, Unavailable or
// Timeout for none. The key goes to the project's API origin and stays in
// memory.
func (c *Client) ProveSecretKey(ctx context.Context, p Project, key seal.Secret) error {
	if key.IsZero() || key.Reveal() == p.PublishableKey {
		return fault.New(fault.Forbidden, "secret_key_refused", "This is no secret key.")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.APIOrigin+"/auth/v1/admin/users/"+nobody, nil)
	if err != nil {
		return fault.Wrap(err, fault.Invalid, "bad_url", "The project's URL is not a valid one.")
	}
	c.common(req.Header)
	req.Header["Accept"] = []string{"application/json"}
	req.Header["Apikey"] = []string{key.Reveal()}
	if strings.HasPrefix(key.Reveal(), "eyJ") { // a legacy key is a JWT; the new ones are none, and go nowhere else
		req.Header["Authorization"] = []string{"Bearer " + key.Reveal()}
	}
	r, err := c.send(req, egress.Options{Lane: lane(p), MaxBytes: maxDocument, Timeout: documentTimeout})
	if err != nil {
		return err
	}
	switch {
	case r.status == http.StatusNotFound && authErrorCode(r) == "user_not_found":
		return nil
	case r.status == http.StatusUnauthorized || r.status == http.StatusForbidden:
		return fault.Wrap(errorOf(r), fault.Forbidden, "secret_key_refused", "The project refused this key. Copy the secret key of this very project from Project Settings, API Keys; a legacy service_role key works only while legacy keys are enabled.")
	case r.status >= 500 || r.status == http.StatusTooManyRequests:
		return fault.Wrap(errorOf(r), fault.Unavailable, "auth_unavailable", "The project's Auth answers with an error (%d), which proves nothing. Check that the project is running, and try again.", r.status).WithRetryAfter(retryAfter(r.header))
	}
	return fault.Wrap(errorOf(r), fault.Unprocessable, "secret_key_unproven", "The project's Auth answered %d where %d (user_not_found) was expected, which proves nothing. Check that %s is the project's own API origin; or prove ownership with the function.",
		r.status, http.StatusNotFound, p.APIOrigin)
}
