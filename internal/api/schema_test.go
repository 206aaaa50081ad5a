package api_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/api/apitest"
	"github.com/chumbo-dev/chumbo/internal/standin"
)

func TestSchemaIsImportedByTheCatalogFunction(t *testing.T) {
	t.Parallel()
	w := apitest.New(t, apitest.Options{})
	tokens := watchTokens(w.Project)
	must(t, w, w.Alice, "POST", "/projects", registration(w, "acme"))
	if status, answer := send(t, w, w.Alice, "POST", "/projects/acme/schema/import", nil); status != 409 || answer["code"] != "no_catalog" {
		t.Errorf("an import before the function was made: %d %v", status, answer)
	}
	made := must(t, w, w.Alice, "POST", "/projects/acme/schema/catalog", map[string][]string{"relations": {"public.customers"}})
	if status, answer := send(t, w, w.Alice, "POST", "/projects/acme/schema/import", nil); status != 422 {
		t.Errorf("an import before the SQL was run: %d %v", status, answer)
	}
	w.Run(t, made["sql"].(string))
	imported := must(t, w, w.Alice, "POST", "/projects/acme/schema/import", map[string]string{})
	if imported["source"] != "catalog" || imported["relations"] != 1.0 || imported["snapshot"] != nil {
		t.Errorf("imported %v", imported)
	}

	// Another function, and the one in the database is of no use any more.
	again := must(t, w, w.Alice, "POST", "/projects/acme/schema/catalog", map[string][]string{"relations": {"public.customers", "public.notes"}})
	if status, answer := send(t, w, w.Alice, "POST", "/projects/acme/schema/import", nil); status != 422 {
		t.Errorf("an import by the earlier function: %d %v", status, answer)
	}
	w.Run(t, again["sql"].(string))
	if imported := must(t, w, w.Alice, "POST", "/projects/acme/schema/import", nil); imported["relations"] != 2.0 {
		t.Errorf("imported %v", imported)
	}
	tokens.mu.Lock()
	defer tokens.mu.Unlock()
	if len(tokens.seen) < 2 {
		t.Fatalf("the project was asked with %d tokens", len(tokens.seen))
	}
	for token := range tokens.seen {
		if strings.Contains(made["sql"].(string)+again["sql"].(string), token) {
			t.Error("the SQL holds the token")
		}
		keptNowhere(t, w, token)
	}
}

// seenTokens are the tokens that a project's chumbo_catalog was asked with.
type seenTokens struct {
	mu   sync.Mutex
	seen map[string]bool
}

func watchTokens(p *standin.Project) *seenTokens {
	s := &seenTokens{seen: map[string]bool{}}
	p.Intercept(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/rpc/chumbo_catalog") {
				s.note(r)
			}
			next.ServeHTTP(w, r)
		})
	})
	return s
}

func (s *seenTokens) note(r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	var in struct {
		Token string `json:"token"`
	}
	if json.Unmarshal(body, &in) != nil || in.Token == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen[in.Token] = true
}

func TestCatalogOfNothingIsRefused(t *testing.T) {
	t.Parallel()
	w := published(t, apitest.Options{})
	for _, relations := range [][]string{nil, {}, {""}, {"public.customers", " "}, {"public.a\x00b"}, {strings.Repeat("x", 201)}, make([]string, 501)} {
		status, answer := send(t, w, w.Alice, "POST", "/projects/acme/schema/catalog", map[string][]string{"relations": relations})
		if status != 400 {
			t.Errorf("%.40v answered %d %v", relations, status, answer)
		}
	}
	if n := count(t, w, "select count(*) from projects where catalog_token is not null"); n != 0 {
		t.Error("a refused list made a token")
	}
}

func TestSchemaSaysWhatCanBeOfferedAndStarts(t *testing.T) {
	t.Parallel()
	w := published(t, apitest.Options{})
	schema := must(t, w, w.Vera, "GET", "/projects/acme/schema?summary=true&offerable=true", nil)
	offerable, _ := schema["offerable"].([]any)
	if len(offerable) == 0 || schema["snapshot"] != nil {
		t.Fatalf("schema %v", schema)
	}
	var names []string
	for _, name := range offerable {
		names = append(names, name.(string))
	}
	begun := must(t, w, w.Vera, "GET", "/projects/acme/schema/starter?tables="+strings.Join(names, ",")+"&title=Acme%20desk", nil)
	file := begun["file"].(string)
	if !strings.Contains(file, "Acme desk") {
		t.Errorf("file %s", file)
	}
	if checked := must(t, w, w.Vera, "POST", "/projects/acme/surfaces/desk/plan", map[string]string{"file": file}); checked["accepted"] != true {
		t.Errorf("plan of the starter %v", checked["problems"])
	}
	if untitled := must(t, w, w.Vera, "GET", "/projects/acme/schema/starter?tables="+names[0], nil); !strings.Contains(untitled["file"].(string), "Acme") {
		t.Errorf("file %v", untitled)
	}
	for _, query := range []string{"", "?tables=", "?tables=,", "?tables=nope", "?tables=customers&title=%00", "?tables=auth.users", "?tables=%ff"} {
		if status, answer := send(t, w, w.Vera, "GET", "/projects/acme/schema/starter"+query, nil); status != 400 {
			t.Errorf("%s answered %d %v", query, status, answer)
		}
	}
	if status, answer := send(t, w, w.Vera, "GET", "/projects/acme/schema?offerable=maybe", nil); status != 400 {
		t.Errorf("%d %v", status, answer)
	}
}

func TestPostureFindsATableWithoutRowLevelSecurity(t *testing.T) {
	t.Parallel()
	w := published(t, apitest.Options{})
	w.Run(t, "alter table customers disable row level security")
	must(t, w, w.Alice, "PUT", "/projects/acme/schema?source=postgres", w.Snapshot(t))
	findings := must(t, w, w.Vera, "GET", "/projects/acme/posture", nil)["findings"].([]any)
	found := false
	for _, f := range findings {
		f := f.(map[string]any)
		found = found || f["kind"] == "table_without_rls" && f["object"] == "public.customers" && f["severity"] == "serious" && f["used"] == true && f["sql"] != ""
	}
	if !found {
		t.Errorf("findings %v", findings)
	}
}
