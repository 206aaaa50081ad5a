package demo

import (
	"bytes"
	"encoding/json"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"
)

// TestDemoProgramLeavesNothingBehind runs the program itself twice at once, as
// two people on one machine would, ends each with Ctrl-C, and looks for what
// is left: files, processes, listeners.
func TestDemoProgramLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "server")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "../../cmd/server").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	for _, name := range []string{"one", "two"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := openFolder(t)
			file := filepath.Join(t.TempDir(), "ready.json")
			var out bytes.Buffer
			cmd := exec.CommandContext(t.Context(), program, "-demo", "-ready-file", file)
			cmd.Env = append(os.Environ(), "TMPDIR="+folder)
			cmd.Stdout, cmd.Stderr = &out, &out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			r := readyOf(t, file, ended, &out)
			if status, body := post(t, r.ConformanceURL, "", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); status != 200 {
				t.Errorf("tools/list: %d %s", status, body)
			}
			if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
			select {
			case err := <-ended:
				if err != nil {
					t.Fatalf("ends with %v\n%s", err, out.String())
				}
			case <-time.After(30 * time.Second):
				t.Fatal("does not end on Ctrl-C")
			}
			requireNothingLeft(t, folder, file, r)
		})
	}
}

// openFolder is a temporary folder that the account of Postgres may enter,
// which those of the testing package are not.
func openFolder(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "chumbo-demo-process-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	if err := os.Chmod(folder, 0o755); err != nil { //nolint:gosec // on purpose, see above
		t.Fatal(err)
	}
	return folder
}

// readyOf waits for the ready file and checks that it says all it promises.
func readyOf(t *testing.T, file string, ended chan error, out *bytes.Buffer) ready {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	timeout := time.After(2 * time.Minute)
	for {
		select {
		case err := <-ended:
			t.Fatalf("ended before it was ready: %v\n%s", err, out.String())
		case <-timeout:
			t.Fatal("not ready within two minutes")
		case <-tick.C:
		}
		b, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		var keys map[string]any
		var r ready
		if err := json.Unmarshal(b, &keys); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b, &r); err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"server_url", "dashboard_url", "mcp_url", "project_url", "publishable_key", "conformance_url", "bridge_url", "desk_url", "assistant_url", "users", "owner", "api_token", "database_url"} {
			if keys[key] == nil || keys[key] == "" {
				t.Errorf("the ready file lacks %s", key)
			}
		}
		if len(r.Users) != 2 || slices.ContainsFunc(r.Users, func(u readyUser) bool { return u.Email == "" || u.Password == "" || u.Organization == "" }) {
			t.Errorf("users: %+v", r.Users)
		}
		return r
	}
}

func requireNothingLeft(t *testing.T, folder, file string, r ready) {
	t.Helper()
	left, err := os.ReadDir(folder)
	if err != nil || len(left) > 0 {
		t.Errorf("left in the temporary folder: %v %v", left, err)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("the ready file is left")
	}
	for _, address := range []string{r.ServerURL, r.ProjectURL} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(t.Context(), "tcp", "127.0.0.1:"+u.Port())
		if err == nil {
			_ = conn.Close()
			t.Errorf("%s still answers", address)
		}
	}
	if out, err := exec.CommandContext(t.Context(), "pgrep", "-f", folder).Output(); err == nil {
		t.Errorf("processes left: %s", out)
	}
}
