package egress

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/chumbo-dev/chumbo/internal/fault"
)

// Document is an answer that was read whole.
type Document struct {
	Status int
	Header http.Header
	Body   []byte
}

// Document reads the JSON document at an address whole, whatever the status of
// the answer. Errors as Do's.
func (c *Client) Document(ctx context.Context, address string, opt Options) (Document, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return Document{}, fault.Wrap(fmt.Errorf("build request: %w", err), fault.Invalid, "address_refused", "This is not an address that can be read.")
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", userAgent)
	return c.whole(req, opt)
}

const userAgent = "chumbo"

// whole sends a request and reads the answer to its end.
func (c *Client) whole(req *http.Request, opt Options) (Document, error) {
	res, err := c.Do(req, opt)
	if err != nil {
		return Document{}, err
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return Document{}, err
	}
	return Document{Status: res.StatusCode, Header: res.Header, Body: body}, nil
}
