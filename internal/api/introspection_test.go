package api_test

import (
	"strings"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/api/apitest"
)

func TestIntrospectionSecretIsTakenAndNeverShown(t *testing.T) {
	t.Parallel()
	w := published(t, apitest.Options{})
	const path, secret = "/projects/acme/surfaces/main/introspection", "a-secret-of-the-issuer"
	if before := must(t, w, w.Vera, "GET", path, nil); before["set"] != false || before["updated_at"] != nil {
		t.Errorf("it begins as %v", before)
	}
	status, header, body := w.Do(t, w.Alice, "PUT", "/api/v1"+path, "application/json", `{"secret":"`+secret+`"}`)
	if status != 200 || !strings.Contains(header.Get("Cache-Control"), "no-store") || strings.Contains(body, secret) {
		t.Errorf("setting it answers %d %v %s", status, header, body)
	}
	after := must(t, w, w.Vera, "GET", path, nil)
	if after["set"] != true || after["updated_at"] == nil || strings.Contains(asJSON(t, after), secret) {
		t.Errorf("it is %v", after)
	}
	if tablesWith(t, w, secret) != 0 || strings.Contains(w.Log.String(), secret) {
		t.Error("the secret is readable in the database or the log")
	}
	for name, body := range map[string]string{
		"nothing": `{}`, "empty": `{"secret":""}`, "lines": `{"secret":"a\nb"}`, "long": `{"secret":"` + strings.Repeat("x", 600) + `"}`,
		"a number": `{"secret":7}`, "another member": `{"secret":"x","client_id":"y"}`, "no JSON": `secret=x`,
	} {
		if status, answer := send(t, w, w.Alice, "PUT", path, body); status != 400 {
			t.Errorf("%s: %d %v", name, status, answer)
		}
	}
	for name, token := range map[string]string{"a viewer": w.Vera, "Bob": w.Bob} {
		want := map[string]int{"a viewer": 403, "Bob": 404}[name]
		for _, method := range []string{"PUT", "DELETE"} {
			body := any(nil)
			if method == "PUT" {
				body = map[string]string{"secret": "x"}
			}
			if status, answer := send(t, w, token, method, path, body); status != want {
				t.Errorf("%s may %s: %d %v", name, method, status, answer)
			}
		}
	}
	if answer := must(t, w, w.Alice, "DELETE", path, nil); answer["set"] != false {
		t.Errorf("dropping it answers %v", answer)
	}
	if status, answer := send(t, w, w.Alice, "DELETE", path, nil); status != 404 || answer["code"] != "introspection_secret_missing" {
		t.Errorf("dropping it again answers %d %v", status, answer)
	}
}
