package tenants_test

import (
	"net/http"
	"net/netip"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/tenants"
)

func TestClientAddressIsReadThroughTrustedProxiesOnly(t *testing.T) {
	t.Parallel()
	hosts := tenants.Hosts{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}}
	for name, c := range map[string]struct {
		peer      string
		forwarded []string
		want      string
	}{
		"no proxy":                      {"203.0.113.7:4711", nil, "203.0.113.7"},
		"spoofed by the client":         {"203.0.113.7:4711", []string{"198.51.100.1"}, "203.0.113.7"},
		"one proxy":                     {"10.0.0.1:80", []string{"203.0.113.7"}, "203.0.113.7"},
		"spoofed left of the proxy":     {"10.0.0.1:80", []string{"198.51.100.1, 203.0.113.7"}, "203.0.113.7"},
		"spoofed in a header before":    {"10.0.0.1:80", []string{"198.51.100.1", "203.0.113.7"}, "203.0.113.7"},
		"claims to be a proxy":          {"10.0.0.1:80", []string{"10.9.9.9, 203.0.113.7"}, "203.0.113.7"},
		"two proxies":                   {"10.0.0.1:80", []string{"198.51.100.1, 203.0.113.7, 10.0.0.2"}, "203.0.113.7"},
		"a client within":               {"10.0.0.1:80", []string{"10.0.0.9, 10.0.0.2"}, "10.0.0.9"},
		"proxy that says nothing":       {"10.0.0.1:80", nil, "10.0.0.1"},
		"proxy that says nonsense":      {"10.0.0.1:80", []string{"203.0.113.7, unknown"}, "10.0.0.1"},
		"nonsense left of a proxy":      {"10.0.0.1:80", []string{"_hidden, 10.0.0.2"}, "10.0.0.2"},
		"empty value":                   {"10.0.0.1:80", []string{"203.0.113.7,"}, "10.0.0.1"},
		"with a port":                   {"10.0.0.1:80", []string{"203.0.113.7:5000"}, "203.0.113.7"},
		"IPv6":                          {"[fd00::1]:80", []string{"2001:db8::7"}, "2001:db8::7"},
		"IPv6 in brackets":              {"[fd00::1]:80", []string{"[2001:db8::7]:443"}, "2001:db8::7"},
		"IPv6 in brackets, no port":     {"[fd00::1]:80", []string{"[2001:db8::7]"}, "2001:db8::7"},
		"IPv4 as IPv6, peer":            {"[::ffff:10.0.0.1]:80", []string{"203.0.113.7"}, "203.0.113.7"},
		"IPv4 as IPv6, value":           {"10.0.0.1:80", []string{"198.51.100.1, ::ffff:10.0.0.2"}, "198.51.100.1"},
		"zone":                          {"[fe80::1%eth0]:80", nil, "fe80::1"},
		"no address at all":             {"@", []string{"203.0.113.7"}, ""},
		"a line break does not survive": {"10.0.0.1:80", []string{"203.0.113.7\nx"}, "10.0.0.1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &http.Request{RemoteAddr: c.peer, Header: http.Header{}}
			for _, value := range c.forwarded {
				r.Header.Add("X-Forwarded-For", value)
			}
			if got := hosts.ClientAddress(r); got != c.want {
				t.Errorf("%s with %q is %q, want %q", c.peer, c.forwarded, got, c.want)
			}
		})
	}
}

func TestNoProxyIsTrustedUnlessNamed(t *testing.T) {
	t.Parallel()
	r := &http.Request{RemoteAddr: "127.0.0.1:1", Header: http.Header{"X-Forwarded-For": {"203.0.113.7"}}}
	if got := (tenants.Hosts{}).ClientAddress(r); got != "127.0.0.1" {
		t.Errorf("the address is %q", got)
	}
}
