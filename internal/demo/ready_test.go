package demo

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReadyFileThatCannotBeWrittenIsSaidBeforeAnythingStarts: not after the
// demo has started and been announced.
func TestReadyFileThatCannotBeWrittenIsSaidBeforeAnythingStarts(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "full")
	if err := os.MkdirAll(filepath.Join(folder, "inside"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(t.TempDir(), "missing", "ready.json"), folder} {
		var out bytes.Buffer
		err := Run(t.Context(), Options{Out: &out, Log: &out, ReadyFile: path, Version: "test", Port: AnyPort})
		if err == nil || !strings.Contains(err.Error(), "ready file") || out.Len() != 0 {
			t.Errorf("%s: %v after %q", path, err, out.String())
		}
	}
}

func TestReadyFileOfADemoLongGoneIsNotTakenForOurs(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ready.json")
	if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := clearReadyFile(path); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("still there: %v", err)
	}
}
