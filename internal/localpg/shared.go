package localpg

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"testing"
)

// shared is the server of a test binary. A binary has one TestMain and starts
// one server at most, on first use: the only state of this package that is not
// held by a caller.
var shared struct {
	mu     sync.Mutex
	ready  bool // TestMain runs, so the server will be closed
	server *Server
	err    error
}

// TestMain runs a package's tests and closes the server they shared:
//
//	func TestMain(m *testing.M) { localpg.TestMain(m) }
//
// It ends the process.
func TestMain(m *testing.M) { os.Exit(Run(m)) }

// Run is TestMain for a package that has more to do: it runs the tests, closes
// the shared server and returns the exit code.
func Run(m *testing.M) int {
	shared.mu.Lock()
	shared.ready = true
	shared.mu.Unlock()

	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-interrupted
		_ = closeShared() // on the way out; what stays is removed by the next start
		os.Exit(130)
	}()

	code := m.Run()
	if err := closeShared(); err != nil {
		fmt.Fprintln(os.Stderr, "close the shared PostgreSQL server:", err)
		return max(code, 1)
	}
	return code
}

// Shared is the server that all tests of this binary use, started on first
// use. The package needs a TestMain that calls TestMain.
func Shared(t testing.TB) *Server {
	t.Helper()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if !shared.ready {
		t.Fatal("this package needs: func TestMain(m *testing.M) { localpg.TestMain(m) }")
	}
	if shared.server == nil && shared.err == nil {
		shared.server, shared.err = Start(context.WithoutCancel(t.Context()), Options{Log: os.Stderr})
	}
	if shared.err != nil {
		t.Fatalf("start PostgreSQL: %v", shared.err)
	}
	return shared.server
}

func closeShared() error {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.server == nil {
		return nil
	}
	return shared.server.Close()
}
