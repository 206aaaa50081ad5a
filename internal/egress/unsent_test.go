package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"testing"
	"time"

	"github.com/chumbo-dev/chumbo/internal/fault"
)

func TestUnsentIsOnlyWhatNeverLeft(t *testing.T) {
	t.Parallel()
	url, client := setup(t, func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			_ = conn.Close()
		}
	})
	if _, err := client.Do(get(t, url), Options{}); err == nil || Unsent(err) {
		t.Errorf("a connection cut after the request: %v", err)
	}
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	if _, err := client.Do(get(t, "http://"+closed.Addr().String()), Options{}); err == nil || !Unsent(err) {
		t.Errorf("nobody listens: %v", err)
	}
	for _, refused := range []error{errLaneFull, errLaneOpen, ErrUnsent} {
		if !Unsent(fmt.Errorf("wrapped: %w", refused)) {
			t.Errorf("%v", refused)
		}
	}
	for _, dns := range []net.DNSError{{IsNotFound: true}, {IsTimeout: true}, {IsTemporary: true, Err: "server misbehaving"}} {
		client.transport.DialContext = (&guard{policy: local, lookup: func(context.Context, string) ([]netip.Addr, error) { return nil, &dns }}).DialContext
		if _, err := client.Do(get(t, "http://acme.example.test"), Options{}); err == nil || !Unsent(err) {
			t.Errorf("no name: %v", err)
		}
	}
	for range laneRunning {
		client.lanes.get("full").running <- struct{}{}
	}
	if _, err := client.Do(get(t, url), Options{Lane: "full", Timeout: time.Millisecond}); err == nil || !Unsent(err) {
		t.Errorf("no time left in the lane: %v", err)
	}
	if Unsent(nil) || Unsent(errors.New("anything")) || Unsent(errDeadline) {
		t.Error("what nobody can tell counts as unsent")
	}
}

// TestAnAnswerInAnotherProtocolEnds: its body would be the connection itself,
// which no deadline ends.
func TestAnAnswerInAnotherProtocolEnds(t *testing.T) {
	t.Parallel()
	for _, any := range []bool{false, true} {
		closed := make(chan error, 1)
		url, client := setup(t, func(w http.ResponseWriter, _ *http.Request) {
			conn, rw, err := http.NewResponseController(w).Hijack()
			if err != nil {
				closed <- nil
				return
			}
			_, _ = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n")
			_ = rw.Flush()
			_, err = rw.ReadByte()
			_ = conn.Close()
			closed <- err
		})
		resp, err := client.Do(get(t, url), Options{AnyAnswer: any})
		if err == nil {
			_ = resp.Body.Close()
		}
		if !fault.Is(err, fault.Unavailable) || Unsent(err) {
			t.Errorf("any answer %v: %v", any, err)
		}
		if err := <-closed; err == nil {
			t.Error("the connection stays open")
		}
	}
}
