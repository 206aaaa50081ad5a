package supabase

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/seal"
)

func TestCatalogIsAskedAsAnonWithTheTokenInTheBody(t *testing.T) {
	t.Parallel()
	p := newFakeProject(t, answer(200, nil, `{"format":"x"}`))
	raw, err := newTestClient().Catalog(t.Context(), p.project(), seal.NewSecret("the token"))
	if err != nil || string(raw) != `{"format":"x"}` {
		t.Errorf("%s, %v", raw, err)
	}
	requests, bodies := p.seen()
	r := requests[0]
	if r.Method != http.MethodPost || r.URL.String() != "/rest/v1/rpc/chumbo_catalog" || bodies[0] != `{"token":"the token"}` ||
		r.Header.Get("Apikey") != "sb_publishable_test" || r.Header.Get("Content-Profile") != "public" || r.Header["Authorization"] != nil {
		t.Errorf("asked %s %s %q %v", r.Method, r.URL, bodies[0], r.Header)
	}
	for name, values := range r.Header {
		if strings.Contains(strings.Join(values, " "), "the token") {
			t.Errorf("the token is in the header %s", name)
		}
	}
}

func TestCatalogSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	postgrest := map[string]string{"Proxy-Status": "PostgREST; error=x"}
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		kind   fault.Kind
		code   string
	}{
		"no function":        {answer(404, postgrest, `{"code":"PGRST202","message":"m","details":null,"hint":null}`), fault.NotFound, "catalog_missing"},
		"not granted":        {answer(401, postgrest, `{"code":"42501","message":"m","details":null,"hint":null}`), fault.Forbidden, "catalog_not_callable"},
		"another token":      {answer(403, postgrest, `{"code":"PT403","message":"m","details":null,"hint":null}`), fault.Forbidden, "catalog_token"},
		"slow":               {answer(500, postgrest, `{"code":"57014","message":"m","details":null,"hint":null}`), fault.Timeout, "catalog_timeout"},
		"schema not exposed": {answer(406, postgrest, `{"code":"PGRST106","message":"m","details":null,"hint":null}`), fault.NotFound, "catalog_schema"},
		"too much":           {answer(200, nil, `"`+strings.Repeat("x", maxCatalog)+`"`), fault.TooLarge, "answer_too_large"},
	} {
		_, err := newTestClient().Catalog(t.Context(), newFakeProject(t, c.answer).project(), seal.NewSecret("the-secret-token"))
		if f := fault.From(err); f.Kind != c.kind || f.Code != c.code {
			t.Errorf("%s: %v", name, err)
		}
		if strings.Contains(err.Error(), "the-secret-token") {
			t.Errorf("%s: the error holds the token", name)
		}
	}
	for name, h := range map[string]http.HandlerFunc{
		"gateway": answer(401, nil, `{"message":"Invalid API key"}`), "page": answer(200, map[string]string{"Content-Type": "text/html"}, "<h1>hi</h1>"),
		"nothing": answer(204, nil, ``),
	} {
		_, err := newTestClient().Catalog(t.Context(), newFakeProject(t, h).project(), seal.NewSecret("t"))
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("%s: %v, want the project's own answer", name, err)
		}
	}
}
