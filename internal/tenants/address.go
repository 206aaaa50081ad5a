package tenants

import (
	"net/http"
	"net/netip"
	"strings"
)

// ClientAddress is the address a request comes from, without a port: the
// peer's, or, where the peer is a trusted proxy, what X-Forwarded-For says, read
// from the right through every trusted proxy. Anybody can write the values left
// of what a trusted proxy wrote, so they never count. Where a value is no
// address, the last proxy that is known is the answer. The empty string is a
// peer without an address, such as a Unix socket's.
func (h Hosts) ClientAddress(r *http.Request) string {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return ""
	}
	known := plain(peer.Addr())
	if !h.trustedAddress(known) {
		return known.String()
	}
	// One that is trusted all the way through is the client itself.
	for rest := strings.Join(r.Header.Values("X-Forwarded-For"), ","); rest != ""; {
		last := rest[strings.LastIndexByte(rest, ',')+1:]
		rest = strings.TrimSuffix(strings.TrimSuffix(rest, last), ",")
		next, ok := forwardedAddress(last)
		if !ok {
			break
		}
		known = next
		if !h.trustedAddress(known) {
			break
		}
	}
	return known.String()
}

// forwardedAddress reads one value of X-Forwarded-For: an address, in brackets
// or with a port as some proxies write it.
func forwardedAddress(value string) (netip.Addr, bool) {
	value = strings.TrimSpace(value)
	if at, err := netip.ParseAddrPort(value); err == nil {
		return plain(at.Addr()), true
	}
	addr, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(value, "["), "]"))
	return plain(addr), err == nil
}

// plain is the one form in which addresses are compared and kept.
func plain(addr netip.Addr) netip.Addr { return addr.Unmap().WithZone("") }

func (h Hosts) trustedAddress(addr netip.Addr) bool {
	for _, prefix := range h.TrustedProxies {
		if prefix.Contains(addr) {
			return true
		}
	}
	return false
}
