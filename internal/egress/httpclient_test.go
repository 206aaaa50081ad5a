package egress

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/seal"
)

func TestHTTPClientKeepsEveryRule(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	address, client := setup(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, "/", http.StatusFound)
		case "/large":
			_, _ = io.WriteString(w, strings.Repeat("x", 100))
		default:
			_, _ = io.WriteString(w, r.Header.Get("User-Agent"))
		}
	})
	lib := client.HTTPClient(Options{MaxBytes: 50})
	res, err := lib.Do(get(t, address))
	if err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(res.Body); err != nil || string(b) != "chumbo" {
		t.Errorf("answered %q %v", b, err)
	}
	_ = res.Body.Close()
	if _, err := lib.Do(get(t, address+"/away")); fault.From(err).Code != "upstream_redirects" {
		t.Errorf("a redirect is %v", err)
	}
	if n := asked.Load(); n != 2 {
		t.Errorf("asked %d times: the redirect was followed", n)
	}
	if res, err = lib.Do(get(t, address+"/large")); err == nil {
		_, err = io.ReadAll(res.Body)
		_ = res.Body.Close()
	}
	if fault.From(err).Code != "upstream_too_large" {
		t.Errorf("a large answer is %v", err)
	}
	strict := New(Policy{}).HTTPClient(Options{})
	if _, err := strict.Do(get(t, address)); fault.From(err).Code != "address_refused" {
		t.Errorf("loopback is %v", err)
	}
}

func TestFormIsPostedAsAClient(t *testing.T) {
	t.Parallel()
	address, client := setup(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/away" {
			http.Redirect(w, r, "/", http.StatusTemporaryRedirect)
			return
		}
		id, secret, ok := r.BasicAuth()
		if r.Method != http.MethodPost || !ok || id != "a%3Ab" || secret != "s+%25%3A" || r.FormValue("token") != "t&u=v" || r.URL.RawQuery != "" {
			w.WriteHeader(http.StatusTeapot)
		}
		_, _ = io.WriteString(w, "{}")
	})
	as := Credential{ID: "a:b", Secret: seal.NewSecret("s %:")}
	answer, err := client.PostForm(context.Background(), address, url.Values{"token": {"t&u=v"}}, as, Options{})
	if err != nil || answer.Status != http.StatusOK || string(answer.Body) != "{}" {
		t.Errorf("answered %d %q %v", answer.Status, answer.Body, err)
	}
	if _, err := client.PostForm(context.Background(), address+"/away", url.Values{}, as, Options{}); fault.From(err).Code != "upstream_redirects" {
		t.Errorf("a redirect is %v", err)
	}
}
