package tenants_test

import (
	"net"
	"strconv"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
)

// proxy stands between a client and the database. It can stall, keeping every
// connection open and forwarding nothing, and it can cut everything.
type proxy struct {
	target   string
	listener net.Listener

	mu      sync.Mutex
	changed *sync.Cond
	stalled bool
	cut     bool
	conns   map[net.Conn]bool
}

func newProxy(t *testing.T, dsn string) *proxy {
	t.Helper()
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{
		target: net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port))), listener: listener, conns: map[net.Conn]bool{},
	}
	p.changed = sync.NewCond(&p.mu)
	go p.accept()
	t.Cleanup(func() { p.set(false, true); _ = listener.Close() })
	return p
}

// config is the DSN's, led through the proxy.
func (p *proxy) config(t *testing.T, dsn string) *pgx.ConnConfig {
	t.Helper()
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	config.Host, config.Port = "127.0.0.1", p.port()
	config.Fallbacks = nil
	return config
}

func (p *proxy) port() uint16 { return uint16(p.listener.Addr().(*net.TCPAddr).Port) }

func (p *proxy) set(stalled, cut bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stalled, p.cut = stalled, cut
	if cut {
		for c := range p.conns {
			_ = c.Close()
		}
		clear(p.conns)
	}
	p.changed.Broadcast()
}

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		go p.serve(client)
	}
}

func (p *proxy) serve(client net.Conn) {
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		_ = client.Close()
		return
	}
	p.mu.Lock()
	if p.cut {
		p.mu.Unlock()
		_, _ = client.Close(), server.Close()
		return
	}
	p.conns[client], p.conns[server] = true, true
	p.mu.Unlock()
	go p.pipe(server, client)
	p.pipe(client, server)
}

func (p *proxy) pipe(to, from net.Conn) {
	defer func() { _, _ = to.Close(), from.Close() }()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		p.mu.Lock()
		for p.stalled && !p.cut {
			p.changed.Wait()
		}
		p.mu.Unlock()
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}
