package app

import (
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// oneConn is a listener that hands out one connection.
type oneConn struct {
	conns chan net.Conn
	done  chan struct{}
}

func (l oneConn) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l oneConn) Close() error   { return nil }
func (l oneConn) Addr() net.Addr { return &net.TCPAddr{} }

// TestClientThatIsTooSlowLosesItsConnection: one that never reads what it asked
// for, one that never finishes its headers, one that never finishes its body,
// and one that says nothing any more.
func TestClientThatIsTooSlowLosesItsConnection(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sends  string
		reads  bool
		within time.Duration
	}{
		"never reads":          {"GET / HTTP/1.1\r\nHost: a\r\n\r\n", false, 3 * time.Minute},
		"never ends headers":   {"GET / HTTP/1.1\r\nHo", true, 15 * time.Second},
		"never ends its body":  {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n{", true, 40 * time.Second},
		"says nothing anymore": {"GET / HTTP/1.1\r\nHost: a\r\n\r\n", true, 3 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server := httpServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					_, _ = io.Copy(io.Discard, r.Body)
					_, _ = w.Write(make([]byte, 1<<20))
				}), slog.New(slog.DiscardHandler))
				var open atomic.Int32
				server.ConnState = func(_ net.Conn, s http.ConnState) {
					switch s {
					case http.StateNew:
						open.Add(1)
					case http.StateClosed:
						open.Add(-1)
					}
				}
				ours, theirs := net.Pipe()
				l := oneConn{conns: make(chan net.Conn, 1), done: make(chan struct{})}
				l.conns <- ours
				go func() { _ = server.Serve(l) }()
				if _, err := io.WriteString(theirs, c.sends); err != nil {
					t.Fatal(err)
				}
				if c.reads {
					go func() { _, _ = io.Copy(io.Discard, theirs) }()
				}
				synctest.Wait()
				if open.Load() != 1 {
					t.Fatal("the connection was not taken")
				}
				time.Sleep(c.within)
				synctest.Wait()
				if open.Load() != 0 {
					t.Errorf("still open after %s", c.within)
				}
				_ = theirs.Close()
				close(l.done)
				_ = server.Close()
			})
		})
	}
}
