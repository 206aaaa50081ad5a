// Package browsertest starts a real browser for tests of pages. It is for
// tests only.
package browsertest

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// Open is a Chromium of the test's own, for at most the time given. Without one
// on the machine the test is skipped on a developer's, and fails in CI.
func Open(t *testing.T, limit time.Duration) context.Context {
	t.Helper()
	program := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			program = path
			break
		}
	}
	if program == "" {
		if os.Getenv("CI") != "" {
			t.Fatal("no Chromium on this machine")
		}
		t.Skip("no Chromium on this machine (Debian: apt-get install chromium)")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(t.TempDir()), chromedp.Env("TMPDIR="+t.TempDir()),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true))
	allocator, stopAllocator := chromedp.NewExecAllocator(t.Context(), options...)
	ctx, stop := chromedp.NewContext(allocator)
	t.Cleanup(func() { stop(); stopAllocator() })
	if err := chromedp.Do(ctx, chromedp.Navigate("about:blank")); err != nil { // the first run starts the browser
		t.Fatal(err)
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	t.Cleanup(cancel)
	return limited
}

// Look is how a page is looked at.
type Look struct {
	Width  int64  // of the window, in CSS pixels
	Scheme string // light or dark
}

// Looks are those that every page is held to: a desk in daylight and a phone at
// night. Colours are the same at every width, so that each is seen once.
var Looks = []Look{{1440, "light"}, {390, "dark"}}

// Theme makes pages see a preference for dark or light.
func Theme(name string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}},
		})
		return err
	})
}
