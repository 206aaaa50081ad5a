package supabase

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/chumbo-dev/chumbo/internal/egress"
	"github.com/chumbo-dev/chumbo/internal/fault"
)

const (
	acceptRows   = "application/json"
	acceptObject = "application/vnd.pgrst.object+json"
)

// Select reads rows of a table or view as the session. The body is a JSON
// array, or one object with Single. Errors: *Error for an answer that is no
// success, *fault.Error for no answer, the context's error when it has ended;
// Answer then still has Upstream and Took where they are known.
func (c *Client) Select(ctx context.Context, s Session, q Select) (Answer, error) {
	path, err := relationPath(q.Relation)
	if err != nil {
		return Answer{}, fmt.Errorf("build select: %w", err)
	}
	query, err := q.query()
	if err != nil {
		return Answer{}, fmt.Errorf("build select: %w", err)
	}
	req, err := c.dataRequest(ctx, s, http.MethodGet, path+"?"+query, nil)
	if err != nil {
		return Answer{}, err
	}
	req.Header["Accept"] = []string{acceptRows}
	if q.Single {
		req.Header["Accept"] = []string{acceptObject}
	}
	if q.Profile != "" {
		req.Header["Accept-Profile"] = []string{q.Profile}
	}
	return c.data(req, s)
}

// Call calls a function by POST with named arguments as the session. The body
// is as the function returns it; nil for void (204). Errors as Select.
func (c *Client) Call(ctx context.Context, s Session, q Call) (Answer, error) {
	path, err := relationPath(q.Function)
	if err != nil {
		return Answer{}, fmt.Errorf("build call: %w", err)
	}
	body := []byte(q.Arguments)
	if len(body) == 0 {
		body = []byte("{}")
	}
	req, err := c.dataRequest(ctx, s, http.MethodPost, "rpc/"+path, body)
	if err != nil {
		return Answer{}, err
	}
	req.Header["Accept"] = []string{acceptRows}
	req.Header["Content-Type"] = []string{"application/json"}
	if q.Profile != "" {
		req.Header["Content-Profile"] = []string{q.Profile}
	}
	return c.data(req, s)
}

// DataAPIReachable asks the Data API, as anon, for a relation that is not
// there. PostgREST saying so proves that it runs and that the gateway took the
// key. Errors are *fault.Error with a text for the builder.
func (c *Client) DataAPIReachable(ctx context.Context, p Project) error {
	_, err := c.Select(ctx, AsAnon(p), Select{Relation: "chumbo_reachability_probe", Limit: 1})
	var e *Error
	if err == nil || !errors.As(err, &e) {
		return err
	}
	switch {
	case !e.Gateway && e.Status < 500:
		return nil
	case e.Gateway && (e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden):
		return fault.Wrap(e, fault.Unprocessable, "publishable_key_refused", "The project refused the publishable key. Copy it again from the project's API settings; a legacy anon key stops working once legacy keys are disabled.")
	case e.Gateway && e.Status == http.StatusNotFound:
		return fault.Wrap(e, fault.Unprocessable, "no_data_api", "No Data API answers below %s/rest/v1. Switch it on in the project's API settings.", p.APIOrigin)
	}
	return fault.Wrap(e, fault.Unavailable, "data_api_unavailable", "The project's Data API answers with an error (%d). Check that the project is running.", e.Status).WithRetryAfter(e.RetryAfter)
}

// dataRequest builds a request to the Data API; rest is what follows /rest/v1/,
// query included.
func (c *Client) dataRequest(ctx context.Context, s Session, method, rest string, body []byte) (*http.Request, error) {
	return c.serviceRequest(ctx, s, method, "/rest/v1/"+rest, body)
}

// serviceRequest builds a request to one of the project's services with the
// headers that all have: the key always, the user's token only in a user's
// session. path is escaped and begins with a slash; it may have a query.
func (c *Client) serviceRequest(ctx context.Context, s Session, method, path string, content []byte) (*http.Request, error) {
	if !s.anon && s.token.IsZero() {
		return nil, fault.Wrap(egress.ErrUnsent, fault.Internal, "", "Something went wrong on our side. Try again; if it stays, send us the request id.")
	}
	req, err := http.NewRequestWithContext(ctx, method, s.project.APIOrigin+path, bytes.NewReader(content))
	if err != nil {
		// The parser's error repeats the address, which holds what a user typed.
		return nil, unsent(fault.Invalid, "bad_request", "The request cannot be sent to the project.")
	}
	c.common(req.Header)
	req.Header["Apikey"] = []string{s.project.PublishableKey}
	if !s.anon {
		req.Header["Authorization"] = []string{"Bearer " + s.token.Reveal()}
	}
	return req, nil
}

func (c *Client) common(h http.Header) {
	h["User-Agent"] = []string{c.agent}
	h["X-Client-Info"] = []string{c.agent}
}

func (c *Client) data(req *http.Request, s Session) (Answer, error) {
	a, _, err := c.exchange(req, s)
	return a, err
}

// exchange is data with the answer's header, where there is one.
func (c *Client) exchange(req *http.Request, s Session) (Answer, http.Header, error) {
	r, err := c.send(req, egress.Options{Lane: lane(s.project), MaxBytes: maxData, Timeout: dataTimeout})
	a := Answer{Status: r.status, Upstream: r.upstream, Took: r.took, Affected: -1}
	if err != nil {
		return a, r.header, err
	}
	if r.status < 200 || r.status >= 300 {
		return a, r.header, errorOf(r)
	}
	if r.status == http.StatusNoContent || len(r.body) == 0 {
		return a, r.header, nil
	}
	if !isJSON(r.header) {
		return a, r.header, errorOf(r) // a page of something in between
	}
	a.Body = r.body
	return a, r.header, nil
}

// lane is the project's share of the way out, or the part of it that was named.
func lane(p Project) string {
	if p.Lane != "" {
		return p.Lane
	}
	return p.ID.String()
}

// relationPath is the path segment of a relation or function. A name that a
// gateway would take for more than one segment cannot be reached.
func relationPath(name string) (string, error) {
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\\\x00") {
		return "", errors.New("name cannot be one path segment")
	}
	return url.PathEscape(name), nil
}
