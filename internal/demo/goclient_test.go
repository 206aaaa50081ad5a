package demo

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// wire notes the requests a client makes, in order, and lets a test change
// the access token on its way.
type wire struct {
	mu     sync.Mutex
	seen   []string
	mangle bool
}

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	w.mu.Lock()
	mangle := w.mangle
	w.mu.Unlock()
	if mangle && r.Header.Get("Authorization") != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", r.Header.Get("Authorization")+"x")
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err == nil {
		w.mu.Lock()
		w.seen = append(w.seen, r.Method+" "+r.URL.Path+" "+resp.Status[:3])
		w.mu.Unlock()
	}
	return resp, err
}

func (w *wire) requests() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.seen)
}

// goClient connects the official Go client as a person of the demo, through
// the whole dance.
func goClient(t testing.TB, email, protocol string) (*mcp.ClientSession, *wire, auth.OAuthHandler) {
	t.Helper()
	return goClientAt(t, running.MCPURL, newPerson(t, email), protocol)
}

// goClientAt is goClient at any surface's URL.
func goClientAt(t testing.TB, surface string, who *person, protocol string) (*mcp.ClientSession, *wire, auth.OAuthHandler) {
	t.Helper()
	w := &wire{}
	handler, err := auth.NewAuthorizationCodeHandler(&auth.AuthorizationCodeHandlerConfig{
		DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
			ClientName: "Go end-to-end", RedirectURIs: []string{callbackURL},
			GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"}, TokenEndpointAuthMethod: "none",
		}},
		RedirectURL: callbackURL,
		AuthorizationCodeFetcher: func(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
			back, err := who.authorize(ctx, args.URL)
			if err != nil {
				return nil, err
			}
			return &auth.AuthorizationResult{Code: back.Get("code"), State: back.Get("state"), Iss: back.Get("iss")}, nil
		},
		Client: &http.Client{Transport: w},
	})
	if err != nil {
		t.Fatal(err)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "go-e2e", Version: "1.0.0"}, nil)
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: surface, HTTPClient: &http.Client{Transport: w}, OAuthHandler: handler, DisableStandaloneSSE: true, MaxRetries: -1,
	}, &mcp.ClientSessionOptions{ProtocolVersion: protocol})
	if err != nil {
		t.Fatalf("connect: %v\nrequests: %v", err, w.requests())
	}
	t.Cleanup(func() { _ = session.Close() })
	return session, w, handler
}

func TestGoClientWalksFromChallengeToRows(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{"2026-07-28", "2025-11-25", "2025-06-18"} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			session, w, _ := goClient(t, "alice@example.test", protocol)
			tools, err := session.ListTools(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, tool := range tools.Tools {
				names = append(names, tool.Name)
			}
			if !slices.Contains(names, "customers_list") || !slices.Contains(names, "customers_get") {
				t.Fatalf("tools: %v", names)
			}
			items := listAll(t, session)
			if len(items) == 0 {
				t.Fatal("Alice sees no customers")
			}
			for _, item := range items {
				requireOwner(t, item, "Acme")
			}
			if got := strings.Join(w.requests(), "\n"); !strings.Contains(got, "401") ||
				!strings.Contains(got, "/.well-known/oauth-protected-resource/crm/mcp 200") || !strings.Contains(got, "/oauth/clients/register 201") {
				t.Errorf("the dance was not walked:\n%s", got)
			}
		})
	}
}

// TestGoClientRefreshesAtSupabase: in direct mode the refresh token is the
// project's own, and works at its token endpoint.
func TestGoClientRefreshesAtSupabase(t *testing.T) {
	t.Parallel()
	session, w, handler := goClient(t, "alice@example.test", "2026-07-28")
	source, err := handler.TokenSource(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	token, err := source.Token()
	if err != nil {
		t.Fatal(err)
	}
	fresh := refresh(t, token)
	if fresh.AccessToken == token.AccessToken {
		t.Fatal("refresh returned the same access token")
	}
	if status := callWith(t, fresh.AccessToken); status != http.StatusOK {
		t.Fatalf("call with the refreshed token: %d", status)
	}
	_ = session
	_ = w
}

// listAll reads every page of customers_list.
func listAll(t testing.TB, session *mcp.ClientSession) []map[string]any {
	t.Helper()
	var items []map[string]any
	arguments := map[string]any{"limit": 7}
	for range 100 {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "customers_list", Arguments: arguments})
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		page, ok := result.StructuredContent.(map[string]any)
		if !ok || result.IsError {
			t.Fatalf("list: %+v", result.Content)
		}
		for _, item := range page["items"].([]any) {
			items = append(items, item.(map[string]any))
		}
		if page["has_more"] != true {
			return items
		}
		arguments["cursor"] = page["next_cursor"]
	}
	t.Fatal("paging does not end")
	return nil
}
