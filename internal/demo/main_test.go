package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chumbo-dev/chumbo/internal/localpg"
)

// running is the one demo that every test of this package connects to.
var running ready

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "chumbo-demo-test-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer func() { _ = os.RemoveAll(dir) }()
		ctx, stop := context.WithCancel(context.Background())
		file := filepath.Join(dir, "ready.json")
		done := make(chan error, 1)
		go func() {
			done <- Run(ctx, Options{Out: io.Discard, Log: os.Stderr, ReadyFile: file, Version: "test", Port: AnyPort})
		}()
		if err := awaitReady(file, done); err != nil {
			fmt.Fprintln(os.Stderr, "start demo:", err)
			stop()
			return 1
		}
		code := localpg.Run(m) // the tests' own services share a server
		stop()
		if err := <-done; err != nil {
			fmt.Fprintln(os.Stderr, "stop demo:", err)
			return 1
		}
		return code
	}())
}

// awaitReady waits for the ready file or for the demo's end.
func awaitReady(file string, done <-chan error) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	timeout := time.After(2 * time.Minute)
	for {
		select {
		case err := <-done:
			return fmt.Errorf("ended early: %w", err)
		case <-timeout:
			return fmt.Errorf("not ready within two minutes")
		case <-tick.C:
			b, err := os.ReadFile(file)
			if err == nil {
				return json.Unmarshal(b, &running)
			}
		}
	}
}
