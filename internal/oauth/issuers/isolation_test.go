package issuers

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/seal"
)

// Acme and Globex name the same issuer, and share nothing that one of them
// taught us.
func TestAliceAndBobShareNothingOfOneIssuer(t *testing.T) {
	t.Parallel()
	s := newStored(t)
	s.keeps(t, s.alice, s.ep, "of-acme")

	// The secret: Globex has none, whoever asked before.
	s.knows("opaque", nil)
	if _, err := s.AdmitOpaque(t.Context(), s.ep, "opaque", address); err != nil {
		t.Fatal(err)
	}
	if _, err := s.AdmitOpaque(t.Context(), s.globex, "opaque", address); code(err) != "issuer_unavailable" {
		t.Errorf("Globex uses Acme's secret: %s", code(err))
	}
	for what, err := range map[string]error{
		"sets":  s.SetSecret(t.Context(), s.bob, s.ep.Surface, seal.NewSecret("x")),
		"drops": s.DropSecret(t.Context(), s.bob, s.ep.Surface),
		"sees":  func() error { _, err := s.SecretSet(t.Context(), s.bob, s.ep.Surface); return err }(),
	} {
		if !fault.Is(err, fault.NotFound) {
			t.Errorf("Bob %s Acme's secret: %v", what, err)
		}
	}
	// A row that was moved opens nowhere else.
	s.Exec(t, "insert into introspection_secrets select $1, $2, secret, updated_by, updated_at from introspection_secrets",
		s.bob.Organization.ID.UUID(), s.globex.Surface.UUID())
	if _, err := s.AdmitOpaque(t.Context(), s.globex, "opaque", address); code(err) != "issuer_unavailable" {
		t.Errorf("Globex opens Acme's row: %s", code(err))
	}

	// Answers: each asks as itself.
	s.keeps(t, s.bob, s.globex, "of-globex")
	s.issuer.set(func() { s.issuer.as = nil })
	who, err := s.AdmitOpaque(t.Context(), s.globex, "opaque", address)
	if err != nil || who.Key.Surface != s.globex.Surface {
		t.Fatalf("%+v %v", who, err)
	}
	if fmt.Sprint(s.issuer.as) != "[chumbo:of-globex]" {
		t.Errorf("Globex was answered from Acme's memory: %v", s.issuer.as)
	}

	// Documents and keys: each reads its own; a key set that Acme read does not
	// vouch at Globex, and an outage seen by one is none of the other's.
	token := s.token(t, nil)
	if _, err := s.Admit(t.Context(), s.ep, token); err != nil {
		t.Fatal(err)
	}
	s.issuer.set(func() { s.issuer.status = 500 })
	if _, err := s.Admit(t.Context(), s.globex, token); code(err) != "issuer_unavailable" {
		t.Errorf("Globex was let in by what Acme knows: %s", code(err))
	}
	s.issuer.set(func() { s.issuer.status = 0 })
	if _, err := s.Admit(t.Context(), s.ep, s.token(t, nil)); err != nil {
		t.Errorf("Acme suffers from what Globex saw: %v", err)
	}

	// Rejections: a token that one refused is judged anew by the other.
	other := s.issuer.key(t, "one", false)
	bad := signed(t, other, s.claims(nil))
	if _, err := s.Admit(t.Context(), s.ep, bad); code(err) != "401 token_signature" {
		t.Fatal(code(err))
	}
	s.clock.Advance(pageRetry)
	s.issuer.set(func() { s.issuer.keys = append(slices.Clone(s.issuer.keys), other.Public()) })
	if _, err := s.Admit(t.Context(), s.globex, bad); err != nil {
		t.Errorf("Globex refuses what Acme refused: %s", code(err))
	}
}

func TestManyPeopleAtOnceStayThemselves(t *testing.T) {
	t.Parallel()
	s := newStored(t)
	s.keeps(t, s.alice, s.ep, "of-acme")
	s.keeps(t, s.bob, s.globex, "of-globex")
	people := []string{"alice", "bob", "carol", "dave"}
	for _, person := range people {
		s.knows("opaque-"+person, map[string]any{"sub": person})
	}
	var group sync.WaitGroup
	for n := range 200 {
		person, ep := people[n%len(people)], s.ep
		if n%3 == 0 {
			ep = s.globex
		}
		group.Go(func() {
			who, err := s.AdmitOpaque(t.Context(), ep, "opaque-"+person, address)
			if err == nil && n%2 == 0 {
				who, err = s.Admit(t.Context(), ep, s.token(t, map[string]any{"sub": person}))
			}
			if err != nil || who.Key.Subject != person || who.Key.Surface != ep.Surface {
				t.Errorf("%s is %+v: %v", person, who, err)
			}
		})
	}
	group.Wait()
}
