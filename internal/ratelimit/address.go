package ratelimit

import (
	"net/netip"
	"strings"
)

// AddressKey is how an address is counted: an IPv6 network of 64 bits as one,
// since that much is given to one household. An address that cannot be read is
// counted with its like.
func AddressKey(address string) string {
	a, err := netip.ParseAddr(strings.TrimSpace(address))
	if err != nil {
		return ""
	}
	a = a.Unmap().WithZone("")
	if a.Is6() {
		if network, err := a.Prefix(64); err == nil {
			return network.String()
		}
	}
	return a.String()
}
