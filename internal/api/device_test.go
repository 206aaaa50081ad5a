package api_test

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/chumbo-dev/chumbo/internal/api/apitest"
)

func begin(t *testing.T, w *apitest.World, scope string) map[string]any {
	t.Helper()
	in := map[string]string{"client_name": "alices-laptop"}
	if scope != "" {
		in["scope"] = scope
	}
	return must(t, w, "", "POST", "/device/authorize", in)
}

func poll(t *testing.T, w *apitest.World, begun map[string]any) (int, map[string]any) {
	t.Helper()
	return send(t, w, "", "POST", "/device/token", map[string]any{"device_code": begun["device_code"]})
}

func TestDeviceSignsInOnceSomebodyApproves(t *testing.T) {
	t.Parallel()
	w := apitest.New(t, apitest.Options{})
	begun := begin(t, w, "")
	code, _ := begun["user_code"].(string)
	if begun["verification_uri"] != apitest.PublicURL+"/app/device" || begun["verification_uri_complete"] != apitest.PublicURL+"/app/device?user_code="+code ||
		len(code) != 9 || begun["interval"] != 5.0 || begun["expires_in"] != 600.0 {
		t.Errorf("begun %v", begun)
	}
	if status, answer := poll(t, w, begun); status != 400 || answer["code"] != "authorization_pending" {
		t.Errorf("%d %v", status, answer)
	}
	if status, answer := poll(t, w, begun); status != 400 || answer["code"] != "slow_down" {
		t.Errorf("%d %v", status, answer)
	}
	w.Decide(t, code, true)
	status, answer := poll(t, w, begun)
	token, _ := answer["token"].(string)
	if status != 200 || !strings.HasPrefix(token, "cht_") || answer["scope"] != "write" || answer["organization"].(map[string]any)["slug"] != "acme-corp" ||
		answer["builder"].(map[string]any)["email"] != "alice@example.test" {
		t.Fatalf("%d %v", status, answer)
	}
	if me := must(t, w, token, "GET", "/me", nil); me["scope"] != "write" {
		t.Errorf("me %v", me)
	}
	if status, answer := poll(t, w, begun); status != 400 || answer["code"] != "expired_token" {
		t.Errorf("a code that was used answered %d %v", status, answer)
	}
	log := w.Log.String()
	for name, secret := range map[string]string{"device code": begun["device_code"].(string), "user code": code, "token": token} {
		if strings.Contains(log, secret) {
			t.Errorf("the %s is in the log", name)
		}
	}
}

func TestDeniedDeviceGetsNothing(t *testing.T) {
	t.Parallel()
	w := apitest.New(t, apitest.Options{})
	begun := begin(t, w, "admin")
	w.Decide(t, begun["user_code"].(string), false)
	if status, answer := poll(t, w, begun); status != 400 || answer["code"] != "access_denied" {
		t.Errorf("%d %v", status, answer)
	}
}

func TestDeviceInputIsChecked(t *testing.T) {
	t.Parallel()
	w := apitest.New(t, apitest.Options{})
	for body, code := range map[string]string{
		`{}`:                                 "client_name_invalid",
		`{"client_name":"x","scope":"root"}`: "scope_invalid",
		`{"client_name":"x\nscope: admin"}`:  "client_name_invalid",
		`{"client_name":"x","user":"alice"}`: "unknown_field",
	} {
		if status, answer := send(t, w, "", "POST", "/device/authorize", body); status != 400 || answer["code"] != code {
			t.Errorf("%s answered %d %v", body, status, answer)
		}
	}
	for _, body := range []string{`{}`, `{"device_code":""}`, `{"device_code":"nope"}`} {
		if status, answer := send(t, w, "", "POST", "/device/token", body); status != 400 || answer["code"] != "expired_token" {
			t.Errorf("%s answered %d %v", body, status, answer)
		}
	}
}

// TestAuditLogHasTheClientsAddress: behind a trusted proxy the one the proxy
// saw, and never what a client says of itself.
func TestAuditLogHasTheClientsAddress(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		trusted []netip.Prefix
		want    string
	}{
		"trusted proxy": {[]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, "203.0.113.7"},
		"nobody":        {nil, "127.0.0.1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := apitest.New(t, apitest.Options{TrustedProxies: c.trusted})
			body := `{"name":"another","scope":"read"}`
			status, answer := w.DoAs(t, w.Alice, "POST", "/api/v1/tokens", body, "198.51.100.1, 203.0.113.7")
			if status != 201 {
				t.Fatalf("%d %s", status, answer)
			}
			if n := count(t, w, "select count(*) from audit_events where action = 'token.create' and address = $1", c.want); n != 1 {
				t.Errorf("%d rows with the address %s", n, c.want)
			}
			if status, answer := w.DoAs(t, "", "POST", "/api/v1/device/authorize", `{"client_name":"x"}`, "203.0.113.7"); status != 200 {
				t.Fatalf("%d %s", status, answer)
			}
			if n := count(t, w, "select count(*) from device_authorizations where address = $1", c.want); n != 1 {
				t.Errorf("%d devices with the address %s", n, c.want)
			}
		})
	}
}

func TestTokensAreMadeListedAndRevoked(t *testing.T) {
	t.Parallel()
	w := apitest.New(t, apitest.Options{})
	until := time.Now().Add(24 * time.Hour).UTC().Format(time.RFC3339)
	status, made := send(t, w, w.Alice, "POST", "/tokens", map[string]string{"name": "deploys", "scope": "write", "expires_at": until})
	token, _ := made["token"].(string)
	if status != 201 || made["expires_at"] != until || must(t, w, token, "GET", "/me", nil)["scope"] != "write" {
		t.Fatalf("%d %v", status, made)
	}
	list := asJSON(t, must(t, w, w.Vera, "GET", "/tokens", nil))
	if !strings.Contains(list, `"deploys"`) || strings.Contains(list, token) || strings.Contains(list, w.Alice) {
		t.Errorf("tokens %s", list)
	}
	gone := must(t, w, w.Alice, "DELETE", "/tokens/"+made["id"].(string), nil)
	if status, _ := send(t, w, token, "GET", "/me", nil); gone["revoked"] != made["id"] || status != 401 {
		t.Errorf("revoked %v, and it answers %d", gone, status)
	}
	for body, code := range map[string]string{
		`{"name":"x"}`:                      "scope_invalid",
		`{"scope":"read"}`:                  "name_invalid",
		`{"name":"x","scope":"everything"}`: "scope_invalid",
		`{"name":"x","scope":"read","expires_at":"tomorrow"}`:             "expires_at_invalid",
		`{"name":"x","scope":"read","expires_at":"2020-01-01T00:00:00Z"}`: "expires_at_invalid",
	} {
		if status, answer := send(t, w, w.Alice, "POST", "/tokens", body); status != 400 || answer["code"] != code {
			t.Errorf("%s answered %d %v", body, status, answer)
		}
	}
	for _, name := range []string{"nope", "prj_" + strings.Repeat("0", 32), "tok_", made["id"].(string)} {
		if status, answer := send(t, w, w.Alice, "DELETE", "/tokens/"+name, nil); status != 404 {
			t.Errorf("revoking %s answered %d %v", name, status, answer)
		}
	}
	if strings.Contains(w.Log.String(), token) {
		t.Error("the token is in the log")
	}
}
