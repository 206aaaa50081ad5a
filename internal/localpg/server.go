package localpg

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// process is a running server of our own and its files: dir holds the owner
// mark, the log and data/.
type process struct {
	dir      string
	mark     *os.File
	account  *account
	programs programs
	password string
	port     int
	cmd      *exec.Cmd
	exited   chan struct{} // closed when the server has ended
}

const superuser = "postgres"

// closedFolder is the first folder on the way to dir that another account may
// not enter, or empty.
func closedFolder(dir string) string {
	for {
		info, err := os.Stat(dir)
		if err != nil || info.Mode().Perm()&0o001 == 0 {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}

func startProcess(ctx context.Context, programs programs, timeout time.Duration) (_ *process, err error) {
	who, err := unprivileged(os.Geteuid(), user.Lookup)
	if err != nil {
		return nil, err
	}
	dir, mark, err := newDir(os.TempDir())
	if err != nil {
		return nil, err
	}
	p := &process{dir: dir, mark: mark, account: who, programs: programs, password: hex.EncodeToString(randomBytes(16))}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.stop())
		}
	}()
	if who != nil {
		if closed := closedFolder(filepath.Dir(dir)); closed != "" {
			return nil, fmt.Errorf("the account that runs PostgreSQL may not enter %s: set TMPDIR to a folder that everybody may enter, such as /tmp", closed)
		}
	}
	if err := p.initialize(ctx); err != nil {
		return nil, err
	}
	// A port found free may be taken before the server binds it.
	for attempt := 1; ; attempt++ {
		err := p.run(ctx, timeout)
		if err == nil {
			return p, nil
		}
		if attempt == 5 || !strings.Contains(err.Error(), "could not bind") {
			return nil, err
		}
	}
}

func (p *process) data() string { return filepath.Join(p.dir, "data") }
func (p *process) log() string  { return filepath.Join(p.dir, "postgres.log") }

func (p *process) url() *url.URL {
	return &url.URL{
		Scheme:   "postgres",
		User:     url.UserPassword(superuser, p.password),
		Host:     net.JoinHostPort("127.0.0.1", strconv.Itoa(p.port)),
		Path:     "/postgres",
		RawQuery: "sslmode=disable",
	}
}

// initialize makes the data directory. Logging in takes a password: on a
// machine with several people, a superuser of this server could run programs
// as us.
func (p *process) initialize(ctx context.Context) error {
	if err := os.Mkdir(p.data(), 0o700); err != nil {
		return fmt.Errorf("make data directory: %w", err)
	}
	secret := filepath.Join(p.data(), "..", "password")
	if err := os.WriteFile(secret, []byte(p.password), 0o600); err != nil {
		return fmt.Errorf("write password file: %w", err)
	}
	defer func() { _ = os.Remove(secret) }()
	if p.account != nil {
		err := errors.Join(giveTo(p.account, p.data()), giveTo(p.account, secret))
		if err != nil {
			return fmt.Errorf("give data directory to %s: %w", p.account.name, err)
		}
	}
	cmd := exec.CommandContext(ctx, p.programs.initdb,
		"-D", p.data(), "-U", superuser, "--auth=password", "--pwfile="+secret,
		"--encoding=UTF8", "--lc-collate=C", "--lc-ctype="+ctype(), "--lc-messages=C", "--no-sync")
	p.prepare(cmd)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("run initdb: %w\n%s", err, tail(out))
	}
	return nil
}

// ctype is a locale that every machine of that system has and that knows the
// letters of all languages.
func ctype() string {
	if runtime.GOOS == "linux" {
		return "C.UTF-8"
	}
	return "en_US.UTF-8"
}

func (p *process) run(ctx context.Context, timeout time.Duration) error {
	port, err := freePort()
	if err != nil {
		return err
	}
	p.port = port
	logFile, err := os.Create(p.log())
	if err != nil {
		return fmt.Errorf("make log file: %w", err)
	}
	defer func() { _ = logFile.Close() }()

	args := []string{"-D", p.data(), "-p", strconv.Itoa(port)}
	for _, setting := range settings() {
		args = append(args, "-c", setting)
	}
	p.cmd = exec.Command(p.programs.postgres, args...)
	p.prepare(p.cmd)
	p.cmd.Stdout, p.cmd.Stderr = logFile, logFile
	if p.exited, err = startTied(p.cmd); err != nil {
		p.cmd = nil
		return fmt.Errorf("start postgres: %w", err)
	}
	return p.waitReady(ctx, timeout)
}

// settings favour speed over safety: the data is thrown away.
func settings() []string {
	return []string{
		"listen_addresses=127.0.0.1", "unix_socket_directories=",
		"fsync=off", "synchronous_commit=off", "full_page_writes=off",
		"shared_buffers=64MB", "max_connections=300", "max_wal_size=1GB",
		"wal_level=minimal", "max_wal_senders=0", "jit=off",
		"timezone=UTC", "log_timezone=UTC", "log_min_messages=fatal", "log_min_error_statement=panic",
	}
}

// prepare gives a command the account, a directory it may enter, and an
// environment without PG variables, which would change what it does.
func (p *process) prepare(cmd *exec.Cmd) {
	cmd.Dir = p.data()
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "PG") && !strings.HasPrefix(entry, "LC_") {
			cmd.Env = append(cmd.Env, entry)
		}
	}
	cmd.Env = append(cmd.Env, "LC_ALL=C")
	confine(cmd, p.account)
}

func (p *process) waitReady(ctx context.Context, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	poll := time.NewTicker(10 * time.Millisecond)
	defer poll.Stop()
	for {
		conn, err := pgx.Connect(ctx, p.url().String())
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-p.exited:
			p.cmd = nil
			out, _ := os.ReadFile(p.log())
			return fmt.Errorf("postgres ended at once\n%s", tail(out))
		case <-ctx.Done():
			return fmt.Errorf("wait for postgres: %w (last: %w)", ctx.Err(), err)
		case <-poll.C:
		}
	}
}

// stop ends the server and removes its files.
func (p *process) stop() error {
	if p.cmd != nil {
		endServer(p.cmd.Process)
		select {
		case <-p.exited:
		case <-time.After(10 * time.Second):
			_ = p.cmd.Process.Kill()
			<-p.exited
		}
		p.cmd = nil
	}
	err := os.RemoveAll(p.dir)
	_ = p.mark.Close()
	if err != nil {
		return fmt.Errorf("remove server directory: %w", err)
	}
	return nil
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	return port, l.Close()
}

// tail is the last few lines of a program's output, enough to see why it
// ended.
func tail(out []byte) []byte {
	lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	return bytes.Join(lines[max(0, len(lines)-8):], []byte("\n"))
}
