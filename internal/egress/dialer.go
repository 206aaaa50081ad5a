package egress

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"
)

const (
	dialTimeout     = 5 * time.Second // resolving and connecting together
	addressTimeout  = 2 * time.Second // one address, when there are more to try
	addressesToTry  = 4
	keepAlivePeriod = 30 * time.Second
)

// guard dials only addresses it has checked itself. A name is resolved for
// every dial, and the address that was checked is the one that is dialed, so
// a name that changes its mind between check and use gains nothing.
type guard struct {
	policy Policy
	lookup func(ctx context.Context, host string) ([]netip.Addr, error)
	dial   func(ctx context.Context, network, address string) (net.Conn, error)
}

func newGuard(p Policy) *guard {
	dialer := &net.Dialer{KeepAlive: keepAlivePeriod}
	return &guard{policy: p, lookup: lookupSystem, dial: dialer.DialContext}
}

func lookupSystem(ctx context.Context, host string) ([]netip.Addr, error) {
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
}

// DialContext is the transport's dial function.
func (g *guard) DialContext(ctx context.Context, _, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("split address: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	addrs, err := g.resolve(ctx, host, port)
	if err != nil {
		return nil, err
	}
	return g.dialAny(ctx, addrs, port)
}

// resolve returns the addresses of host that may be reached, and a refusal
// when it has some but none that may.
func (g *guard) resolve(ctx context.Context, host, port string) ([]netip.Addr, error) {
	if literal, err := netip.ParseAddr(host); err == nil {
		return g.allowed([]netip.Addr{literal}, port)
	}
	found, err := g.lookup(ctx, strings.TrimSuffix(host, "."))
	if err != nil {
		return nil, fmt.Errorf("resolve host: %w", err)
	}
	for i, addr := range found {
		found[i] = addr.Unmap() // resolvers may hand out IPv4 in IPv6 form
	}
	return g.allowed(found, port)
}

func (g *guard) allowed(found []netip.Addr, port string) ([]netip.Addr, error) {
	refused := refuse("no address")
	var addrs []netip.Addr
	for _, addr := range found {
		err := g.policy.checkAddr(addr)
		if err == nil && g.policy.isOwn(addr.String(), port) {
			err = refuse("own address")
		}
		if err != nil {
			refused = err
			continue
		}
		addrs = append(addrs, addr)
	}
	if len(addrs) == 0 {
		return nil, refused
	}
	return addrs[:min(len(addrs), addressesToTry)], nil
}

func (g *guard) dialAny(ctx context.Context, addrs []netip.Addr, port string) (net.Conn, error) {
	var failed error
	for i, addr := range addrs {
		conn, err := g.dialOne(ctx, net.JoinHostPort(addr.String(), port), i == len(addrs)-1)
		if err == nil {
			return conn, nil
		}
		failed = err
		if ctx.Err() != nil {
			break
		}
	}
	return nil, failed
}

func (g *guard) dialOne(ctx context.Context, address string, last bool) (net.Conn, error) {
	if !last {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, addressTimeout)
		defer cancel()
	}
	conn, err := g.dial(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("dial: %w", err)
	}
	return conn, nil
}
