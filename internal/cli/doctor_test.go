package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// aSurface answers as a healthy surface; its metadata may call it otherwise.
func aSurface(t *testing.T, calledOtherwise bool) string {
	t.Helper()
	var base string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Chumbo-Request-Id", "0123")
		const prm = "/.well-known/oauth-protected-resource/acme/mcp"
		switch r.URL.Path {
		case "/acme/mcp":
			w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+base+prm+`"`)
			w.WriteHeader(http.StatusUnauthorized)
		case prm:
			resource := base + "/acme/mcp"
			if calledOtherwise {
				resource += "/"
			}
			_, _ = fmt.Fprintf(w, `{"resource":%q,"authorization_servers":[%q]}`, resource, base+"/auth/v1")
		case "/.well-known/oauth-authorization-server/auth/v1":
			_, _ = fmt.Fprintf(w, `{"issuer":%q}`, base+"/auth/v1")
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(server.Close)
	base = server.URL
	return base + "/acme/mcp"
}

func TestDoctorVisitsAURLWithoutAServerOrALink(t *testing.T) {
	t.Parallel()
	code, out, errs := run(t, "", "doctor", aSurface(t, false))
	if code != 0 || strings.Count(out, "ok ") != 6 || errs != "" {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
}

// TestDoctorLeavesAnotherIssuerAlone: where the linked project's surface takes
// tokens of another issuer, nothing is registered there.
func TestDoctorLeavesAnotherIssuerAlone(t *testing.T) {
	t.Parallel()
	address := aSurface(t, false)
	f := newFakeServer(t)
	f.on("GET /projects/acme", map[string]any{"project": map[string]any{"slug": "acme", "issuer": "https://abc.supabase.co/auth/v1", "api_origin": "https://abc.supabase.co"}})
	code, out, errs := linked(t, f).chumbo(t, "doctor", address)
	if code != 0 || !strings.Contains(out, "people sign in at "+strings.TrimSuffix(address, "/acme/mcp")+"/auth/v1, and this folder is not linked to it") {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
}

func TestField03_DoctorFailsWhereTheMetadataNamesAnotherURL(t *testing.T) {
	t.Parallel()
	code, out, _ := run(t, "", "doctor", "--json", aSurface(t, true))
	var answer struct {
		OK    bool
		Steps []struct{ ID, Status, Fix string }
		Data  struct {
			Surfaces []struct{ Grade string }
		}
	}
	if err := json.Unmarshal([]byte(out), &answer); err != nil {
		t.Fatalf("%v in %q", err, out)
	}
	if code != 1 || answer.OK || len(answer.Data.Surfaces) != 1 || answer.Data.Surfaces[0].Grade != "fail" {
		t.Errorf("exit %d, %s", code, out)
	}
	for _, step := range answer.Steps {
		if step.ID == "surface_resource" && step.Status == "fail" && strings.Contains(step.Fix, "Give people") {
			return
		}
	}
	t.Errorf("no failed step surface_resource in %s", out)
}
