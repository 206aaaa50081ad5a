package standin

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/localpg"
)

func TestMain(m *testing.M) { localpg.TestMain(m) }

// startCRM starts a project with CRM in it, on the binary's shared server.
func startCRM(t testing.TB, change func(*Options)) *Project {
	t.Helper()
	o := Options{Postgres: localpg.Shared(t), Schema: CRM, Users: CRMUsers()}
	if change != nil {
		change(&o)
	}
	p, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// client sends Data API requests as somebody.
type client struct {
	t      testing.TB
	p      *Project
	bearer string // empty: no Authorization
}

// as is a client with a token as Auth issues it; an empty email is anon.
func as(t testing.TB, p *Project, email string) client {
	t.Helper()
	if email == "" {
		return client{t: t, p: p}
	}
	token, err := p.AccessToken(email, TokenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return client{t: t, p: p, bearer: token}
}

// reply is what came back.
type reply struct {
	status int
	header http.Header
	body   string
}

func (r reply) code() string {
	var e struct{ Code string }
	_ = json.Unmarshal([]byte(r.body), &e)
	return e.Code
}

// do sends method and path below /rest/v1/; headers are name, value pairs.
func (c client) do(method, path, body string, headers ...string) reply {
	c.t.Helper()
	var reader io.Reader = http.NoBody
	if body != "" {
		reader = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(c.t.Context(), method, c.p.URL()+"/rest/v1/"+path, reader)
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Apikey", c.p.PublishableKey())
	if c.bearer != "" {
		req.Header.Set("Authorization", "Bearer "+c.bearer)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	return send(c.t, req)
}

func send(t testing.TB, req *http.Request) reply {
	t.Helper()
	res, err := new(http.Client).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{status: res.StatusCode, header: res.Header, body: string(body)}
}

func (c client) get(path string, headers ...string) reply {
	c.t.Helper()
	return c.do(http.MethodGet, path, "", headers...)
}

// compact drops the white space that PostgreSQL puts into JSON.
func compact(t testing.TB, body string) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(body)); err != nil {
		t.Fatalf("not JSON: %q", body)
	}
	return b.String()
}
