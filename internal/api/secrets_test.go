package api_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/api/apitest"
)

// TestSecretInAnyFieldOfAnyRouteIsRefused goes through every text of every
// example, and through what examples leave out.
func TestSecretInAnyFieldOfAnyRouteIsRefused(t *testing.T) {
	t.Parallel()
	w := published(t, apitest.Options{})
	before := state(t, w)
	made := map[string]any{"file": surfaceFile, "expect": "x", "overrides": []any{map[string]any{"finding": "x", "reason": "x"}}}
	routes := slices.DeleteFunc(everyRoute(t, w), func(r route) bool { return r.path == "/projects/acme/schema" })
	routes = append(routes,
		route{"POST", "/projects/acme/probe", map[string]any{"publishable_key": "x"}, write},
		route{"POST", "/projects/acme/surfaces/main/publish", made, write},
		route{"POST", "/projects/acme/surfaces/main/rollback", map[string]any{"digest": "x"}, write},
		route{"POST", "/tokens", map[string]any{"name": "x", "scope": "x", "expires_at": "x"}, admin},
		route{"POST", "/device/authorize", map[string]any{"client_name": "x", "scope": "x"}, nobody},
		route{"PUT", "/projects/acme/schema", map[string]any{"format": "x", "postgres": "x", "relations": []any{map[string]any{"comment": "x"}}}, write},
	)
	secrets := map[string]string{"new": w.Project.SecretKey(), "legacy": w.Project.ServiceRoleKey(), "access token": accessToken}
	tried := 0
	for kind, secret := range secrets {
		for _, r := range routes {
			for place, body := range withSecret(t, r.body, secret) {
				if takesSecret(r, place) {
					continue
				}
				tried++
				for _, text := range []string{body, strings.ReplaceAll(body, secret, escaped(secret))} {
					status, answer := send(t, w, w.Alice, r.method, r.path, text)
					if status != 400 || answer["code"] != "secret_key" || strings.Contains(asJSON(t, answer), secret) {
						t.Errorf("%s key in %s of %s %s: %d %v", kind, place, r.method, r.path, status, answer)
					}
				}
			}
		}
	}
	if tried < 100 {
		t.Errorf("only %d places were tried", tried)
	}
	for kind, secret := range secrets {
		if strings.Contains(w.Log.String(), secret) {
			t.Errorf("the %s key is in the log", kind)
		}
		if tablesWith(t, w, secret) != 0 {
			t.Errorf("the %s key is in the database", kind)
		}
	}
	if after := state(t, w); after != before {
		t.Errorf("state was\n%s\nand is\n%s", before, after)
	}
}

// takesSecret names the three places that are made for one.
func takesSecret(r route, place string) bool {
	return place == "/secret_key" && strings.HasSuffix(r.path, "/ownership/secret") ||
		place == "/access_token" && strings.HasSuffix(r.path, "/management")
}

// escaped hides a text from whoever does not read JSON.
func escaped(secret string) string {
	return fmt.Sprintf(`\u%04x`, secret[0]) + secret[1:]
}

// withSecret puts the secret in place of each text of a body: the bodies, by
// that place.
func withSecret(t *testing.T, body any, secret string) map[string]string {
	t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	var plain any
	if err := json.Unmarshal(raw, &plain); err != nil {
		t.Fatal(err)
	}
	bodies := map[string]string{}
	var visit func(node any, place string, set func(any))
	visit = func(node any, place string, set func(any)) {
		switch node := node.(type) {
		case string:
			set(secret)
			bodies[place] = asJSON(t, plain)
			set(node)
		case []any:
			for i, item := range node {
				visit(item, fmt.Sprintf("%s/%d", place, i), func(v any) { node[i] = v })
			}
		case map[string]any:
			for name, item := range node {
				visit(item, place+"/"+name, func(v any) { node[name] = v })
			}
		}
	}
	visit(plain, "", func(v any) { plain = v })
	return bodies
}
