package bridge

import (
	"testing"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// visited signs a person in and remembers their browser.
func (w *world) visited(t testing.TB, ep *tenants.Endpoint, email string) (*Person, seal.Secret) {
	t.Helper()
	who := w.signedIn(t, ep, email)
	cookie, err := w.service.NewVisit(t.Context(), who)
	if err != nil {
		t.Fatal(err)
	}
	return who, cookie
}

func TestABrowserIsKnownAtItsProjectOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	second := w.surface(t, w.builder, w.project, "acme", "second", nil)
	sibling := w.surface(t, w.builder, w.project, "acme-two", "main", nil)
	globex := w.member(t, "owner@globex.example.test", "Globex")
	other := w.surface(t, globex, w.project, "globex", "main", nil)
	alice, alices := w.visited(t, w.ep, "alice@example.test")
	_, bobs := w.visited(t, w.ep, "bob@example.test")
	for _, ep := range []*tenants.Endpoint{w.ep, second} {
		if who, err := w.service.Visit(t.Context(), ep, alices); err != nil || *who != *alice {
			t.Errorf("%+v, %v", who, err)
		}
	}
	if who, err := w.service.Visit(t.Context(), w.ep, bobs); err != nil || who.Email != "bob@example.test" {
		t.Errorf("%+v, %v", who, err)
	}
	for name, try := range map[string]func() error{
		"sibling project":      func() error { _, err := w.service.Visit(t.Context(), sibling, alices); return err },
		"another organization": func() error { _, err := w.service.Visit(t.Context(), other, alices); return err },
		"no cookie":            func() error { _, err := w.service.Visit(t.Context(), w.ep, seal.Secret{}); return err },
		"unknown":              func() error { _, err := w.service.Visit(t.Context(), w.ep, newSecret()); return err },
	} {
		t.Run(name, func(t *testing.T) { wantFault(t, try(), fault.Unauthenticated, "signed_out") })
	}

	// A person of one project is nobody at another.
	for _, ep := range []*tenants.Endpoint{sibling, other} {
		in, cookie := w.begun(t, ep)
		wantStartAgain(t, w.service.Recognize(t.Context(), in, alice))
		if w.reopened(t, in, cookie).Person != nil {
			t.Error("signed in elsewhere")
		}
	}

	// Neither is ended by another project.
	if err := w.service.EndVisit(t.Context(), sibling.Project.ID, alices); err != nil {
		t.Fatal(err)
	}
	if _, err := w.service.Visit(t.Context(), w.ep, alices); err != nil {
		t.Error("another project ended the visit")
	}
	if err := w.service.EndVisit(t.Context(), w.ep.Project.ID, alices); err != nil {
		t.Fatal(err)
	}
	_, err := w.service.Visit(t.Context(), w.ep, alices)
	wantFault(t, err, fault.Unauthenticated, "signed_out")
	if _, err := w.service.Visit(t.Context(), w.ep, bobs); err != nil {
		t.Error("Bob was signed out with Alice")
	}
	if err := w.service.EndVisit(t.Context(), w.ep.Project.ID, newSecret()); err != nil {
		t.Error(err)
	}
}

func TestAVisitEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	alice, alices := w.visited(t, w.ep, "alice@example.test")
	_, bobs := w.visited(t, w.ep, "bob@example.test")
	w.Exec(t, "update upstream_sessions set ended_at = now(), ended_why = 'session_ended' where id = $1", alice.Upstream.UUID())
	_, err := w.service.Visit(t.Context(), w.ep, alices)
	wantFault(t, err, fault.Unauthenticated, "signed_out")
	if _, err := w.service.Visit(t.Context(), w.ep, bobs); err != nil {
		t.Error("Bob's visit ended with Alice's session")
	}
	w.clock.Advance(visitLifetime)
	_, err = w.service.Visit(t.Context(), w.ep, bobs)
	wantFault(t, err, fault.Unauthenticated, "signed_out")
}
