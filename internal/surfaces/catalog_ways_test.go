package surfaces

import (
	"strings"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/egress"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/standin"
	"github.com/chumbo-dev/chumbo/internal/supabase"
)

func TestAllWaysOfImportingTheExampleGiveTheSameBytes(t *testing.T) {
	t.Parallel()
	p, conn := crmProject(t, "")
	snap := importPublic(t, conn)
	want := encoded(t, snap, nil)
	out := egress.New(egress.Policy{AllowHTTP: true, AllowLoopback: true, AllowAnyPort: true})
	client := supabase.New(out)
	project := supabase.Project{ID: id.New[id.ProjectKind](), APIOrigin: p.URL(), PublishableKey: p.PublishableKey()}

	if _, err := client.Catalog(t.Context(), project, seal.NewSecret(testToken)); fault.From(err).Code != "catalog_missing" {
		t.Errorf("before the function is there: %v", err)
	}
	install(t, conn, CatalogOptions{Relations: everything(snap), MaxRows: 1000})
	if err := p.ReloadSchema(t.Context()); err != nil {
		t.Fatal(err)
	}
	raw, err := client.Catalog(t.Context(), project, seal.NewSecret(testToken))
	if err != nil {
		t.Fatal(err)
	}
	got, err := ReadCatalog(raw)
	if text := encoded(t, got, err); text != want {
		t.Errorf("by chumbo_catalog:\n%s", firstDifference([]byte(want), []byte(text)))
	}
	for _, s := range []*Snapshot{snap, got} {
		if len(s.Roles) != 2 || s.Roles[0] != (RoleInfo{"anon", 3000}) || s.Roles[1] != (RoleInfo{"authenticated", 8000}) {
			t.Errorf("roles %v", s.Roles)
		}
	}
	if _, err := client.Catalog(t.Context(), project, seal.NewSecret("cat_of_globex")); fault.From(err).Code != "catalog_token" {
		t.Errorf("with Globex's token: %v", err)
	}

	m, err := standin.StartManagement(p)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = m.Close() }()
	query, err := CatalogQuery(ImportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	management := supabase.NewManagementAt(out, m.URL())
	rows, err := management.Query(t.Context(), m.Ref(), seal.NewSecret(m.Token()), query)
	if err != nil {
		t.Fatal(err)
	}
	got, err = ReadCatalog(rows)
	if text := encoded(t, got, err); text != want {
		t.Errorf("by the Management API:\n%s", firstDifference([]byte(want), []byte(text)))
	}
	checkManagement(t, management, m)
}

// checkManagement asks for what the stand-in refuses.
func checkManagement(t *testing.T, management *supabase.Management, m *standin.Management) {
	t.Helper()
	alice := seal.NewSecret(m.Token())
	if err := management.ProveManagement(t.Context(), m.Ref(), alice); err != nil {
		t.Errorf("proof: %v", err)
	}
	if err := management.ProveManagement(t.Context(), m.Ref(), seal.NewSecret("sbp_of_bob")); fault.From(err).Code != "management_token_refused" {
		t.Errorf("Bob's token: %v", err)
	}
	if err := management.ProveManagement(t.Context(), strings.Repeat("b", 20), alice); fault.From(err).Code != "management_no_project" {
		t.Errorf("Bob's project: %v", err)
	}
	if _, err := management.Query(t.Context(), m.Ref(), alice, "delete from public.customers"); err == nil {
		t.Error("a read-only query changed rows")
	}
	if err := management.ConfigureOAuth(t.Context(), m.Ref(), alice, "/oauth/consent"); err != nil || m.AuthorizationPath() != "/oauth/consent" {
		t.Errorf("configure: %v, path %q", err, m.AuthorizationPath())
	}
	m.SetPowers(false)
	if err := management.ProveManagement(t.Context(), m.Ref(), alice); fault.From(err).Code != "management_no_access" {
		t.Errorf("without rights: %v", err)
	}
	m.SetBusy(true)
	if err := management.ProveManagement(t.Context(), m.Ref(), alice); !fault.Is(err, fault.RateLimited) {
		t.Errorf("too often: %v", err)
	}
}
