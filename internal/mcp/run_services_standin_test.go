package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chumbo-dev/chumbo/internal/egress"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/localpg"
	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/standin"
	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// startServices is the CRM project with functions that fail in every way, and a
// runner for which a second of a function's time is short.
func startServices(t *testing.T) (*realProject, *egress.Client) {
	t.Helper()
	p, err := standin.Start(t.Context(), standin.Options{Postgres: localpg.Shared(t), Schema: standin.CRM, Users: standin.CRMUsers(), Functions: map[string]http.Handler{
		"who":   http.HandlerFunc(who),
		"slow":  http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }),
		"limit": standin.FunctionError("WORKER_RESOURCE_LIMIT"),
		"dying": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", mediaEvents)
			_, _ = io.WriteString(w, "event: progress\ndata: {\"progress\":1}\n\nevent: result\ndata: {")
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}),
		"endless": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", mediaEvents)
			_, _ = io.WriteString(w, "event: progress\ndata: {\"progress\":1}\n\n")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}),
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	out := egress.New(egress.Policy{AllowHTTP: true, AllowLoopback: true, AllowAnyPort: true})
	r := newRunner(supabase.New(out), testKeys(t))
	r.second = 20 * time.Millisecond
	return &realProject{Project: p, runner: r, surface: id.New[id.SurfaceKind](), project: id.New[id.ProjectKind]()}, out
}

// who answers what the function was called with, as whom.
func who(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]string{"token": r.Header.Get("Authorization"), "body": string(body)})
}

// ofUser is a call of the person with the subject that Auth gives them.
func (p *realProject) ofUser(t *testing.T, email string) *call {
	t.Helper()
	c := p.callAs(t, email)
	c.caller.Key.Subject = map[string]string{standin.AliceEmail: standin.AliceID, standin.BobEmail: standin.BobID}[email]
	return c
}

func named(t *surfaces.Tool, name string, place surfaces.FilePlace) *surfaces.Tool {
	t.Name = name
	switch {
	case t.Files != nil:
		t.Files.Place = place
	case t.ReadFile != nil:
		t.ReadFile.Place = place
	case t.Upload != nil:
		t.Upload.Place = place
	}
	return t
}

func TestAliceAndBobHaveTheirOwnFilesAndFunctionsAtOnce(t *testing.T) {
	t.Parallel()
	p, _ := startServices(t)
	own, whole := surfaces.FilePlace{Bucket: "documents", Prefix: "{sub}"}, surfaces.FilePlace{Bucket: "documents"}
	list, read := named(filesTool(), "documents_list", own), named(readFileTool(), "documents_read", own)
	upload, anybodys, write := named(uploadTool(), "documents_upload", own), named(readFileTool(), "any_read", whole), named(uploadTool(), "any_upload", whole)
	call := functionTool()
	call.Function = &surfaces.FunctionPlan{Slug: "who", Timeout: 150}
	people := map[string]struct{ id, welcome, other string }{
		standin.AliceEmail: {standin.AliceID, standin.AliceWelcome, standin.BobID}, standin.BobEmail: {standin.BobID, standin.BobWelcome, standin.AliceID},
	}
	cursors := map[string]string{}
	for email := range people {
		cursors[email] = *runTool(t, p.runner, p.ofUser(t, email), list, `{"limit":1}`).list(t).NextCursor
	}
	var wait sync.WaitGroup
	for email, person := range people {
		for worker := range 2 {
			c := p.ofUser(t, email)
			wait.Go(func() {
				for i := range 6 {
					l := runTool(t, p.runner, c, list, `{}`).list(t)
					if len(l.Items) < 2 {
						t.Errorf("%s lists %v", email, l.Items)
					}
					if got := runTool(t, p.runner, c, read, `{"path":"welcome.txt"}`); got.text != person.welcome {
						t.Errorf("%s reads %q", email, got.text)
					}
					name := fmt.Sprintf("%d-%d.txt", worker, i)
					if got := runTool(t, p.runner, c, upload, `{"path":"`+name+`","text":"`+email+`"}`); got.isError {
						t.Errorf("%s uploads: %s", email, got.text)
					}
					if got := runTool(t, p.runner, c, anybodys, `{"path":"`+person.id+`/`+name+`"}`); got.text != email {
						t.Errorf("%s reads back %q", email, got.text)
					}
					hidden := runTool(t, p.runner, c, anybodys, `{"path":"`+person.other+`/welcome.txt"}`)
					missing := runTool(t, p.runner, c, anybodys, `{"path":"`+person.other+`/nothing.txt"}`)
					if hidden.kind() != "not_found" || hidden.text != missing.text {
						t.Errorf("%s on the other's: %s", email, hidden.text)
					}
					if got := runTool(t, p.runner, c, write, `{"path":"`+person.other+`/x.txt","text":"x"}`); got.kind() != "forbidden" {
						t.Errorf("%s writes to the other's: %s", email, got.text)
					}
					if got := runTool(t, p.runner, c, call, `{"for":"`+email+`"}`); !strings.Contains(string(got.structured), c.caller.Token.Reveal()) || !strings.Contains(string(got.structured), email) {
						t.Errorf("%s was called as %s", email, got.structured)
					}
				}
			})
		}
	}
	wait.Wait()
	for email := range people {
		for other, cursor := range cursors {
			got := runTool(t, p.runner, p.ofUser(t, email), list, `{"cursor":"`+cursor+`"}`)
			if got.isError != (other != email) {
				t.Errorf("%s with the cursor of %s: %s", email, other, got.text)
			}
		}
	}
	if got := runTool(t, p.runner, p.ofUser(t, standin.AliceEmail), upload, `{"path":"welcome.txt","text":"x"}`); got.kind() != "conflict" {
		t.Errorf("a file that is there: %s", got.text)
	}
	logo := runResult(t, p.runner, p.ofUser(t, standin.BobEmail), read, `{"path":"logo.png"}`)
	if raw, _ := json.Marshal(logo.Content); !bytes.Contains(raw, []byte(`"type":"image"`)) {
		t.Errorf("%s", raw)
	}
	small := named(readFileTool(), "documents_read", own)
	small.Budget, small.ReadFile.Inline = 1, 0
	c := p.ofUser(t, standin.AliceEmail)
	linked := runResult(t, p.runner, c, small, `{"path":"welcome.txt"}`)
	raw, _ := json.Marshal(linked.Content[1])
	var link struct{ URI string }
	if err := json.Unmarshal(raw, &link); err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, link.URI, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if body := bodyOf(t, res); body != standin.AliceWelcome || !strings.HasPrefix(link.URI, p.URL()+"/storage/v1/object/sign/documents/") {
		t.Errorf("%s gives %q", link.URI, body)
	}
}

// TestAThousandCallsThatGoWrongLeaveNothingBehind is alone with its goroutines:
// it is not parallel.
func TestAThousandCallsThatGoWrongLeaveNothingBehind(t *testing.T) { //nolint:paralleltest // counts goroutines
	p, out := startServices(t)
	const huge = 100 << 20
	if err := p.PutFile(t.Context(), "documents", standin.AliceID+"/huge.bin", "application/pdf", huge, func() io.Reader { return io.LimitReader(zeros{}, huge) }); err != nil {
		t.Fatal(err)
	}
	b := setupOver(t, p.runner)
	ep := b.surface("acme", func(ep *tenants.Endpoint, compiled *surfaces.Compiled) {
		ep.Project.APIOrigin, ep.Project.PublishableKey = p.URL(), p.PublishableKey()
		compiled.Tools = nil
		for _, slug := range []string{"slow", "limit", "dying", "endless"} {
			tool := testTool(slug)
			tool.Output, tool.Annotations = nil, surfaces.Annotations{}
			tool.Function = &surfaces.FunctionPlan{Slug: slug, Timeout: 150, Stream: true}
			if slug == "slow" {
				tool.Function.Timeout = 1
			}
			compiled.Tools = append(compiled.Tools, tool)
		}
		tool := testTool("huge")
		tool.Output, tool.Input = nil, json.RawMessage(`{"type":"object"}`)
		tool.ReadFile = &surfaces.ReadFilePlan{Place: surfaces.FilePlace{Bucket: "documents", Prefix: "{sub}"}, Inline: 64 << 10}
		compiled.Tools = append(compiled.Tools, tool)
	})
	token, err := p.AccessToken(standin.AliceEmail, standin.TokenOptions{ClientID: "c1"})
	if err != nil {
		t.Fatal(err)
	}
	b.auth.admit("alice", &oauth.Caller{
		Key:   oauth.CallerKey{Surface: ep.Surface, Mode: oauth.ModeDirect, Issuer: ep.Project.Issuer, Subject: standin.AliceID},
		Token: seal.NewSecret(token), Expires: time.Now().Add(time.Hour), Role: "authenticated",
	})
	calls := []func() error{
		func() error { return b.tells("slow", kindOutcomeUnknown) },
		func() error { return b.tells("limit", kindOutcomeUnknown) },
		func() error { return b.tells("dying", kindOutcomeUnknown) },
		func() error { return b.tells("huge", "/object/sign/documents/") },
		b.leaves,
	}
	var peak atomic.Uint64
	run := func(n int) {
		peak.Store(0)
		var wait sync.WaitGroup
		for worker := range 10 {
			wait.Go(func() {
				for i := range n / 10 {
					if err := calls[(worker+i)%len(calls)](); err != nil {
						t.Error(err)
						return
					}
					for now := heapNow(); ; {
						if most := peak.Load(); now <= most || peak.CompareAndSwap(most, now) {
							break
						}
					}
				}
			})
		}
		wait.Wait()
	}
	count := func() (goroutines int, heap uint64) {
		b.server.Client().CloseIdleConnections()
		out.CloseIdle()
		runtime.GC()
		return len(strings.Split(goroutinesOf(), "\n\n")), heapNow()
	}
	run(50) // whatever is made once
	before, heapBefore := count()
	run(1000)
	after, heapAfter := count()
	for range 200 { // connections take a moment to end
		if after <= before {
			break
		}
		time.Sleep(10 * time.Millisecond)
		after, heapAfter = count()
	}
	if after > before {
		t.Errorf("%d goroutines before, %d after\n%s", before, after, goroutinesOf())
	}
	if heapAfter > heapBefore+16<<20 || peak.Load() > heapBefore+200<<20 { // two of those files would be more
		t.Errorf("%d MiB of heap before, %d after, %d at most", heapBefore>>20, heapAfter>>20, peak.Load()>>20)
	}
}

// goroutinesOf are the stacks of all goroutines but those of database
// connections, which come and go by themselves.
func goroutinesOf() string {
	stacks := make([]byte, 4<<20)
	all := strings.Split(string(stacks[:runtime.Stack(stacks, true)]), "\n\n")
	return strings.Join(slices.DeleteFunc(all, func(s string) bool { return strings.Contains(s, "jackc/pgx") }), "\n\n")
}

// heapNow is how many bytes of the heap are in use, garbage included.
func heapNow() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// tells calls the tool as a client that reads streams, and looks for a word in
// the answer.
func (b *bundle) tells(tool, word string) error {
	res, err := b.post(tool)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil || res.StatusCode != http.StatusOK || !bytes.Contains(body, []byte(word)) || len(body) > 64<<10 {
		return fmt.Errorf("%s: %d %s: %w", tool, res.StatusCode, body, err)
	}
	return nil
}

// leaves calls a tool that never ends and goes when it has heard of it.
func (b *bundle) leaves() error {
	res, err := b.post("endless")
	if err != nil {
		return err
	}
	heard := make([]byte, 16)
	_, err = io.ReadFull(res.Body, heard)
	_ = res.Body.Close()
	if err != nil || res.Header.Get("Content-Type") != mediaEvents {
		return fmt.Errorf("endless: %s: %w", heard, err)
	}
	return nil
}

func (b *bundle) post(tool string) (*http.Response, error) {
	arguments := `{}`
	if tool == "huge" {
		arguments = `{"path":"huge.bin"}`
	}
	q := modern("tools/call", tool, `"name":"`+tool+`","arguments":`+arguments)
	req, err := http.NewRequestWithContext(b.t.Context(), http.MethodPost, b.server.URL+"/acme/mcp", strings.NewReader(strings.Replace(q.body, `"_meta":{`, `"_meta":{"progressToken":1,`, 1)))
	if err != nil {
		return nil, err
	}
	for name, value := range q.header {
		req.Header.Set(name, value)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Authorization", "Bearer alice")
	return b.server.Client().Do(req)
}
