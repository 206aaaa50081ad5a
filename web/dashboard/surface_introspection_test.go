package dashboard_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chumbo-dev/chumbo/internal/browsertest"
)

// fileExternal asks another issuer about tokens that are no JWT.
const fileExternal = `version: 1
title: Acme CRM
access:
  mode: oauth
  authorization: external
  issuer: https://login.example.com
  audience: [crm-api]
  introspection: { client_id: chumbo-at-the-issuer }
tools:
  - rpc: greet
    tool: greet
    description: Says hello.
`

func TestIntrospectionSecretIsWrittenAndNeverShown(t *testing.T) {
	t.Parallel()
	s := setSurfaceStage(t)
	const settings, secret = at + "/main/settings", "a-secret-of-the-issuer"
	s.publish(t, "main", fileOne)
	if text := s.alice.open(t, settings).text; strings.Contains(text, "Checking tokens") {
		t.Error("a surface without introspection has the form")
	}
	s.publish(t, "main", fileExternal)
	before := s.alice.open(t, settings).text
	for _, want := range []string{"login.example.com", "chumbo-at-the-issuer", "No secret is kept", "Keep the secret"} {
		if !strings.Contains(before, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if vera := s.vera.open(t, settings).text; !strings.Contains(vera, "No secret is kept") || strings.Contains(vera, `name="secret"`) {
		t.Error("a viewer sees the wrong thing")
	}
	if a := s.vera.post(t, at+"/main/introspection", "secret", secret); a.status != http.StatusForbidden || strings.Contains(a.text, secret) {
		t.Errorf("a viewer sets it: %d", a.status)
	}
	for _, path := range []string{"/main/introspection", "/main/introspection/clear"} {
		if a := s.bob.post(t, at+path, "secret", secret); a.status != http.StatusNotFound {
			t.Errorf("Bob at %s: %d", path, a.status)
		}
	}
	if a := s.alice.post(t, at+"/main/introspection", "secret", " "+secret); a.status != http.StatusBadRequest || !strings.Contains(a.text, "was not kept") || strings.Contains(a.text, secret) {
		t.Errorf("no secret: %d", a.status)
	}
	a := s.alice.post(t, at+"/main/introspection", "secret", secret)
	if a.status != http.StatusSeeOther || strings.Contains(a.location+a.text, secret) {
		t.Fatalf("setting it: %d %s", a.status, a.location)
	}
	after := s.alice.open(t, a.location).text
	if !strings.Contains(after, "A secret is kept, sealed, since") || !strings.Contains(after, "Replace the secret") || strings.Contains(after, secret) {
		t.Errorf("the page after: %.2000s", after)
	}
	if strings.Contains(s.log.String(), secret) {
		t.Error("the secret is in the log")
	}
	s.publish(t, "main", fileOne)
	if text := s.alice.open(t, settings).text; !strings.Contains(text, "does not use any more") || strings.Contains(text, `name="secret"`) {
		t.Error("a secret that is left over cannot be seen")
	}
	if a := s.alice.post(t, at+"/main/introspection/clear"); a.status != http.StatusSeeOther || strings.Contains(s.alice.open(t, a.location).text, "Checking tokens") {
		t.Errorf("forgetting it: %d", a.status)
	}
	if ok, refused := s.audited(t, "surface.introspection_set", "ok"), s.audited(t, "surface.introspection_set", "refused"); ok != 1 || refused != 2 {
		t.Errorf("the audit log has %d and %d", ok, refused)
	}
}

func TestIntrospectionFormIsWellMade(t *testing.T) {
	t.Parallel()
	s := setSurfaceStage(t)
	s.publish(t, "main", fileExternal)
	ctx := browsertest.Open(t, 6*time.Minute)
	enter(t, ctx, s.url, s.alice.cookies())
	wellMade(t, ctx, "introspection-none", s.url+at+"/main/settings")
	s.alice.post(t, at+"/main/introspection", "secret", "kept")
	wellMade(t, ctx, "introspection-kept", s.url+at+"/main/settings?done=introspection")
}
