// Package localpg runs a throwaway PostgreSQL server for the demo and for
// tests: a temporary directory, a free loopback port, settings that trade
// durability for speed, nothing left behind. Package map: find.go and fetch.go
// get the programs, account.go picks whom they run as, server.go runs them,
// leftovers.go removes what crashed runs left, databases.go makes databases,
// shared.go shares one server among the tests of a binary.
//
// It never touches a server it did not start, except the one that
// CHUMBO_TEST_DATABASE_URL names, where it drops only what it made.
package localpg

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// EnvURL names the environment variable that, when set, makes Start use an
// existing server instead of starting one. Its value is a connection URL
// (postgres://user:password@host:port/database) of a superuser. Roles that
// tests create there stay.
const EnvURL = "CHUMBO_TEST_DATABASE_URL"

// Options say how a server is started. The zero value works.
type Options struct {
	// Log takes progress lines for a person, such as those of a download;
	// nil for none.
	Log io.Writer
	// URL is the connection URL of an existing server to use; empty means
	// the value of CHUMBO_TEST_DATABASE_URL, and when that is empty too a
	// server is started. Own refuses an existing server even if the
	// variable is set.
	URL string
	Own bool
	// Timeout bounds how long the server may take to answer; 0 is 30 s. A
	// download is not counted.
	Timeout time.Duration

	lookup lookup // where programs are looked for; zero for the machine's own places
}

// Server is a running PostgreSQL server. Its methods may be used at once from
// several goroutines.
type Server struct {
	base    *url.URL // of the superuser; the path is replaced per database
	secret  []byte   // role passwords are derived from it
	admin   *pgxpool.Pool
	process *process // nil for an existing server

	mu        sync.Mutex
	made      map[string]bool // databases we made and have not dropped
	templates map[string]*template
	run       string // part of the names of the databases we make
	closed    bool
}

// Start starts a server, or connects to the existing one that Options or the
// environment names. Where no PostgreSQL programs can be had the error says
// what to install. Close it when done.
func Start(ctx context.Context, o Options) (*Server, error) {
	if o.Timeout == 0 {
		o.Timeout = 30 * time.Second
	}
	if o.Log == nil {
		o.Log = io.Discard
	}
	existing := o.URL
	if existing == "" && !o.Own {
		existing = os.Getenv(EnvURL)
	}
	if existing != "" {
		return useExisting(ctx, existing)
	}
	return startOwn(ctx, o)
}

func useExisting(ctx context.Context, rawURL string) (*Server, error) {
	base, err := url.Parse(rawURL)
	if err != nil || (base.Scheme != "postgres" && base.Scheme != "postgresql") {
		return nil, fmt.Errorf("read %s: want postgres://user:password@host:port/database", EnvURL)
	}
	if q := base.Query(); !q.Has("sslmode") && loopback(base.Hostname()) {
		// No TLS on this machine, and none tried first: tests that put a proxy
		// in between count connections.
		q.Set("sslmode", "disable")
		base.RawQuery = q.Encode()
	}
	// Several test binaries share such a server, and roles belong to the
	// whole of it: all of them must derive the same role passwords.
	secret := sha256.Sum256([]byte("chumbo localpg roles\n" + base.Host))
	s, err := newServer(ctx, base, secret[:], nil)
	if err != nil {
		return nil, fmt.Errorf("use the server of %s: %w", EnvURL, err)
	}
	return s, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func startOwn(ctx context.Context, o Options) (*Server, error) {
	removeLeftovers(os.TempDir())
	programs, err := o.lookup.withDefaults().programs(ctx, o.Log)
	if err != nil && !o.Own {
		return nil, fmt.Errorf("%w\nor point %s at a running server", err, EnvURL)
	}
	if err != nil {
		return nil, err
	}
	p, err := startProcess(ctx, programs, o.Timeout)
	if err != nil {
		return nil, err
	}
	s, err := newServer(ctx, p.url(), randomBytes(32), p)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("connect to the new server: %w", err), p.stop())
	}
	return s, nil
}

func newServer(ctx context.Context, base *url.URL, secret []byte, p *process) (*Server, error) {
	s := &Server{
		base:      base,
		secret:    secret,
		process:   p,
		made:      map[string]bool{},
		templates: map[string]*template{},
		run:       hex.EncodeToString(randomBytes(4)),
	}
	config, err := pgxpool.ParseConfig(base.String())
	if err != nil {
		return nil, fmt.Errorf("parse connection url: %w", err)
	}
	config.MaxConns = 4
	s.admin, err = pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("open pool: %w", err)
	}
	if err := s.admin.Ping(ctx); err != nil {
		s.admin.Close()
		return nil, fmt.Errorf("ping: %w", err)
	}
	return s, nil
}

// DSN is the connection URL of a database as superuser (on an existing
// server: as the role of its URL). It holds a password.
func (s *Server) DSN(database string) string {
	u := *s.base
	u.Path = "/" + database
	return u.String()
}

// DSNAs is the connection URL of a database as another role, which the caller
// has created `login password` with the value of RolePassword.
func (s *Server) DSNAs(database, role string) string {
	u := *s.base
	u.Path = "/" + database
	u.User = url.UserPassword(role, s.RolePassword(role))
	return u.String()
}

// RolePassword is the password that a role of that name must be given for
// DSNAs to work. It is the same in every process that uses the same existing
// server.
func (s *Server) RolePassword(role string) string {
	mac := hmac.New(sha256.New, s.secret)
	mac.Write([]byte(role))
	return hex.EncodeToString(mac.Sum(nil)[:16])
}

// Exclusively runs fn while holding a lock of the whole server, across
// processes: for statements on what all databases share, such as roles.
func (s *Server) Exclusively(ctx context.Context, fn func(context.Context) error) error {
	conn, err := pgx.ConnectConfig(ctx, s.admin.Config().ConnConfig.Copy())
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	// Advisory locks belong to a database: the admin connection's is the
	// same for everybody. Closing the connection lets go of the lock.
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if _, err := conn.Exec(ctx, "select pg_advisory_lock(7368726564)"); err != nil {
		return fmt.Errorf("take server lock: %w", err)
	}
	return fn(ctx)
}

// Close drops the databases it made on an existing server, or stops the server
// that Start started and removes its files. A second Close does nothing.
func (s *Server) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	names := make([]string, 0, len(s.made))
	for name := range s.made {
		names = append(names, name)
	}
	s.mu.Unlock()

	if s.process != nil {
		s.admin.Close()
		return s.process.stop()
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var errs []error
	for _, name := range names {
		errs = append(errs, s.DropDatabase(ctx, name))
	}
	s.admin.Close()
	return errors.Join(errs...)
}

func randomBytes(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return b
}
