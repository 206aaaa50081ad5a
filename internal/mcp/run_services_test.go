package mcp

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// scriptedServices answers from functions and keeps what was asked.
type scriptedServices struct {
	mu       sync.Mutex
	invoked  []supabase.Invoke
	listed   []supabase.ListFiles
	opened   []string
	signed   []string
	lives    []time.Duration // of links
	uploaded []supabase.UploadFile
	sessions []supabase.Session

	onInvoke func(s supabase.Session, q supabase.Invoke) (supabase.FunctionAnswer, error)
	onList   func(q supabase.ListFiles) ([]supabase.File, error)
	onOpen   func(s supabase.Session, path string, maxBytes int64) (supabase.OpenFile, error)
	onUpload func(s supabase.Session, q supabase.UploadFile) error
}

var errUnexpected = errors.New("nobody expected this")

func (p *scriptedServices) keep(s supabase.Session, note func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sessions = append(p.sessions, s)
	note()
}

func (p *scriptedServices) Invoke(_ context.Context, s supabase.Session, q supabase.Invoke) (supabase.FunctionAnswer, error) {
	p.keep(s, func() { p.invoked = append(p.invoked, q) })
	if p.onInvoke == nil {
		return supabase.FunctionAnswer{}, errUnexpected
	}
	return p.onInvoke(s, q)
}

func (p *scriptedServices) ListFiles(_ context.Context, s supabase.Session, q supabase.ListFiles) ([]supabase.File, supabase.Trip, error) {
	p.keep(s, func() { p.listed = append(p.listed, q) })
	if p.onList == nil {
		return nil, supabase.Trip{}, errUnexpected
	}
	files, err := p.onList(q)
	return files, supabase.Trip{Upstream: "up-2", Took: time.Millisecond}, err
}

func (p *scriptedServices) OpenFile(_ context.Context, s supabase.Session, bucket, path string, maxBytes int64) (supabase.OpenFile, error) {
	p.keep(s, func() { p.opened = append(p.opened, bucket+"/"+path) })
	if p.onOpen == nil {
		return supabase.OpenFile{}, errUnexpected
	}
	return p.onOpen(s, path, maxBytes)
}

func (p *scriptedServices) SignFile(_ context.Context, s supabase.Session, bucket, path string, life time.Duration) (string, supabase.Trip, error) {
	p.keep(s, func() { p.signed, p.lives = append(p.signed, bucket+"/"+path), append(p.lives, life) })
	return "https://project.example.test/storage/v1/object/sign/" + bucket + "/" + path + "?token=t", supabase.Trip{}, nil
}

func (p *scriptedServices) UploadFile(_ context.Context, s supabase.Session, q supabase.UploadFile) (supabase.Trip, error) {
	p.keep(s, func() { p.uploaded = append(p.uploaded, q) })
	if p.onUpload == nil {
		return supabase.Trip{}, errUnexpected
	}
	return supabase.Trip{}, p.onUpload(s, q)
}

// answers is a project whose functions answer this.
func answers(media, body string) *scriptedServices {
	return &scriptedServices{onInvoke: func(supabase.Session, supabase.Invoke) (supabase.FunctionAnswer, error) {
		return supabase.FunctionAnswer{Status: 200, ContentType: media, Upstream: "up-1", Took: time.Millisecond, Body: io.NopCloser(strings.NewReader(body))}, nil
	}}
}

// refuses is a project whose functions answer this error.
func refuses(err error) *scriptedServices {
	return &scriptedServices{onInvoke: func(supabase.Session, supabase.Invoke) (supabase.FunctionAnswer, error) {
		return supabase.FunctionAnswer{}, err
	}}
}

func newServicesRunner(t testing.TB, p services) *toolRunner {
	t.Helper()
	r := newTestRunner(t, failing(errUnexpected))
	r.services = p
	return r
}

func functionTool() *surfaces.Tool {
	return &surfaces.Tool{Name: "build_report", Result: surfaces.ResultHybrid, Budget: 16 << 10,
		Annotations: surfaces.Annotations{Destructive: true, OpenWorld: true},
		Function:    &surfaces.FunctionPlan{Slug: "build-report", Timeout: 30}}
}

func readingFunction() *surfaces.Tool {
	tool := functionTool()
	tool.Annotations = surfaces.Annotations{ReadOnly: true, OpenWorld: true}
	return tool
}

// runResult runs the tool and returns its result whole.
func runResult(t testing.TB, r *toolRunner, c *call, tool *surfaces.Tool, arguments string) *mcp.CallToolResult {
	t.Helper()
	res, err := r.run(t.Context(), c, tool, []byte(arguments))
	if err != nil {
		t.Fatalf("run: %v", err)
	}
	return res
}

// toldBy is the kind of the error that the project's answer becomes.
func toldBy(t testing.TB, p services, tool *surfaces.Tool) string {
	t.Helper()
	return runTool(t, newServicesRunner(t, p), runCall(), tool, `{}`).kind()
}
