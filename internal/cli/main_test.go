package cli_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/chumbo-dev/chumbo/internal/api/apitest"
	"github.com/chumbo-dev/chumbo/internal/cli"
	"github.com/chumbo-dev/chumbo/internal/localpg"
)

type withServer struct{ m *testing.M }

func (w withServer) Run() int { return localpg.Run(w.m) }

func TestMain(m *testing.M) {
	testscript.Main(withServer{m}, map[string]func(){"chumbo": func() {
		dir, err := os.Getwd()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(cli.Main(context.Background(), scripted(cli.Environment{
			Args: os.Args[1:], Getenv: os.Getenv, Dir: dir, Home: os.Getenv("HOME"), Host: "laptop", Out: os.Stdout, Err: os.Stderr,
		})))
	}})
}

// scripted lets a script say what is not in a process's own environment:
// TERMINAL makes it one, NOW stops the clock, APPROVE is asked to approve a
// login while it waits.
func scripted(e cli.Environment) cli.Environment {
	e.In, e.IsTerminal = os.Stdin, os.Getenv("TERMINAL") != ""
	if at, err := time.Parse(time.RFC3339, os.Getenv("NOW")); err == nil {
		e.Now = func() time.Time { return at }
	}
	if address := os.Getenv("APPROVE"); address != "" {
		var shown bytes.Buffer
		e.Out, e.Err = io.MultiWriter(e.Out, &shown), io.MultiWriter(e.Err, &shown)
		e.After = func(time.Duration) <-chan time.Time {
			code := regexp.MustCompile(`[A-Z]{4}-[A-Z]{4}`).FindString(shown.String())
			res, err := http.Get(address + "?code=" + code)
			if err == nil {
				_ = res.Body.Close()
			}
			fired := make(chan time.Time, 1)
			fired <- time.Now()
			return fired
		}
	}
	return e
}

// TestScripts runs each script of testdata/script against a control API and a
// stand-in project of its own.
func TestScripts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("find scripts: %v, %d found", err, len(files))
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			w := apitest.New(t, apitest.Options{RequireOwnership: strings.Contains(file, "unproven")})
			testscript.Run(t, testscript.Params{
				Files: []string{file}, Setup: func(e *testscript.Env) error { return setup(e, w, decide(t, w)) },
				Cmds: map[string]func(*testscript.TestScript, bool, []string){
					"exits": exits, "project-exec": projectExec(w), "migrate": migrate(w), "golden": golden(w), "direct-client": directClient(t, w), "first-key": firstKey,
				},
				UpdateScripts: *update,
			})
			if log := w.Log.String(); strings.Contains(log, w.Project.SecretKey()) || strings.Contains(log, w.Alice) {
				t.Error("the server logged a secret")
			}
		})
	}
}

var update = flag.Bool("update", false, "write what is printed into the scripts' goldens")

// decide approves the login of a code, as Alice does in the dashboard.
func decide(t *testing.T, w *apitest.World) string {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		w.Decide(t, r.URL.Query().Get("code"), true)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func setup(e *testscript.Env, w *apitest.World, approve string) error {
	home := filepath.Join(e.WorkDir, "home")
	if err := os.MkdirAll(home, 0o700); err != nil {
		return err
	}
	e.Setenv("HOME", home)
	e.Setenv("CHUMBO_URL", w.URL)
	e.Setenv("SERVER", w.URL)
	e.Setenv("CHUMBO_TOKEN", w.Alice)
	e.Setenv("ALICE_TOKEN", w.Alice)
	e.Setenv("BOB_TOKEN", w.Bob)
	e.Setenv("VERA_TOKEN", w.Vera)
	e.Setenv("PROJECT_URL", w.Project.URL())
	e.Setenv("OTHER_URL", strings.Replace(w.Project.URL(), "127.0.0.1", "localhost", 1))
	e.Setenv("PROJECT_KEY", w.Project.PublishableKey())
	e.Setenv("SECRET_KEY", w.Project.SecretKey())
	e.Setenv("SERVICE_KEY", w.Project.ServiceRoleKey())
	e.Setenv("APPROVE_URL", approve)
	e.Setenv("NOW", "2026-01-02T03:04:05Z")
	e.Setenv("SUPABASE_DB_URL", w.Project.DSN())
	return nil
}

// exits CODE program args… checks the exit code; stdout and stderr look at
// what was printed.
func exits(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	if err != nil {
		ts.Fatalf("exits: %v", err)
	}
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("exits: %v", err)
	}
	if got != want {
		ts.Fatalf("%s exits with %d, want %d", strings.Join(args[1:], " "), got, want)
	}
}

// projectExec runs SQL in the project's database; SECRET stands for its secret
// key.
func projectExec(w *apitest.World) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, _ bool, args []string) {
		sql := strings.ReplaceAll(strings.Join(args, " "), "SECRET", w.Project.SecretKey())
		ts.Check(w.Project.Exec(context.Background(), sql))
	}
}

// first-key names in KEY the first id of a key that the last command printed.
func firstKey(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Setenv("KEY", regexp.MustCompile(`key_[0-9a-f]{32}`).FindString(ts.ReadFile("stdout")))
}

// direct-client SURFACE ID NAME notes that an OAuth client of Alice's project was
// seen at a surface.
func directClient(t *testing.T, w *apitest.World) func(*testscript.TestScript, bool, []string) {
	return func(_ *testscript.TestScript, _ bool, args []string) {
		w.DirectClient(t, w.Alice, "acme-crm", args[0], args[1], args[2])
	}
}

// migrate applies a migration of the folder to the project.
func migrate(w *apitest.World) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, _ bool, args []string) {
		ts.Check(w.Project.Exec(context.Background(), ts.ReadFile(args[0])))
		ts.Check(w.Project.ReloadSchema(context.Background()))
	}
}

// golden writes what the last command printed to a file, with names in place
// of what differs from run to run.
func golden(w *apitest.World) func(*testscript.TestScript, bool, []string) {
	changing := []struct {
		what *regexp.Regexp
		name string
	}{
		{regexp.MustCompile(`[0-9a-f]{64}`), "DIGEST"},
		{regexp.MustCompile(`prj_[0-9a-z-]+`), "PROJECT_ID"},
		{regexp.MustCompile(`chk_[A-Za-z0-9_-]{43}`), "API_KEY"},
		{regexp.MustCompile(`key_[0-9a-f]{32}`), "KEY_ID"},
		{regexp.MustCompile(`"hint":"[^"]{4}"`), `"hint":"HINT"`},
		{regexp.MustCompile(`ends in [A-Za-z0-9_-]{4}`), "ends in HINT"},
		{regexp.MustCompile(`sb_publishable_[A-Za-z0-9_-]+`), "KEY"},
		{regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+Z`), "TIME"},
		{regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d UTC`), "TIME"},
		{regexp.MustCompile(`[A-Z]{4}-[A-Z]{4}`), "USER-CODE"},
		{regexp.MustCompile(`"facts":\{[^}]*\}`), `"facts":{}`}, // doctor's, and free to grow
	}
	return func(ts *testscript.TestScript, _ bool, args []string) {
		text := strings.NewReplacer(
			w.URL, "http://SERVER", w.Project.URL(), "http://PROJECT", ts.Getenv("WORK"), "WORK",
		).Replace(ts.ReadFile("stdout"))
		for _, c := range changing {
			text = c.what.ReplaceAllString(text, c.name)
		}
		ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
	}
}
