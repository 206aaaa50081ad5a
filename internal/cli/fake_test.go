package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// fakeServer answers as a test says, for what a real server does not do: it
// fails halfway, is hostile, or was changed by somebody else in between.
type fakeServer struct {
	*httptest.Server
	mu       sync.Mutex
	answers  map[string]answer // by "METHOD /path" below /api/v1, without a query
	requests []request
}

type answer struct {
	status int // 0: 200
	body   any
	raw    string
}

type request struct {
	what, token, query, body string
}

func newFakeServer(t *testing.T) *fakeServer {
	t.Helper()
	f := &fakeServer{answers: map[string]answer{}}
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	return f
}

func (f *fakeServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	what := r.Method + " " + strings.TrimPrefix(r.URL.EscapedPath(), "/api/v1")
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requests = append(f.requests, request{what, r.Header.Get("Authorization"), r.URL.RawQuery, string(body)})
	a, known := f.answers[what]
	if !known {
		a = answer{status: http.StatusNotFound, body: map[string]any{"status": 404, "detail": "No " + what + "."}}
	}
	w.Header().Set("Content-Type", "application/json")
	if a.status == 0 {
		a.status = http.StatusOK
	}
	w.WriteHeader(a.status)
	if a.raw != "" {
		_, _ = io.WriteString(w, a.raw)
		return
	}
	_ = json.NewEncoder(w).Encode(a.body)
}

func (f *fakeServer) on(what string, body any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answers[what] = answer{body: body}
}

func (f *fakeServer) refuses(what string, status int, code, detail string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answers[what] = answer{status: status, body: map[string]any{"status": status, "code": code, "detail": detail}}
}

// saw lists what was asked for.
func (f *fakeServer) saw() []request {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]request(nil), f.requests...)
}

func (f *fakeServer) count(what string) int {
	n := 0
	for _, r := range f.saw() {
		if r.what == what {
			n++
		}
	}
	return n
}

// desk is somebody's folder, shell and terminal.
type desk struct {
	dir, home string
	vars      map[string]string
	env       Environment
	typed     string // answers to questions; a terminal where it is not empty
	terminal  bool
}

func newDesk(t *testing.T, server string) *desk {
	t.Helper()
	return &desk{dir: t.TempDir(), home: t.TempDir(), vars: map[string]string{"CHUMBO_URL": server, "CHUMBO_TOKEN": "cht_test"}}
}

// linked is a desk whose folder is linked, with surface files of these names.
func linked(t *testing.T, f *fakeServer, surfaces ...string) *desk {
	t.Helper()
	d := newDesk(t, f.URL)
	d.write(t, linkPath, fmt.Sprintf("server = %q\nproject = \"acme\"\n", f.URL))
	for _, name := range surfaces {
		d.write(t, "supabase/chumbo/"+name+".yaml", "version: 1\n# local "+name+"\n")
	}
	return d
}

func (d *desk) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(d.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (d *desk) read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(d.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// files lists every file of the folder.
func (d *desk) files(t *testing.T) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(d.dir, func(path string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			rel, _ := filepath.Rel(d.dir, path)
			names = append(names, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func (d *desk) chumbo(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	env := d.env
	env.Args, env.Dir, env.Home, env.Out, env.Err = args, d.dir, d.home, &stdout, &stderr
	env.Getenv = func(name string) string { return d.vars[name] }
	if d.typed != "" || d.terminal {
		env.In, env.IsTerminal = strings.NewReader(d.typed), true
	}
	code = Main(t.Context(), env)
	return code, stdout.String(), stderr.String()
}

// envelope is what --json prints.
type envelope struct {
	Version int
	OK      bool
	Command string
	Steps   []step
	Data    json.RawMessage
	Next    []string
}

func (e envelope) step(t *testing.T, id string) step {
	t.Helper()
	for _, s := range e.Steps {
		if s.ID == id {
			return s
		}
	}
	t.Fatalf("no step %s among %v", id, e.Steps)
	return step{}
}

// json runs the command with --json and reads the one object it prints.
func (d *desk) json(t *testing.T, args ...string) (int, envelope) {
	t.Helper()
	code, out, errs := d.chumbo(t, append(args, "--json")...)
	var e envelope
	dec := json.NewDecoder(strings.NewReader(out))
	if err := dec.Decode(&e); err != nil {
		t.Fatalf("%v: %v in %q (and %q)", args, err, out, errs)
	}
	if dec.More() || e.Version != 1 {
		t.Fatalf("%v prints more than one object of version 1: %q", args, out)
	}
	return code, e
}

func wants(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is missing from:\n%s", part, text)
		}
	}
}
