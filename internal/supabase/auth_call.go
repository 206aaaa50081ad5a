package supabase

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/chumbo-dev/chumbo/internal/egress"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/seal"
)

// Limits of one call to Auth. A user's metadata is theirs to fill, and is in
// most answers.
const (
	maxSession  = 1 << 20 // bytes of an answer
	authTimeout = 10 * time.Second
	authPause   = 5 * time.Second // before trying again, where Auth says nothing
)

// authRequest builds a request to p's Auth with the publishable key. Rest is
// what follows /auth/v1/, query included; body may be nil.
func (c *Client) authRequest(ctx context.Context, p Project, method, rest, contentType string, body []byte) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, p.APIOrigin+"/auth/v1/"+rest, bytes.NewReader(body))
	if err != nil {
		// The parser's error repeats the address, which can hold what a user typed.
		return nil, fault.New(fault.Invalid, "bad_url", "The project's URL is not a valid one.")
	}
	c.common(req.Header)
	req.Header["Accept"] = []string{"application/json"}
	req.Header["Apikey"] = []string{p.PublishableKey}
	if contentType != "" {
		req.Header["Content-Type"] = []string{contentType}
	}
	return req, nil
}

// authPost asks Auth with a JSON body, as nobody.
func (c *Client) authPost(ctx context.Context, p Project, call authCall, rest string, input any) (reply, error) {
	req, err := c.jsonRequest(ctx, p, rest, input)
	if err != nil {
		return reply{}, err
	}
	return c.askAuth(req, p, call)
}

// authPostAs asks Auth with a JSON body, as the access token's user.
func (c *Client) authPostAs(ctx context.Context, p Project, access seal.Secret, call authCall, rest string, input any) (reply, error) {
	req, err := c.jsonRequest(ctx, p, rest, input)
	if err != nil {
		return reply{}, err
	}
	return c.askAuthAs(req, p, access, call)
}

func (c *Client) jsonRequest(ctx context.Context, p Project, rest string, input any) (*http.Request, error) {
	body, err := json.Marshal(input)
	if err != nil {
		return nil, fmt.Errorf("encode request to auth: %w", err)
	}
	return c.authRequest(ctx, p, http.MethodPost, rest, "application/json", body)
}

// askAuthAs is askAuth as the access token's user. Without a token it is our
// own mistake, and nothing is sent.
func (c *Client) askAuthAs(req *http.Request, p Project, access seal.Secret, call authCall) (reply, error) {
	if access.IsZero() {
		return reply{}, missing("access token")
	}
	req.Header["Authorization"] = []string{"Bearer " + access.Reveal()}
	return c.askAuth(req, p, call)
}

// askAuth sends the request, once. The error is an *AuthRefusal, a
// *fault.Error, or the context's error when that was cancelled.
func (c *Client) askAuth(req *http.Request, p Project, call authCall) (reply, error) {
	r, err := c.send(req, egress.Options{Lane: lane(p), MaxBytes: maxSession, Timeout: authTimeout})
	if err != nil {
		return r, authSendError(err)
	}
	if r.status < 200 || r.status >= 300 {
		return r, refusalOf(call, r)
	}
	return r, nil
}

// authSendError leaves one kind of temporary failure to handle: that no answer
// came, or one too large, says nothing about the session.
func authSendError(err error) error {
	if fault.Is(err, fault.Timeout) || fault.Is(err, fault.TooLarge) {
		return authUnavailable(err, 0)
	}
	return err
}

// authUnavailable is the failure that leaves everything as it was. The cause
// must not hold anything of the answer's text.
func authUnavailable(cause error, after time.Duration) error {
	if after == 0 {
		after = authPause
	}
	return fault.Wrap(cause, fault.Unavailable, "sign_in_unavailable", "The app's sign-in does not answer right now. Try again in a moment.").WithRetryAfter(after)
}

// tokens reads the session of a successful answer.
func (r reply) tokens() (Tokens, error) {
	t, err := readTokens(r.body)
	if err != nil {
		return Tokens{}, authUnavailable(err, 0)
	}
	return t, nil
}

// missing is the error of a call that lacks what its caller must have checked.
func missing(what string) error {
	return fault.From(errors.New("call to auth without " + what))
}
