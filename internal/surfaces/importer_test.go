package surfaces

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/chumbo-dev/chumbo/internal/localpg"
)

// fixture connects to a fresh database with testdata/schema.sql in it.
func fixture(t *testing.T) *pgx.Conn {
	t.Helper()
	return database(t, "schema")
}

// database is a connection to a database of its own, made by testdata/name.sql.
func database(t *testing.T, name string) *pgx.Conn {
	t.Helper()
	server := localpg.Shared(t)
	template, err := server.Template(t.Context(), "surfaces-"+name, func(ctx context.Context, dsn string) error {
		conn, err := pgx.Connect(ctx, dsn)
		if err != nil {
			return err
		}
		defer conn.Close(ctx) //nolint:errcheck // a test's connection
		for _, role := range []string{"anon", "authenticated"} {
			// Roles belong to the cluster, which other tests may share.
			if _, err := conn.Exec(ctx, `do $$ begin create role `+role+`; exception when duplicate_object or unique_violation then null; end $$`); err != nil {
				return err
			}
		}
		sql, err := os.ReadFile("testdata/" + name + ".sql")
		if err != nil {
			return err
		}
		if _, err = conn.Exec(ctx, string(sql)); err != nil || name != "schema" {
			return err
		}
		if sql, err = os.ReadFile("testdata/storage.sql"); err != nil {
			return err
		}
		_, err = conn.Exec(ctx, string(sql))
		return err
	})
	if err != nil {
		t.Fatalf("build template: %v", err)
	}
	conn, err := pgx.Connect(t.Context(), server.Clone(t, template))
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func importFixture(t *testing.T, conn *pgx.Conn) *Snapshot {
	t.Helper()
	snap, err := ImportPostgres(t.Context(), conn, ImportOptions{Schemas: []string{"public", "billing"}})
	if err != nil {
		t.Fatalf("import: %v", err)
	}
	return snap
}

func TestImportReadsWhatTheCompilerNeeds(t *testing.T) {
	t.Parallel()
	snap := importFixture(t, fixture(t))
	snap.Postgres = "17.0" // the golden file is the same on every version
	for i := range snap.Roles {
		snap.Roles[i].StatementTimeoutMS = 0 // roles are shared with other tests
	}
	got, err := json.MarshalIndent(snap, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, filepath.Join("testdata", "snapshot.json"), append(got, '\n'))
}

func TestImportIsTheSameTwice(t *testing.T) {
	t.Parallel()
	conn := fixture(t)
	first, err := importFixture(t, conn).Digest()
	if err != nil {
		t.Fatal(err)
	}
	// Rewriting rows of the catalogs changes their order and the OIDs.
	if _, err := conn.Exec(t.Context(), `
		drop view public.customer_names;
		create view public.customer_names with (security_invoker = true) as select id, name from public.customers;
		grant select on public.customer_names to authenticated;
		create or replace function public.greet(name text) returns text language sql immutable as $$ select 'Hi, ' || name $$;`); err != nil {
		t.Fatal(err)
	}
	second, err := importFixture(t, conn).Digest()
	if err != nil {
		t.Fatal(err)
	}
	if first != second {
		t.Errorf("digests differ: %s and %s", first, second)
	}
}

func TestImportTakesMaxRowsFromTheOptionThenTheDefault(t *testing.T) {
	t.Parallel()
	conn := fixture(t)
	snap, err := ImportPostgres(t.Context(), conn, ImportOptions{MaxRows: 50})
	if err != nil {
		t.Fatal(err)
	}
	if snap.MaxRows != 50 {
		t.Errorf("max rows = %d, want 50", snap.MaxRows)
	}
	if got := importFixture(t, conn).MaxRows; got != defaultMaxRows {
		t.Errorf("max rows = %d, want %d", got, defaultMaxRows)
	}
}

func TestImportNamesASchemaThatIsNotThere(t *testing.T) {
	t.Parallel()
	_, err := ImportPostgres(t.Context(), fixture(t), ImportOptions{Schemas: []string{"pubic"}})
	if err == nil || !strings.Contains(err.Error(), `"pubic"`) {
		t.Errorf("error = %v, want one that names the schema", err)
	}
}

func TestImportChangesNothingAndWorksWithoutSuperuser(t *testing.T) {
	t.Parallel()
	conn := fixture(t)
	want := importFixture(t, conn)
	if _, err := conn.Exec(t.Context(), "set role authenticated"); err != nil {
		t.Fatal(err)
	}
	got := importFixture(t, conn)
	a, _ := want.Digest()
	b, _ := got.Digest()
	if a != b {
		t.Error("an ordinary role sees another schema than a superuser")
	}
}

func TestStatementTimeoutIsReadInEveryUnit(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"3s": 3000, "250": 250, "250ms": 250, "2min": 120000, "1h": 3600000, "0": 0, "soon": 0} {
		if got := milliseconds(text); got != want {
			t.Errorf("statement_timeout=%s is %d ms, want %d", text, got, want)
		}
	}
}

func TestSnapshotOfARealDatabaseFitsThePublishedSchema(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/snapshot.json")
	if err != nil {
		t.Fatal(err)
	}
	schema := compileSchema(t, SnapshotSchema())
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(doc); err != nil {
		t.Errorf("the snapshot does not fit: %v", err)
	}
}

func TestParseSnapshotRefusesWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/snapshot.json")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ParseSnapshot(raw); err != nil {
		t.Fatalf("a good snapshot is refused: %v", err)
	}
	for name, edit := range map[string]func(string) string{
		"another format":       func(s string) string { return strings.Replace(s, SnapshotFormat, "chumbo.schema/9", 1) },
		"an unknown key":       func(s string) string { return strings.Replace(s, `"format"`, `"secret_rows": [], "format"`, 1) },
		"something after it":   func(s string) string { return s + "{}" },
		"no rows":              func(s string) string { return strings.Replace(s, `"max_rows": 1000`, `"max_rows": 0`, 1) },
		"a schema not exposed": func(s string) string { return strings.Replace(s, `"schema": "billing"`, `"schema": "hidden"`, 1) },
		"an unknown kind":      func(s string) string { return strings.Replace(s, `"kind": "view"`, `"kind": "thing"`, 1) },
		"a key without column": func(s string) string { return strings.Replace(s, `"primary_key": [`, `"primary_key": ["nope",`, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			edited := edit(string(raw))
			if edited == string(raw) {
				t.Fatal("the edit changed nothing")
			}
			if _, err := ParseSnapshot([]byte(edited)); err == nil {
				t.Error("accepted")
			}
		})
	}
}

func TestNormalizeMakesOrderMeaningless(t *testing.T) {
	t.Parallel()
	a, b := loadSnapshot(t), loadSnapshot(t)
	slices.Reverse(b.Relations)
	slices.Reverse(b.Functions)
	slices.Reverse(b.Enums)
	for i := range b.Relations {
		slices.Reverse(b.Relations[i].Indexes)
		for j := range b.Relations[i].Columns {
			slices.Reverse(b.Relations[i].Columns[j].Select)
		}
	}
	b.Normalize()
	x, _ := a.Digest()
	y, _ := b.Digest()
	if x != y {
		t.Error("the order of lists changes the digest")
	}
}

func loadSnapshot(t testing.TB) *Snapshot {
	t.Helper()
	raw, err := os.ReadFile("testdata/snapshot.json")
	if err != nil {
		t.Fatal(err)
	}
	snap, err := ParseSnapshot(raw)
	if err != nil {
		t.Fatal(err)
	}
	return snap
}

func compileSchema(t testing.TB, raw []byte) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(NoLoader{})
	if err := c.AddResource("test:schema", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("test:schema")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// golden compares with a file, or writes it with -update.
func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		// By a rename, since other tests read the file meanwhile.
		if err := os.WriteFile(path+".new", got, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, got) {
		t.Errorf("%s differs (run with -update and read the change):\n%s", path, firstDifference(want, got))
	}
}

func firstDifference(want, got []byte) string {
	w, g := strings.Split(string(want), "\n"), strings.Split(string(got), "\n")
	for i := range max(len(w), len(g)) {
		a, b := "", ""
		if i < len(w) {
			a = w[i]
		}
		if i < len(g) {
			b = g[i]
		}
		if a != b {
			return "- " + a + "\n+ " + b
		}
	}
	return ""
}
