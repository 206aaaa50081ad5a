package api_test

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/api"
	"github.com/chumbo-dev/chumbo/internal/api/apitest"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// What a route needs: no token, or a scope and a role that goes with it.
const (
	nobody = iota
	read
	write
	admin
)

// route is one route with input that works for whom it belongs to.
type route struct {
	method, path string
	body         any
	needs        int
}

// acmeRoutes are all routes on objects of project acme, what goes for good
// last.
func acmeRoutes(t *testing.T, w *apitest.World) []route {
	t.Helper()
	const surface = "/projects/acme/surfaces/main"
	file := map[string]string{"file": surfaceFile}
	grant := must(t, w, w.Alice, "GET", surface+"/grants", nil)["grants"].([]any)[0].(map[string]any)["id"].(string)
	key := must(t, w, w.Alice, "GET", surface+"/keys", nil)["keys"].([]any)[0].(map[string]any)["id"].(string)
	signIn := map[string]string{"method": "hosted", "client_id": "our-client", "client_secret": "our-secret", "captcha_provider": "turnstile", "captcha_site_key": "0x4AAA"}
	digest := must(t, w, w.Alice, "GET", surface+"/revisions", nil)["revisions"].([]any)[0].(map[string]any)["digest"].(string)
	return []route{
		{"GET", "/projects/acme", nil, read},
		{"PATCH", "/projects/acme", map[string]string{"name": "Acme CRM"}, write},
		{"POST", "/projects/acme/probe", nil, write},
		{"PUT", "/projects/acme/logo", map[string]string{"picture": onePixel}, write},
		{"DELETE", "/projects/acme/logo", nil, write},
		{"GET", "/projects/acme/ownership", nil, read},
		{"POST", "/projects/acme/ownership/check", nil, write},
		{"POST", "/projects/acme/ownership/secret", map[string]string{"secret_key": w.Project.SecretKey()}, write},
		{"POST", "/projects/acme/ownership/management", map[string]string{"access_token": accessToken}, write},
		{"GET", "/projects/acme/sign-in", nil, read},
		{"PUT", "/projects/acme/sign-in", signIn, write},
		{"GET", "/projects/acme/schema", nil, read},
		{"GET", "/projects/acme/schema?summary=true", nil, read},
		{"GET", "/projects/acme/schema?summary=true&offerable=true", nil, read},
		{"PUT", "/projects/acme/schema", w.Snapshot(t), write},
		{"POST", "/projects/acme/schema/catalog", map[string][]string{"relations": {"public.customers"}}, write},
		{"POST", "/projects/acme/schema/import", nil, write},
		{"POST", "/projects/acme/schema/import/management", map[string]string{"access_token": accessToken}, write},
		{"GET", "/projects/acme/schema/starter?tables=customers", nil, read},
		{"GET", "/projects/acme/posture", nil, read},
		{"GET", "/projects/acme/surfaces", nil, read},
		{"GET", surface, nil, read},
		{"GET", surface + "/file", nil, read},
		{"PUT", surface + "/file", file, write},
		{"PUT", surface + "/file?dry_run=true", file, read},
		{"PUT", "/projects/acme/surfaces/new/file", file, write},
		{"POST", surface + "/plan", file, read},
		{"POST", surface + "/publish", file, write},
		{"POST", "/projects/acme/surfaces/new/publish", file, write},
		{"GET", surface + "/revisions", nil, read},
		{"GET", surface + "/revisions/1", nil, read},
		{"GET", surface + "/revisions/compare?from=1&to=1", nil, read},
		{"POST", surface + "/rollback", map[string]int{"revision": 1}, write},
		{"POST", surface + "/rollback", map[string]string{"digest": digest}, write},
		{"PUT", surface + "/pin", map[string]string{"digest": digest}, write},
		{"DELETE", surface + "/pin", nil, write},
		{"GET", surface + "/drift", nil, read},
		{"PUT", surface + "/state", map[string]string{"state": "paused"}, write},
		{"GET", surface + "/connections", nil, read},
		{"GET", surface + "/connections?state=failed&client=claude&since=2026-11-30T00:00:00Z", nil, read},
		{"GET", surface + "/grants", nil, read},
		{"DELETE", surface + "/grants/" + grant, nil, write},
		{"GET", "/projects/acme/clients", nil, read},
		{"GET", surface + "/keys", nil, read},
		{"POST", surface + "/keys", map[string]any{"name": "backend", "scopes": []string{"crm.read"}}, write},
		{"DELETE", surface + "/keys/" + key, nil, write},
		{"GET", surface + "/introspection", nil, read},
		{"PUT", surface + "/introspection", map[string]string{"secret": "of-the-issuer"}, write},
		{"DELETE", surface + "/introspection", nil, write},
		{"POST", "/projects/acme/surfaces/new/rename", map[string]string{"slug": "newer"}, admin},
		{"DELETE", "/projects/acme/surfaces/newer", map[string]string{"confirm": "newer"}, admin},
		{"POST", "/projects/acme/rename", map[string]string{"slug": "acme"}, admin},
		{"DELETE", "/projects/acme", map[string]string{"confirm": "acme"}, admin},
	}
}

// onePixel is a PNG.
const onePixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

// accessToken has the form of a Management API token.
const accessToken = "sbp_0123456789abcdef0123456789abcdef01234567"

// everyRoute adds those on objects of the organization, and those without.
func everyRoute(t *testing.T, w *apitest.World) []route {
	t.Helper()
	return append([]route{
		{"POST", "/device/authorize", map[string]string{"client_name": "a machine"}, nobody},
		{"POST", "/device/token", map[string]string{"device_code": strings.Repeat("x", 42) + "A"}, nobody},
		{"GET", "/me", nil, read},
		{"GET", "/tokens", nil, read},
		{"POST", "/tokens", map[string]string{"name": "another", "scope": "read"}, admin},
		{"DELETE", "/tokens/tok_" + strings.Repeat("0", 32), nil, admin},
		{"GET", "/notices", nil, read},
		{"POST", "/notices/" + noticeOf(t, w, w.Alice) + "/dismiss", nil, write},
		{"GET", "/projects", nil, read},
		{"POST", "/projects", registration(w, "second"), write},
	}, acmeRoutes(t, w)...)
}

// TestEveryRouteIsWalked: a route that no example here reaches is tried by no
// other test either.
func TestEveryRouteIsWalked(t *testing.T) {
	t.Parallel()
	examples := everyRoute(t, published(t, apitest.Options{}))
	for _, r := range api.Routes() {
		i := slices.IndexFunc(examples, func(e route) bool { return e.method == r.Method && reaches(r.Path, e.path) })
		if i < 0 {
			t.Errorf("%s %s has no example", r.Method, r.Path)
			continue
		}
		// Who may put a file depends on the query; and a token may end itself.
		decided := []string{"/projects/:project/surfaces/:surface/file", "/tokens/:token"}
		if e := examples[i]; e.needs != r.Needs && !slices.Contains(decided, r.Path) {
			t.Errorf("%s %s needs %d, its example says %d", r.Method, r.Path, r.Needs, e.needs)
		}
		if r.Needs >= write && r.Action == "" {
			t.Errorf("%s %s has no name for the audit log", r.Method, r.Path)
		}
	}
}

// reaches reports whether a path is one of a pattern, and of no pattern that
// spells out what this one leaves open.
func reaches(pattern, path string) bool {
	path, _, _ = strings.Cut(path, "?")
	want, have := strings.Split(pattern, "/"), strings.Split(path, "/")
	if len(want) != len(have) {
		return false
	}
	for i := range want {
		open := strings.HasPrefix(want[i], ":") && have[i] != "compare"
		if !open && want[i] != have[i] {
			return false
		}
	}
	return true
}

func TestScopesLetThroughWhatTheyName(t *testing.T) {
	t.Parallel()
	w := published(t, apitest.Options{})
	before := state(t, w)
	for _, scope := range []tenants.Scope{tenants.ScopeRead, tenants.ScopeWrite, tenants.ScopeAdmin} {
		t.Run(string(scope), func(t *testing.T) { // one after the other: the last deletes
			token := w.Token(t, w.Alice, scope)
			may := map[tenants.Scope]int{tenants.ScopeRead: read, tenants.ScopeWrite: write, tenants.ScopeAdmin: admin}[scope]
			for _, r := range everyRoute(t, w) {
				status, answer := send(t, w, token, r.method, r.path, r.body)
				refused := status == 403 && (answer["code"] == "scope_read" || answer["code"] == "scope_write")
				if r.needs > may && !refused {
					t.Errorf("%s %s answered a token of scope %s %d %v", r.method, r.path, scope, status, answer)
				}
				if r.needs <= may && (refused || status == 401 || status == 403 || status >= 500) {
					t.Errorf("%s %s answered a token of scope %s %d %v", r.method, r.path, scope, status, answer)
				}
			}
			if scope == tenants.ScopeRead {
				if after := state(t, w); after != before {
					t.Errorf("state was\n%s\nand is\n%s", before, after)
				}
			}
			if status, answer := send(t, w, token, "DELETE", "/tokens/"+tokenID(t, w, w.Vera), nil); (status == 200) != (scope == tenants.ScopeAdmin) {
				t.Errorf("revoking another's token answered scope %s %d %v", scope, status, answer)
			}
			must(t, w, token, "DELETE", "/tokens/"+tokenID(t, w, token), nil) // every token may end itself
			if status, _ := send(t, w, token, "GET", "/me", nil); status != 401 {
				t.Errorf("a token that ended itself answered %d", status)
			}
		})
	}
}

func TestEveryRefusalByScopeOrRoleIsInTheAuditLog(t *testing.T) {
	t.Parallel()
	w := published(t, apitest.Options{})
	token := w.Token(t, w.Alice, tenants.ScopeRead)
	for _, r := range everyRoute(t, w) {
		if r.needs < write {
			continue
		}
		before := count(t, w, "select count(*) from audit_events where outcome = 'refused'")
		send(t, w, token, r.method, r.path, r.body)
		if after := count(t, w, "select count(*) from audit_events where outcome = 'refused'"); after != before+1 {
			t.Errorf("%s %s left %d rows", r.method, r.path, after-before)
		}
	}
}

func TestEveryRouteIsInTheReference(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	var described []string
	for line := range strings.Lines(string(page)) {
		if heading, found := strings.CutPrefix(line, "### "); found {
			described = append(described, strings.TrimSpace(heading))
		}
	}
	for _, r := range api.Routes() {
		heading := r.Method + " " + r.Path
		i := slices.Index(described, heading)
		if i < 0 {
			t.Errorf("docs/api.md does not describe %s", heading)
			continue
		}
		described = slices.Delete(described, i, i+1)
	}
	if len(described) > 0 {
		t.Errorf("docs/api.md describes what is not there: %v", described)
	}
}

// count is the one number that a query of the control plane's tables returns.
func count(t *testing.T, w *apitest.World, sql string, args ...any) int {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), w.DB.AdminDSN)
	if err != nil {
		t.Fatalf("connect as admin: %v", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	if _, err := conn.Exec(t.Context(), "set search_path = chumbo"); err != nil {
		t.Fatalf("set search path: %v", err)
	}
	var n int
	if err := conn.QueryRow(t.Context(), sql, args...).Scan(&n); err != nil {
		t.Fatalf("count: %v", err)
	}
	return n
}

// tokenID is the id of a token.
func tokenID(t *testing.T, w *apitest.World, token string) string {
	t.Helper()
	return must(t, w, token, "GET", "/me", nil)["token"].(string)
}

// noticeOf leaves the organization of a token a notice, unless it has one, and
// returns its id.
func noticeOf(t *testing.T, w *apitest.World, token string) string {
	t.Helper()
	if have := must(t, w, token, "GET", "/notices", nil)["notices"].([]any); len(have) > 0 {
		return have[0].(map[string]any)["id"].(string)
	}
	w.DB.Exec(t, "insert into notices (organization_id, id, kind, text, created_at) values ($1, gen_random_uuid(), 'ownership.missed', 'A notice.', now())",
		w.Principal(t, token).Organization.ID.UUID())
	return noticeOf(t, w, token)
}

func asJSON(t *testing.T, value any) string {
	t.Helper()
	b, err := json.MarshalIndent(value, "", " ")
	if err != nil {
		t.Fatalf("marshal: %v", err)
	}
	return string(b)
}
