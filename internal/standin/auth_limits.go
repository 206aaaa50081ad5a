package standin

import (
	"net"
	"net/http"
	"strings"
	"time"
)

// bucket is one of Auth's request limits: full per address, 30 at once, then
// refilled at its rate per five minutes.
type bucket struct {
	name string
	rate float64 // per five minutes
}

const bucketBurst = 30

// The request limits of a hosted project.
var (
	bucketRegister = bucket{"register", 10}
	bucketToken    = bucket{"token", 150}
	bucketVerify   = bucket{"verify", 30}
	bucketMail     = bucket{"mail", 30}
	bucketSignup   = bucket{"signup", 30}
	bucketUser     = bucket{"user", 30}

	bucketFactorChallenge = bucket{"factor challenge", 75}
	bucketFactorVerify    = bucket{"factor verify", 75}
)

type bucketKey struct{ name, address string }

type bucketLevel struct {
	left float64
	at   time.Time
}

// limited refuses calls beyond the bucket. There is no Retry-After. Without a
// header that names the caller's address nothing is limited, unless the
// connection's own address counts.
func (a *authServer) limited(b bucket, h func(http.ResponseWriter, *http.Request) error) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		if err := a.checkLimit(b, r); err != nil {
			return err
		}
		return h(w, r)
	}
}

func (a *authServer) checkLimit(b bucket, r *http.Request) error {
	if address := a.limitedAddress(r); address != "" && !a.takeFrom(b, address) {
		return newAuthError(http.StatusTooManyRequests, "over_request_rate_limit", "Request rate limit reached")
	}
	return nil
}

func (a *authServer) limitedAddress(r *http.Request) string {
	switch {
	case a.cfg.limitConnection:
		return connectionAddress(r)
	case a.cfg.limitHeader != "":
		address, _, _ := strings.Cut(r.Header.Get(a.cfg.limitHeader), ",")
		return strings.TrimSpace(address)
	default:
		return ""
	}
}

// connectionAddress is where the connection comes from, without its port.
func connectionAddress(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

func (a *authServer) takeFrom(b bucket, address string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.cfg.now()
	key := bucketKey{b.name, address}
	level, ok := a.state.buckets[key]
	if !ok {
		level = bucketLevel{left: bucketBurst}
	} else {
		level.left = min(bucketBurst, level.left+now.Sub(level.at).Minutes()*b.rate/5)
	}
	level.at = now
	enough := level.left >= 1
	if enough {
		level.left--
	}
	a.state.buckets[key] = level
	return enough
}
