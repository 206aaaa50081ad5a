package demo

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chumbo-dev/chumbo/docs"
	"github.com/chumbo-dev/chumbo/internal/clocktest"
	"github.com/chumbo-dev/chumbo/internal/localpg"
	"github.com/chumbo-dev/chumbo/internal/standin"
)

// docsRows are what the calls on the surface file's page find, and functions
// that answer what its rules ask for.
const docsRows = `
insert into public.customers (organization_id, name, status, home, tags, settings, updated_at)
select '00000000-0000-4000-8000-00000000ac3e', n, 'active', '("1 Long Road",London)', '{new,vip}', '{}', '2026-01-02T03:04:05Z'
from unnest(array['Ada', 'Grace', 'Edsger', 'Barbara', 'Tony']) n;
insert into public.notes (customer_id, author_id, body, created_at)
select 1 + i % 2, gen_random_uuid(), 'Note ' || i, '2025-12-01T00:00:00Z'::timestamptz + i * interval '1 hour' from generate_series(1, 8) i;
insert into public.staff values (1, 'Alice', null), (2, 'Bob', 1);
grant select on public.customers to authenticated;
create or replace function public.check_key(key text) returns jsonb language sql stable security definer set search_path = '' as $$
  select case when key = 'app-key-of-alice' then '{"subject": "alice"}'::jsonb end $$;
create or replace function public.chumbo_context() returns jsonb language sql stable as $$
  select '{"organization_id": "00000000-0000-4000-8000-00000000ac3e", "roles": ["owner"], "teams": ["support"]}'::jsonb $$;
create or replace function public.chumbo_authorize(checks jsonb) returns jsonb language sql stable as $$
  select jsonb_agg(jsonb_build_object('allowed', true)) from jsonb_array_elements(checks) $$;
insert into storage.buckets (id, name, public, file_size_limit, allowed_mime_types) values ('documents', 'documents', false, null, null), ('avatars', 'avatars', true, 1048576, '{image/*}');
create policy "own folder" on storage.objects for all to authenticated
  using (bucket_id = 'documents' and ((storage.foldername(name))[1] = 'shared' or (storage.foldername(name))[2] = (select auth.uid())::text))
  with check (bucket_id = 'documents' and ((storage.foldername(name))[1] = 'shared' or (storage.foldername(name))[2] = (select auth.uid())::text));
create policy "anybody adds a picture" on storage.objects for all to authenticated using (bucket_id = 'avatars') with check (bucket_id = 'avatars');
notify pgrst, 'reload schema';
`

// TestSurfaceFilePageIsPublishedAndCalled publishes every example of the page
// that has calls, and makes them as Alice: what a reader copies works.
func TestSurfaceFilePageIsPublishedAndCalled(t *testing.T) {
	t.Parallel()
	schema, err := os.ReadFile("../surfaces/testdata/schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	examples, err := docs.Examples("surface-file.md")
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	p := &tenant{t: t, clock: clocktest.New(w.clock.Now()), slug: "readers", builder: w.organization(t, "readers@example.test", "Readers")}
	e := &edge{}
	functions, open, err := e.functions()
	if err != nil {
		t.Fatal(err)
	}
	p.Project, err = standin.Start(t.Context(), standin.Options{
		Postgres: localpg.Shared(t), Schema: string(schema) + docsRows, Users: standin.CRMUsers(), Now: p.clock.Now,
		Functions: functions, OpenFunctions: open,
	})
	if err != nil {
		t.Fatal(err)
	}
	e.project.Store(p.Project)
	t.Cleanup(func() { _ = p.Close() })
	p.must(http.MethodPost, "/projects", registration(p, p.URL(), p.slug))
	p.importSchema()
	issuer := newDocsIssuer(t)
	for i, e := range examples {
		if len(e.Calls) == 0 {
			continue
		}
		if i%10 == 9 { // nobody signs in so often
			w.clock.Advance(6 * time.Minute)
			p.clock.Advance(6 * time.Minute)
		}
		file := strings.ReplaceAll(e.File, "https://login.example.com", issuer)
		surface := fmt.Sprintf("line-%d", e.Line)
		target := p.publishAs(surface, file)
		secret := p.docsCredential(w, surface, target, file)
		for _, c := range e.Calls {
			method, params := c.Request()
			answer := answered(t, target, secret, method, params, docsHeaders(e.File, c.Arguments))
			holds := map[string]string{"tools/call": `"content"`, "resources/read": `"contents":[{`, "prompts/get": `"messages":[{`, "completion/complete": `"values":["`}[method]
			if answer.status != http.StatusOK || strings.Contains(answer.body, `"isError":true`) || !strings.Contains(answer.body, holds) {
				t.Errorf("%s: %s %v: %d %s", e, method, params, answer.status, answer.body)
			}
		}
	}
}

// answered sends a request as a client that can ask its person, who agrees to
// everything and fills in each form.
func answered(t *testing.T, target, secret, method string, params map[string]any, h http.Header) reply {
	t.Helper()
	params["_meta"] = map[string]any{"io.modelcontextprotocol/clientCapabilities": map[string]any{"elicitation": map[string]any{"form": map[string]any{}}}}
	for range 5 {
		answer := speakWith(t, h, target, secret, eras[0], method, params)
		var asked struct {
			Result struct {
				ResultType    string `json:"resultType"`
				RequestState  string `json:"requestState"`
				InputRequests map[string]struct {
					Params struct {
						RequestedSchema struct {
							Properties map[string]struct {
								Type    string   `json:"type"`
								Enum    []string `json:"enum"`
								Minimum int      `json:"minimum"`
							} `json:"properties"`
						} `json:"requestedSchema"`
					} `json:"params"`
				} `json:"inputRequests"`
			} `json:"result"`
		}
		if json.Unmarshal([]byte(answer.body), &asked) != nil || asked.Result.ResultType != "input_required" {
			return answer
		}
		responses := map[string]any{}
		for key, request := range asked.Result.InputRequests {
			content := map[string]any{}
			for name, field := range request.Params.RequestedSchema.Properties {
				switch {
				case len(field.Enum) > 0:
					content[name] = field.Enum[0]
				case field.Type == "boolean":
					content[name] = true
				case field.Type == "string":
					content[name] = "What the person says"
				default:
					content[name] = field.Minimum
				}
			}
			responses[key] = map[string]any{"action": "accept", "content": content}
		}
		params["inputResponses"], params["requestState"] = responses, asked.Result.RequestState
	}
	t.Fatalf("%s %v asks without end", method, params["name"])
	return reply{}
}

// docsHeader finds an argument that is a header, too.
var docsHeader = regexp.MustCompile(`(\w+): \{[^{}]*x-mcp-header: (\w+)`)

// docsHeaders are those that a client sends of a call's arguments.
func docsHeaders(file string, arguments json.RawMessage) http.Header {
	h := http.Header{}
	var given map[string]any
	_ = json.Unmarshal(arguments, &given)
	for _, m := range docsHeader.FindAllStringSubmatch(file, -1) {
		if value, ok := given[m[1]]; ok {
			h.Set("Mcp-Param-"+m[2], fmt.Sprint(value))
		}
	}
	return h
}

// docsCredential is what Alice calls an example's surface with.
func (p *tenant) docsCredential(w *world, surface, target, file string) string {
	claims := map[string]any{"aal": "aal2", "app_metadata": map[string]any{"tier": "pro", "role": "admin", "scopes": "crm.read crm.write"}}
	switch {
	case strings.Contains(file, "authorization: external"):
		p.must(http.MethodPut, "/projects/"+p.slug+"/surfaces/"+surface+"/introspection", map[string]string{"secret": "a-secret-of-the-test"})
		return "opaque-token-of-alice"
	case strings.Contains(file, "keys: { rpc"):
		return "app-key-of-alice"
	case strings.Contains(file, "authorization: direct"):
		return p.token(standin.AliceEmail, standin.TokenOptions{Claims: claims})
	case strings.Contains(file, "mode: bearer"):
		token, err := p.AccessToken(standin.AliceEmail, standin.TokenOptions{Claims: claims})
		if err != nil {
			p.t.Fatal(err)
		}
		return token
	}
	return signedIn(p.t, w, target, standin.AliceEmail).access
}

// newDocsIssuer is the other issuer of the page: its tokens are opaque, and it
// says of Alice's what the page's rules want to hear.
func newDocsIssuer(t *testing.T) string {
	t.Helper()
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	answer := func(w http.ResponseWriter, v map[string]any) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(v)
	}
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]any{
			"issuer": server.URL, "authorization_endpoint": server.URL + "/authorize", "token_endpoint": server.URL + "/token", "jwks_uri": server.URL + "/jwks",
			"introspection_endpoint": server.URL + "/introspect", "response_types_supported": []string{"code"}, "subject_types_supported": []string{"public"},
			"id_token_signing_alg_values_supported": []string{"ES256"},
		})
	})
	mux.HandleFunc("POST /introspect", func(w http.ResponseWriter, r *http.Request) {
		answer(w, map[string]any{
			"active": r.FormValue("token") == "opaque-token-of-alice", "iss": server.URL, "sub": "alice", "aud": "crm-api", "client_id": "desktop",
			"https://example.com/claims": map[string]any{"permissions": []string{"crm.read"}}, "groups": []string{"staff"},
			"exp": time.Now().Add(time.Hour).Unix(),
		})
	})
	return server.URL
}
