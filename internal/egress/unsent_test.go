package egress

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"testing"
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
	if Unsent(nil) || Unsent(errors.New("anything")) || Unsent(errDeadline) {
		t.Error("what nobody can tell counts as unsent")
	}
}
