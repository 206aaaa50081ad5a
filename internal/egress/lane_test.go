package egress

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chumbo-dev/chumbo/internal/fault"
)

func quiet() *log.Logger { return log.New(io.Discard, "", 0) }

// pipes answers requests over in-memory connections, so that a synctest
// bubble can own the clock. Answer gets the request's path.
func pipes(answer func(path string) (status int, ok bool)) *Client {
	g := newGuard(Policy{AllowHTTP: true})
	g.dial = func(_ context.Context, _, address string) (net.Conn, error) {
		if address == "192.88.0.1:80" {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
		}
		ours, theirs := net.Pipe()
		go func() {
			defer func() { _ = theirs.Close() }()
			req, err := http.ReadRequest(bufio.NewReader(theirs))
			if err != nil {
				return
			}
			if status, ok := answer(req.URL.Path); ok {
				_, _ = fmt.Fprintf(theirs, "HTTP/1.1 %d X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", status)
			}
		}()
		return ours, nil
	}
	return newClient(g)
}

const (
	up   = "http://93.184.216.34/"
	down = "http://192.88.0.1/"
)

func try(t *testing.T, c *Client, lane, url string) string {
	t.Helper()
	resp, err := c.Do(get(t, url), Options{Lane: lane})
	if err != nil {
		return fault.From(err).Code
	}
	_ = resp.Body.Close()
	return "ok"
}

func TestBreakerOpensAndRecovers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := pipes(func(string) (int, bool) { return 200, true })
		for i := range breakerRow {
			if got := try(t, client, "a", down); got != "upstream_unreachable" {
				t.Fatalf("failure %d: %s", i, got)
			}
		}
		if got := try(t, client, "a", up); got != "upstream_failing" {
			t.Fatalf("open breaker: %s", got)
		}
		if got := try(t, client, "b", up); got != "ok" {
			t.Fatalf("another lane: %s", got)
		}
		time.Sleep(breakerOpen + time.Millisecond)
		if got := try(t, client, "a", down); got != "upstream_unreachable" {
			t.Fatalf("trial: %s", got)
		}
		if got := try(t, client, "a", up); got != "upstream_failing" {
			t.Fatalf("after a failed trial: %s", got)
		}
		time.Sleep(breakerOpen + time.Millisecond)
		for range 3 {
			if got := try(t, client, "a", up); got != "ok" {
				t.Fatalf("recovered: %s", got)
			}
		}
		client.CloseIdle()
	})
}

func TestBreakerCountsAbsentGatewaysNotServerErrors(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := pipes(func(path string) (int, bool) {
			if path == "/503" {
				return 503, true
			}
			return 500, true
		})
		for range 2 * breakerRow {
			if got := try(t, client, "a", up+"500"); got != "ok" {
				t.Fatalf("a 500: %s", got)
			}
		}
		for range breakerRow {
			if got := try(t, client, "a", up+"503"); got != "ok" {
				t.Fatalf("a 503: %s", got)
			}
		}
		if got := try(t, client, "a", up+"500"); got != "upstream_failing" {
			t.Fatalf("after the row of 503: %s", got)
		}
		client.CloseIdle()
	})
}

func TestAnyAnswerCountsOnlyWhatWasNeverSent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := pipes(func(path string) (int, bool) { return 503, path == "/503" })
		try := func(url string) string {
			resp, err := client.Do(get(t, url), Options{Lane: "a", AnyAnswer: true})
			if err != nil {
				return fault.From(err).Code
			}
			_ = resp.Body.Close()
			return "ok"
		}
		for range 2 * breakerRow {
			if got := try(up + "503"); got != "ok" {
				t.Fatalf("a 503: %s", got)
			}
			if got := try(up + "cut"); got != "upstream_unreachable" {
				t.Fatalf("cut off: %s", got)
			}
		}
		for range breakerRow {
			if got := try(down); got != "upstream_unreachable" {
				t.Fatalf("nobody there: %s", got)
			}
		}
		if got := try(up + "503"); got != "upstream_failing" {
			t.Fatalf("open breaker: %s", got)
		}
		if n := len(client.lanes.get("a").running); n != 0 {
			t.Errorf("%d places are still taken", n)
		}
		client.CloseIdle()
	})
}

func TestLaneRunsSixteenAndLetsOthersWaitTwoSeconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var running, most atomic.Int32
		client := pipes(func(path string) (int, bool) {
			if path != "/slow" {
				return 200, true
			}
			most.Store(max(most.Load(), running.Add(1)))
			<-release
			running.Add(-1)
			return 200, true
		})
		begun := time.Now()
		var wg sync.WaitGroup
		var done, busy atomic.Int32
		for range laneRunning + laneWaiting {
			wg.Go(func() {
				switch got := try(t, client, "a", up+"slow"); got {
				case "ok":
					done.Add(1)
				case "upstream_busy":
					busy.Add(1)
				default:
					t.Errorf("got %s", got)
				}
			})
			synctest.Wait() // one after the other
		}
		if got := try(t, client, "a", up+"slow"); got != "upstream_busy" {
			t.Errorf("one too many: %s", got)
		}
		if got := try(t, client, "b", up); got != "ok" {
			t.Errorf("another lane: %s", got)
		}
		if waited := time.Since(begun); waited != 0 {
			t.Errorf("the refusal or the other lane waited %s", waited)
		}
		time.Sleep(laneWait + time.Millisecond)
		if got := busy.Load(); got != laneWaiting {
			t.Errorf("%d gave up waiting, want %d", got, laneWaiting)
		}
		close(release)
		wg.Wait()
		if done.Load() != laneRunning || most.Load() != laneRunning {
			t.Errorf("%d finished, %d at once, want %d", done.Load(), most.Load(), laneRunning)
		}
		if got := try(t, client, "a", up); got != "ok" {
			t.Errorf("afterwards: %s", got)
		}
		client.CloseIdle()
	})
}

func TestUnclosedBodyGivesItsPlaceBackAtTheDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := pipes(func(string) (int, bool) { return 200, true })
		for range laneRunning {
			resp, err := client.Do(get(t, up), Options{Lane: "a", Timeout: time.Second})
			if err != nil {
				t.Fatalf("do: %v", err)
			}
			_ = resp // leaked on purpose
		}
		if client.lanes.get("a").idle() {
			t.Fatal("places are free although no body ended")
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if !client.lanes.get("a").idle() {
			t.Fatal("places are still taken")
		}
		client.CloseIdle()
	})
}

func TestWaitingEndsWithTheCaller(t *testing.T) {
	t.Parallel()
	l := newLane()
	for range laneRunning {
		if _, err := l.enter(t.Context()); err != nil {
			t.Fatalf("enter: %v", err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.enter(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
}

func TestLaneTableIsBoundedAndKeepsBusyLanes(t *testing.T) {
	t.Parallel()
	table := newLanes(4)
	busy := table.get("busy")
	if _, err := busy.enter(t.Context()); err != nil {
		t.Fatalf("enter: %v", err)
	}
	for i := range 100 {
		table.get(fmt.Sprint(i))
		if i%2 == 0 && table.get("busy") != busy {
			t.Fatalf("lost the busy lane after %d", i)
		}
	}
	if len(table.byKey) != 4 || table.order.Len() != 4 {
		t.Fatalf("holds %d and %d lanes, want 4", len(table.byKey), table.order.Len())
	}
}
