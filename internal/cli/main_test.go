package cli_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

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
		os.Exit(cli.Main(context.Background(), cli.Environment{
			Args: os.Args[1:], Getenv: os.Getenv, Dir: dir, Home: os.Getenv("HOME"), Out: os.Stdout, Err: os.Stderr,
		}))
	}})
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
				Files: []string{file}, Setup: func(e *testscript.Env) error { return setup(e, w) },
				Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "project-exec": projectExec(w)},
			})
			if log := w.Log.String(); strings.Contains(log, w.Project.SecretKey()) || strings.Contains(log, w.Alice) {
				t.Error("the server logged a secret")
			}
		})
	}
}

func setup(e *testscript.Env, w *apitest.World) error {
	home := filepath.Join(e.WorkDir, "home")
	if err := os.MkdirAll(home, 0o700); err != nil {
		return err
	}
	e.Setenv("HOME", home)
	e.Setenv("CHUMBO_URL", w.URL)
	e.Setenv("CHUMBO_TOKEN", w.Alice)
	e.Setenv("BOB_TOKEN", w.Bob)
	e.Setenv("VERA_TOKEN", w.Vera)
	e.Setenv("PROJECT_URL", w.Project.URL())
	e.Setenv("OTHER_URL", strings.Replace(w.Project.URL(), "127.0.0.1", "localhost", 1))
	e.Setenv("PROJECT_KEY", w.Project.PublishableKey())
	e.Setenv("SECRET_KEY", w.Project.SecretKey())
	e.Setenv("SERVICE_KEY", w.Project.ServiceRoleKey())
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
