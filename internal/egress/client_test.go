package egress

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chumbo-dev/chumbo/internal/fault"
)

var local = Policy{AllowHTTP: true, AllowLoopback: true, AllowAnyPort: true}

// setup serves handler on loopback and returns its URL and a client that may
// reach it.
func setup(t *testing.T, handler http.HandlerFunc) (string, *Client) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	client := New(local)
	t.Cleanup(client.CloseIdle)
	return server.URL, client
}

func TestAnswerComesThroughWhole(t *testing.T) {
	t.Parallel()
	url, client := setup(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, r.Method+" "+r.URL.RawQuery+" "+r.Header.Get("Apikey"))
	})
	req := get(t, url+"/?a=b%2Cc")
	req.Header.Set("Apikey", "k")
	resp, err := client.Do(req, Options{MaxBytes: 15})
	if err != nil {
		t.Fatalf("do: %v", err)
	}
	defer func() { _ = resp.Body.Close() }()
	got, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusTeapot || string(got) != "GET a=b%2Cc k" {
		t.Fatalf("got %d %q %v", resp.StatusCode, got, err)
	}
}

func TestField83_RedirectIsAnErrorAndNotFollowed(t *testing.T) {
	t.Parallel()
	for _, status := range []int{301, 302, 303, 307, 308} {
		var followed atomic.Bool
		url, client := setup(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/private" {
				followed.Store(true)
			}
			http.Redirect(w, r, "/private", status)
		})
		_, err := client.Do(get(t, url), Options{})
		if !fault.Is(err, fault.Unavailable) || fault.From(err).Code != "upstream_redirects" {
			t.Errorf("%d: got %v, want upstream_redirects", status, err)
		}
		if followed.Load() {
			t.Errorf("%d: was followed", status)
		}
	}
}

func TestMultipleChoicesIsAnAnswer(t *testing.T) {
	t.Parallel()
	url, client := setup(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusMultipleChoices)
		_, _ = io.WriteString(w, `{"code":"PGRST203"}`)
	})
	resp, err := client.Do(get(t, url), Options{})
	if err != nil {
		t.Fatalf("do: %v", err)
	}
	_ = resp.Body.Close()
}

func TestField83_OversizeBodyEndsAtTheLimit(t *testing.T) {
	t.Parallel()
	large := bytes.Repeat([]byte("x"), 30<<10)
	bodies := map[string]http.HandlerFunc{
		"announced": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "30720")
			_, _ = w.Write(large)
		},
		"chunked": func(w http.ResponseWriter, _ *http.Request) {
			_ = http.NewResponseController(w).Flush()
			_, _ = w.Write(large)
		},
		"compressed": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			_, _ = z.Write(large)
			_ = z.Close()
		},
	}
	for name, handler := range bodies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, client := setup(t, handler)
			resp, err := client.Do(get(t, url), Options{MaxBytes: 1000})
			if err != nil {
				t.Fatalf("do: %v", err)
			}
			defer func() { _ = resp.Body.Close() }()
			got, err := io.ReadAll(resp.Body)
			if !errors.Is(err, ErrTooLarge) || !fault.Is(err, fault.Unavailable) || len(got) > 1000 {
				t.Fatalf("got %d bytes, %v; want ErrTooLarge", len(got), err)
			}
			if _, err := resp.Body.Read(make([]byte, 1)); !errors.Is(err, ErrTooLarge) {
				t.Fatalf("read after the error: %v", err)
			}
		})
	}
}

func TestBodyOfExactlyTheLimitIsAccepted(t *testing.T) {
	t.Parallel()
	url, client := setup(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "12345") })
	resp, err := client.Do(get(t, url), Options{MaxBytes: 5})
	if err != nil {
		t.Fatalf("do: %v", err)
	}
	defer func() { _ = resp.Body.Close() }()
	if got, err := io.ReadAll(resp.Body); err != nil || string(got) != "12345" {
		t.Fatalf("got %q, %v", got, err)
	}
}

func TestField83_SlowAnswerEndsAtTheDeadline(t *testing.T) {
	t.Parallel()
	stop := make(chan struct{})
	url, client := setup(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/body" {
			_, _ = io.WriteString(w, "x")
			_ = http.NewResponseController(w).Flush()
		}
		<-stop
	})
	defer close(stop)
	if _, err := client.Do(get(t, url+"/headers"), Options{Timeout: 50 * time.Millisecond}); !fault.Is(err, fault.Timeout) {
		t.Errorf("slow headers: got %v, want timeout", err)
	}
	resp, err := client.Do(get(t, url+"/body"), Options{Timeout: 100 * time.Millisecond})
	if err != nil {
		t.Fatalf("do: %v", err)
	}
	defer func() { _ = resp.Body.Close() }()
	if _, err := io.ReadAll(resp.Body); !fault.Is(err, fault.Timeout) {
		t.Errorf("slow body: got %v, want timeout", err)
	}
}

func TestCallersEndIsNotATimeoutOfTheService(t *testing.T) {
	t.Parallel()
	arrived, stop := make(chan struct{}), make(chan struct{})
	url, client := setup(t, func(http.ResponseWriter, *http.Request) { close(arrived); <-stop })
	defer close(stop)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-arrived; cancel() }()
	_, err := client.Do(get(t, url).WithContext(ctx), Options{Lane: "one"})
	if !errors.Is(err, context.Canceled) || fault.From(err).Code != "canceled" {
		t.Fatalf("got %v, want canceled", err)
	}
	if counts := client.lanes.get("one").breaker.Counts(); counts.TotalFailures != 0 {
		t.Fatalf("counted as a failure: %+v", counts)
	}
}

func TestErrorTextsAreFixed(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	address := server.URL
	server.Close() // nobody listens there now
	client := New(local)
	req := get(t, address+"/secret-path?token=secret-query")
	req.Header.Set("Authorization", "Bearer secret-token")
	_, err := client.Do(req, Options{})
	f := fault.From(err)
	if f.Kind != fault.Unavailable || f.RetryAfter <= 0 {
		t.Fatalf("got %v, want unavailable with RetryAfter", err)
	}
	if strings.Contains(f.Message, "127.0.0.1") {
		t.Errorf("public text names the address: %q", f.Message)
	}
	if strings.Contains(err.Error(), "secret") {
		t.Errorf("cause repeats the request: %q", err)
	}
}

func TestCertificatesAndTLSVersionAreChecked(t *testing.T) {
	t.Parallel()
	start := func(t *testing.T, maxVersion uint16) *httptest.Server {
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, r.Proto)
		}))
		server.Config.ErrorLog = quiet()
		server.EnableHTTP2 = maxVersion == 0
		server.TLS = &tls.Config{MaxVersion: maxVersion} //nolint:gosec // the old server under test
		server.StartTLS()
		t.Cleanup(server.Close)
		return server
	}
	trusting := func(server *httptest.Server) *Client {
		client := New(local)
		roots := x509.NewCertPool()
		roots.AddCert(server.Certificate())
		client.transport.TLSClientConfig.RootCAs = roots
		t.Cleanup(client.CloseIdle)
		return client
	}
	t.Run("unknown authority", func(t *testing.T) {
		_, err := New(local).Do(get(t, start(t, 0).URL), Options{})
		if fault.From(err).Code != "tls_failed" {
			t.Fatalf("got %v, want tls_failed", err)
		}
	})
	t.Run("TLS 1.1", func(t *testing.T) {
		server := start(t, tls.VersionTLS11)
		_, err := trusting(server).Do(get(t, server.URL), Options{})
		if !fault.Is(err, fault.Unavailable) {
			t.Fatalf("got %v, want unavailable", err)
		}
	})
	t.Run("current, over HTTP/2", func(t *testing.T) {
		server := start(t, 0)
		resp, err := trusting(server).Do(get(t, server.URL), Options{})
		if err != nil {
			t.Fatalf("do: %v", err)
		}
		defer func() { _ = resp.Body.Close() }()
		if resp.ProtoMajor != 2 {
			t.Fatalf("got %s", resp.Proto)
		}
	})
}

func TestProxyEnvironmentIsIgnored(t *testing.T) {
	t.Parallel()
	if New(Policy{}).transport.Proxy != nil {
		t.Fatal("a proxy function is set")
	}
}
