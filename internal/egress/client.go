package egress

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"time"
)

// Defaults of Options, and the shape of the connection pool.
const (
	defaultTimeout  = 10 * time.Second
	defaultMaxBytes = 4 << 20

	idlePerHost  = laneRunning
	idleTotal    = 2000
	idleTimeout  = 90 * time.Second
	tlsTimeout   = 5 * time.Second
	headersBytes = 64 << 10
)

// Options bound one request.
type Options struct {
	Lane     string        // breaker and bulkhead key, such as a project's id; empty: the host
	MaxBytes int64         // of the answer's body, after decompression; 0: 4 MiB
	Timeout  time.Duration // for everything up to the end of the body; 0: 10 s

	// AnyAnswer is for services that run an app's own code: whatever they answer,
	// however late, and however an answer breaks off is the code's doing. Only
	// that a request could not be sent counts as the lane's failure then.
	AnyAnswer bool

	// KeepRedirect makes a redirect an answer, to be looked at. It is never
	// followed.
	KeepRedirect bool
}

func (o Options) withDefaults(req *http.Request) Options {
	if o.Lane == "" {
		o.Lane = req.URL.Host
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = defaultMaxBytes
	}
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	return o
}

// Client makes requests under a Policy. It is safe for concurrent use.
type Client struct {
	policy    Policy
	transport *http.Transport
	lanes     *lanes
}

// New returns a Client with its own connection pool.
func New(p Policy) *Client { return newClient(newGuard(p)) }

func newClient(g *guard) *Client {
	return &Client{
		policy: g.policy,
		lanes:  newLanes(laneTable),
		transport: &http.Transport{
			Proxy:                  nil, // never from the environment
			DialContext:            g.DialContext,
			TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
			TLSHandshakeTimeout:    tlsTimeout,
			ForceAttemptHTTP2:      true,
			MaxIdleConns:           idleTotal,
			MaxIdleConnsPerHost:    idlePerHost,
			IdleConnTimeout:        idleTimeout,
			MaxResponseHeaderBytes: headersBytes,
		},
	}
}

// CloseIdle closes the connections that are not in use.
func (c *Client) CloseIdle() { c.transport.CloseIdleConnections() }

// Do sends one request and returns the answer, whatever its status, except
// that a redirect is an error. The caller closes the body; it ends with
// ErrTooLarge past the size limit.
//
// Every error, the body's too, is a *fault.Error with a fixed public text and
// a private cause: Invalid for a refused address, Timeout past the deadline or
// when the caller's context ended first, Unavailable for everything else
// (unreachable, breaker open, lane full; RetryAfter set).
func (c *Client) Do(req *http.Request, opt Options) (*http.Response, error) {
	if err := c.policy.checkRequest(req); err != nil {
		closeBody(req)
		return nil, describe(req.Context(), err)
	}
	opt = opt.withDefaults(req)
	ctx, cancel := context.WithTimeoutCause(req.Context(), opt.Timeout, errDeadline)
	ticket, err := c.lanes.get(opt.Lane).enter(ctx)
	if err != nil {
		closeBody(req)
		defer cancel()
		return nil, describe(ctx, err)
	}
	// The transport, not an http.Client: no redirects, no cookies, and no
	// error text that repeats the URL.
	resp, err := c.transport.RoundTrip(req.WithContext(ctx))
	if err != nil {
		defer cancel()
		ticket.end(opt.counted(countedAs(ctx, err)))
		return nil, describe(ctx, err)
	}
	if resp.StatusCode == http.StatusSwitchingProtocols {
		// Its body would be the connection itself, which minds no deadline.
		defer cancel()
		_ = resp.Body.Close()
		ticket.end(opt.counted(errSwitched))
		return nil, describe(ctx, errSwitched)
	}
	if isRedirect(resp.StatusCode) && !opt.KeepRedirect {
		defer cancel()
		_ = resp.Body.Close()
		ticket.end(nil)
		return nil, redirected()
	}
	if opt.AnyAnswer {
		ticket.settle(nil)
	} else if isGatewayFailure(resp.StatusCode) {
		ticket.end(errGateway)
	}
	resp.Body = newBody(ctx, cancel, resp.Body, opt.MaxBytes, resp.ContentLength, ticket)
	return resp, nil
}

// counted leaves of a failed round trip what counts under AnyAnswer.
func (o Options) counted(outcome error) error {
	if o.AnyAnswer && !Unsent(outcome) {
		return errNotCounted
	}
	return outcome
}

// countedAs is what the breaker is told of a failed round trip. A refused
// address says nothing about the other side's health.
func countedAs(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return outcomeOf(ctx)
	case isRefusal(err):
		return errNotCounted
	default:
		return err
	}
}

func isRedirect(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// errSwitched is of an answer in another protocol (101), which nobody asked for.
var errSwitched = errors.New("switched to another protocol")

// errGateway counts an answer that says the service behind is away.
var errGateway = errors.New("gateway answered for an absent service")

// isGatewayFailure covers 502 to 504 and the 52x and 530 of content networks.
// A plain 500 is not among them: one user's bad call must not close a project.
func isGatewayFailure(status int) bool {
	return status >= 502 && status <= 504 || status >= 520 && status <= 530
}

func closeBody(req *http.Request) {
	if req.Body != nil {
		_ = req.Body.Close()
	}
}
