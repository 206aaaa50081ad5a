package api_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/api/apitest"
)

// state is everything Alice can see of project acme.
func state(t *testing.T, w *apitest.World) string {
	t.Helper()
	var all []any
	for _, path := range []string{
		"/projects", "/projects/acme", "/projects/acme/schema", "/projects/acme/surfaces",
		"/projects/acme/surfaces/main/file", "/projects/acme/surfaces/main/revisions", "/projects/acme/ownership", "/notices",
		"/projects/acme/surfaces/main/grants", "/projects/acme/sign-in", "/projects/acme/surfaces/main/keys", "/projects/acme/clients",
		"/projects/acme/surfaces/main/introspection",
	} {
		all = append(all, must(t, w, w.Alice, "GET", path, nil))
	}
	return asJSON(t, all)
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
			body, err := json.Marshal(r.body)
			if err != nil {
				t.Fatal(err)
			}
			_, nobodys := send(t, w, w.Bob, r.method, strings.Replace(r.path, "/acme", "/nobody", 1), strings.ReplaceAll(string(body), `"acme"`, `"nobody"`))
			answer["trace_id"], nobodys["trace_id"] = nil, nil
			a, _ := json.Marshal(answer)
			n, _ := json.Marshal(nobodys)
			if strings.ReplaceAll(string(a), "acme", "nobody") != string(n) {
				t.Errorf("acme answered %s, a project that is not there %s", a, n)
			}
		})
	}
	if list := must(t, w, w.Bob, "GET", "/projects", nil)["projects"].([]any); len(list) != 0 {
		t.Errorf("Bob lists %v", list)
	}
	if after := state(t, w); after != before {
		t.Errorf("Alice saw\n%s\nand sees\n%s", before, after)
	}
}

func TestBobSeesAndEndsNothingOfTheOrganizationOfAlice(t *testing.T) {
	t.Parallel()
	w := published(t, apitest.Options{})
	notice := noticeOf(t, w, w.Alice)
	before := must(t, w, w.Alice, "GET", "/tokens", nil)
	if list := must(t, w, w.Bob, "GET", "/tokens", nil)["tokens"].([]any); len(list) != 1 || list[0].(map[string]any)["builder"].(map[string]any)["email"] != "bob@example.test" {
		t.Errorf("Bob lists tokens %v", list)
	}
	if list := must(t, w, w.Bob, "GET", "/notices", nil)["notices"].([]any); len(list) != 0 {
		t.Errorf("Bob lists notices %v", list)
	}
	for _, path := range []string{"/tokens/" + tokenID(t, w, w.Alice), "/tokens/" + tokenID(t, w, w.Vera)} {
		if status, answer := send(t, w, w.Bob, "DELETE", path, nil); status != 404 {
			t.Errorf("Bob revokes Alice's token: %d %v", status, answer)
		}
	}
	if status, answer := send(t, w, w.Bob, "POST", "/notices/"+notice+"/dismiss", nil); status != 404 {
		t.Errorf("Bob dismisses Alice's notice: %d %v", status, answer)
	}
	after := must(t, w, w.Alice, "GET", "/tokens", nil)
	for _, answer := range []map[string]any{before, after} {
		for _, token := range answer["tokens"].([]any) {
			delete(token.(map[string]any), "last_used_at")
		}
	}
	if b, a := asJSON(t, before), asJSON(t, after); b != a {
		t.Errorf("tokens were %s and are %s", b, a)
	}
	if list := must(t, w, w.Alice, "GET", "/notices", nil)["notices"].([]any); len(list) != 1 {
		t.Errorf("Alice is left with notices %v", list)
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
	for _, r := range everyRoute(t, w) {
		status, answer := send(t, w, w.Vera, r.method, r.path, r.body)
		if r.needs >= write && (status != 403 || answer["code"] != "viewer") {
			t.Errorf("%s %s answered a viewer %d %v", r.method, r.path, status, answer)
		}
		if r.needs < write && (status == 401 || status == 403) {
			t.Errorf("%s %s answered a viewer %d %v", r.method, r.path, status, answer)
		}
	}
	if status, answer := send(t, w, w.Vera, "DELETE", "/tokens/"+tokenID(t, w, w.Alice), nil); status != 403 || answer["code"] != "viewer" {
		t.Errorf("a viewer revokes another's token: %d %v", status, answer)
	}
	if after := state(t, w); after != before {
		t.Errorf("state was\n%s\nand is\n%s", before, after)
	}
}

func TestEveryRouteNeedsAToken(t *testing.T) {
	t.Parallel()
	w := published(t, apitest.Options{})
	before := state(t, w)
	for _, r := range everyRoute(t, w) {
		if r.needs == nobody {
			continue
		}
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
