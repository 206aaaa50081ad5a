package egress

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/seal"
)

// Credential is an OAuth client's id and secret.
type Credential struct {
	ID     string
	Secret seal.Secret
}

// PostForm posts a form as an OAuth client that names itself in the
// Authorization header (client_secret_basic, RFC 6749 section 2.3.1), and reads
// the JSON answer whole, whatever its status. Errors as Do's.
func (c *Client) PostForm(ctx context.Context, address string, form url.Values, as Credential, opt Options) (Document, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(form.Encode()))
	if err != nil {
		return Document{}, fault.Wrap(fmt.Errorf("build request: %w", err), fault.Invalid, "address_refused", "This is not an address that can be asked.")
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", userAgent)
	// Both are form-encoded first, so that a colon in the id ends nothing.
	req.SetBasicAuth(url.QueryEscape(as.ID), url.QueryEscape(as.Secret.Reveal()))
	return c.whole(req, opt)
}
