package supabase

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/seal"
)

func TestOwnershipTokenIsAskedAsAnon(t *testing.T) {
	t.Parallel()
	p := newFakeProject(t, answer(200, nil, `"the token"`))
	token, err := newTestClient().OwnershipToken(t.Context(), p.project())
	if err != nil || token != "the token" {
		t.Errorf("%q, %v", token, err)
	}
	requests, bodies := p.seen()
	r := requests[0]
	if r.Method != http.MethodPost || r.URL.Path != "/rest/v1/rpc/chumbo_ownership" || bodies[0] != "{}" ||
		r.Header.Get("Apikey") != "sb_publishable_test" || r.Header.Get("Content-Profile") != "public" || r.Header["Authorization"] != nil {
		t.Errorf("asked %s %s %q %v", r.Method, r.URL, bodies[0], r.Header)
	}
}

func TestOwnershipTokenSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	postgrest := map[string]string{"Proxy-Status": "PostgREST; error=x"}
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		kind   fault.Kind
		code   string
	}{
		"no function":        {answer(404, postgrest, `{"code":"PGRST202","message":"m","details":null,"hint":null}`), fault.NotFound, "ownership_missing"},
		"not granted":        {answer(401, postgrest, `{"code":"42501","message":"m","details":null,"hint":null}`), fault.Forbidden, "ownership_not_callable"},
		"schema not exposed": {answer(406, postgrest, `{"code":"PGRST106","message":"m","details":null,"hint":null}`), fault.NotFound, "ownership_schema"},
		"an object":          {answer(200, nil, `{"token":"x"}`), fault.Unprocessable, "ownership_no_text"},
		"void":               {answer(204, nil, ``), fault.Unprocessable, "ownership_no_text"},
	} {
		_, err := newTestClient().OwnershipToken(t.Context(), newFakeProject(t, c.answer).project())
		if f := fault.From(err); f.Kind != c.kind || f.Code != c.code {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, h := range map[string]http.HandlerFunc{
		"gateway": answer(401, nil, `{"message":"Invalid API key"}`), "page": answer(404, map[string]string{"Content-Type": "text/html"}, "<h1>404</h1>"),
		"starting": answer(503, postgrest, `{"code":"PGRST002","message":"m","details":null,"hint":null}`),
	} {
		_, err := newTestClient().OwnershipToken(t.Context(), newFakeProject(t, h).project())
		var e *Error
		var f *fault.Error
		if !errors.As(err, &e) || errors.As(err, &f) {
			t.Errorf("%s: %v, want the project's own answer", name, err)
		}
	}
	if token, err := newTestClient().OwnershipToken(t.Context(), newFakeProject(t, answer(200, nil, `null`)).project()); token != "" || err != nil {
		t.Errorf("null: %q, %v", token, err)
	}
}

func TestSecretKeyProvesOnlyByTheAnswerThatNeedsIt(t *testing.T) {
	t.Parallel()
	const key = "sb_secret_0123456789abcdef"
	const notFound = `{"code":404,"error_code":"user_not_found","msg":"User not found"}`
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		kind   fault.Kind // Internal (the zero value): proven
	}{
		"told that nobody has that id": {answer(404, nil, notFound), fault.Internal},
		"gateway refuses":              {answer(401, nil, `{"message":"Invalid API key"}`), fault.Forbidden},
		"no admin":                     {answer(403, nil, `{"code":403,"error_code":"not_admin","msg":"User not allowed"}`), fault.Forbidden},
		"refused with the right words": {answer(401, nil, notFound), fault.Forbidden},
		"another 404":                  {answer(404, nil, `{"code":404,"error_code":"validation_failed","msg":"m"}`), fault.Unprocessable},
		"a page that is not there":     {answer(404, map[string]string{"Content-Type": "text/html"}, "user_not_found"), fault.Unprocessable},
		"a user":                       {answer(200, nil, `{"id":"00000000-0000-0000-0000-000000000000"}`), fault.Unprocessable},
		"everything is fine":           {answer(200, nil, notFound), fault.Unprocessable},
		"elsewhere":                    {answer(302, map[string]string{"Location": "https://evil.example.test/"}, ``), fault.Unavailable},
		"down":                         {answer(500, nil, notFound), fault.Unavailable},
		"too often":                    {answer(429, nil, `{}`), fault.Unavailable},
	} {
		p := newFakeProject(t, c.answer)
		err := newTestClient().ProveSecretKey(t.Context(), p.project(), seal.NewSecret(key))
		switch {
		case c.kind == fault.Internal:
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		case !fault.Is(err, c.kind) || strings.Contains(err.Error(), key):
			t.Errorf("%s: %v", name, err)
		}
		requests, _ := p.seen()
		if len(requests) != 1 {
			t.Errorf("%s: %d requests", name, len(requests))
		}
	}
}

func TestSecretKeyGoesInItsHeaderOnly(t *testing.T) {
	t.Parallel()
	for key, bearer := range map[string]string{"sb_secret_0123456789abcdef": "", "eyJhbGciOiJIUzI1NiJ9.e30.x": "Bearer eyJhbGciOiJIUzI1NiJ9.e30.x"} {
		p := newFakeProject(t, answer(404, nil, `{"error_code":"user_not_found"}`))
		if err := newTestClient().ProveSecretKey(t.Context(), p.project(), seal.NewSecret(key)); err != nil {
			t.Error(err)
		}
		requests, bodies := p.seen()
		r := requests[0]
		if r.Method != http.MethodGet || r.URL.String() != "/auth/v1/admin/users/00000000-0000-0000-0000-000000000000" || bodies[0] != "" ||
			r.Header.Get("Apikey") != key || r.Header.Get("Authorization") != bearer || !strings.HasPrefix(r.Header.Get("User-Agent"), "chumbo/") {
			t.Errorf("sent %s %s %v", r.Method, r.URL, r.Header)
		}
	}
	p := newFakeProject(t, answer(404, nil, `{"error_code":"user_not_found"}`))
	for _, key := range []string{"", p.project().PublishableKey} {
		if err := newTestClient().ProveSecretKey(t.Context(), p.project(), seal.NewSecret(key)); !fault.Is(err, fault.Forbidden) {
			t.Errorf("%q: %v", key, err)
		}
	}
	if requests, _ := p.seen(); len(requests) != 0 {
		t.Error("the publishable key was tried as a secret one")
	}
}
