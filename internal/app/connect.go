package app

import (
	"log/slog"
	"net/http"

	"github.com/chumbo-dev/chumbo/internal/mcp"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
	"github.com/chumbo-dev/chumbo/web"
)

// connectPage is what a browser sees at a surface URL. It shows what the live
// revision declares, never what a particular caller may see. ?client= opens
// the steps of one client.
func connectPage(pagesURL string, log *slog.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ep, ok := mcp.EndpointOf(r.Context())
		if !ok {
			http.NotFound(w, r)
			return
		}
		page := web.ConnectPage{
			Title: ep.Title, Logo: ep.Project.LogoPath(), ServerName: serverName(ep), ResourceURL: ep.Resource.URL(), State: ep.State,
			Ways: waysInto(ep.Access), Client: r.URL.Query().Get("client"),
		}
		if ep.Access.Bridged() {
			page.Apps = pagesURL + "/connect/apps/" + ep.Resource.Ref
		}
		for _, tool := range mcp.ToolsOf(r.Context()) {
			page.Tools = append(page.Tools, web.ConnectTool{
				Title: tool.Title, Description: tool.Description, ReadOnly: tool.Annotations.ReadOnly, Destructive: tool.Annotations.Destructive,
			})
		}
		for _, one := range mcp.ResourcesOf(r.Context()) {
			page.Tools = append(page.Tools, web.ConnectTool{Title: one.Title, Description: one.Description, ReadOnly: true})
		}
		for _, p := range mcp.PromptsOf(r.Context()) {
			page.Prompts = append(page.Prompts, web.ConnectTool{Title: p.Title, Description: p.Description, ReadOnly: true})
		}
		if err := web.WritePage(r.Context(), w, http.StatusOK, web.Connect(page)); err != nil {
			log.WarnContext(r.Context(), "write connect page", "error", err)
		}
	})
}

// waysInto says how callers are admitted, for people.
func waysInto(a surfaces.Access) web.Ways {
	w := web.Ways{
		SignIn: a.Has(surfaces.ModeOAuth), Key: a.Has(surfaces.ModeAPIKey), Bearer: a.Has(surfaces.ModeBearer), Open: a.Has(surfaces.ModePublic),
		Issuer: web.IssuerHost(a), AppKeys: a.Keys != nil, Documentation: a.Documentation,
	}
	if w.Open && a.Public != nil {
		w.OpenCalls, w.OpenTotal, w.OpenSeconds = a.Public.Calls, a.Public.Total, a.Public.Seconds
	}
	return w
}

// serverName is a short name for client configuration.
func serverName(ep *tenants.Endpoint) string {
	if ep.SurfaceSlug == tenants.MainSurface {
		return ep.Project.Slug
	}
	return ep.Project.Slug + "-" + ep.SurfaceSlug
}
