package doctor_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/doctor"
	"github.com/chumbo-dev/chumbo/internal/localpg"
	"github.com/chumbo-dev/chumbo/internal/standin"
	"github.com/chumbo-dev/chumbo/internal/supabase"
)

func consentFinding(t *testing.T, r doctor.ProbeResult) doctor.Finding {
	t.Helper()
	f := r.Findings[len(r.Findings)-1]
	if f.Check != doctor.CheckConsent {
		t.Fatalf("the last finding is %s", f.Check)
	}
	return f
}

func TestField25_ConsentPageNamesTheOriginItMustBeServedFrom(t *testing.T) {
	t.Parallel()
	p, r := probeStandin(t, standin.Options{}, here, nil)
	f := consentFinding(t, r)
	if f.Status != doctor.Pass || f.Facts["page"] != p.URL()+"/oauth/consent" || !strings.Contains(f.Detail, "served from "+p.URL()+".") {
		t.Errorf("healthy: %+v", f)
	}
	_, r = probeStandin(t, standin.Options{SiteURL: p.URL() + "/nowhere"}, here, nil)
	f = consentFinding(t, r)
	if f.Status != doctor.Warn || !strings.Contains(f.Summary, "404") || !strings.Contains(f.Fix, "Site URL") {
		t.Errorf("page missing: %+v", f)
	}
}

func TestField26_HalfConfiguredOAuthServerIsNamedSo(t *testing.T) {
	t.Parallel()
	_, r := probeStandin(t, standin.Options{NoConsentPath: true}, here, nil)
	f := consentFinding(t, r)
	if f.Status != doctor.Warn || !strings.Contains(f.Summary, "no consent page") || !strings.Contains(f.Fix, "chumbo link --configure") {
		t.Errorf("%+v", f)
	}
	if !r.Accepted() {
		t.Error("other ways in still work: registering must be possible")
	}
}

func TestConsentPageOnAPrivateMachineIsNoPageForOthers(t *testing.T) {
	t.Parallel()
	w := &world{meta: map[string]supabase.AuthMetadata{hostedOrigin: healthy(hostedIssuer)}, keys: oneKey}
	at := &localConsent{w}
	r, err := doctor.Probe(t.Context(), at, doctor.ProbeInput{TypedURL: hostedOrigin, PublishableKey: publishable}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if f := consentFinding(t, r); f.Status != doctor.Warn || !strings.Contains(f.Summary, "own machine") {
		t.Errorf("%+v", f)
	}
	for _, asked := range w.asked {
		if strings.HasPrefix(asked, "page ") {
			t.Errorf("the server looked for it on its own machine: %s", asked)
		}
	}
}

type localConsent struct{ *world }

func (*localConsent) Consent(context.Context, string, string) (supabase.Consent, error) {
	return supabase.Consent{ClientID: "c", Page: "http://localhost:3000/oauth/consent"}, nil
}

// TestOneOAuthClientServesEveryProbe: a project's list of clients is the
// builder's, so looking again must not add to it.
func TestOneOAuthClientServesEveryProbe(t *testing.T) {
	t.Parallel()
	p, err := standin.Start(t.Context(), standin.Options{Postgres: localpg.Shared(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	probe := func(client string) string {
		r, err := doctor.Probe(t.Context(), supabaseHere(), doctor.ProbeInput{TypedURL: p.URL(), PublishableKey: p.PublishableKey(), CheckClient: client}, nil)
		if err != nil {
			t.Fatal(err)
		}
		findings, err := json.Marshal(r.Findings)
		if err != nil {
			t.Fatal(err)
		}
		return doctor.CheckClientOf(findings)
	}
	first := probe("")
	if first == "" || probe(first) != first {
		t.Error("a second probe registered another client")
	}
	if again := probe("00000000-0000-4000-8000-000000000000"); again == "" || again == first {
		t.Errorf("a client that is gone: %q", again)
	}
}
