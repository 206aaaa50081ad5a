package issuers

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chumbo-dev/chumbo/internal/oauth/claimset"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// of is the surface, with its file naming another issuer.
func of(ep *tenants.Endpoint, other *issuer) *tenants.Endpoint {
	return changed(ep, func(_ *surfaces.Access, i *surfaces.ExternalIssuer) {
		i.URL, i.Introspection = other.URL, &surfaces.Introspection{ClientID: "chumbo", Endpoint: other.URL + "/introspect"}
	})
}

// TestPublishingAnotherIssuerDoesNotGetTheSecretOfThisOne: whoever may publish,
// or holds a token that may, could else read a secret that nobody is shown, by
// naming an issuer of their own and bringing any string.
func TestPublishingAnotherIssuerDoesNotGetTheSecretOfThisOne(t *testing.T) {
	t.Parallel()
	s := newStored(t)
	thief := newIssuer(t)
	s.knows("opaque", nil)
	ask := func(ep *tenants.Endpoint) string {
		_, err := s.AdmitOpaque(t.Context(), ep, "opaque", address)
		return code(err)
	}
	s.keeps(t, s.alice, s.ep, "secret")
	if got := ask(s.ep); got != "in" {
		t.Fatal(got)
	}
	for _, restarted := range []bool{false, true} {
		if restarted {
			s.secrets.InvalidateAll()
		}
		if got := ask(of(s.ep, thief)); got != "issuer_unavailable" || thief.count("/introspect") != 0 {
			t.Errorf("another issuer: %s, asked as %v", got, thief.as)
		}
	}
	if log := s.logs.String(); !strings.Contains(log, "introspection_secret_of_another") {
		t.Errorf("the owner is told %s", log)
	}
	if got := ask(s.ep); got != "in" {
		t.Errorf("back at the old one: %s", got)
	}
	// Set anew, it is for whom it was set for.
	s.keeps(t, s.alice, s.ep, "other")
	if ask(of(s.ep, thief)); strings.Join(thief.as, " ") != "chumbo:other" {
		t.Errorf("asked as %v", thief.as)
	}
	s.clock.Advance(answerFor)
	if got := ask(s.ep); got != "issuer_unavailable" || strings.Contains(strings.Join(s.issuer.as, " "), ":other") {
		t.Errorf("the old one: %s, asked as %v", got, s.issuer.as)
	}
}

// TestASecretIsForTheIssuerThatWasLiveWhenItWasSet: not for whoever asks first.
func TestASecretIsForTheIssuerThatWasLiveWhenItWasSet(t *testing.T) {
	t.Parallel()
	s := newStored(t)
	thief := newIssuer(t)
	access, err := json.Marshal(s.ep.Access)
	if err != nil {
		t.Fatal(err)
	}
	s.Exec(t, `insert into revisions (organization_id, surface_id, number, digest, file, title, access, format, compiled, schema_digest, created_at)
		values ($1, $2, 1, '\x00', '', 'Acme CRM', $3, 1, '{}', '', now())`, s.ep.Organization.UUID(), s.ep.Surface.UUID(), access)
	s.Exec(t, "update surfaces set live_revision = 1 where id = $1", s.ep.Surface.UUID())
	s.knows("opaque", nil)
	s.keeps(t, s.alice, s.ep, "secret")
	if got := s.text(t, "select issuer from introspection_secrets"); got != s.issuer.URL {
		t.Errorf("for %q", got)
	}
	if _, err := s.AdmitOpaque(t.Context(), of(s.ep, thief), "opaque", address); code(err) != "issuer_unavailable" || thief.count("/introspect") != 0 {
		t.Errorf("another issuer: %s, asked as %v", code(err), thief.as)
	}
	if _, err := s.AdmitOpaque(t.Context(), s.ep, "opaque", address); err != nil {
		t.Error(err)
	}
}

// TestManyScopesCostLittle: nobody has verified a token when its scopes are
// read, and 64 KiB of an answer hold twenty thousand.
func TestManyScopesCostLittle(t *testing.T) {
	t.Parallel()
	var words strings.Builder
	for n := range 15_000 {
		words.WriteString(strconv.FormatInt(int64(n), 36) + " ")
	}
	o := &object{&claimset.Object{Members: map[string]any{"scope": words.String(), "scp": words.String()}}}
	begun := time.Now()
	for range 40 {
		if n := len(o.words("scope", "scp")); n != 15_000 {
			t.Fatal(n)
		}
	}
	if took := time.Since(begun); took > 4*time.Second {
		t.Errorf("40 readings took %s", took)
	}
}
