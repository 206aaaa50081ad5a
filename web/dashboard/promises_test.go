package dashboard_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// TestNoPageWaitsForTheProject opens every page while the project answers
// nobody: none asks it anything, and each is there at once.
func TestNoPageWaitsForTheProject(t *testing.T) {
	t.Parallel()
	w, alice, at := acme(t)
	alice.submit("/app/register/" + at.registration + "/check")
	released := make(chan struct{})
	defer close(released)
	w.project.Intercept(func(http.Handler) http.Handler {
		return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-released:
			case <-r.Context().Done():
			}
		})
	})
	w.project.ForgetRequests()
	begun := alice.post("/app/register", "url", w.project.URL()).location
	pages := []string{begun, "/app/projects/acme-crm?checking=1", "/app/nowhere"}
	for _, route := range routesOf(http.MethodGet) {
		pages = append(pages, at.fill(route))
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for _, page := range pages {
		a := alice.send(http.MethodGet, page, nil, func(r *http.Request) { *r = *r.WithContext(ctx) })
		if strings.HasPrefix(a.header.Get("Content-Type"), "text/html") && len(a.body) > maxPage {
			t.Errorf("%s has %d bytes", page, len(a.body))
		}
	}
	if asked := w.project.Requests(); len(asked) > 0 {
		t.Errorf("to render pages the project was asked %v", asked)
	}
}

// TestPagesOfALargeProjectAreSmall opens every page of a project with more of
// everything than anybody has.
func TestPagesOfALargeProjectAreSmall(t *testing.T) {
	t.Parallel()
	w, alice, at := acme(t)
	p := w.principal(t, "alice@example.test", alicePassword)
	project, err := w.server.Tenants.Project(t.Context(), p, "acme-crm")
	if err != nil {
		t.Fatal(err)
	}
	snapshot := largeSnapshot(t, w)
	if _, err := w.server.Surfaces.PutSnapshot(t.Context(), p.Actor(), project.ID, snapshot, surfaces.SourcePostgres); err != nil {
		t.Fatal(err)
	}
	for i := range 60 {
		w.db.Exec(t, `insert into notices (organization_id, id, kind, text, created_at) values ($1, gen_random_uuid(), 'ownership.missed', $2, now())`,
			p.Organization.ID.UUID(), fmt.Sprintf("Notice %d: %s", i, strings.Repeat("look here ", 40)))
	}
	if findings, err := w.server.Surfaces.Posture(t.Context(), p.Organization.ID, project.ID); err != nil || len(findings) < 1000 {
		t.Fatalf("%d findings: %v", len(findings), err)
	}
	for _, route := range routesOf(http.MethodGet) {
		a := alice.send(http.MethodGet, at.fill(route), nil, nil)
		if strings.HasPrefix(a.header.Get("Content-Type"), "text/html") && len(a.body) > maxPage {
			t.Errorf("%s has %d bytes", route, len(a.body))
		}
	}
	var names []string
	for _, r := range snapshot.Relations {
		names = append(names, r.Schema+"."+r.Name)
	}
	for _, many := range []int{len(names), 500, 400} {
		for _, path := range []string{"/schema/catalog", "/surfaces/new"} {
			form := formOf("relations", strings.Join(names[:many], "\n"), "slug", "large", "title", "Large")
			form["table"], form["csrf"] = names[:many], []string{alice.csrf()}
			if a := alice.send(http.MethodPost, "/app/projects/acme-crm"+path, form, nil); len(a.body) > maxPage {
				t.Errorf("POST %s of %d answers %d with %d bytes", path, many, a.status, len(a.body))
			}
		}
	}
}

// largeSnapshot is the stand-in's schema beside 1,200 tables that are open to
// everybody.
func largeSnapshot(t *testing.T, w *world) *surfaces.Snapshot {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), w.project.DSN())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	snapshot, err := surfaces.ImportPostgres(t.Context(), conn, surfaces.ImportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	all := []string{"anon", "authenticated"}
	text := surfaces.TypeRef{Schema: "pg_catalog", Name: "text"}
	for i := range 1200 {
		name := fmt.Sprintf("measurements_of_a_long_name_that_nobody_would_type_%04d", i)
		snapshot.Relations = append(snapshot.Relations, surfaces.RelationSchema{
			Schema: "public", Name: name, Kind: surfaces.KindTable, Comment: strings.Repeat("Said at length. ", 20), Delete: all,
			Columns: []surfaces.ColumnSchema{
				{Name: "id", Type: text, NotNull: true, Select: all, Insert: all, Update: all},
				{Name: "value", Type: text, Select: all, Insert: all, Update: all},
			},
			PrimaryKey: []string{"id"}, Unique: []surfaces.UniqueKey{}, ForeignKeys: []surfaces.ForeignKey{}, Indexes: []surfaces.IndexSchema{},
		})
	}
	return snapshot
}
