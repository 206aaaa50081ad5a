package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// streamBundle is an edge with one tool that tells how it goes on.
func streamBundle(t *testing.T, script func(ctx context.Context, c *call, tool *surfaces.Tool, arguments []byte) (*mcp.CallToolResult, error)) *bundle {
	t.Helper()
	b := setup(t)
	b.caller(b.surface("acme", func(_ *tenants.Endpoint, compiled *surfaces.Compiled) {
		tool := testTool("announce")
		tool.Function = &surfaces.FunctionPlan{Slug: "announce", Timeout: 30, Stream: true}
		compiled.Tools = append(compiled.Tools, tool)
	}), "alice", "alice")
	b.runner.do(script)
	return b
}

func toldAndDone(_ context.Context, c *call, _ *surfaces.Tool, _ []byte) (*mcp.CallToolResult, error) {
	if c.notices != nil {
		c.notices.progress(0, 100, "")
		c.notices.log("debug", "", []byte(`"d"`))
		c.notices.log("info", "app", []byte(`{"n":1.10}`))
		c.notices.progress(50.5, 0, `half "way"`)
		c.notices.log("error", "", []byte(`"e"`))
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil
}

// announcing is a call of the streaming tool by a client that reads streams.
func announcing(version, meta string) request {
	q := modern("tools/call", "announce", `"name":"announce","arguments":{}`)
	if version != version20260728 {
		q = legacy(version, "tools/call", `{"name":"announce","arguments":{},"_meta":{`+meta+`}}`)
	} else if meta != "" {
		q.body = strings.Replace(q.body, `"_meta":{`, `"_meta":{`+meta+`,`, 1)
	}
	q.header["Accept"] = "application/json, text/event-stream"
	return q.as("alice")
}

const (
	progressEvents = `event: message
data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p\u0031","progress":0,"total":100}}

`
	halfEvent = `event: message
data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p\u0031","progress":50.5,"message":"half \"way\""}}

`
	infoEvent = `event: message
data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","logger":"app","data":{"n":1.10}}}

`
	debugEvent = `event: message
data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"debug","data":"d"}}

`
	errorEvent = `event: message
data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"e"}}

`
)

func TestField51_StreamsCannotBeKeptBack(t *testing.T) {
	t.Parallel()
	b := streamBundle(t, toldAndDone)
	res := b.send(announcing(version20260728, `"progressToken":"p\u0031"`))
	h := res.Header
	if h.Get("Content-Type") != "text/event-stream" || h.Get("Cache-Control") != "no-cache, no-transform" || h.Get("X-Accel-Buffering") != "no" || h.Get("Content-Length") != "" {
		t.Errorf("headers %v", h)
	}
	if h.Get("Chumbo-Request-Id") == "" || h.Get("Server-Timing") == "" {
		t.Errorf("headers %v", h)
	}
	body := bodyOf(t, res)
	if !strings.HasPrefix(body, progressEvents+halfEvent) || !strings.Contains(body, `data: {"jsonrpc":"2.0","id":7,"result":{`) || !strings.HasSuffix(body, "}\n\n") {
		t.Errorf("%s", body)
	}
	plain := announcing(version20260728, `"progressToken":1`)
	plain.header["Accept"] = "application/json"
	if res := b.send(plain); res.Header.Get("Content-Type") != "application/json" {
		t.Errorf("one who reads no streams: %v", res.Header)
	}
	get := request{method: http.MethodGet, header: map[string]string{"Accept": "text/event-stream"}}.as("alice")
	if res := b.send(get); res.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("GET: %d", res.StatusCode)
	}
	synctest.Test(t, func(t *testing.T) {
		w := httptest.NewRecorder()
		s := newCallStream(w, &message{id: json.RawMessage("7")}, version20260728, func() {})
		stop := s.keepAlive()
		time.Sleep(keepAlive - time.Second)
		synctest.Wait()
		s.mu.Lock()
		if s.begun || w.Body.Len() != 0 {
			t.Error("begun before anything was to be said")
		}
		s.mu.Unlock()
		time.Sleep(105 * time.Second) // beyond the patience of proxies
		synctest.Wait()
		stop()
		if n := strings.Count(w.Body.String(), ": keep-alive\n\n"); n != 7 || w.Header().Get("X-Accel-Buffering") != "no" {
			t.Errorf("%d comments, %v", n, w.Header())
		}
		if !s.end(answer{body: []byte(`{"id":7}`)}, nil) || !strings.HasSuffix(w.Body.String(), "data: {\"id\":7}\n\n") {
			t.Errorf("%s", w.Body)
		}
	})
}

func TestNoticesAreThoseThatWereAskedFor(t *testing.T) {
	t.Parallel()
	b := streamBundle(t, toldAndDone)
	const level = `"io.modelcontextprotocol/logLevel":`
	for _, k := range []struct{ version, meta, want string }{
		{version20260728, ``, ""},
		{version20260728, `"progressToken":null`, ""},
		{version20260728, `"progressToken":"p\u0031"`, progressEvents + halfEvent},
		{version20260728, `"progressToken":"` + strings.Repeat("x", maxProgressToken) + `"`, ""}, // it would be repeated with every notice
		{version20260728, level + `"info"`, infoEvent + errorEvent},
		{version20260728, level + `"debug","progressToken":"p\u0031"`, progressEvents + debugEvent + infoEvent + halfEvent + errorEvent},
		{version20260728, level + `"error"`, errorEvent},
		{version20260728, level + `"loud"`, ""},
		{version20251125, ``, infoEvent + errorEvent},
		{version20250618, `"progressToken":"p\u0031"`, progressEvents + infoEvent + halfEvent + errorEvent},
		{version20250326, level + `"debug"`, infoEvent + errorEvent},
	} {
		res := b.send(announcing(k.version, k.meta))
		body := bodyOf(t, res)
		if k.want == "" {
			if res.Header.Get("Content-Type") != "application/json" || res.Header.Get("X-Accel-Buffering") != "" || !strings.Contains(body, `"done"`) {
				t.Errorf("%s %s: %v %s", k.version, k.meta, res.Header, body)
			}
			continue
		}
		told, last, _ := strings.Cut(body, "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":7")
		if told != k.want || !strings.Contains(last, `"done"`) {
			t.Errorf("%s %s:\n%s", k.version, k.meta, body)
		}
	}
	batch := legacy(version20250326, "ping", `{}`).as("alice")
	one := announcing(version20250326, `"progressToken":1`)
	batch.body, batch.header = "["+one.body+"]", one.header
	if res := b.send(batch); res.Header.Get("Content-Type") != "application/json" {
		t.Errorf("a batch: %v", res.Header)
	}
	other := modern("tools/call", "zebra_list", `"name":"zebra_list","arguments":{}`).as("alice")
	other.header["Accept"] = "text/event-stream, application/json"
	if res := b.send(other); res.Header.Get("Content-Type") != "application/json" {
		t.Errorf("a tool that does not stream: %v", res.Header)
	}
}

func TestStreamedCallsKeepTheirStatusUntilTheyBegin(t *testing.T) {
	t.Parallel()
	late := func(tell bool) func(context.Context, *call, *surfaces.Tool, []byte) (*mcp.CallToolResult, error) {
		return func(_ context.Context, c *call, _ *surfaces.Tool, _ []byte) (*mcp.CallToolResult, error) {
			if tell {
				c.notices.progress(1, 0, "")
			}
			c.unauthorized = true
			return errSession.result(c.requestID), nil
		}
	}
	b := streamBundle(t, late(false))
	if res := b.send(announcing(version20260728, `"progressToken":1`)); res.StatusCode != http.StatusUnauthorized || res.Header.Get("WWW-Authenticate") == "" {
		t.Errorf("before the first byte: %d %v", res.StatusCode, res.Header)
	}
	b = streamBundle(t, late(true))
	res := b.send(announcing(version20260728, `"progressToken":1`))
	body := bodyOf(t, res)
	if res.StatusCode != http.StatusOK || !strings.Contains(body, `"id":7,"error":{"code":-32600`) || strings.Contains(body, `"result"`) || len(b.auth.refused) != 1 {
		t.Errorf("after it: %d %s, refused %v", res.StatusCode, body, b.auth.refused)
	}
	b = streamBundle(t, func(_ context.Context, c *call, _ *surfaces.Tool, _ []byte) (*mcp.CallToolResult, error) {
		c.notices.progress(1, 0, "")
		panic("secret")
	})
	if body := bodyOf(t, b.send(announcing(version20260728, `"progressToken":1`))); !strings.Contains(body, `"error":{"code":-32603`) || strings.Contains(body, "secret") {
		t.Errorf("a panic: %s", body)
	}
	unknown := announcing(version20260728, `"progressToken":1`)
	unknown.body, unknown.header["Mcp-Name"] = strings.Replace(unknown.body, `"name":"announce"`, `"name":"nothing"`, 1), "nothing"
	if res := b.send(unknown); res.StatusCode != http.StatusBadRequest {
		t.Errorf("an unknown tool: %d", res.StatusCode)
	}
}

func TestOfficialClientHearsHowACallGoesOn(t *testing.T) {
	t.Parallel()
	for _, version := range versions() {
		b := streamBundle(t, toldAndDone)
		heard := make(chan string, 16)
		client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
			ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
				heard <- fmt.Sprint(req.Params.Progress, " ", req.Params.ProgressToken)
			},
		})
		session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{
			Endpoint: b.server.URL + "/acme/mcp", HTTPClient: b.signedIn("alice"), DisableStandaloneSSE: true, MaxRetries: -1,
		}, &mcp.ClientSessionOptions{ProtocolVersion: version})
		if err != nil {
			t.Fatal(err)
		}
		params := &mcp.CallToolParams{Name: "announce", Arguments: map[string]any{}}
		params.SetProgressToken("mine")
		res, err := session.CallTool(t.Context(), params)
		if err != nil || res.IsError || res.Content[0].(*mcp.TextContent).Text != "done" {
			t.Errorf("%s: %+v %v", version, res, err)
		}
		for _, want := range []string{"0 mine", "50.5 mine"} {
			if got := <-heard; got != want {
				t.Errorf("%s: heard %q, want %q", version, got, want)
			}
		}
		if err := session.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestALogLevelCanBeSetAndChangesNothing(t *testing.T) {
	t.Parallel()
	b := streamBundle(t, toldAndDone)
	for _, version := range []string{version20250326, version20250618, version20251125} {
		if body := bodyOf(t, b.send(legacy(version, "logging/setLevel", `{"level":"error"}`).as("alice"))); body != `{"jsonrpc":"2.0","id":7,"result":{}}` {
			t.Errorf("%s: %s", version, body)
		}
		hello := bodyOf(t, b.send(legacy(version, "initialize", `{"protocolVersion":"`+version+`","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`).as("alice")))
		if !strings.Contains(hello, `"logging":{}`) {
			t.Errorf("%s: %s", version, hello)
		}
	}
}

// brokenWriter fails after the first write, like a client that reads no more.
type brokenWriter struct {
	http.ResponseWriter
	writes int
}

var errStuck = errors.New("write deadline passed")

func (w *brokenWriter) Write(p []byte) (int, error) {
	if w.writes++; w.writes > 1 {
		return 0, errStuck
	}
	return w.ResponseWriter.Write(p)
}

func (w *brokenWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func TestAReaderThatDoesNotReadEndsTheCall(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w := &brokenWriter{ResponseWriter: httptest.NewRecorder()}
	s := newCallStream(w, &message{id: json.RawMessage("7"), progressToken: json.RawMessage("1")}, version20260728, cancel)
	s.progress(1, 0, "")
	if ctx.Err() != nil {
		t.Fatal("ended too early")
	}
	s.progress(2, 0, "")
	if ctx.Err() == nil {
		t.Fatal("the call goes on")
	}
	for range 5 {
		s.progress(3, 0, "")
	}
	if !s.end(answer{body: []byte("{}")}, nil) || w.writes != 2 {
		t.Errorf("%d writes", w.writes)
	}
}

func TestAClientThatGoesEndsTheCallAtOnce(t *testing.T) {
	t.Parallel()
	for _, closing := range []string{"half", "whole"} {
		ended := make(chan error, 1)
		b := streamBundle(t, func(ctx context.Context, c *call, _ *surfaces.Tool, _ []byte) (*mcp.CallToolResult, error) {
			c.notices.progress(1, 0, "")
			<-ctx.Done()
			ended <- ctx.Err()
			return nil, ctx.Err()
		})
		address, err := url.Parse(b.server.URL)
		if err != nil {
			t.Fatal(err)
		}
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address.Host)
		if err != nil {
			t.Fatal(err)
		}
		q := announcing(version20260728, `"progressToken":1`)
		var head strings.Builder
		fmt.Fprintf(&head, "POST /acme/mcp HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAuthorization: Bearer alice\r\nContent-Length: %d\r\n", address.Host, len(q.body))
		for name, value := range q.header {
			fmt.Fprintf(&head, "%s: %s\r\n", name, value)
		}
		if _, err := io.WriteString(conn, head.String()+"\r\n"+q.body); err != nil {
			t.Fatal(err)
		}
		in := bufio.NewReader(conn)
		for line := ""; !strings.Contains(line, "notifications/progress"); {
			if line, err = in.ReadString('\n'); err != nil {
				t.Fatal(err)
			}
		}
		if closing == "half" {
			err = conn.(*net.TCPConn).CloseWrite()
		} else {
			err = conn.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", closing, err)
		}
		_ = conn.Close()
	}
}

// TestAGrantTakenAwayEndsAStream: whether or not this server heard of it before
// the call's end.
func TestAGrantTakenAwayEndsAStream(t *testing.T) {
	t.Parallel()
	for _, heard := range []bool{true, false} {
		b := setup(t)
		ep := b.surface("acme", func(_ *tenants.Endpoint, compiled *surfaces.Compiled) {
			tool := testTool("announce")
			tool.Function = &surfaces.FunctionPlan{Slug: "announce", Timeout: 30, Stream: true}
			compiled.Access.Authorization, compiled.Tools = surfaces.AuthorizationBridge, []surfaces.Tool{tool}
		})
		grant := b.grant(ep, "alice", "alice", "claude", &oauth.Allowed{})
		b.runner.do(func(ctx context.Context, c *call, _ *surfaces.Tool, _ []byte) (*mcp.CallToolResult, error) {
			c.notices.progress(1, 0, "")
			if heard {
				b.grants.revoke(grant)
				<-ctx.Done()
				return nil, ctx.Err()
			}
			b.grants.mu.Lock()
			defer b.grants.mu.Unlock()
			b.grants.gone[grant] = true
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "a row"}}}, nil
		})
		body := bodyOf(t, b.send(announcing(version20260728, `"progressToken":1`)))
		if strings.Contains(body, "a row") || !strings.Contains(body, `"id":7,"error":{"code":-32600`) || !strings.Contains(body, "Sign in again") {
			t.Errorf("heard %v: %s", heard, body)
		}
	}
}
