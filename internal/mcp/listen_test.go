package mcp

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// followed is a stream in a bubble of fake time.
type followed struct {
	directory *memoryDirectory
	endpoint  *tenants.Endpoint
	listeners *listeners
	w         *lockedRecorder
	leave     context.CancelFunc
	done      chan struct{}
}

// lockedRecorder is a ResponseWriter that can be read while it is written.
type lockedRecorder struct {
	lockedBuffer
	header http.Header
}

func (r *lockedRecorder) Header() http.Header { return r.header }
func (r *lockedRecorder) WriteHeader(int)     {}
func (r *lockedRecorder) Flush()              {}

// allKinds asks for every notice there is.
var allKinds = wanted{Tools: true, Prompts: true, Resources: true}

// listsSpelled are the lists of a revision whose digest spells them: a word for each
// kind.
func listsSpelled(_ context.Context, ep *tenants.Endpoint) (lists, error) {
	words := append(strings.Fields(ep.Digest), "", "", "")
	if words[0] == "broken" {
		return lists{}, errors.New("cannot be read")
	}
	of := func(word string) digest { return sha256.Sum256([]byte(word)) }
	return lists{tools: of(words[0]), prompts: of(words[1]), resources: of(words[2]), hasPrompts: words[1] != "", hasResources: words[2] != ""}, nil
}

func follow(t *testing.T, want wanted, life time.Duration) *followed {
	t.Helper()
	return followAt(t, "a", want, life)
}

func followAt(t *testing.T, digest string, want wanted, life time.Duration) *followed {
	t.Helper()
	f := &followed{directory: newMemoryDirectory(), w: &lockedRecorder{header: http.Header{}}, done: make(chan struct{})}
	f.endpoint = &tenants.Endpoint{
		Surface: id.New[id.SurfaceKind](), Revision: 1, Digest: digest, State: tenants.StateLive,
		Resource: tenants.Resource{Base: "https://" + testHost, Path: "/acme/mcp"},
	}
	f.directory.put(f.endpoint, nil)
	f.listeners = newListeners(f.directory, listsSpelled)
	ctx, leave := context.WithCancel(t.Context())
	f.leave = leave
	s := &stream{w: f.w, control: http.NewResponseController(f.w), id: []byte(`"s"`)}
	go func() {
		defer close(f.done)
		f.listeners.follow(ctx, s, f.endpoint, testHost, want, life)
	}()
	synctest.Wait()
	return f
}

func (f *followed) publish(edit func(*tenants.Endpoint)) {
	next := *f.endpoint
	edit(&next)
	f.directory.put(&next, nil)
	f.endpoint = &next
}

func (f *followed) over() bool {
	select {
	case <-f.done:
		return true
	default:
		return false
	}
}

func TestListenAcknowledgesAndStaysOpen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := follow(t, allKinds, time.Hour)
		first, _, _ := strings.Cut(f.w.String(), "\n\n")
		if first != `event: message`+"\n"+`data: {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"s"},"notifications":{"toolsListChanged":true}}}` {
			t.Fatalf("first event %q", first)
		}
		time.Sleep(2*time.Minute + time.Second)
		synctest.Wait()
		if got := strings.Count(f.w.String(), ": keep-alive\n\n"); got != 8 || f.over() {
			t.Fatalf("%d comments in two minutes, over: %v", got, f.over())
		}
		f.leave()
		<-f.done
		if strings.Contains(f.w.String(), "resultType") {
			t.Fatal("a client that left was answered")
		}
	})
}

func TestListenTellsOfChanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := follow(t, allKinds, time.Hour)
		defer f.leave()
		count := func() int {
			time.Sleep(listenCheck + time.Second)
			synctest.Wait()
			return strings.Count(f.w.String(), "notifications/tools/list_changed")
		}
		if count() != 0 {
			t.Fatal("told of nothing")
		}
		f.publish(func(ep *tenants.Endpoint) { ep.Revision, ep.Digest = 2, "b" })
		for range 2 {
			if count() != 1 {
				t.Fatalf("publish: %s", f.w)
			}
		}
		f.publish(func(ep *tenants.Endpoint) { ep.State = tenants.StateReadOnly })
		if count() != 2 {
			t.Fatalf("switch: %s", f.w)
		}
		f.directory.fail(fault.New(fault.Unavailable, "", "away"))
		if count() != 2 || f.over() {
			t.Fatal("a directory that is away ends streams")
		}
		f.directory.fail(fault.New(fault.NotFound, "", "gone"))
		if count(); !f.over() || !strings.Contains(f.w.String(), `"resultType":"complete"`) {
			t.Fatalf("surface gone: %s", f.w)
		}
	})
}

func TestListenTellsOnlyWhatWasAsked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := follow(t, wanted{Prompts: true}, time.Hour)
		defer f.leave()
		f.publish(func(ep *tenants.Endpoint) { ep.Revision = 2 })
		time.Sleep(time.Minute)
		synctest.Wait()
		if strings.Contains(f.w.String(), "list_changed") {
			t.Fatal("told unasked")
		}
	})
}

func TestListenTellsOfTheListsThatDiffer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := followAt(t, "tools prompts resources", allKinds, time.Hour)
		defer f.leave()
		if !strings.Contains(f.w.String(), `"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true`) {
			t.Fatalf("acknowledged: %s", f.w)
		}
		for _, step := range []struct {
			edit  func(*tenants.Endpoint)
			kinds string
		}{
			{func(ep *tenants.Endpoint) { ep.Revision, ep.Digest = 2, "tools prompts resources" }, ""},
			{func(ep *tenants.Endpoint) { ep.Revision, ep.Digest = 3, "tools other resources" }, "prompts"},
			{func(ep *tenants.Endpoint) { ep.Revision, ep.Digest = 4, "tools other more" }, "resources"},
			{func(ep *tenants.Endpoint) { ep.Revision, ep.Digest = 5, "new one more" }, "tools prompts"},
			{func(ep *tenants.Endpoint) { ep.State = tenants.StateReadOnly }, "tools prompts resources"},
			{func(ep *tenants.Endpoint) { ep.Revision, ep.Digest = 6, "broken" }, "tools prompts resources"},
			{func(ep *tenants.Endpoint) { ep.Revision, ep.Digest = 7, "new one more" }, "tools prompts resources"},
			{func(ep *tenants.Endpoint) { ep.Revision, ep.Digest = 8, "new one more" }, ""},
		} {
			before := len(f.w.String())
			f.publish(step.edit)
			f.listeners.changed(tenants.ScopeSurface + f.endpoint.Surface.UUID().String())
			synctest.Wait()
			told := f.w.String()[before:]
			var kinds []string
			for _, kind := range []string{"tools", "prompts", "resources"} {
				if strings.Contains(told, "notifications/"+kind+"/list_changed") {
					kinds = append(kinds, kind)
				}
			}
			if got := strings.Join(kinds, " "); got != step.kinds {
				t.Errorf("revision %d: told of %q, want %q", f.endpoint.Revision, got, step.kinds)
			}
		}
	})
}

func TestListenIsWokenByNoticesOfItsOwnSurfaceOnly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := follow(t, allKinds, time.Hour)
		looked := func(scope string) bool {
			f.publish(func(ep *tenants.Endpoint) { ep.Revision++; ep.Digest += "x" })
			before := len(f.w.String())
			f.listeners.changed(scope)
			synctest.Wait()
			return len(f.w.String()) > before
		}
		for scope, want := range map[string]bool{
			tenants.ScopeSurface + id.New[id.SurfaceKind]().UUID().String(): false,
			tenants.ScopeSurface + f.endpoint.Surface.UUID().String():       true,
			tenants.ScopeProject + f.endpoint.Project.ID.UUID().String():    true,
			tenants.ScopeProject + id.New[id.ProjectKind]().UUID().String(): false,
			"": true,
		} {
			if looked(scope) != want {
				t.Errorf("%q: told %v", scope, !want)
			}
		}
		f.leave()
		<-f.done
		if len(f.listeners.ears) != 0 {
			t.Errorf("%d ears are left", len(f.listeners.ears))
		}
	})
}

func TestListsDifferByWhatIsShownAndToWhom(t *testing.T) {
	t.Parallel()
	make := func() *surfaces.Compiled {
		return &surfaces.Compiled{
			Tools:     []surfaces.Tool{testTool("one"), testTool("two")},
			Prompts:   []surfaces.Prompt{{Name: "p", Title: "P"}},
			Resources: []surfaces.Resource{{URI: "acme://guide", Name: "guide"}},
		}
	}
	for name, step := range map[string]struct {
		edit func(*surfaces.Compiled)
		want wanted
	}{
		"nothing":             {func(*surfaces.Compiled) {}, wanted{}},
		"what a tool does":    {func(c *surfaces.Compiled) { c.Tools[0].Budget = 7 }, wanted{}},
		"a title":             {func(c *surfaces.Compiled) { c.Tools[0].Title = "Other" }, wanted{Tools: true}},
		"the order":           {func(c *surfaces.Compiled) { c.Tools[0], c.Tools[1] = c.Tools[1], c.Tools[0] }, wanted{Tools: true}},
		"who sees a prompt":   {func(c *surfaces.Compiled) { c.Prompts[0].Scopes = []string{"x"} }, wanted{Prompts: true}},
		"a resource more":     {func(c *surfaces.Compiled) { c.Resources = append(c.Resources, surfaces.Resource{URI: "acme://b"}) }, wanted{Resources: true}},
		"who sees everything": {func(c *surfaces.Compiled) { c.Policy.Visible = "false" }, allKinds},
	} {
		c := make()
		step.edit(c)
		if got := allKinds.changed(listsOf(make()), listsOf(c)); got != step.want {
			t.Errorf("%s: %+v, want %+v", name, got, step.want)
		}
	}
}

func TestListenEndsWithTheToken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := follow(t, allKinds, 20*time.Second)
		time.Sleep(19 * time.Second)
		synctest.Wait()
		if f.over() {
			t.Fatal("over too early")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if !f.over() || !strings.Contains(f.w.String(), `"id":"s"`) {
			t.Fatalf("stream %s", f.w)
		}
	})
}

func TestListenEndsAtShutdown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := follow(t, allKinds, time.Hour)
		f.listeners.close()
		f.listeners.close()
		<-f.done
		if !strings.Contains(f.w.String(), `"resultType":"complete"`) {
			t.Fatalf("stream %s", f.w)
		}
		if f.listeners.enter(listener{}) == nil {
			t.Fatal("a new stream after shutdown")
		}
	})
}

func TestListenIsBoundedByCaller(t *testing.T) {
	t.Parallel()
	l := newListeners(newMemoryDirectory(), listsSpelled)
	surface := id.New[id.SurfaceKind]()
	alice := listener{CallerKey: oauth.CallerKey{Surface: surface, Mode: oauth.ModeDirect, Subject: "alice"}}
	bob := listener{CallerKey: oauth.CallerKey{Surface: surface, Mode: oauth.ModeDirect, Subject: "bob"}}
	for range maxCallerListeners {
		if err := l.enter(alice); err != nil {
			t.Fatal(err)
		}
	}
	if !fault.Is(l.enter(alice), fault.RateLimited) {
		t.Fatal("Alice has one too many")
	}
	if err := l.enter(bob); err != nil {
		t.Fatalf("Alice fills Bob's: %v", err)
	}
	l.leave(alice)
	if err := l.enter(alice); err != nil {
		t.Fatalf("a place that was left is not free: %v", err)
	}
	for range maxCallerListeners {
		l.leave(alice)
	}
	l.leave(bob)
	if l.total != 0 || len(l.callers) != 0 || len(l.surfaces) != 0 {
		t.Fatalf("left behind: %+v", l)
	}
}

func TestListenOverHTTP(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.caller(b.surface("acme", nil), "alice", "alice")
	q := modern("subscriptions/listen", "", `"notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourceSubscriptions":["x://y"]}`)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.server.URL+"/acme/mcp", strings.NewReader(q.body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range q.header {
		req.Header.Set(name, value)
	}
	req.Header.Set("Content-Type", "application/json")
	if res, err := b.server.Client().Do(req); err != nil || res.StatusCode != http.StatusUnauthorized {
		t.Fatalf("without a token: %v, %v", res, err)
	}
	req.Body, _ = req.GetBody()
	req.Header.Set("Authorization", "Bearer alice")
	res, err := b.server.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.Header.Get("Content-Type") != "text/event-stream" || res.Header.Get("X-Accel-Buffering") != "no" || res.Header.Get("Cache-Control") != "no-cache, no-transform" {
		t.Fatalf("headers %v", res.Header)
	}
	b.handler.Close()
	body := bodyOf(t, res) // ends because the server did
	if !strings.Contains(body, `"notifications":{"toolsListChanged":true}`) || !strings.Contains(body, `"id":7,`) {
		t.Fatalf("stream %s", body)
	}
}

// TestListenKeepsNothingOfItsRequest: it stays open for long, and a request may
// have a megabyte. It measures memory, so nothing runs beside it.
func TestListenKeepsNothingOfItsRequest(t *testing.T) { //nolint:paralleltest // it measures memory
	b := setup(t)
	ep := b.surface("acme", nil)
	b.caller(ep, "alice", "alice")
	long := modern("subscriptions/listen", "", `"notifications":{"toolsListChanged":true}`).as("alice")
	long.body = strings.Replace(long.body, `"id":7`, `"id":"`+strings.Repeat("x", maxListenID)+`"`, 1)
	if res := b.send(long); res.StatusCode != http.StatusBadRequest || len(bodyOf(t, res)) > 1000 {
		t.Errorf("a long id: %d", res.StatusCode)
	}
	const streams, size = 40, 900 << 10
	q := modern("subscriptions/listen", "", `"notifications":{"toolsListChanged":true},"own":"`+strings.Repeat("x", size)+`"`)
	before := inUse()
	for i := range streams {
		who := fmt.Sprintf("user-%d", i)
		b.caller(ep, who, who)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.server.URL+"/acme/mcp", strings.NewReader(q.body))
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range q.header {
			req.Header.Set(name, value)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", "Bearer "+who)
		res, err := b.server.Client().Do(req)
		if err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("%v %v", res, err)
		}
		defer func() { _ = res.Body.Close() }()
		if _, err := res.Body.Read(make([]byte, 10)); err != nil { // it is acknowledged
			t.Fatal(err)
		}
	}
	if kept := inUse() - before; kept > streams*size/2 {
		t.Errorf("%d KiB are kept for %d streams", kept>>10, streams)
	}
	b.handler.Close()
}

// inUse is how much memory is reachable, in bytes.
func inUse() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc) //nolint:gosec // fits
}

func TestOfficialClientHearsOfAPublish(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.handler.listeners.check = 20 * time.Millisecond
	ep := b.surface("acme", nil)
	b.caller(ep, "alice", "alice")
	heard := make(chan struct{}, 10)
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { heard <- struct{}{} },
	})
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: b.server.URL + "/acme/mcp", HTTPClient: b.signedIn("alice"),
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = session.Close() }()
	publish := time.NewTicker(20 * time.Millisecond) // again and again: the stream may open late
	defer publish.Stop()
	timeout := time.After(10 * time.Second)
	for {
		select {
		case <-heard:
			return
		case <-timeout:
			t.Fatal("nothing heard")
		case <-publish.C:
			next := *ep
			next.Revision++
			b.directory.put(&next, nil)
			ep = &next
		}
	}
}

func TestListenOverARecorderNeedsNoDeadlines(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	s := &stream{w: w, control: http.NewResponseController(w), id: []byte("1")}
	s.comment()
	if s.err != nil {
		t.Fatal(s.err)
	}
}
