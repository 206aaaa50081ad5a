package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"
)

// announced starts the program and returns its address and the line, if any,
// that says how to make the first owner.
func (i instance) announced(t *testing.T, environ []string) (base, line string) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	logs, log := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, nil, environ, io.Discard, log) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("server ended with %v", err)
		}
		_ = log.Close()
	})
	type seen struct{ base, line string }
	serving := make(chan seen, 1)
	go func() {
		var s seen
		for lines := bufio.NewScanner(logs); lines.Scan(); {
			text := lines.Text()
			var entry struct{ Msg, Listen string }
			switch {
			case strings.HasPrefix(text, "Nobody owns"):
				s.line = text
			case json.Unmarshal([]byte(text), &entry) == nil && entry.Msg == "serving":
				s.base = "http://" + entry.Listen
				serving <- s
			}
		}
	}()
	select {
	case s := <-serving:
		return s.base, s.line
	case <-time.After(30 * time.Second):
		t.Fatal("the server does not listen")
	}
	return "", ""
}

// TestServerSaysHowTheFirstOwnerIsMade, until there is one. The code it prints
// opens the setup page, once.
func TestServerSaysHowTheFirstOwnerIsMade(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	if _, err := i.command(t, i.environ, "migrate"); err != nil {
		t.Fatal(err)
	}
	_, own := i.announced(t, i.with("CHUMBO_SETUP_CODE", "plumb-line-1"))
	if own != "Nobody owns this server yet. Open https://"+publicHost+"/app/setup and enter the setup code that CHUMBO_SETUP_CODE holds" {
		t.Errorf("with a code of the operator's own: %q", own)
	}
	base, line := i.announced(t, i.environ)
	match := regexp.MustCompile(`^Nobody owns this server yet\. Open https://mcp\.example\.test/app/setup and enter the setup code ([A-Z2-7]{6}(?:-[A-Z2-7]{6}){3})$`).FindStringSubmatch(line)
	if match == nil {
		t.Fatalf("it says %q", line)
	}
	form := url.Values{"code": {match[1]}, "email": {"alice@example.test"}, "password": {"a heavy lead weight"}, "organization": {"Acme"}}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/app/setup", strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	req.Host = publicHost
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusSeeOther || res.Header.Get("Location") != "/app/register" {
		t.Fatalf("the code printed: %d %v", res.StatusCode, res.Header)
	}
	if _, line := i.announced(t, i.environ); line != "" {
		t.Errorf("once there is an owner it still says %q", line)
	}
}
