package egress

import "net/http"

// HTTPClient is for libraries that want an *http.Client of their own: each of
// its requests is one of Do's, under opt. A redirect is an error, and errors
// carry the *fault.Error that Do returned (errors.As finds it). Such a client's
// own error texts repeat the address: they are for nobody's eyes.
func (c *Client) HTTPClient(opt Options) *http.Client {
	opt.KeepRedirect = false
	return &http.Client{Transport: roundTripper{c, opt}}
}

// roundTripper implements http.RoundTripper.
type roundTripper struct {
	client  *Client
	options Options
}

// RoundTrip implements http.RoundTripper.
func (t roundTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Header.Get("User-Agent") == "" {
		req = req.Clone(req.Context()) // a request is its maker's
		req.Header.Set("User-Agent", userAgent)
	}
	return t.client.Do(req, t.options)
}
