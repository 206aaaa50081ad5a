package supabase

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chumbo-dev/chumbo/internal/egress"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/seal"
)

const testRef = "abcdefghijklmnopqrst"

func managementAt(url string) *Management {
	return NewManagementAt(egress.New(egress.Policy{AllowHTTP: true, AllowLoopback: true, AllowAnyPort: true}), url)
}

func TestManagementQueryIsOneReadOnlyRequest(t *testing.T) {
	t.Parallel()
	p := newFakeProject(t, answer(201, nil, `[{"chumbo":1}]`))
	rows, err := managementAt(p.URL).Query(t.Context(), testRef, seal.NewSecret("sbp_alice"), "select 1 as chumbo")
	if err != nil || string(rows) != `[{"chumbo":1}]` {
		t.Fatalf("%s, %v", rows, err)
	}
	requests, bodies := p.seen()
	if len(requests) != 1 {
		t.Fatalf("%d requests", len(requests))
	}
	r := requests[0]
	if r.Method != http.MethodPost || r.URL.String() != "/v1/projects/"+testRef+"/database/query" || r.Header.Get("Authorization") != "Bearer sbp_alice" {
		t.Errorf("sent %s %s", r.Method, r.URL)
	}
	var body map[string]any
	if json.Unmarshal([]byte(bodies[0]), &body) != nil || len(body) != 2 || body["query"] != "select 1 as chumbo" || body["read_only"] != true {
		t.Errorf("body %s", bodies[0])
	}
}

func TestConfigureOAuthChangesAllThreeSettingsAtOnce(t *testing.T) {
	t.Parallel()
	p := newFakeProject(t, answer(200, nil, `{}`))
	if err := managementAt(p.URL).ConfigureOAuth(t.Context(), testRef, seal.NewSecret("sbp_alice"), "/oauth/consent"); err != nil {
		t.Fatal(err)
	}
	requests, bodies := p.seen()
	want := `{"oauth_server_allow_dynamic_registration":true,"oauth_server_authorization_path":"/oauth/consent","oauth_server_enabled":true}`
	if len(requests) != 1 || requests[0].Method != http.MethodPatch || requests[0].URL.Path != "/v1/projects/"+testRef+"/config/auth" || bodies[0] != want {
		t.Errorf("%d requests, body %s", len(requests), bodies)
	}
	for _, path := range []string{"", "oauth/consent", "//evil.example.test", "https://evil.example.test"} {
		if err := managementAt(p.URL).ConfigureOAuth(t.Context(), testRef, seal.NewSecret("sbp_alice"), path); !fault.Is(err, fault.Invalid) {
			t.Errorf("%q: %v", path, err)
		}
	}
	if requests, _ := p.seen(); len(requests) != 1 {
		t.Error("a path that is none was sent")
	}
}

func TestManagementSaysWhatAnAnswerMeans(t *testing.T) {
	t.Parallel()
	const token = "sbp_0123456789abcdef"
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		kind   fault.Kind
		code   string
		retry  time.Duration
	}{
		"token refused":     {answer(401, nil, `{"message":"Unauthorized `+token+`"}`), fault.Forbidden, "management_token_refused", 0},
		"no right":          {answer(403, nil, `{"message":"`+token+`"}`), fault.Forbidden, "management_no_access", 0},
		"no project":        {answer(404, nil, `{}`), fault.NotFound, "management_no_project", 0},
		"throttled":         {answer(429, map[string]string{"Retry-After": "17"}, `{}`), fault.RateLimited, "management_rate_limited", 17 * time.Second},
		"throttled, mutely": {answer(429, nil, `{}`), fault.RateLimited, "management_rate_limited", time.Minute},
		"a query refused":   {answer(400, nil, `{"message":"Failed to run sql query: `+token+`"}`), fault.Unprocessable, "management_not_understood", 0},
		"away":              {answer(500, nil, `oops`), fault.Unavailable, "management_unavailable", 0},
		"a page":            {answer(200, map[string]string{"Content-Type": "text/html"}, `<h1>`+token+`</h1>`), fault.Unprocessable, "management_not_understood", 0},
		"no list":           {answer(201, nil, `{"chumbo":1}`), fault.Unprocessable, "management_not_understood", 0},
		"another row":       {answer(201, nil, `[{"chumbo":2}]`), fault.Unprocessable, "management_not_understood", 0},
		"no row":            {answer(201, nil, `[]`), fault.Unprocessable, "management_not_understood", 0},
	} {
		err := managementAt(newFakeProject(t, c.answer).URL).ProveManagement(t.Context(), testRef, seal.NewSecret(token))
		if f := fault.From(err); f.Kind != c.kind || f.Code != c.code || f.RetryAfter != c.retry {
			t.Errorf("%s: %v, retry after %s", name, err, f.RetryAfter)
		}
		if strings.Contains(fmt.Sprintf("%+v %s", err, fault.From(err).Message), token) {
			t.Errorf("%s: the error holds the token", name)
		}
	}
	if err := managementAt(newFakeProject(t, answer(201, nil, `[{"chumbo":1}]`)).URL).ProveManagement(t.Context(), testRef, seal.NewSecret(token)); err != nil {
		t.Error(err)
	}
}

func TestManagementTokenGoesNowhereElse(t *testing.T) {
	t.Parallel()
	other := newFakeProject(t, answer(201, nil, `[{"chumbo":1}]`))
	p := newFakeProject(t, answer(307, map[string]string{"Location": other.URL + "/v1/projects/" + testRef + "/database/query"}, ``))
	if err := managementAt(p.URL).ProveManagement(t.Context(), testRef, seal.NewSecret("sbp_alice")); err == nil {
		t.Error("a redirect proved something")
	}
	if requests, _ := other.seen(); len(requests) != 0 {
		t.Error("the redirect was followed")
	}
	for _, ref := range []string{"", "abc", testRef + "x", "../../../../evil.example.test/", "abcdefghijklmnopqrsT", "abcdefghijklmnopqrs/", "abcdefghijklmnopqrst\n"} {
		if err := managementAt(p.URL).ProveManagement(t.Context(), ref, seal.NewSecret("sbp_alice")); !fault.Is(err, fault.Invalid) {
			t.Errorf("reference %q: %v", ref, err)
		}
	}
	for _, token := range []string{"", "two words", "line\r\nX-Evil: 1", "ümlaut", strings.Repeat("x", 5000)} {
		err := managementAt(p.URL).ProveManagement(t.Context(), testRef, seal.NewSecret(token))
		if !fault.Is(err, fault.Forbidden) || (token != "" && strings.Contains(err.Error(), token)) {
			t.Errorf("token %q: %v", token, err)
		}
	}
	if requests, _ := p.seen(); len(requests) != 1 {
		t.Errorf("%d requests, want the first one only", len(requests))
	}
}

// askedWhere fails every request and remembers where it would have gone.
type askedWhere struct{ urls []string }

func (a *askedWhere) Do(req *http.Request, _ egress.Options) (*http.Response, error) {
	a.urls = append(a.urls, req.URL.Scheme+"://"+req.URL.Host)
	return nil, errors.New("away")
}

func TestManagementReachesOneOriginOnly(t *testing.T) {
	t.Parallel()
	m := NewManagement(egress.New(egress.Policy{}))
	asked := &askedWhere{}
	m.out = asked
	_, _ = m.Query(context.Background(), testRef, seal.NewSecret("sbp_alice"), "select 1")
	_ = m.ProveManagement(context.Background(), testRef, seal.NewSecret("sbp_alice"))
	_ = m.ConfigureOAuth(context.Background(), testRef, seal.NewSecret("sbp_alice"), "/oauth/consent")
	if len(asked.urls) != 3 {
		t.Fatalf("%d requests", len(asked.urls))
	}
	for _, url := range asked.urls {
		if url != "https://api.supabase.com" {
			t.Errorf("asked %s", url)
		}
	}
}
