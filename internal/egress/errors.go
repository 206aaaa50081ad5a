package egress

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"time"

	"github.com/chumbo-dev/chumbo/internal/fault"
)

// ErrTooLarge is inside the error of a body that exceeds Options.MaxBytes.
var ErrTooLarge = errors.New("egress: answer over the size limit")

// ErrUnsent is inside errors of callers that gave up before Do: see Unsent.
var ErrUnsent = errors.New("egress: nothing was sent")

// errDeadline is the cause of a context that ended by Options.Timeout.
var errDeadline = errors.New("egress: deadline passed")

const (
	retrySoon = 2 * time.Second // a full lane
	retryLate = breakerOpen     // everything else
)

// describe turns a failure into the error that leaves this package. Texts are
// fixed; the cause keeps the particulars for logs.
func describe(ctx context.Context, err error) *fault.Error {
	switch {
	case isRefusal(err):
		return fault.Wrap(err, fault.Invalid, "address_refused",
			"This address cannot be used. Give the public https address of the service, without a port.")
	case errors.Is(err, errLaneFull):
		return fault.Wrap(err, fault.Unavailable, "upstream_busy",
			"Too many requests to this service are running. Try again in a moment.").WithRetryAfter(retrySoon)
	case errors.Is(err, errLaneOpen):
		return unavailable(err, "upstream_failing", "The service has been failing and is given a short rest. Try again in a moment.")
	case ctx.Err() != nil && !errors.Is(context.Cause(ctx), errDeadline):
		return fault.Wrap(errors.Join(context.Cause(ctx), err), fault.Timeout, "canceled", "The request ended before the service answered.")
	case ctx.Err() != nil || isTimeout(err):
		return fault.Wrap(err, fault.Timeout, "upstream_timeout", "The service did not answer in time. Try again in a moment.")
	case isNoSuchHost(err):
		return unavailable(err, "host_unknown", "There is no such host. Check the address.")
	case isTLS(err):
		return unavailable(err, "tls_failed", "No trusted connection to the service could be made. Check its certificate.")
	default:
		return unavailable(err, "upstream_unreachable", "The service could not be reached. Try again in a moment.")
	}
}

// Unsent reports whether an error of Do (or one that holds ErrUnsent) is one of
// those that come before anything of the request has left: whatever the request asks for, it has not
// been done. False also where that cannot be told.
func Unsent(err error) bool {
	var dial *net.OpError
	var dns *net.DNSError
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.Is(err, ErrUnsent), errors.Is(err, errLaneFull), errors.Is(err, errLaneOpen), isRefusal(err), errors.As(err, &dns), errors.As(err, &certificate):
		return true
	}
	return errors.As(err, &dial) && dial.Op == "dial"
}

func unavailable(err error, code, text string) *fault.Error {
	return fault.Wrap(err, fault.Unavailable, code, "%s", text).WithRetryAfter(retryLate)
}

func redirected() *fault.Error {
	return fault.New(fault.Unavailable, "upstream_redirects",
		"The service answered with a redirect, which is not followed. Use the address it redirects to.").WithRetryAfter(retryLate)
}

func tooLarge() *fault.Error {
	return fault.Wrap(ErrTooLarge, fault.Unavailable, "upstream_too_large", "The service's answer is larger than is accepted.")
}

func isTimeout(err error) bool {
	var netErr net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &netErr) && netErr.Timeout()
}

func isNoSuchHost(err error) bool {
	var dns *net.DNSError
	return errors.As(err, &dns) && dns.IsNotFound
}

func isTLS(err error) bool {
	var (
		verification *tls.CertificateVerificationError
		record       tls.RecordHeaderError
		alert        tls.AlertError
		authority    x509.UnknownAuthorityError
		hostname     x509.HostnameError
	)
	return errors.As(err, &verification) || errors.As(err, &record) || errors.As(err, &alert) ||
		errors.As(err, &authority) || errors.As(err, &hostname)
}
