package tenants_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/clocktest"
	"github.com/chumbo-dev/chumbo/internal/db/dbtest"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

const publicURL = "https://mcp.example.test"

func newClock() *clocktest.Clock { return clocktest.New(time.Now().Truncate(time.Second)) }

// bundle is one database with Alice's and Bob's organizations in it.
type bundle struct {
	*dbtest.Database
	service    *tenants.Service
	clock      *clocktest.Clock
	alice, bob tenants.Principal
}

func setup(t *testing.T, hosts tenants.Hosts) *bundle {
	t.Helper()
	if hosts.PublicURL == "" {
		hosts.PublicURL = publicURL
	}
	b := &bundle{Database: dbtest.NewDatabase(t), clock: newClock()}
	var err error
	b.service, err = tenants.NewService(tenants.ServiceConfig{Store: b.Store, Hosts: hosts, Now: b.clock.Now, Passwords: cheap})
	if err != nil {
		t.Fatal(err)
	}
	b.alice = b.member(t, "alice@example.test", "Acme")
	b.bob = b.member(t, "bob@example.test", "Globex")
	return b
}

func (b *bundle) member(t *testing.T, email, organization string) tenants.Principal {
	t.Helper()
	_, _, token, err := b.service.CreateOrganization(t.Context(), email, organization)
	if err != nil {
		t.Fatal(err)
	}
	p, err := b.service.VerifyToken(t.Context(), token)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func facts() tenants.ProjectFacts {
	return tenants.ProjectFacts{
		TypedURL: "https://db.example.test", APIOrigin: "https://db.example.test", Issuer: "https://db.example.test/auth/v1",
		JWKSURI: "https://db.example.test/auth/v1/.well-known/jwks.json", PublishableKey: "sb_publishable_0123456789abcdef",
		Signing: tenants.SigningAsymmetric, OAuthEnabled: true, ScopesSupported: []string{"openid", "email"},
	}
}

// surface makes a project with a surface that has a published revision.
func (b *bundle) surface(t *testing.T, p tenants.Principal, project, slug string) tenants.Surface {
	t.Helper()
	if _, err := b.service.Project(t.Context(), p, project); err != nil {
		if _, err := b.service.CreateProject(t.Context(), p, tenants.NewProject{Slug: project, ProjectFacts: facts()}); err != nil {
			t.Fatal(err)
		}
	}
	s, err := b.service.EnsureSurface(t.Context(), p, project, slug)
	if err != nil {
		t.Fatal(err)
	}
	b.publish(t, s, 1, 1)
	return s
}

// publish makes a revision of that number and format the live one, as the
// owner of the cluster: what matters here is what the Directory sees.
func (b *bundle) publish(t *testing.T, s tenants.Surface, number, format int) {
	t.Helper()
	b.Exec(t, `insert into revisions (organization_id, surface_id, number, digest, file, title, access, format, compiled, schema_digest, created_at)
		values ($1, $2, $3, sha256($4), '', 'Acme CRM', '{"modes":["oauth"],"authorization":"direct"}', $5,
		    convert_to('{"format":1,"title":"Acme CRM","access":{"modes":["oauth"]},"tools":[]}', 'utf8'), '', now())`,
		s.Organization.UUID(), s.ID.UUID(), number, []byte{byte(number)}, format)
	b.Exec(t, "update surfaces set live_revision = $2 where id = $1", s.ID.UUID(), number)
}

func directory(t *testing.T, b *bundle, c tenants.DirectoryConfig) *tenants.Directory {
	t.Helper()
	c.Store, c.Now, c.Logger = b.Store, b.clock.Now, slog.New(slog.DiscardHandler)
	if c.Hosts.PublicURL == "" {
		c.Hosts.PublicURL = publicURL
	}
	d, err := tenants.NewDirectory(c)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// run runs the Directory until the test ends.
func run(t testing.TB, d *tenants.Directory) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = d.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
}

// eventually asks again until ok, without more than a moment between.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("not within 10 s: %s", what)
		}
		<-tick.C
	}
}

func (b *bundle) count(t *testing.T, table, where string) int {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), b.AdminDSN)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	var n int
	if err := conn.QueryRow(t.Context(), "select count(*) from chumbo."+table+" where "+where).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
