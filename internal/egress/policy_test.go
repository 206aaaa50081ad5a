package egress

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/fault"
)

func get(t *testing.T, rawURL string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, rawURL, nil)
	if err != nil {
		t.Fatalf("build request: %v", err)
	}
	return req
}

// unreachable is a guard whose dial must never happen.
func unreachable(t *testing.T, p Policy, names map[string][]string) *guard {
	return &guard{
		policy: p,
		lookup: func(_ context.Context, host string) ([]netip.Addr, error) {
			var addrs []netip.Addr
			for _, text := range names[strings.ToLower(host)] {
				addrs = append(addrs, netip.MustParseAddr(text))
			}
			if addrs == nil {
				return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
			}
			return addrs, nil
		},
		dial: func(_ context.Context, _, address string) (net.Conn, error) {
			t.Errorf("dialed %s", address)
			return nil, errors.New("dialed")
		},
	}
}

func TestField83_ForgedAddressesAreRefused(t *testing.T) {
	t.Parallel()
	names := map[string][]string{
		"loop.example.test":     {"127.0.0.1"},
		"private.example.test":  {"10.0.0.7", "fd12::1"},
		"metadata.example.test": {"169.254.169.254"},
		"mapped.example.test":   {"::ffff:10.0.0.1"},
		"nat64.example.test":    {"64:ff9b::a00:1"},
	}
	client := newClient(unreachable(t, Policy{OwnHosts: []string{"mcp.example.test", "*.surfaces.example.test"}}, names))
	for _, target := range []string{
		"http://93.184.216.34/", "ftp://93.184.216.34/", "https://93.184.216.34:8443/", "https://93.184.216.34:80/",
		"http://169.254.169.254/", "https://169.254.169.254/latest/meta-data", "https://168.63.129.16/",
		"https://127.0.0.1/", "https://127.9.9.9/", "https://[::1]/", "https://0.0.0.0/", "https://[::]/",
		"https://10.1.2.3/", "https://172.16.0.1/", "https://172.31.255.255/", "https://192.168.1.1/",
		"https://100.64.0.1/", "https://100.100.100.200/", "https://192.0.2.1/", "https://198.18.0.1/",
		"https://224.0.0.1/", "https://240.0.0.1/", "https://255.255.255.255/",
		"https://[::ffff:10.0.0.1]/", "https://[::ffff:93.184.216.34]/", "https://[::ffff:7f00:1]/",
		"https://[fe80::1]/", "https://[fe80::1%25eth0]/", "https://[fc00::1]/", "https://[fd00:ec2::254]/",
		"https://[64:ff9b::7f00:1]/", "https://[2002:7f00:1::]/", "https://[2001:db8::1]/", "https://[2001::1]/",
		"https://[::127.0.0.1]/", "https://[ff02::1]/", "https://[fec0::1]/", "https://[4000::1]/",
		"https://loop.example.test/", "https://private.example.test/", "https://metadata.example.test/",
		"https://mapped.example.test/", "https://nat64.example.test/", "https://LOOP.example.test./",
		"https://mcp.example.test/", "https://MCP.Example.Test./", "https://acme.surfaces.example.test/mcp",
		"https://user:pass@93.184.216.34/", "https://ｍcp.example.test/", "https:///x", "https:opaque",
	} {
		_, err := client.Do(get(t, target), Options{})
		if !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: got %v, want a refused address", target, err)
		}
	}
}

func TestHostHeaderMustNameTheURL(t *testing.T) {
	t.Parallel()
	client := newClient(unreachable(t, Policy{}, nil))
	req := get(t, "https://93.184.216.34/")
	req.Host = "internal.example.test"
	if _, err := client.Do(req, Options{}); !fault.Is(err, fault.Invalid) {
		t.Fatalf("got %v, want a refused address", err)
	}
}

func TestPublicAddressesAreAllowed(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"93.184.216.34", "1.1.1.1", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "2a00:1450::8a"} {
		if err := (Policy{}).checkAddr(netip.MustParseAddr(text)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestLooserPoliciesOpenOnlyWhatTheyName(t *testing.T) {
	t.Parallel()
	cases := []struct {
		policy  Policy
		allowed []string
		refused []string
	}{
		{Policy{AllowLoopback: true}, []string{"127.0.0.1", "::1"}, []string{"10.0.0.1", "169.254.169.254", "::ffff:127.0.0.1"}},
		{Policy{AllowPrivate: true}, []string{"10.0.0.1", "192.168.0.1", "100.64.0.1", "fd12::1"}, []string{"127.0.0.1", "169.254.169.254", "fd00:ec2::254", "100.100.100.200", "fe80::1"}},
	}
	for _, c := range cases {
		for _, text := range c.allowed {
			if err := c.policy.checkAddr(netip.MustParseAddr(text)); err != nil {
				t.Errorf("%+v: %s: %v", c.policy, text, err)
			}
		}
		for _, text := range c.refused {
			if err := c.policy.checkAddr(netip.MustParseAddr(text)); err == nil {
				t.Errorf("%+v: %s is allowed", c.policy, text)
			}
		}
	}
}

func TestOwnHostWithPortCoversEveryNameOfTheAddress(t *testing.T) {
	t.Parallel()
	policy := Policy{AllowHTTP: true, AllowLoopback: true, AllowAnyPort: true, OwnHosts: []string{"localhost:8080"}}
	client := newClient(unreachable(t, policy, map[string][]string{"sneaky.example.test": {"127.0.0.1", "::1"}}))
	for _, target := range []string{"http://localhost:8080/", "http://127.0.0.1:8080/", "http://[::1]:8080/", "http://sneaky.example.test:8080/"} {
		if _, err := client.Do(get(t, target), Options{}); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: got %v, want a refused address", target, err)
		}
	}
}

func TestOwnHostWithPortLeavesOtherPortsReachable(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	client := New(Policy{AllowHTTP: true, AllowLoopback: true, AllowAnyPort: true, OwnHosts: []string{"localhost:1", "127.0.0.1:1"}})
	defer client.CloseIdle()
	resp, err := client.Do(get(t, server.URL), Options{})
	if err != nil {
		t.Fatalf("do: %v", err)
	}
	_ = resp.Body.Close()
}

func TestField83_ReboundNameIsCheckedAtEveryDial(t *testing.T) {
	t.Parallel()
	answers := [][]string{{"93.184.216.34", "127.0.0.1"}, {"127.0.0.1"}}
	var dialed []string
	g := &guard{
		lookup: func(context.Context, string) ([]netip.Addr, error) {
			var addrs []netip.Addr
			for _, text := range answers[0] {
				addrs = append(addrs, netip.MustParseAddr(text))
			}
			answers = answers[1:]
			return addrs, nil
		},
		dial: func(_ context.Context, _, address string) (net.Conn, error) {
			dialed = append(dialed, address)
			return nil, errors.New("nobody there")
		},
	}
	client := newClient(g)
	if _, err := client.Do(get(t, "https://rebind.example.test/"), Options{}); !fault.Is(err, fault.Unavailable) {
		t.Errorf("first: got %v, want unavailable", err)
	}
	if _, err := client.Do(get(t, "https://rebind.example.test/"), Options{}); !fault.Is(err, fault.Invalid) {
		t.Errorf("second: got %v, want a refused address", err)
	}
	if len(dialed) != 1 || dialed[0] != "93.184.216.34:443" {
		t.Errorf("dialed %v, want only the checked public address", dialed)
	}
}

func TestMappedAnswerOfAResolverIsDialedAsIPv4(t *testing.T) {
	t.Parallel()
	var dialed string
	g := unreachable(t, Policy{}, map[string][]string{"mapped.example.test": {"::ffff:93.184.216.34"}})
	g.dial = func(_ context.Context, _, address string) (net.Conn, error) {
		dialed = address
		return nil, errors.New("nobody there")
	}
	if _, err := newClient(g).Do(get(t, "https://mapped.example.test/"), Options{}); !fault.Is(err, fault.Unavailable) {
		t.Errorf("got %v", err)
	}
	if dialed != "93.184.216.34:443" {
		t.Errorf("dialed %q", dialed)
	}
}

func TestRefusedAddressesSayNothingAboutTheLane(t *testing.T) {
	t.Parallel()
	client := newClient(unreachable(t, Policy{}, map[string][]string{"loop.example.test": {"127.0.0.1"}}))
	for range 2 * breakerRow {
		if _, err := client.Do(get(t, "https://loop.example.test/"), Options{Lane: "a"}); !fault.Is(err, fault.Invalid) {
			t.Fatalf("got %v, want a refused address", err)
		}
	}
}
