package tenants

import (
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// Hosts is where this instance is reached. The URLs we advertise are built
// from it and from stored rows, never from what a request says of itself.
type Hosts struct {
	PublicURL      string         // scheme://host[:port] of the shared host, without a path
	Aliases        []string       // other hosts that serve what the shared host serves: host[:port], or scheme://host[:port]
	SurfaceDomain  string         // projects are reached at {project}.{SurfaceDomain}, at PublicURL's scheme and port; empty for none
	TrustedProxies []netip.Prefix // peers whose X-Forwarded-Host and -For count
}

// EffectiveHost is the host a request is for: lower case, without the default
// port of PublicURL's scheme and without a trailing dot. X-Forwarded-Host
// counts only when the peer is a trusted proxy, and then its last value, which
// that proxy wrote. A host that is not made of host characters is the empty
// string, which no surface is served under.
func (h Hosts) EffectiveHost(r *http.Request) string {
	host := r.Host
	if forwarded := r.Header.Values("X-Forwarded-Host"); len(forwarded) > 0 && h.trusted(r.RemoteAddr) {
		last := forwarded[len(forwarded)-1]
		host = strings.TrimSpace(last[strings.LastIndexByte(last, ',')+1:])
	}
	return h.normalize(host)
}

func (h Hosts) trusted(remote string) bool {
	peer, err := netip.ParseAddrPort(remote)
	if err != nil {
		return false
	}
	return h.trustedAddress(plain(peer.Addr()))
}

func (h Hosts) normalize(host string) string {
	if len(host) > 255 {
		return ""
	}
	for i := range len(host) {
		if !hostByte(host[i]) {
			return ""
		}
	}
	host = strings.ToLower(host)
	switch {
	case strings.HasPrefix(h.PublicURL, "https://"):
		host = strings.TrimSuffix(host, ":443")
	case strings.HasPrefix(h.PublicURL, "http://"):
		host = strings.TrimSuffix(host, ":80")
	}
	name, port, found := strings.Cut(host, ":")
	if strings.HasPrefix(host, "[") || !strings.HasSuffix(name, ".") {
		return host
	}
	name = strings.TrimSuffix(name, ".")
	if !found {
		return name
	}
	return name + ":" + port
}

func hostByte(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || strings.IndexByte(".-_:[]", b) >= 0
}

// sharedHost and the label form are how surface_urls.host names a host that
// depends on configuration; anything else is a custom domain.
const (
	sharedHost  = ""
	labelSuffix = ".*"
)

// hostTable is Hosts, checked and ready for lookups.
type hostTable struct {
	scheme string            // of every host
	port   string            // ":port" of PublicURL, or empty
	public string            // PublicURL
	shared map[string]string // host -> base, for the shared host and its aliases
	bases  []string          // bases of the shared host, PublicURL first
	domain string            // "." + SurfaceDomain + port, or empty
}

func newHostTable(h Hosts) (*hostTable, error) {
	public, err := parseBase(h.PublicURL)
	if err != nil {
		return nil, fmt.Errorf("public URL %q: %w", h.PublicURL, err)
	}
	t := &hostTable{scheme: public.Scheme, shared: map[string]string{}}
	if port := public.Port(); port != "" && h.normalize(public.Host) == strings.ToLower(public.Host) {
		t.port = ":" + port
	}
	t.addShared(h, public)
	t.public = t.bases[0]
	for _, alias := range h.Aliases {
		if !strings.Contains(alias, "://") {
			alias = public.Scheme + "://" + alias
		}
		u, err := parseBase(alias)
		if err != nil {
			return nil, fmt.Errorf("host alias %q: %w", alias, err)
		}
		t.addShared(h, u)
	}
	if h.SurfaceDomain == "" {
		return t, nil
	}
	domain := strings.ToLower(strings.Trim(h.SurfaceDomain, "."))
	if h.normalize(domain) != domain || strings.ContainsAny(domain, ":[]") || !strings.Contains(domain, ".") {
		return nil, fmt.Errorf("surface domain %q: want a bare domain name, such as mcp.example.com", h.SurfaceDomain)
	}
	t.domain = "." + domain + t.port
	return t, nil
}

func (t *hostTable) addShared(h Hosts, u *url.URL) {
	host := h.normalize(u.Host)
	if _, known := t.shared[host]; known {
		return
	}
	base := u.Scheme + "://" + host
	t.shared[host] = base
	t.bases = append(t.bases, base)
}

func parseBase(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("want scheme://host[:port], such as https://mcp.example.com")
	}
	if strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return nil, fmt.Errorf("want scheme://host[:port] and nothing after it")
	}
	return u, nil
}

// stored maps a request's host to its name in surface_urls, and to the base
// of the URLs under it. ok is false for a host nothing can be served under.
func (t *hostTable) stored(host string) (name, base string, ok bool) {
	if base, shared := t.shared[host]; shared {
		return sharedHost, base, true
	}
	if host == "" {
		return "", "", false
	}
	if t.domain != "" && strings.HasSuffix(host, t.domain) {
		label := strings.TrimSuffix(host, t.domain)
		if label == "" || strings.Contains(label, ".") {
			return "", "", false
		}
		return label + labelSuffix, t.scheme + "://" + host, true
	}
	name = strings.TrimSuffix(host, t.port)
	if name == "" || t.port != "" && name == host || strings.Contains(name, ":") {
		return "", "", false // a custom domain is served at our own port only
	}
	return name, t.scheme + "://" + host, true
}

// basesOf lists every base under which a stored host is reached, the best
// first. Empty when this configuration does not serve it.
func (t *hostTable) basesOf(stored string) []string {
	if stored == sharedHost {
		return t.bases
	}
	label, isLabel := strings.CutSuffix(stored, labelSuffix)
	if !isLabel {
		return []string{t.scheme + "://" + stored + t.port}
	}
	if t.domain == "" {
		return nil
	}
	return []string{t.scheme + "://" + label + t.domain}
}
