package builders_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chumbo-dev/chumbo/internal/api/apitest"
	"github.com/chumbo-dev/chumbo/internal/builders"
	"github.com/chumbo-dev/chumbo/internal/doctor"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

func TestServiceNeedsItsCollaborators(t *testing.T) {
	t.Parallel()
	if _, err := builders.New(builders.Config{}); err == nil {
		t.Error("a service without collaborators was made")
	}
}

func TestRegisteringTellsEachCheckAsItComes(t *testing.T) {
	t.Parallel()
	b := registered(t, apitest.Options{})
	var seen []string
	tell := func(f doctor.Finding) { seen = append(seen, f.Check) }
	project, findings, err := b.Builders.Register(t.Context(), b.alice, b.registration("second"), tell)
	if err != nil || len(seen) != len(doctor.Registration()) || len(findings) != len(seen) {
		t.Fatalf("saw %v, got %v, %v", seen, findings, err)
	}
	var stored []doctor.Finding
	if err := json.Unmarshal(project.Findings, &stored); err != nil || len(stored) != len(findings) || project.ProbedAt == nil {
		t.Errorf("stored %s at %v: %v", project.Findings, project.ProbedAt, err)
	}

	seen = nil
	if _, _, err := b.Builders.Reprobe(t.Context(), b.alice, "second", "", tell); err != nil || len(seen) != len(stored) {
		t.Errorf("saw %v again: %v", seen, err)
	}
	seen = nil
	result, err := b.Builders.Probe(t.Context(), b.Project.URL(), "", tell)
	if err != nil || !result.Accepted() || len(seen) != len(stored) {
		t.Errorf("a probe without a key saw %v: %v, %v", seen, result.Findings, err)
	}
}

// TestProbingAgainRegistersNoOtherClient: the consent page is looked at as an
// OAuth client, which the project keeps.
func TestProbingAgainRegistersNoOtherClient(t *testing.T) {
	t.Parallel()
	b := registered(t, apitest.Options{})
	registrations := func() int {
		return len(b.Project.RequestsTo("/auth/v1/oauth/clients/register"))
	}
	before := registrations()
	if before != 1 {
		t.Fatalf("registering the project registered %d clients", before)
	}
	if _, _, err := b.Builders.Reprobe(t.Context(), b.alice, "acme", "", nil); err != nil {
		t.Fatal(err)
	}
	if after := registrations(); after != before {
		t.Errorf("%d more clients", after-before)
	}
}

func TestRefusedProbeIsARefusalToo(t *testing.T) {
	t.Parallel()
	b := registered(t, apitest.Options{})
	wrong := b.registration("second")
	wrong.URL = strings.Replace(wrong.URL, "127.0.0.1", "localhost", 1)
	_, _, err := b.Builders.Register(t.Context(), b.alice, wrong, nil)
	var refused *builders.ProbeRefused
	if !errors.As(err, &refused) || doctor.Worst(refused.Findings) != doctor.Fail || !fault.Is(err, fault.Unprocessable) {
		t.Errorf("%v", err)
	}
	wrong = b.registration("second")
	wrong.PublishableKey = ""
	if _, _, err := b.Builders.Register(t.Context(), b.alice, wrong, nil); !fault.Is(err, fault.Invalid) {
		t.Errorf("without a key: %v", err)
	}
	projects, err := b.Tenants.Projects(t.Context(), b.alice)
	if err != nil || len(projects) != 1 {
		t.Errorf("there are %d projects, %v", len(projects), err)
	}
}

func TestServedSaysWhyNot(t *testing.T) {
	t.Parallel()
	now := time.Now()
	same := tenants.ProjectFacts{APIOrigin: "https://a.example.test", Issuer: "https://a.example.test/auth/v1"}
	split := tenants.ProjectFacts{APIOrigin: "https://a.example.test", Issuer: "https://b.example.test/auth/v1"}
	for name, c := range map[string]struct {
		require bool
		project tenants.Project
		says    string // empty: served
	}{
		"proven":                          {true, tenants.Project{ProjectFacts: same, VerifiedAt: &now}, ""},
		"proven, split":                   {false, tenants.Project{ProjectFacts: split, VerifiedAt: &now}, ""},
		"unproven":                        {true, tenants.Project{ProjectFacts: same}, "CHUMBO_REQUIRE_OWNERSHIP"},
		"unproven where none is needed":   {false, tenants.Project{ProjectFacts: same}, ""},
		"unproven, split":                 {false, tenants.Project{ProjectFacts: split}, "issuer"},
		"unproven, split, proof demanded": {true, tenants.Project{ProjectFacts: split}, "issuer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &builders.Service{Config: builders.Config{RequireOwnership: c.require}}
			ok, why := s.Served(c.project)
			if ok != (c.says == "") || !strings.Contains(why, c.says) || ok && why != "" {
				t.Errorf("served %v: %q", ok, why)
			}
		})
	}
}

// TestScopesOfAProjectWithoutAnyAreKnownToBeNone: nil would let every scope
// pass.
func TestScopesOfAProjectWithoutAnyAreKnownToBeNone(t *testing.T) {
	t.Parallel()
	facts := (&builders.Service{}).Facts(tenants.Project{})
	if facts.ScopesSupported == nil || !facts.OAuthOff {
		t.Errorf("facts %+v", facts)
	}
}

// change is one thing a builder does to project acme.
type change struct {
	action string // as the audit log calls it
	do     func(ctx context.Context, s *builders.Service, p tenants.Principal) error
}

func changes(b bundle, t *testing.T) []change {
	snap := b.Snapshot(t)
	key := seal.NewSecret(b.Project.SecretKey())
	token := seal.NewSecret(b.Management.Token())
	return []change{
		{"project.update", func(ctx context.Context, s *builders.Service, p tenants.Principal) error {
			_, _, err := s.Reprobe(ctx, p, "acme", "", nil)
			return err
		}},
		{"project.prove", func(ctx context.Context, s *builders.Service, p tenants.Principal) error {
			_, err := s.ProveByFunction(ctx, p, "acme")
			return err
		}},
		{"project.prove", func(ctx context.Context, s *builders.Service, p tenants.Principal) error {
			_, err := s.ProveBySecretKey(ctx, p, "acme", key)
			return err
		}},
		{"project.prove", func(ctx context.Context, s *builders.Service, p tenants.Principal) error {
			_, err := s.ProveByManagement(ctx, p, "acme", token)
			return err
		}},
		{"schema.import", func(ctx context.Context, s *builders.Service, p tenants.Principal) error {
			_, err := s.PutSchema(ctx, p, "acme", snap, surfaces.SourceFile)
			return err
		}},
		{"schema.catalog", func(ctx context.Context, s *builders.Service, p tenants.Principal) error {
			_, err := s.CatalogFunction(ctx, p, "acme", []string{"public.customers"})
			return err
		}},
		{"schema.import", func(ctx context.Context, s *builders.Service, p tenants.Principal) error {
			_, err := s.ImportCatalog(ctx, p, "acme")
			return err
		}},
		{"schema.import", func(ctx context.Context, s *builders.Service, p tenants.Principal) error {
			_, err := s.ImportManagement(ctx, p, "acme", token)
			return err
		}},
		{"surface.draft", func(ctx context.Context, s *builders.Service, p tenants.Principal) error {
			_, _, err := s.SaveDraft(ctx, p, "acme", "main", []byte(surfaceFile))
			return err
		}},
		{"surface.publish", func(ctx context.Context, s *builders.Service, p tenants.Principal) error {
			_, err := s.Publish(ctx, p, "acme", "main", []byte(surfaceFile), nil, nil)
			return err
		}},
		{"surface.rollback", func(ctx context.Context, s *builders.Service, p tenants.Principal) error {
			_, err := s.Rollback(ctx, p, "acme", "main", surfaces.RollbackRequest{Number: 1})
			return err
		}},
		{"surface.pin", func(ctx context.Context, s *builders.Service, p tenants.Principal) error {
			_, err := s.Pin(ctx, p, "acme", "main", strings.Repeat("0", 64))
			return err
		}},
		{"surface.unpin", func(ctx context.Context, s *builders.Service, p tenants.Principal) error {
			_, err := s.Unpin(ctx, p, "acme", "main")
			return err
		}},
	}
}

func TestBobReachesNothingOfAlice(t *testing.T) {
	t.Parallel()
	b := registered(t, apitest.Options{})
	published := b.publish(t)
	for _, c := range changes(b, t) {
		if err := c.do(t.Context(), b.Builders, b.bob); !fault.Is(err, fault.NotFound) {
			t.Errorf("Bob's %s: %v", c.action, err)
		}
	}
	ctx := t.Context()
	for what, look := range map[string]func() error{
		"schema":    func() error { _, err := b.Builders.Schema(ctx, b.bob, "acme"); return err },
		"offerable": func() error { _, err := b.Builders.Offerable(ctx, b.bob, "acme"); return err },
		"starter":   func() error { _, err := b.Builders.Starter(ctx, b.bob, "acme", "", []string{"customers"}); return err },
		"posture":   func() error { _, err := b.Builders.Posture(ctx, b.bob, "acme"); return err },
		"plan":      func() error { _, err := b.Builders.Plan(ctx, b.bob, "acme", "main", []byte(surfaceFile)); return err },
		"drift":     func() error { _, err := b.Builders.Drift(ctx, b.bob, "acme", "main"); return err },
	} {
		if err := look(); !fault.Is(err, fault.NotFound) {
			t.Errorf("Bob sees the %s: %v", what, err)
		}
	}
	revisions, err := b.Surfaces.Revisions(ctx, b.alice.Organization.ID, published.Surface.ID)
	if err != nil || len(revisions) != 1 {
		t.Errorf("Alice has revisions %v, %v", revisions, err)
	}
}

func TestViewerIsRefusedEveryChangeOnTheRecord(t *testing.T) {
	t.Parallel()
	b := registered(t, apitest.Options{})
	b.publish(t)
	var want []string
	for _, c := range append(changes(b, t), change{"project.create", func(ctx context.Context, s *builders.Service, p tenants.Principal) error {
		_, _, err := s.Register(ctx, p, b.registration("second"), nil)
		return err
	}}) {
		want = append(want, c.action)
		if err := c.do(t.Context(), b.Builders, b.vera); !fault.Is(err, fault.Forbidden) {
			t.Errorf("a viewer's %s: %v", c.action, err)
		}
	}
	got := b.refusals(t, b.vera)
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("on the record are %v, want %v", got, want)
	}
}

// refusals are the refused acts of a principal in the audit log.
func (b bundle) refusals(t *testing.T, p tenants.Principal) []string {
	t.Helper()
	return b.actions(t, "select action from audit_events where outcome = 'refused' and actor = $1 and detail ->> 'code' = 'viewer'", p.Token.String())
}

func TestImportKeepsWhatTheCatalogsDoNotTell(t *testing.T) {
	t.Parallel()
	b := registered(t, apitest.Options{})
	b.Hosted(t, b.Alice, "hosted")
	snap := b.Snapshot(t)
	snap.MaxRows = 77
	if _, err := b.Builders.PutSchema(t.Context(), b.alice, "hosted", snap, surfaces.SourceFile); err != nil {
		t.Fatal(err)
	}
	stored, err := b.Builders.ImportManagement(t.Context(), b.alice, "hosted", seal.NewSecret(b.Management.Token()))
	if err != nil || stored.Snapshot.MaxRows != 77 || stored.Source != surfaces.SourceManagement {
		t.Fatalf("imported %+v, %v", stored.Source, err)
	}
	want, err := snap.Digest()
	if err != nil || stored.Digest != want {
		t.Errorf("the same database gives digest %s, want %s (%v)", stored.Digest, want, err)
	}
	b.Management.SetBusy(true)
	if _, err := b.Builders.ImportManagement(t.Context(), b.alice, "hosted", seal.NewSecret(b.Management.Token())); !fault.Is(err, fault.RateLimited) {
		t.Errorf("a busy platform: %v", err)
	}
}

func TestTokenOfAnotherMasterKeyAsksForANewFunction(t *testing.T) {
	t.Parallel()
	b := registered(t, apitest.Options{})
	sql, err := b.Builders.CatalogFunction(t.Context(), b.alice, "acme", []string{"public.customers"})
	if err != nil {
		t.Fatal(err)
	}
	b.Run(t, sql)
	b.DB.Exec(t, "update projects set catalog_token = set_byte(catalog_token, 20, get_byte(catalog_token, 20) # 1)")
	_, err = b.Builders.ImportCatalog(t.Context(), b.alice, "acme")
	if f := fault.From(err); f.Kind != fault.Conflict || f.Code != "catalog_sealed" {
		t.Errorf("%v", err)
	}
}

// TestCatalogTokenOfOneProjectOpensNoOther: a row's token is bound to its row.
func TestCatalogTokenOfOneProjectOpensNoOther(t *testing.T) {
	t.Parallel()
	b := registered(t, apitest.Options{})
	if _, _, err := b.Builders.Register(t.Context(), b.bob, b.registration("globex"), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Builders.CatalogFunction(t.Context(), b.alice, "acme", []string{"public.customers"}); err != nil {
		t.Fatal(err)
	}
	b.DB.Exec(t, "update projects set catalog_token = (select catalog_token from projects where slug = 'acme') where slug = 'globex'")
	if _, _, err := b.Tenants.CatalogToken(t.Context(), b.bob, "globex"); !fault.Is(err, fault.Conflict) {
		t.Errorf("Bob opens Alice's token: %v", err)
	}
	if _, token, err := b.Tenants.CatalogToken(t.Context(), b.alice, "acme"); err != nil || token.IsZero() {
		t.Errorf("Alice does not open hers: %v", err)
	}
}

func TestNotesSayWhatStandsInTheWay(t *testing.T) {
	t.Parallel()
	b := registered(t, apitest.Options{RequireOwnership: true})
	done := b.publish(t)
	if len(done.Notes) != 1 || done.Surface.LiveRevision != 1 {
		t.Errorf("notes %v of revision %d", done.Notes, done.Surface.LiveRevision)
	}
	if _, err := b.Tenants.SetState(t.Context(), b.alice, "acme", "main", tenants.StateReadOnly); err != nil {
		t.Fatal(err)
	}
	again := b.publish(t)
	if len(again.Notes) != 2 || !strings.Contains(again.Notes[1], "read-only") || !again.Again {
		t.Errorf("notes %v", again.Notes)
	}
}
