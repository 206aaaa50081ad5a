package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chumbo-dev/chumbo/internal/egress"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/localpg"
	"github.com/chumbo-dev/chumbo/internal/standin"
	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

const readingSurface = `
version: 1
title: CRM
access: { mode: oauth, authorization: direct }
resources:
  - uri: acme://guide
    text: "Be kind."
    mime_type: text/markdown
  - uri: acme://nothing
    text: ""
  - uri: acme://customers/{id}
    table: customers
    columns: [id, name, status, balance]
    complete: { id: { column: id } }
  - uri: acme://by-status/{status}
    table: customers
    columns: [id, name, status]
    filters: [status]
    limit: 3
    complete: { status: [lead, active, archived] }
  - uri: acme://files/{+path}
    storage: documents
    prefix: "{sub}"
    inline: 4096
  - uri: acme://report/{month}
    function: report
  - uri: acme://secret/{month}
    function: report
    visible: "false"
prompts:
  - prompt: look_at
    title: Look at a customer
    description: What to do about one customer.
    arguments:
      - { name: id, required: true, type: integer, minimum: 1, complete: { table: customers, column: id } }
      - { name: who, complete: { table: customers, column: name } }
      - { name: tone, enum: [warm, dry] }
    messages:
      - { role: user, text: "Look at customer {{id}} in a {{tone}} tone.\n{{who}}" }
      - { role: user, resource: "acme://customers/{{id}}" }
      - { role: assistant, image: { mime_type: image/png, data: iVBORw0KGgo= } }
  - prompt: from_code
    arguments: [{ name: n, type: number, required: true }]
    function: say
  - prompt: reads_hidden
    arguments: [{ name: month, required: true }]
    messages: [{ role: user, resource: "acme://secret/{{month}}" }]
`

// readingWorld serves readingSurface to Alice and Bob.
type readingWorld struct {
	*bundle

	project *standin.Project
	own     map[string]string // by email: the id of a customer of theirs
}

func newReadingWorld(t *testing.T) *readingWorld {
	t.Helper()
	echo := func(answer func(body string, r *http.Request) (media, text string)) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			media, text := answer(string(body), r)
			w.Header().Set("Content-Type", media)
			_, _ = io.WriteString(w, text)
		}
	}
	p, err := standin.Start(t.Context(), standin.Options{
		Postgres: localpg.Shared(t), Schema: standin.CRM, Users: standin.CRMUsers(), Functions: map[string]http.Handler{
			"report": echo(func(body string, _ *http.Request) (string, string) { return "text/csv", "report of " + body }),
			"say": echo(func(body string, _ *http.Request) (string, string) {
				return "application/json", `{"messages":[{"role":"assistant","content":{"type":"text","text":` + string(appendString(nil, body)) + `}}]}`
			}),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	real := &realProject{Project: p, surface: id.New[id.SurfaceKind](), project: id.New[id.ProjectKind]()}
	real.runner = newRunner(supabase.New(egress.New(egress.Policy{AllowHTTP: true, AllowLoopback: true, AllowAnyPort: true})), testKeys(t))
	compiled := compileFor(t, real, readingSurface)
	w := &readingWorld{bundle: setupOver(t, real.runner), project: p, own: map[string]string{}}
	ep := w.surface("acme", func(ep *tenants.Endpoint, c *surfaces.Compiled) {
		ep.Project.ID, ep.Project.APIOrigin, ep.Project.PublishableKey = real.project, p.URL(), p.PublishableKey()
		*c = *compiled
	})
	for email, subject := range map[string]string{standin.AliceEmail: standin.AliceID, standin.BobEmail: standin.BobID} {
		c := real.callAs(t, email).caller
		c.Key.Surface, c.Key.Subject = ep.Surface, subject
		w.auth.admit(email, c)
		ids := w.complete(email, `"ref":{"type":"ref/resource","uri":"acme://customers/{id}"},"argument":{"name":"id","value":""}`)
		if len(ids.Values) == 0 {
			t.Fatalf("%s has no customers", email)
		}
		w.own[email] = ids.Values[0]
	}
	return w
}

func (w *readingWorld) complete(who, params string) (out struct {
	Values  []string
	Total   int
	HasMore bool
},
) {
	w.t.Helper()
	body := bodyOf(w.t, w.send(modern("completion/complete", "", params).as(who)))
	var answer struct {
		Result struct{ Completion json.RawMessage }
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil || answer.Result.Completion == nil {
		w.t.Fatalf("%s: %s %v", params, body, err)
	}
	if err := json.Unmarshal(answer.Result.Completion, &out); err != nil {
		w.t.Fatal(err)
	}
	return out
}

func (w *readingWorld) read(who, uri string) called {
	w.t.Helper()
	quoted := string(appendString(nil, uri))
	res := w.send(modern("resources/read", "", `"uri":`+quoted).as(who).named(uri))
	return called{res.StatusCode, bodyOf(w.t, res), res.Header}
}

func TestTheOfficialClientReadsGetsAndCompletesInEveryVersion(t *testing.T) {
	t.Parallel()
	w := newReadingWorld(t)
	for _, version := range versions() {
		session := w.connect("/acme/mcp", standin.AliceEmail, version)
		ctx := t.Context()
		if caps := session.InitializeResult().Capabilities; caps.Tools != nil || caps.Resources == nil || !caps.Resources.ListChanged || caps.Resources.Subscribe || caps.Prompts == nil || caps.Completions == nil {
			t.Errorf("%s: capabilities %+v", version, caps)
		}
		plain, err := session.ListResources(ctx, nil)
		if err != nil || len(plain.Resources) != 2 || plain.Resources[0].URI != "acme://guide" || plain.Resources[0].Size != 8 {
			t.Fatalf("%s: resources %+v, %v", version, plain, err)
		}
		templates, err := session.ListResourceTemplates(ctx, nil)
		if err != nil || len(templates.ResourceTemplates) != 4 || templates.ResourceTemplates[0].URITemplate != "acme://customers/{id}" {
			t.Fatalf("%s: templates %+v, %v", version, templates, err)
		}
		own := w.own[standin.AliceEmail]
		for uri, want := range map[string]string{
			"acme://guide": "Be kind.", "acme://nothing": "", "acme://customers/" + own: `"id":"` + own + `"`, "acme://by-status/lead": `"truncated":true}`,
			"acme://files/welcome.txt": standin.AliceWelcome, "acme://files/logo.png": string(standin.AliceLogo),
			"acme://report/2026%2D07": `report of {"month":"2026-07","uri":"acme://report/2026%2D07"}`,
		} {
			res, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
			if err != nil || len(res.Contents) != 1 || res.Contents[0].URI != uri || res.Contents[0].MIMEType == "" ||
				!strings.Contains(res.Contents[0].Text+string(res.Contents[0].Blob), want) {
				t.Fatalf("%s: %s: %+v, %v", version, uri, res, err)
			}
		}
		_, err = session.ReadResource(ctx, &mcp.ReadResourceParams{URI: "acme://customers/0"})
		var wire *jsonrpc.Error
		code := int64(-32602)
		if version < version20260728 {
			code = codeResourceNotFound
		}
		if !errors.As(err, &wire) || wire.Code != code || wire.Message != "Resource not found" || string(wire.Data) != `{"uri":"acme://customers/0"}` {
			t.Errorf("%s: not found is %v", version, err)
		}
		got, err := session.GetPrompt(ctx, &mcp.GetPromptParams{Name: "look_at", Arguments: map[string]string{"id": own, "tone": "dry"}})
		if err != nil || len(got.Messages) != 3 || got.Messages[0].Content.(*mcp.TextContent).Text != "Look at customer "+own+" in a dry tone.\n" {
			t.Fatalf("%s: %+v, %v", version, got, err)
		}
		if embedded, ok := got.Messages[1].Content.(*mcp.EmbeddedResource); !ok || embedded.Resource.URI != "acme://customers/"+own || !strings.Contains(embedded.Resource.Text, `"id":"`+own+`"`) {
			t.Errorf("%s: embedded %+v", version, got.Messages[1].Content)
		}
		if got, err = session.GetPrompt(ctx, &mcp.GetPromptParams{Name: "from_code", Arguments: map[string]string{"n": "1.50"}}); err != nil || got.Messages[0].Content.(*mcp.TextContent).Text != `{"n":1.5}` {
			t.Errorf("%s: %+v, %v", version, got, err)
		}
		done, err := session.Complete(ctx, &mcp.CompleteParams{
			Ref: &mcp.CompleteReference{Type: "ref/resource", URI: "acme://by-status/{status}"}, Argument: mcp.CompleteParamsArgument{Name: "status", Value: "A"},
			Context: &mcp.CompleteContext{Arguments: map[string]string{"x": "y"}},
		})
		if err != nil || !slices.Equal(done.Completion.Values, []string{"active", "archived"}) || done.Completion.Total != 2 || done.Completion.HasMore {
			t.Errorf("%s: %+v, %v", version, done, err)
		}
	}
}

// TestReadersNeverMeet: Alice and Bob read, get and complete at once, each their
// own. What is the other's is not there, in the very words for what nobody has.
func TestReadersNeverMeet(t *testing.T) {
	t.Parallel()
	w := newReadingWorld(t)
	alice, bob := standin.AliceEmail, standin.BobEmail
	check := func(who, other, welcome string) error {
		own, theirs := w.own[who], w.own[other]
		if got := w.read(who, "acme://customers/"+own); got.status != http.StatusOK || !strings.Contains(got.body, `\"id\":\"`+own) || !strings.Contains(got.body, `"cacheScope":"private","ttlMs":0`) && !strings.Contains(got.body, `"ttlMs":0,"cacheScope":"private"`) {
			return fmt.Errorf("%s: %s", who, got.body)
		}
		nobody := strings.ReplaceAll(w.read(who, "acme://customers/0").body, "customers/0", "X")
		for _, uri := range []string{"acme://customers/" + theirs, "acme://nowhere/" + theirs, "acme://secret/2026", "acme://customers/abc", "acme://files/none.txt", "acme://files/" + standin.BobID + "/welcome.txt", "acme://files/" + standin.AliceID + "/welcome.txt"} {
			got := w.read(who, uri)
			if got.status != http.StatusBadRequest || strings.ReplaceAll(got.body, strings.TrimPrefix(uri, "acme://"), "X") != nobody {
				return fmt.Errorf("%s reads %s: %s", who, uri, got.body)
			}
		}
		if got := w.read(who, "acme://files/welcome.txt"); !strings.Contains(got.body, strings.TrimSpace(welcome)) {
			return fmt.Errorf("%s: %s", who, got.body)
		}
		if got := w.complete(who, `"ref":{"type":"ref/resource","uri":"acme://customers/{id}"},"argument":{"name":"id","value":"`+theirs+`"}`); slices.Contains(got.Values, theirs) {
			return fmt.Errorf("%s is suggested %v", who, got.Values)
		}
		for _, prompt := range []string{`"name":"look_at","arguments":{"id":"` + theirs + `"}`, `"name":"reads_hidden","arguments":{"month":"2026"}`} {
			name, _ := text([]byte(strings.Split(strings.TrimPrefix(prompt, `"name":`), ",")[0]))
			res := w.send(modern("prompts/get", name, prompt).as(who))
			if body := bodyOf(t, res); !strings.Contains(body, `"code":-32602`) || !strings.Contains(body, errNotEmbedded.detail) || strings.Contains(body, "secret") {
				return fmt.Errorf("%s gets %s: %s", who, prompt, body)
			}
		}
		return nil
	}
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for range 2 {
				if err := errors.Join(check(alice, bob, standin.AliceWelcome), check(bob, alice, standin.BobWelcome)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wait.Wait()
	if len(w.recorder.all()) == 0 {
		t.Error("nothing was recorded")
	}
	declared := []string{"", "acme://guide", "acme://customers/{id}", "acme://files/{+path}", "acme://secret/{month}", "prompt:look_at", "prompt:reads_hidden"}
	for _, inv := range w.recorder.all() {
		if !slices.Contains(declared, inv.Capability) {
			t.Errorf("recorded as %q", inv.Capability)
		}
	}
	if logs := w.logs.String(); strings.Contains(logs, "welcome") || strings.Contains(logs, "customers/") {
		t.Errorf("logged: %s", logs)
	}
}

func TestSuggestionsAreDistinctBoundedAndHonest(t *testing.T) {
	t.Parallel()
	w := newReadingWorld(t)
	ask := func(argument, typed string) (values []string, total int, more bool) {
		got := w.complete(standin.AliceEmail, `"ref":{"type":"ref/prompt","name":"look_at"},"argument":{"name":"`+argument+`","value":`+string(appendString(nil, typed))+`}`)
		return got.Values, got.Total, got.HasMore
	}
	all, total, more := ask("who", "")
	if len(all) == 0 || len(all) != total || more || !slices.IsSorted(all) || len(slices.Compact(slices.Clone(all))) != len(all) {
		t.Fatalf("%d of %d, more %v: %v", len(all), total, more, all)
	}
	first := all[0]
	if got, total, _ := ask("who", strings.ToUpper(first)); total == 0 || !slices.Contains(got, first) {
		t.Errorf("%q is not found in upper case: %v", first, got)
	}
	for _, typed := range []string{"%", "_", "*", `\`, "'", `"),name.gt.(`, "\u0000", strings.Repeat("x", 10_000)} {
		if got, total, more := ask("who", typed); len(got) != 0 || total != 0 || more {
			t.Errorf("%.20q suggests %v", typed, got)
		}
	}
	if got, _, _ := ask("tone", "w"); !slices.Equal(got, []string{"warm"}) {
		t.Errorf("an enum suggests %v", got)
	}
	for params, want := range map[string]string{
		`"ref":{"type":"ref/prompt","name":"none"},"argument":{"name":"id","value":""}`:                          unknownReference,
		`"ref":{"type":"ref/resource","uri":"acme://secret/{month}"},"argument":{"name":"month","value":""}`:     unknownReference,
		`"ref":{"type":"ref/resource","uri":"acme://customers/1"},"argument":{"name":"id","value":""}`:           unknownReference,
		`"ref":{"type":"ref/resource","uri":"acme://customers/{id}"},"argument":{"name":"id2","value":""}`:       unknownArgument,
		`"ref":{"type":"ref/resource","name":"look_at","uri":"acme://guide"},"argument":{"name":"x","value":""}`: "",
		`"ref":{"type":"ref/tool","name":"look_at"},"argument":{"name":"x","value":""}`:                          "",
	} {
		res := w.send(modern("completion/complete", "", params).as(standin.AliceEmail))
		if body := bodyOf(t, res); res.StatusCode != http.StatusBadRequest || !strings.Contains(body, `"code":-32602`) || !strings.Contains(body, want) {
			t.Errorf("%s: %d %s", params, res.StatusCode, body)
		}
	}
}

// TestNoURILeavesItsPlace: what a URI holds is decoded once, and nothing of it
// leads out of the folder or into the address of a request.
func TestNoURILeavesItsPlace(t *testing.T) {
	t.Parallel()
	w := newReadingWorld(t)
	for _, uri := range []string{
		"acme://files/..%2F" + standin.BobID + "%2Fwelcome.txt", "acme://files/../" + standin.BobID + "/welcome.txt", "acme://files/%2e%2e/" + standin.BobID + "/welcome.txt",
		"acme://files/%252e%252e/x", "acme://files/", "acme://files//welcome.txt", "acme://files/./welcome.txt", "acme://files/welcome.txt/", "acme://files/a%5C..%5Cb",
		"acme://files/%00welcome.txt", "acme://files/%FF", "acme://files/%zz", "acme://files/%", "ACME://files/welcome.txt", "acme://files/welcome.txt%0A", "acme://files/welcome%252Etxt",
		"acme://customers/1%26or=(id.gt.0)", "acme://customers/1,id.gt.0", "acme://customers/%2B1", "acme://customers/1/", "acme://customers/1%2F2", "acme://customers/", "acme://customers/1?x=y", "acme://customers/9999999999999999999999",
		"acme://by-status/nothing", "acme://report/", "acme://guide/", "acme://guide?x", "chumbo:resource", "acme://customers/{id}", "",
	} {
		if got := w.read(standin.AliceEmail, uri); got.status == http.StatusOK || !strings.Contains(got.body, `"code":-32602`) && !strings.Contains(got.body, `"code":-32020`) {
			t.Errorf("%s: %d %s", uri, got.status, got.body)
		}
	}
	// A file whose name holds what is encoded is read under its own name only.
	if got := w.read(standin.AliceEmail, "acme://files/welcome%2Etxt"); !strings.Contains(got.body, strings.TrimSpace(standin.AliceWelcome)) {
		t.Errorf("%s", got.body)
	}
	for _, r := range w.project.RequestsTo("/storage/v1/") {
		if strings.Contains(r.Path, "..") || strings.Contains(r.Path, standin.BobID) {
			t.Errorf("Storage was asked for %s", r.Path)
		}
	}
}

func TestSubscribingPromisesNothing(t *testing.T) {
	t.Parallel()
	w := newReadingWorld(t)
	for _, version := range []string{version20251125, version20250326} {
		for _, method := range []string{"resources/subscribe", "resources/unsubscribe"} {
			for uri, want := range map[string]string{
				"acme://guide": `"result":{}`, "acme://customers/7": `"result":{}`, "acme://secret/2026": `"code":-32002`, "acme://none": `"code":-32002`, "acme://customers/x": `"code":-32002`,
			} {
				if body := bodyOf(t, w.send(legacy(version, method, `{"uri":"`+uri+`"}`).as(standin.AliceEmail))); !strings.Contains(body, want) {
					t.Errorf("%s %s %s: %s", version, method, uri, body)
				}
			}
		}
	}
	if res := w.send(modern("resources/subscribe", "", `"uri":"acme://guide"`).as(standin.AliceEmail)); res.StatusCode != http.StatusNotFound {
		t.Errorf("2026-07-28: %d", res.StatusCode)
	}
}

func TestArgumentsOfPromptsAreChecked(t *testing.T) {
	t.Parallel()
	w := newReadingWorld(t)
	own := w.own[standin.AliceEmail]
	for arguments, path := range map[string]string{
		`{}`: "/id", `{"id":"x"}`: "/id", `{"id":"1.5"}`: "/id", `{"id":"0"}`: "/id", `{"id":"+1"}`: "/id", `{"id":""}`: "/id", `{"id":"1e99999"}`: "/id",
		`{"id":"` + own + `","tone":"loud"}`: "/tone", `{"id":"` + own + `","more":"x"}`: "/more",
	} {
		res := w.send(modern("prompts/get", "look_at", `"name":"look_at","arguments":`+arguments).as(standin.AliceEmail))
		body := bodyOf(t, res)
		if res.StatusCode != http.StatusBadRequest || !strings.Contains(body, `"code":-32602`) || !strings.Contains(body, `"path":"`+path+`"`) || !strings.Contains(body, `"kind":"invalid"`) {
			t.Errorf("%s: %d %s", arguments, res.StatusCode, body)
		}
	}
	// A form sends what was left empty, and text may have lines; what is hidden in
	// it goes.
	res := w.send(modern("prompts/get", "look_at", `"name":"look_at","arguments":{"id":" `+own+` ","tone":"","who":"one\ntwo\u202e {{id}}"}`).as(standin.AliceEmail))
	if body := bodyOf(t, res); res.StatusCode != http.StatusOK || !strings.Contains(body, `in a  tone.\none\ntwo {{id}}"`) {
		t.Errorf("%d %s", res.StatusCode, body)
	}
}
