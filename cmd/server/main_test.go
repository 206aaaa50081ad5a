package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/localpg"
	"github.com/chumbo-dev/chumbo/internal/seal"
)

func TestMain(m *testing.M) { localpg.TestMain(m) }

const publicHost = "mcp.example.test"

// instance is an empty database and the environment that
// docs/self-hosting.md asks for.
type instance struct {
	admin   string // whom no rule of ours binds
	environ []string
}

func newInstance(t *testing.T) instance {
	t.Helper()
	server := localpg.Shared(t)
	admin := server.Clone(t, "")
	config, err := pgx.ParseConfig(admin)
	if err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(t.TempDir(), "master")
	if err := os.WriteFile(key, []byte(seal.GenerateKey().Reveal()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return instance{admin: admin, environ: []string{
		"PATH=" + os.Getenv("PATH"),
		"CHUMBO_MIGRATE_DATABASE_URL=" + admin,
		"CHUMBO_DATABASE_URL=" + server.DSNAs(config.Database, "chumbo_server"),
		"CHUMBO_RIVER_DATABASE_URL=" + server.DSNAs(config.Database, "chumbo_river"),
		"CHUMBO_MASTER_KEY_FILE=" + key,
		"CHUMBO_PUBLIC_URL=https://" + publicHost,
		"CHUMBO_LISTEN=127.0.0.1:0",
	}}
}

// command runs the program to its end. A command that goes on is a failure.
func (i instance) command(t *testing.T, environ []string, args ...string) (stdout string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var out bytes.Buffer
	err = run(ctx, args, environ, &out, io.Discard)
	if ctx.Err() != nil {
		t.Fatalf("server %v does not end", args)
	}
	return out.String(), err
}

// with is the environment with one more variable, or another value of one.
func (i instance) with(name, value string) []string {
	environ := slices.DeleteFunc(slices.Clone(i.environ), func(v string) bool {
		return strings.HasPrefix(v, name+"=") || strings.HasPrefix(v, name+"_FILE=")
	})
	return append(environ, name+"="+value)
}

func (i instance) value(name string) string {
	for _, v := range i.environ {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}

func (i instance) ready(t *testing.T) (token string) {
	t.Helper()
	if _, err := i.command(t, i.environ, "migrate"); err != nil {
		t.Fatal(err)
	}
	out, err := i.command(t, i.environ, "bootstrap", "-email", "alice@example.test", "-organization", "Acme")
	if err != nil {
		t.Fatal(err)
	}
	tokens := regexp.MustCompile(`(?m)^  (cht_\S+)$`).FindAllStringSubmatch(out, -1)
	if len(tokens) != 1 {
		t.Fatalf("bootstrap prints no token on a line of its own: %s", out)
	}
	return tokens[0][1]
}

// serve starts the program with args and returns its address; it ends, without
// an error, with the test.
func (i instance) serve(t *testing.T, args ...string) (base string) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	logs, log := io.Pipe()
	address, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		for lines := bufio.NewScanner(logs); lines.Scan(); {
			var line struct {
				Msg    string `json:"msg"`
				Listen string `json:"listen"`
			}
			if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "serving" {
				address <- line.Listen
			}
		}
	}()
	go func() { ended <- run(ctx, args, i.environ, io.Discard, log) }()
	t.Cleanup(func() {
		stop()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("server %v ended with %v", args, err)
			}
		case <-time.After(30 * time.Second):
			t.Errorf("server %v does not stop", args)
		}
		_ = log.Close()
	})
	select {
	case at := <-address:
		return "http://" + at
	case err := <-ended:
		ended <- nil
		t.Fatalf("server %v ended early: %v", args, err)
	case <-time.After(30 * time.Second):
		t.Fatalf("server %v does not listen", args)
	}
	return ""
}

func get(t *testing.T, target, token string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, target, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = publicHost
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := (&http.Client{}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

func (i instance) exec(t *testing.T, sql string, args ...any) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), i.admin)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	if _, err := conn.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

// await asks again until there are want rows.
func (i instance) await(t *testing.T, want int, query string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), i.admin)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	deadline, tick := time.Now().Add(30*time.Second), time.NewTicker(20*time.Millisecond)
	defer tick.Stop()
	for n := -1; n != want; <-tick.C {
		if err := conn.QueryRow(t.Context(), query).Scan(&n); err != nil {
			t.Fatal(err)
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s is %d, want %d", query, n, want)
		}
	}
}

// TestSelfHostingWorksFromTheEnvironmentAlone walks docs/self-hosting.md.
func TestSelfHostingWorksFromTheEnvironmentAlone(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	if _, err := i.command(t, i.environ, "bootstrap", "-email", "alice@example.test", "-organization", "Acme"); err == nil || !strings.Contains(err.Error(), "run server migrate first") {
		t.Fatalf("bootstrap before migrate: %v", err)
	}
	token := i.ready(t)
	if out, err := i.command(t, i.environ, "migrate"); err != nil || !strings.Contains(out, "server bootstrap") {
		t.Errorf("migrate again: %v, %q", err, out)
	}
	base := i.serve(t)
	for path, want := range map[string]struct {
		token  string
		status int
		text   string
	}{
		"/healthz":                {"", http.StatusOK, "ok"},
		"/readyz":                 {"", http.StatusOK, ""},
		"/api/v1/me":              {token, http.StatusOK, "Acme"},
		"/api/v1/projects":        {"", http.StatusUnauthorized, "token"},
		"/schema/surface-v1.json": {"", http.StatusOK, "$schema"},
		"/acme/mcp":               {"", http.StatusNotFound, "unknown_surface"},
	} {
		if status, body := get(t, base+path, want.token); status != want.status || !strings.Contains(body, want.text) {
			t.Errorf("%s: %d %.200s, want %d with %q", path, status, body, want.status, want.text)
		}
	}
}

func TestServerWithWorkerWorksJobs(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	i.ready(t)
	i.exec(t, `insert into chumbo.invocations select $1, gen_random_uuid(), now() - age, $1, 1, 'm', 'c', 'direct', '', '', 'ok', '', 1, 1, 1, '', ''
		from unnest(array[interval '31 days', interval '29 days']) age`, uuid.New())
	base := i.serve(t, "-with-worker")
	i.await(t, 1, "select count(*) from chumbo.invocations") // the default keeps 30 days
	if status, _ := get(t, base+"/readyz", ""); status != http.StatusOK {
		t.Errorf("beside its worker the server answers %d", status)
	}
}

func TestBootstrapMakesOneFirstOwner(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	i.ready(t)
	out, err := i.command(t, i.environ, "bootstrap", "-email", "bob@example.test", "-organization", "Globex")
	if err == nil || !strings.Contains(err.Error(), "first owner already") || strings.Contains(out, "cht_") {
		t.Errorf("a second bootstrap: %v, %q", err, out)
	}
	i.await(t, 1, "select count(*) from chumbo.organizations")
	for _, args := range [][]string{{"bootstrap"}, {"bootstrap", "-email", "bob@example.test"}, {"bootstrap", "-email", "nobody", "-organization", "Globex"}} {
		if _, err := i.command(t, i.environ, args...); err == nil || !strings.Contains(err.Error(), "email") {
			t.Errorf("server %v: %v", args, err)
		}
	}
}

func TestWrongMasterKeyIsRefused(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	i.ready(t)
	other := seal.GenerateKey().Reveal()
	for _, args := range [][]string{{}, {"bootstrap", "-email", "bob@example.test", "-organization", "Globex"}} {
		_, err := i.command(t, i.with("CHUMBO_MASTER_KEY", other), args...)
		if err == nil || !strings.Contains(err.Error(), "not the key this database was first used with") || strings.Contains(err.Error(), other) {
			t.Errorf("server %v with another key: %v", args, err)
		}
	}
	key, err := os.ReadFile(i.value("CHUMBO_MASTER_KEY_FILE"))
	if err != nil {
		t.Fatal(err)
	}
	rotated := instance{admin: i.admin, environ: i.with("CHUMBO_MASTER_KEY", other+","+strings.TrimSpace(string(key)))}
	if status, _ := get(t, rotated.serve(t)+"/readyz", ""); status != http.StatusOK {
		t.Errorf("with the new key first and the old one behind: %d", status)
	}
}

// TestRefusedSettingsSayWhatToDo: nothing starts halfway, and no secret is in
// the text.
func TestRefusedSettingsSayWhatToDo(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	i.ready(t)
	pooler := func(name string) []string {
		config, err := pgx.ParseConfig(i.value(name))
		if err != nil {
			t.Fatal(err)
		}
		return i.with(name, "postgres://"+config.User+":hunter22@127.0.0.1:6543/"+config.Database)
	}
	for _, c := range []struct {
		environ []string
		args    []string
		want    string
	}{
		{pooler("CHUMBO_DATABASE_URL"), nil, "transaction pooler"},
		{pooler("CHUMBO_RIVER_DATABASE_URL"), []string{"-with-worker"}, "transaction pooler"},
		{pooler("CHUMBO_MIGRATE_DATABASE_URL"), []string{"migrate"}, "transaction pooler"},
		{i.with("CHUMBO_DATABASE_URL", i.admin), nil, "server migrate makes"},
		{i.with("CHUMBO_DATABASE_URL", ""), nil, "set CHUMBO_DATABASE_URL"},
		{i.with("CHUMBO_MASTER_KEY", ""), nil, "set CHUMBO_MASTER_KEY"},
		{i.with("CHUMBO_MASTER_KEY", "hunter22"), nil, "CHUMBO_MASTER_KEY"},
		{i.with("CHUMBO_MIGRATE_DATABASE_URL", ""), []string{"migrate"}, "set CHUMBO_MIGRATE_DATABASE_URL"},
		{i.with("CHUMBO_RIVER_DATABASE_URL", ""), []string{"-with-worker"}, "set CHUMBO_RIVER_DATABASE_URL"},
		{i.with("CHUMBO_LISTEN_ON", "hunter22"), nil, "did you mean CHUMBO_LISTEN?"},
		{i.with("CHUMBO_LISTEN_ON", "hunter22"), []string{"migrate"}, "did you mean CHUMBO_LISTEN?"},
		{i.with("CHUMBO_LISTEN_ON", "hunter22"), []string{"bootstrap", "-email", "a@example.test", "-organization", "A"}, "did you mean CHUMBO_LISTEN?"},
		{i.environ, []string{"migrat"}, "unknown command"},
		{i.environ, []string{"-ready-file", "x"}, "-demo"},
		{i.environ, []string{"-with-worker", "extra"}, "unexpected argument"},
	} {
		_, err := i.command(t, c.environ, c.args...)
		if err == nil || errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("server %v: %v, want %q", c.args, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), "hunter22") {
			t.Errorf("server %v repeats a value: %v", c.args, err)
		}
	}
}
