package dashboard_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/chumbo-dev/chumbo/internal/browsertest"
	"github.com/chumbo-dev/chumbo/internal/tenants"
	"github.com/chumbo-dev/chumbo/web"
)

// TestConnectPageOfEveryWayInIsWellMade looks at the page as each way into a
// surface makes it.
func TestConnectPageOfEveryWayInIsWellMade(t *testing.T) {
	t.Parallel()
	ways := map[string]web.Ways{
		"issuer":   {SignIn: true, Issuer: "login.example.com", Documentation: "https://example.com/docs"},
		"key":      {Key: true},
		"bearer":   {Bearer: true},
		"public":   {Open: true, OpenCalls: 60, OpenTotal: 6000, OpenSeconds: 60},
		"every":    {SignIn: true, Key: true, AppKeys: true, Bearer: true, Open: true, OpenCalls: 60, OpenSeconds: 60, Documentation: "https://example.com/docs"},
		"with-key": {SignIn: true, Key: true},
	}
	mux := http.NewServeMux()
	mux.Handle(web.AssetsPath, web.Assets())
	mux.HandleFunc("/{way}", func(w http.ResponseWriter, r *http.Request) {
		page := web.ConnectPage{
			Title: "Acme CRM", ServerName: "acme-crm", ResourceURL: "https://mcp.example.test/acme-crm/mcp", State: tenants.StateLive,
			Ways: ways[r.PathValue("way")], Client: r.URL.Query().Get("client"),
			Tools: []web.ConnectTool{{Title: "List customers", Description: "Customers by name.", ReadOnly: true}, {Title: "Archive a customer", Destructive: true}},
		}
		if r.PathValue("way") == "every" {
			page.Tools = append(page.Tools, web.ConnectTool{Title: "Customers by status", Description: "The customers of one status.", ReadOnly: true})
			page.Prompts = []web.ConnectTool{{Title: "Weekly review", Description: "What happened in a week.", ReadOnly: true}, {Title: "Look at a customer", ReadOnly: true}}
		}
		if err := web.WritePage(r.Context(), w, http.StatusOK, web.Connect(page)); err != nil {
			t.Error(err)
		}
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	ctx := browsertest.Open(t, 6*time.Minute)
	for way := range ways {
		wellMade(t, ctx, "connect-"+way, server.URL+"/"+way+"?client=claude-code")
	}
	for _, client := range []string{"claude", "cursor", "vscode", "codex", "gemini", "other", "inspector"} {
		wellMade(t, ctx, "connect-key-"+client, server.URL+"/key?client="+client)
	}
}
