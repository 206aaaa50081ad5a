package api_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/api/apitest"
)

// route is one route with input that would work for whom it belongs to.
type route struct {
	method, path string
	body         any
	write        bool
}

// acmeRoutes are all routes on objects of project acme.
func acmeRoutes(t *testing.T, w *apitest.World) []route {
	t.Helper()
	file := map[string]string{"file": surfaceFile}
	return []route{
		{"GET", "/projects/acme", nil, false},
		{"POST", "/projects/acme/probe", nil, true},
		{"GET", "/projects/acme/schema", nil, false},
		{"GET", "/projects/acme/schema?summary=true", nil, false},
		{"PUT", "/projects/acme/schema", w.Snapshot(t), true},
		{"GET", "/projects/acme/surfaces", nil, false},
		{"GET", "/projects/acme/surfaces/main/file", nil, false},
		{"PUT", "/projects/acme/surfaces/main/file", file, true},
		{"PUT", "/projects/acme/surfaces/main/file?dry_run=true", file, false},
		{"PUT", "/projects/acme/surfaces/new/file", file, true},
		{"POST", "/projects/acme/surfaces/main/publish", nil, true},
		{"POST", "/projects/acme/surfaces/main/publish", file, true},
		{"POST", "/projects/acme/surfaces/new/publish", file, true},
		{"GET", "/projects/acme/surfaces/main/revisions", nil, false},
		{"POST", "/projects/acme/surfaces/main/rollback", map[string]int{"revision": 1}, true},
		{"PUT", "/projects/acme/surfaces/main/state", map[string]string{"state": "paused"}, true},
	}
}

// state is everything Alice can see of project acme.
func state(t *testing.T, w *apitest.World) string {
	t.Helper()
	var all []any
	for _, path := range []string{
		"/projects", "/projects/acme", "/projects/acme/schema", "/projects/acme/surfaces",
		"/projects/acme/surfaces/main/file", "/projects/acme/surfaces/main/revisions",
	} {
		all = append(all, must(t, w, w.Alice, "GET", path, nil))
	}
	b, err := json.MarshalIndent(all, "", " ")
	if err != nil {
		t.Fatalf("marshal state: %v", err)
	}
	return string(b)
}

func TestBobGetsNotFoundOnEverythingOfAliceAndChangesNothing(t *testing.T) {
	t.Parallel()
	w := published(t, apitest.Options{})
	before := state(t, w)
	for _, r := range acmeRoutes(t, w) {
		t.Run(r.method+" "+r.path, func(t *testing.T) {
			status, answer := send(t, w, w.Bob, r.method, r.path, r.body)
			if status != 404 {
				t.Errorf("answered %d %v", status, answer)
			}
			// An object that nobody has must not be told apart.
			_, nobodys := send(t, w, w.Bob, r.method, strings.Replace(r.path, "/acme", "/nobody", 1), r.body)
			answer["trace_id"], nobodys["trace_id"] = nil, nil
			a, _ := json.Marshal(answer)
			n, _ := json.Marshal(nobodys)
			if strings.ReplaceAll(string(a), "acme", "nobody") != string(n) {
				t.Errorf("acme answered %s, a project that is not there %s", a, n)
			}
		})
	}
	for _, path := range []string{"/projects"} {
		if list := must(t, w, w.Bob, "GET", path, nil)["projects"].([]any); len(list) != 0 {
			t.Errorf("Bob lists %v", list)
		}
	}
	if after := state(t, w); after != before {
		t.Errorf("Alice saw\n%s\nand sees\n%s", before, after)
	}
}

func TestAliceAndBobAtOnceSeeOnlyTheirOwn(t *testing.T) {
	t.Parallel()
	w := published(t, apitest.Options{})
	must(t, w, w.Bob, "POST", "/projects", registration(w, "globex"))
	must(t, w, w.Bob, "PUT", "/projects/globex/schema", w.Snapshot(t))

	var wg sync.WaitGroup
	for token, mine := range map[string]string{w.Alice: "acme", w.Bob: "globex"} {
		for range 4 {
			wg.Go(func() {
				for range 10 {
					must(t, w, token, "POST", "/projects/"+mine+"/surfaces/main/publish", map[string]string{"file": surfaceFile})
					list := must(t, w, token, "GET", "/projects", nil)["projects"].([]any)
					if len(list) != 1 || list[0].(map[string]any)["slug"] != mine {
						t.Errorf("%s lists %v", mine, list)
					}
				}
			})
		}
	}
	wg.Wait()
	for token, mine := range map[string]string{w.Alice: "acme", w.Bob: "globex"} {
		if revisions := must(t, w, token, "GET", "/projects/"+mine+"/surfaces/main/revisions", nil)["revisions"].([]any); len(revisions) != 1 {
			t.Errorf("%s has revisions %v", mine, revisions)
		}
	}
}

func TestViewerReadsAndChangesNothing(t *testing.T) {
	t.Parallel()
	w := published(t, apitest.Options{})
	before := state(t, w)
	for _, r := range append(acmeRoutes(t, w), route{"POST", "/projects", registration(w, "second"), true}) {
		status, answer := send(t, w, w.Vera, r.method, r.path, r.body)
		if r.write && (status != 403 || answer["code"] != "viewer") {
			t.Errorf("%s %s answered a viewer %d %v", r.method, r.path, status, answer)
		}
		if !r.write && status != 200 {
			t.Errorf("%s %s answered a viewer %d %v", r.method, r.path, status, answer)
		}
	}
	if after := state(t, w); after != before {
		t.Errorf("state was\n%s\nand is\n%s", before, after)
	}
}

func TestEveryRouteNeedsAToken(t *testing.T) {
	t.Parallel()
	w := published(t, apitest.Options{})
	before := state(t, w)
	routes := append(acmeRoutes(t, w),
		route{"GET", "/me", nil, false}, route{"GET", "/projects", nil, false}, route{"POST", "/projects", registration(w, "second"), true})
	for _, r := range routes {
		for name, token := range map[string]string{"none": "", "unknown": "cht_" + strings.Repeat("x", 42) + "A", "other": "chk_" + strings.Repeat("x", 42) + "A"} {
			status, header, body := w.Do(t, token, r.method, "/api/v1"+r.path, "application/json", "{}")
			if status != 401 || header.Get("Content-Type") != "application/problem+json" || !strings.HasPrefix(header.Get("WWW-Authenticate"), "Bearer") {
				t.Errorf("%s %s with token %s answered %d %v %s", r.method, r.path, name, status, header, body)
			}
		}
	}
	if after := state(t, w); after != before {
		t.Errorf("state was\n%s\nand is\n%s", before, after)
	}
}
