package localpg

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// ChildServer starts a server, tells where, and waits to be killed.
func ChildServer() {
	s, err := Start(context.Background(), Options{Own: true})
	if err != nil {
		panic(err)
	}
	_, _ = fmt.Fprintln(os.Stdout, s.process.cmd.Process.Pid, s.process.dir)
	select {}
}

func TestCloneSeesTemplateAndNotItsSiblings(t *testing.T) {
	t.Parallel()
	s := Shared(t)
	var builds atomic.Int32
	build := func(ctx context.Context, dsn string) error {
		builds.Add(1)
		return execute(ctx, dsn, "create table t (name text); insert into t values ('from the template')")
	}
	name, err := s.Template(t.Context(), "siblings", build)
	if err != nil {
		t.Fatal(err)
	}
	again, err := s.Template(t.Context(), "siblings", build)
	if err != nil || again != name || builds.Load() != 1 {
		t.Fatalf("second Template: %q %v after %d builds; want %q, nil, 1", again, err, builds.Load(), name)
	}
	alice, bob := s.Clone(t, name), s.Clone(t, name)
	if err := execute(t.Context(), alice, "insert into t values ('of alice')"); err != nil {
		t.Fatal(err)
	}
	if got := count(t, alice); got != 2 {
		t.Errorf("alice's clone has %d rows, want 2", got)
	}
	if got := count(t, bob); got != 1 {
		t.Errorf("bob's clone has %d rows, want 1", got)
	}
}

func TestTemplateReportsAFailedBuildToEveryCaller(t *testing.T) {
	t.Parallel()
	s := Shared(t)
	broken := errors.New("no such table")
	for range 2 {
		_, err := s.Template(t.Context(), "broken", func(context.Context, string) error { return broken })
		if !errors.Is(err, broken) {
			t.Errorf("Template = %v, want %v", err, broken)
		}
	}
}

func TestRoleLogsInWithItsDerivedPassword(t *testing.T) {
	t.Parallel()
	s := Shared(t)
	role := s.NewName()
	if err := execute(t.Context(), s.DSN("postgres"), "create role "+quote(role)+" login password '"+s.RolePassword(role)+"'"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := execute(context.WithoutCancel(t.Context()), s.DSN("postgres"), "drop role "+quote(role)); err != nil {
			t.Error(err)
		}
	})
	if err := execute(t.Context(), s.DSNAs("postgres", role), "select 1"); err != nil {
		t.Errorf("log in as the role: %v", err)
	}
}

func TestServerRefusesAWrongPassword(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	if err := execute(t.Context(), "postgres://postgres:guess@"+s.base.Host+"/postgres?sslmode=disable", "select 1"); err == nil {
		t.Error("a guessed password was accepted")
	}
}

func TestCloseLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	dir, pid := s.process.dir, s.process.cmd.Process.Pid
	if err := s.CreateDatabase(t.Context(), "left", ""); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if alive(pid) {
		t.Errorf("the server still runs as %d", pid)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the directory %s is still there (%v)", dir, err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("second Close = %v", err)
	}
}

func TestExistingServerKeepsOnlyWhatWasThere(t *testing.T) {
	t.Parallel()
	host := Shared(t)
	if host.process == nil {
		t.Skip("the shared server is itself an existing one")
	}
	keep := host.NewName()
	if err := host.CreateDatabase(t.Context(), keep, ""); err != nil {
		t.Fatal(err)
	}
	guest, err := Start(t.Context(), Options{URL: host.DSN("postgres")})
	if err != nil {
		t.Fatal(err)
	}
	template, err := guest.Template(t.Context(), "guest", func(ctx context.Context, dsn string) error {
		return execute(ctx, dsn, "create table t (name text)")
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := guest.Close(); err != nil {
		t.Fatal(err)
	}
	if !exists(t, host, keep) || exists(t, host, template) {
		t.Errorf("after Close: kept database there %v, template there %v; want true, false", exists(t, host, keep), exists(t, host, template))
	}
}

func TestServerDiesWithAKilledParentAndTheNextStartCleansUp(t *testing.T) {
	t.Parallel()
	child := exec.Command(os.Args[0], "-test.run=^$")
	child.Env = append(os.Environ(), "CHUMBO_TEST_LOCALPG_CHILD=1")
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("read what the child says: %v", err)
	}
	number, dir, _ := strings.Cut(strings.TrimSpace(line), " ")
	pid, err := strconv.Atoi(number)
	if err != nil {
		t.Fatal(err)
	}
	if !alive(pid) {
		t.Fatalf("the child's server %d does not run", pid)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()
	removeLeftovers(filepath.Dir(dir))
	waitGone(pid)
	if alive(pid) && strings.Contains(commandLine(pid), dir) {
		t.Errorf("the server %d outlived its parent", pid)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the directory %s is still there (%v)", dir, err)
	}
}

func TestLeftoversOfLivingOwnersStay(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	ours, mark, err := newDir(parent)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = mark.Close() }()
	// A process id no system gives out.
	dead := filepath.Join(parent, dirPrefix+"999999999-x")
	strange := filepath.Join(parent, dirPrefix+"notes")
	for _, dir := range []string{dead, strange} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	removeLeftovers(parent)
	for dir, want := range map[string]bool{ours: true, strange: true, dead: false} {
		if _, err := os.Stat(dir); (err == nil) != want {
			t.Errorf("%s is there: %v, want %v", filepath.Base(dir), err == nil, want)
		}
	}
}

func TestLookupOrder(t *testing.T) {
	t.Parallel()
	notFound := func(string) (string, error) { return "", exec.ErrNotFound }
	root := t.TempDir()
	place := func(names ...string) string {
		dir := filepath.Join(append([]string{root}, names...)...)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"initdb", "postgres"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	old, recent := place("lib", "9", "bin"), place("lib", "17", "bin")
	_ = old
	real := place("real", "bin")
	links := filepath.Join(root, "links")
	if err := os.Mkdir(links, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(real, "initdb"), filepath.Join(links, "initdb")); err != nil {
		t.Fatal(err)
	}
	usual := []string{filepath.Join(root, "lib", "*", "bin")}
	fetched := programs{initdb: "fetched"}
	fetch := func(context.Context, io.Writer) (programs, error) { return fetched, nil }

	cases := []struct {
		name string
		look lookup
		want string
	}{
		{"PATH first, through a lone link", lookup{onPath: func(string) (string, error) { return filepath.Join(links, "initdb"), nil }, patterns: usual, fetch: fetch}, filepath.Join(real, "initdb")},
		{"then the newest of the usual places", lookup{onPath: notFound, patterns: usual, fetch: fetch}, filepath.Join(recent, "initdb")},
		{"then a download", lookup{onPath: notFound, patterns: []string{}, fetch: fetch}, "fetched"},
	}
	for _, c := range cases {
		got, err := c.look.withDefaults().programs(t.Context(), io.Discard)
		if err != nil || got.initdb != c.want {
			t.Errorf("%s: %q, %v; want %q", c.name, got.initdb, err, c.want)
		}
	}
}

func TestMissingProgramsSayWhatToInstall(t *testing.T) {
	t.Parallel()
	for _, own := range []bool{true, false} {
		_, err := startOwn(t.Context(), Options{Own: own, Log: io.Discard, lookup: lookup{
			onPath:   func(string) (string, error) { return "", exec.ErrNotFound },
			patterns: []string{},
			fetch:    func(context.Context, io.Writer) (programs, error) { return programs{}, errors.New("no network") },
		}})
		if err == nil {
			t.Fatal("started without programs")
		}
		for _, want := range []string{"apt-get install postgresql", "brew install postgresql@17", "no network"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("error %q does not say %q", err, want)
			}
		}
		if strings.Contains(err.Error(), EnvURL) == own { // of no use to who wants a server of its own
			t.Errorf("own %v: %q", own, err)
		}
	}
}

func TestUnprivilegedAccount(t *testing.T) {
	t.Parallel()
	with := func(names ...string) func(string) (*user.User, error) {
		return func(name string) (*user.User, error) {
			for i, n := range names {
				if n == name {
					id := strconv.Itoa(100 + i)
					return &user.User{Username: n, Uid: id, Gid: id}, nil
				}
			}
			return nil, user.UnknownUserError(name)
		}
	}
	cases := []struct {
		name string
		euid int
		find func(string) (*user.User, error)
		want string
		fail bool
	}{
		{"not root runs as itself", 1000, with("postgres"), "", false},
		{"root prefers postgres", 0, with("nobody", "postgres"), "postgres", false},
		{"root falls back to nobody", 0, with("nobody"), "nobody", false},
		{"root without either is told", 0, with(), "", true},
	}
	for _, c := range cases {
		got, err := unprivileged(c.euid, c.find)
		if (err != nil) != c.fail {
			t.Errorf("%s: error %v", c.name, err)
			continue
		}
		name := ""
		if got != nil {
			name = got.name
		}
		if name != c.want {
			t.Errorf("%s: %q, want %q", c.name, name, c.want)
		}
	}
}

func TestRootKeepsDownloadsWhereTheAccountCanReach(t *testing.T) {
	t.Parallel()
	home := func() (string, error) { return "/home/alice/.cache", nil }
	for euid, want := range map[int]string{0: "/var/cache", 1000: "/home/alice/.cache"} {
		if got, err := cacheDir(euid, home); err != nil || got != want {
			t.Errorf("cacheDir(%d) = %q, %v; want %q", euid, got, err, want)
		}
	}
}

func startServer(t *testing.T) *Server {
	t.Helper()
	s, err := Start(t.Context(), Options{Own: true, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func execute(ctx context.Context, dsn, sql string) error {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	_, err = conn.Exec(ctx, sql)
	return err
}

func count(t *testing.T, dsn string) (n int) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	if err := conn.QueryRow(t.Context(), "select count(*) from t").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func exists(t *testing.T, s *Server, database string) (there bool) {
	t.Helper()
	err := s.admin.QueryRow(t.Context(), "select exists (select from pg_database where datname = $1)", database).Scan(&there)
	if err != nil {
		t.Fatal(err)
	}
	return there
}

func TestTemporaryFolderThatOthersMayNotEnterIsNamed(t *testing.T) {
	t.Parallel()
	open, err := os.MkdirTemp("", "chumbo-closed-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(open) })
	inner := filepath.Join(open, "a", "b")
	if err := os.MkdirAll(inner, 0o755); err != nil {
		t.Fatal(err)
	}
	for mode, want := range map[os.FileMode]string{0o700: open, 0o755: ""} {
		if err := os.Chmod(open, mode); err != nil {
			t.Fatal(err)
		}
		if got := closedFolder(inner); got != want {
			t.Errorf("mode %o: closed folder %q, want %q", mode, got, want)
		}
	}
}
