package egress

import (
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// Policy says which addresses may be reached. The zero value is the strict
// one: https on port 443 of public addresses.
type Policy struct {
	AllowHTTP     bool     // also http (port 80)
	AllowLoopback bool     // also 127.0.0.0/8 and ::1
	AllowPrivate  bool     // also private and CGNAT ranges; never link-local
	AllowAnyPort  bool     // also other ports
	OwnHosts      []string // never reached: "host" (any port), "host:port", or "*.domain" for all below it
}

// LogValue implements slog.LogValuer, so that a server can state its policy
// at start.
func (p Policy) LogValue() slog.Value {
	return slog.GroupValue(
		slog.Bool("http", p.AllowHTTP), slog.Bool("loopback", p.AllowLoopback),
		slog.Bool("private", p.AllowPrivate), slog.Bool("any_port", p.AllowAnyPort),
	)
}

// refusal is why an address may not be reached. It stays private: telling
// ranges apart would let an outsider map a network.
type refusal struct{ reason string }

func (r *refusal) Error() string { return "refused address: " + r.reason }

func refuse(reason string) error { return &refusal{reason} }

func isRefusal(err error) bool {
	var r *refusal
	return errors.As(err, &r)
}

// checkRequest refuses by what the URL says, before any name is resolved.
func (p Policy) checkRequest(req *http.Request) error {
	u := req.URL
	if u == nil || u.Opaque != "" || u.User != nil {
		return refuse("not a plain URL")
	}
	if u.Scheme != "https" && (u.Scheme != "http" || !p.AllowHTTP) {
		return refuse("scheme")
	}
	if req.Host != "" && !strings.EqualFold(req.Host, u.Host) {
		return refuse("another Host header")
	}
	host := hostOf(u)
	if !plainHost(host) {
		return refuse("host name")
	}
	port := portOf(u)
	if p.isOwn(host, port) {
		return refuse("own host")
	}
	return p.checkPort(u.Scheme, port)
}

func (p Policy) checkPort(scheme, port string) error {
	if p.AllowAnyPort || port == defaultPort(scheme) {
		return nil
	}
	return refuse("port")
}

func hostOf(u *url.URL) string {
	return strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
}

func portOf(u *url.URL) string {
	if port := u.Port(); port != "" {
		return port
	}
	return defaultPort(u.Scheme)
}

func defaultPort(scheme string) string {
	if scheme == "http" {
		return "80"
	}
	return "443"
}

// plainHost admits ASCII letters, digits and the punctuation of names and
// address literals. Other letters are refused, not mapped: a mapped name could
// turn into one of our own after the check.
func plainHost(host string) bool {
	if host == "" || len(host) > 253 {
		return false
	}
	for i := range len(host) {
		c := host[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && !strings.ContainsRune("-._:", rune(c)) {
			return false
		}
	}
	return true
}

// isOwn reports whether host (lower case, no final dot) on port is ours.
func (p Policy) isOwn(host, port string) bool {
	for _, own := range p.OwnHosts {
		if matchesOwn(strings.ToLower(own), host, port) {
			return true
		}
	}
	return false
}

func matchesOwn(own, host, port string) bool {
	if domain, below := strings.CutPrefix(own, "*"); below {
		return strings.HasSuffix(host, domain)
	}
	ownHost, ownPort, err := net.SplitHostPort(own)
	if err != nil {
		return strings.Trim(own, "[]") == host
	}
	if ownPort != port {
		return false
	}
	return ownHost == host || ownHost == "localhost" && isLoopback(host)
}

func isLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

// Ranges that are never reached, whatever the policy: the metadata services
// of clouds live in some of them.
var never = prefixes(
	"0.0.0.0/8", "169.254.0.0/16", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24",
	"198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
	"100.100.100.200/32", "168.63.129.16/32",
	"::/128", "::/96", "::ffff:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64",
	"2001::/32", "2001:2::/48", "2001:10::/28", "2001:20::/28", "2001:db8::/32", "2002::/16",
	"3fff::/20", "fd00:ec2::/32", "fe80::/10", "fec0::/10", "ff00::/8",
)

var private = prefixes("10.0.0.0/8", "100.64.0.0/10", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7")

var globalIPv6 = netip.MustParsePrefix("2000::/3")

func prefixes(texts ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		out[i] = netip.MustParsePrefix(text)
	}
	return out
}

// checkAddr decides over one address to be dialed.
func (p Policy) checkAddr(addr netip.Addr) error {
	switch {
	case !addr.IsValid() || addr.Zone() != "":
		return refuse("not a plain address")
	case addr.IsLoopback() && !addr.Is4In6():
		if p.AllowLoopback {
			return nil
		}
		return refuse("loopback")
	case contains(never, addr):
		return refuse("special range")
	case contains(private, addr):
		if p.AllowPrivate {
			return nil
		}
		return refuse("private range")
	case addr.Is6() && !globalIPv6.Contains(addr):
		return refuse("outside global IPv6")
	}
	return nil
}

func contains(list []netip.Prefix, addr netip.Addr) bool {
	for _, prefix := range list {
		if prefix.Contains(addr) {
			return true
		}
	}
	return false
}
