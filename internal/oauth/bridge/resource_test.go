package bridge

import (
	"testing"

	"github.com/chumbo-dev/chumbo/internal/tenants"
)

func TestField44_ResourceIsTakenAsClientsWriteIt(t *testing.T) {
	t.Parallel()
	host := tenants.Resource{Base: "https://acme.mcp.example.test", Path: "/mcp", Root: true}
	shared := tenants.Resource{Base: "https://chumbo.example.test", Path: "/acme/mcp"}
	plain := tenants.Resource{Base: "http://localhost:8080", Path: "/acme/mcp"}
	ep := &tenants.Endpoint{Resource: shared, URLs: []tenants.Resource{host, shared, plain}}
	for named, want := range map[string]bool{
		"":                                         true,
		"https://chumbo.example.test/acme/mcp":     true,
		"https://chumbo.example.test/acme/mcp/":    true,
		"HTTPS://Chumbo.Example.Test/acme/mcp":     true,
		"https://chumbo.example.test:443/acme/mcp": true,
		"https://acme.mcp.example.test/mcp":        true, // another of its URLs
		"https://acme.mcp.example.test":            true, // whose root surface it is
		"https://acme.mcp.example.test/":           true,
		"http://localhost:8080/acme/mcp":           true,

		"https://chumbo.example.test":               false, // the shared host has no root surface
		"https://chumbo.example.test/":              false,
		"https://chumbo.example.test/acme":          false,
		"https://chumbo.example.test/acme/mcp//":    false,
		"https://chumbo.example.test/ACME/mcp":      false,
		"https://chumbo.example.test/other/mcp":     false,
		"http://chumbo.example.test/acme/mcp":       false,
		"https://chumbo.example.test:80/acme/mcp":   false,
		"https://chumbo.example.test:8443/acme/mcp": false,
		"https://chumbo.example.test/acme/mcp?x=1":  false,
		"https://chumbo.example.test/acme/mcp#x":    false,
		"https://chumbo.example.test/acme/mcp/../x": false,
		"https://u@chumbo.example.test/acme/mcp":    false,
		"https://evil.example.test/acme/mcp":        false,
		"https://globex.mcp.example.test/mcp":       false,
		"/acme/mcp":                                 false,
		"acme":                                      false,
		" https://chumbo.example.test/acme/mcp":     false,
		"https:chumbo.example.test/acme/mcp":        false,
	} {
		if got := ownResources(ep, []string{named}); got != want {
			t.Errorf("%q: %v, want %v", named, got, want)
		}
	}
	if !ownResources(ep, nil) || ownResources(ep, []string{shared.URL(), "https://evil.example.test/"}) {
		t.Error("each one named must be the surface")
	}
}
