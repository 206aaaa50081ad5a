package surfaces

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/chumbo-dev/chumbo/internal/fault"
)

const testToken = "cat_5b1c a token of the test's"

func digestOfToken(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// nasty connects to a fresh database with testdata/nasty.sql in it.
func nasty(t *testing.T) *pgx.Conn {
	t.Helper()
	return database(t, "nasty")
}

var nastySchemas = []string{"public", `my "odd" schema`}

func importNasty(t *testing.T, conn *pgx.Conn) *Snapshot {
	t.Helper()
	snap, err := ImportPostgres(t.Context(), conn, ImportOptions{Schemas: nastySchemas})
	if err != nil {
		t.Fatalf("import: %v", err)
	}
	return snap
}

// everything lists the objects of a snapshot, as schema.name.
func everything(snap *Snapshot) []string {
	var names []string
	for _, r := range snap.Relations {
		names = append(names, r.Schema+"."+r.Name)
	}
	for _, f := range snap.Functions {
		names = append(names, f.Schema+"."+f.Name)
	}
	return names
}

func install(t *testing.T, conn *pgx.Conn, opt CatalogOptions) {
	t.Helper()
	opt.TokenDigest = digestOfToken(testToken)
	sql, err := CatalogFunction(opt)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatalf("install: %v\n%s", err, sql)
	}
}

// askAsAnon calls the function as the Data API would for anon.
func askAsAnon(t *testing.T, conn *pgx.Conn, token any) ([]byte, error) {
	t.Helper()
	tx, err := conn.BeginTx(t.Context(), pgx.TxOptions{AccessMode: pgx.ReadOnly})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.Background()) }()
	if _, err := tx.Exec(t.Context(), "set local role anon"); err != nil {
		t.Fatal(err)
	}
	var raw []byte
	err = tx.QueryRow(t.Context(), "select public.chumbo_catalog($1)", token).Scan(&raw)
	return raw, err
}

// encoded is a snapshot's JSON without the settings of roles: those belong to
// the whole server, which other tests share.
func encoded(t *testing.T, snap *Snapshot, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	still := *snap
	still.Roles = slices.Clone(snap.Roles)
	for i := range still.Roles {
		still.Roles[i].StatementTimeoutMS = 0
	}
	raw, err := json.MarshalIndent(still, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestAllWaysOfImportingGiveTheSameBytes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		open    func(*testing.T) *pgx.Conn
		schemas []string
	}{"an ordinary schema": {fixture, []string{"public", "billing"}}, "a nasty schema": {nasty, nastySchemas}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := c.open(t)
			snap, err := ImportPostgres(t.Context(), conn, ImportOptions{Schemas: c.schemas})
			want := encoded(t, snap, err)

			query, err := CatalogQuery(ImportOptions{Schemas: c.schemas})
			if err != nil {
				t.Fatal(err)
			}
			var raw []byte
			if err := conn.QueryRow(t.Context(), query).Scan(&raw); err != nil {
				t.Fatal(err)
			}
			got, err := ReadCatalog(raw)
			if text := encoded(t, got, err); text != want {
				t.Errorf("by the query:\n%s", firstDifference([]byte(want), []byte(text)))
			}
			// The query endpoint's form: its values passed through another JSON library.
			var loose any
			if err := json.Unmarshal(raw, &loose); err != nil {
				t.Fatal(err)
			}
			rows, err := json.Marshal([]map[string]any{{"catalog": loose}})
			if err != nil {
				t.Fatal(err)
			}
			got, err = ReadCatalog(rows)
			if text := encoded(t, got, err); text != want {
				t.Errorf("by the query endpoint:\n%s", firstDifference([]byte(want), []byte(text)))
			}

			install(t, conn, CatalogOptions{Schemas: c.schemas, Relations: everything(snap)})
			raw, err = askAsAnon(t, conn, testToken)
			if err != nil {
				t.Fatal(err)
			}
			got, err = ReadCatalog(raw)
			if text := encoded(t, got, err); text != want {
				t.Errorf("by the function:\n%s", firstDifference([]byte(want), []byte(text)))
			}
			again, err := ImportPostgres(t.Context(), conn, ImportOptions{Schemas: c.schemas})
			if text := encoded(t, again, err); text != want {
				t.Errorf("with the function there:\n%s", firstDifference([]byte(want), []byte(text)))
			}
		})
	}
}

func TestNastySchemaIsReadWhole(t *testing.T) {
	t.Parallel()
	snap := importNasty(t, nasty(t))
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(encoded(t, snap, nil)))
	if err != nil {
		t.Fatal(err)
	}
	if err := compileSchema(t, SnapshotSchema()).Validate(doc); err != nil {
		t.Errorf("it does not fit the published schema: %v", err)
	}
	ix := newIndex(snap)
	a := ix.relations["public.a"]
	if a == nil {
		t.Fatal("no public.a")
	}
	defaults := map[string]string{}
	for _, c := range a.Columns {
		defaults[c.Name] = c.Default
	}
	for name, want := range map[string]string{
		"id": "", "Mixed Case": "constant", "e": "constant", "select": "constant", `quote"inside`: "constant", "ranks": "expression", "rank": "constant",
		`back\slash`: "expression", "日本語": "expression", "$chumbo$": "constant", "price": "constant", "doubled": "", "e2": "",
	} {
		if got, ok := defaults[name]; !ok || got != want {
			t.Errorf("default of %s is %q, want %q", name, got, want)
		}
	}
	if got := ix.enums["public.ränk's"]; !slices.Equal(got, []string{"it's", `back\slash`, "läuft", "two\nlines", `{"json": [1]}`}) {
		t.Errorf("labels %q", got)
	}
	if !slices.Equal(a.PrimaryKey, []string{"id", "Mixed Case"}) || len(a.ForeignKeys) != 0 {
		t.Errorf("key %q, foreign keys %v (hidden.accounts is not described)", a.PrimaryKey, a.ForeignKeys)
	}
	b := ix.relations[`my "odd" schema.b.c`]
	if b == nil || len(b.ForeignKeys) != 2 || !slices.Equal(b.Public, []string{"delete", "select"}) || !slices.Contains(b.Delete, "anon") {
		t.Errorf("b.c is %+v", b)
	}
	if got := []rune(a.column("price").Comment); len(got) != MaxComment {
		t.Errorf("comment of %d characters", len(got))
	}
	if len(a.PolicyRoles) != 2 || a.PolicyRoles[0].Role != "anon" || !slices.Equal(a.PolicyRoles[0].Commands, []string{"select"}) {
		t.Errorf("policy roles %v", a.PolicyRoles)
	}
	for _, c := range snap.Composites {
		if c.Name == "unused_type" {
			t.Error("a type that nothing uses is described")
		}
	}
	if ix.relations["public.parts_2026"] != nil || ix.relations["public.parts"] == nil || ix.relations["public.new\nline\t\u202e"] == nil {
		t.Error("relations are missing, or a partition is there")
	}
	if f := ix.functions["public.hidden_rows"][0]; !f.SecurityDefiner || f.StatementTimeoutMS != 60_000 || len(f.Returns.Columns) != 2 {
		t.Errorf("hidden_rows is %+v", f)
	}
}

func TestCatalogFunctionTellsOnlyOfWhatIsListed(t *testing.T) {
	t.Parallel()
	conn := nasty(t)
	install(t, conn, CatalogOptions{Schemas: nastySchemas, Relations: []string{`my "odd" schema.b.c`, "composite", "nowhere"}})
	raw, err := askAsAnon(t, conn, testToken)
	if err != nil {
		t.Fatal(err)
	}
	snap, err := ReadCatalog(raw)
	if err != nil {
		t.Fatal(err)
	}
	if got := everything(snap); !slices.Equal(got, []string{`my "odd" schema.b.c`, "public.composite"}) {
		t.Errorf("it tells of %q", got)
	}
	if got := snap.Relations[0].ForeignKeys; len(got) != 1 || got[0].ReferencedName != "b.c" {
		t.Errorf("foreign keys %v", got)
	}
	for _, hidden := range []string{"Mixed Case", "accounts", "hidden_rows", "unused", "parts", "sk_live", "orders"} {
		if strings.Contains(string(raw), hidden) {
			t.Errorf("the answer tells of %s", hidden)
		}
	}
}

func TestCatalogHoldsNoDefaultOrSettingAsText(t *testing.T) {
	t.Parallel()
	conn := nasty(t)
	query, err := CatalogQuery(ImportOptions{Schemas: append(slices.Clone(nastySchemas), "hidden")})
	if err != nil {
		t.Fatal(err)
	}
	var raw []byte
	if err := conn.QueryRow(t.Context(), query).Scan(&raw); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(raw), "accounts") || strings.Contains(string(raw), "sk_live") || strings.Contains(string(raw), "search_path") {
		t.Error("a default or a setting leaves the database as text")
	}
}

func TestCatalogFunctionRefusesAnotherTokenWithoutAWord(t *testing.T) {
	t.Parallel()
	conn := nasty(t)
	install(t, conn, CatalogOptions{Schemas: nastySchemas, Relations: []string{"a"}})
	for name, token := range map[string]any{
		"another": "cat_other", "empty": "", "none": nil, "the digest": digestOfToken(testToken), "its beginning": testToken[:10], "longer": testToken + " ",
	} {
		raw, err := askAsAnon(t, conn, token)
		if err == nil || raw != nil {
			t.Errorf("%s: answered %s", name, raw)
			continue
		}
		if text := err.Error(); !strings.Contains(text, "PT403") || regexp.MustCompile(`Mixed|public\.a|price|ränk|`+digestOfToken(testToken)).MatchString(text) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := askAsAnon(t, conn, testToken); err != nil {
		t.Errorf("the right token: %v", err)
	}
	var may []bool
	err := conn.QueryRow(t.Context(), `select array[has_function_privilege('anon', 'public.chumbo_catalog(text)', 'execute'),
		has_function_privilege('authenticated', 'public.chumbo_catalog(text)', 'execute'), has_function_privilege('public', 'public.chumbo_catalog(text)', 'execute')]`).Scan(&may)
	if err != nil || !slices.Equal(may, []bool{true, false, false}) {
		t.Errorf("anon, authenticated, public may call: %v, %v", may, err)
	}
}

func TestImportIsNotLedAstrayByTheDatabase(t *testing.T) {
	t.Parallel()
	conn := nasty(t)
	want := encoded(t, importNasty(t, conn), nil)
	install(t, conn, CatalogOptions{Schemas: nastySchemas, Relations: everything(importNasty(t, conn))})
	if _, err := conn.Exec(t.Context(), `
		create table public.ran (what text);
		grant insert on public.ran to public;
		create function public.trap(text, text) returns boolean language plpgsql as $$ begin insert into public.ran values ('operator'); return true; end $$;
		create operator public.= (leftarg = text, rightarg = text, procedure = public.trap);
		create operator public.<> (leftarg = bytea, rightarg = bytea, procedure = pg_catalog.byteaeq);
		create function public.coalesce_trap(name) returns text language plpgsql as $$ begin insert into public.ran values ('function'); return 'x'; end $$;
		create function public.obj_description(oid, name) returns text language plpgsql as $$ begin insert into public.ran values ('function'); return 'x'; end $$;
		create temp table pg_class (oid oid, relname name, relnamespace oid, relkind "char", relispartition boolean);
		create temp table pg_proc (oid oid);
		set search_path = public, pg_temp, pg_catalog`); err != nil {
		t.Fatal(err)
	}
	raw, err := askAsAnon(t, conn, testToken)
	if err != nil {
		t.Fatal(err)
	}
	got, err := ReadCatalog(raw)
	if text := encoded(t, got, err); text != want {
		t.Errorf("by the function:\n%s", firstDifference([]byte(want), []byte(text)))
	}
	if _, err := askAsAnon(t, conn, "another"); err == nil {
		t.Error("another token is let in")
	}
	if _, err := ImportPostgres(t.Context(), conn, ImportOptions{Schemas: nastySchemas}); err != nil {
		t.Errorf("import: %v", err)
	}
	var ran int
	if err := conn.QueryRow(t.Context(), "select count(*) from public.ran").Scan(&ran); err != nil || ran != 0 {
		t.Errorf("%d traps ran, %v", ran, err)
	}
}

func TestLiteralsMeanWhatTheySay(t *testing.T) {
	t.Parallel()
	conn := fixture(t)
	texts := []string{"", "plain", "it's", `back\slash`, `\'; drop table x; --`, "two\nlines\r\n", "tab\t", "日本語", "\u202eright to left", "\u2028", "🦆", `$chumbo$`, `"`, ":roles", "'''", `\\`, "E'", "\x01"}
	for _, setting := range []string{"on", "off"} {
		if _, err := conn.Exec(t.Context(), "set standard_conforming_strings = "+setting); err != nil {
			t.Fatal(err)
		}
		array, err := textArray(texts)
		if err != nil {
			t.Fatal(err)
		}
		if strings.ContainsAny(array, "\n\r\t\u202e\u2028\x01") {
			t.Errorf("what does not print stands in %q", array)
		}
		var got []string
		if err := conn.QueryRow(t.Context(), "select "+array, pgx.QueryExecModeExec).Scan(&got); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, texts) {
			t.Errorf("standard_conforming_strings %s: %q, want %q", setting, got, texts)
		}
	}
	for _, bad := range []string{"a\x00b", "\xff"} {
		if _, err := literal(bad); !fault.Is(err, fault.Invalid) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestIdentifiersAreQuotedAsPostgresNeedsIt(t *testing.T) {
	t.Parallel()
	conn := fixture(t)
	rows, err := conn.Query(t.Context(), "select word from pg_get_keywords() where catcode <> 'U'")
	if err != nil {
		t.Fatal(err)
	}
	words, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(words) < 100 {
		t.Fatalf("%d words, %v", len(words), err)
	}
	for _, word := range words {
		if ident(word) != `"`+word+`"` {
			t.Errorf("%s is not quoted", word)
		}
	}
	names := append(words, "plain", "Mixed Case", `quo"te`, `back\slash`, "new\nline", "\u202e\\x", "日本語", "$chumbo$", "9lives", "a.b", "--", `"`, "\t\"\\")
	for _, name := range names {
		if strings.ContainsAny(ident(name), "\n\t\u202e") {
			t.Errorf("what does not print stands in %q", ident(name))
		}
		var got string
		if err := conn.QueryRow(t.Context(), "select * from (select 1 as "+ident(name)+") t", pgx.QueryExecModeExec).Scan(new(int)); err != nil {
			t.Errorf("%q: %v", name, err)
		}
		err := conn.QueryRow(t.Context(), "select jsonb_object_keys(to_jsonb(t)) from (select 1 as "+ident(name)+") t", pgx.QueryExecModeExec).Scan(&got)
		if err != nil || got != name {
			t.Errorf("%q is %q, %v", name, got, err)
		}
	}
}

func TestCatalogFunctionAsksForWhatItNeeds(t *testing.T) {
	t.Parallel()
	if _, err := CatalogFunction(CatalogOptions{TokenDigest: digestOfToken("x")}); !fault.Is(err, fault.Invalid) {
		t.Errorf("without relations: %v", err)
	}
	for _, digest := range []string{"", "abc", digestOfToken("x") + "'; drop table x; --", strings.ToUpper(digestOfToken("x"))} {
		if _, err := CatalogFunction(CatalogOptions{TokenDigest: digest, Relations: []string{"a"}}); err == nil {
			t.Errorf("the digest %q passes", digest)
		}
	}
	if _, err := CatalogFunction(CatalogOptions{TokenDigest: digestOfToken("x"), Relations: []string{"a\x00"}}); !fault.Is(err, fault.Invalid) {
		t.Errorf("a NUL in a name: %v", err)
	}
	one, err := CatalogFunction(CatalogOptions{TokenDigest: digestOfToken("x"), Relations: []string{"public.b", "a", "b"}})
	two, err2 := CatalogFunction(CatalogOptions{TokenDigest: digestOfToken("x"), Relations: []string{"b", "public.a"}, Schemas: []string{"public", "public"}})
	if err != nil || err2 != nil || one != two {
		t.Errorf("the same objects give other SQL: %v %v", err, err2)
	}
}

func TestReadCatalogRefusesWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	for name, raw := range map[string]string{
		"nothing":           ``,
		"null":              `null`,
		"text":              `"chumbo"`,
		"no row":            `[]`,
		"two rows":          `[{"a":{}},{"a":{}}]`,
		"two columns":       `[{"a":{},"b":{}}]`,
		"another format":    `{"format":"chumbo.catalog/9"}`,
		"an unknown member": `{"format":"chumbo.catalog/1","secret":1}`,
		"two values":        `{"format":"chumbo.catalog/1"}{}`,
		"a NUL":             `{"format":"chumbo.catalog/1","postgres":"\u0000"}`,
		"a type in itself":  `{"format":"chumbo.catalog/1","schemas":[{"name":"public","exists":true}],"types":[{"id":1,"schema":"s","name":"t","kind":"d","base":1}],"relations":[{"schema":"public","name":"a","kind":"r","columns":[{"name":"x","type":1}]}]}`,
		"no such type":      `{"format":"chumbo.catalog/1","schemas":[{"name":"public","exists":true}],"relations":[{"schema":"public","name":"a","kind":"r","columns":[{"name":"x","type":1}]}]}`,
	} {
		if _, err := ReadCatalog([]byte(raw)); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := ReadCatalog(make([]byte, MaxSnapshotBytes+1)); !fault.Is(err, fault.TooLarge) {
		t.Errorf("too large: %v", err)
	}
}

func FuzzReadCatalog(f *testing.F) {
	for _, seed := range []string{
		`null`, `[{"catalog":null}]`, `{"format":"chumbo.catalog/1"}`,
		`{"format":"chumbo.catalog/1","max_rows":"-1","postgres":"17.4 (x)","schemas":[{"name":"public","exists":true,"usage":["anon"]}],"roles":[{"name":"anon","timeout":"999999999d"}],
		"types":[{"id":1,"schema":"pg_catalog","name":"text","kind":"b"},{"id":2,"schema":"pg_catalog","name":"_text","kind":"b","element":1},{"id":3,"schema":"x","name":"c","kind":"c","attributes":[{"name":"a","type":3}]}],
		"relations":[{"schema":"public","name":"a","kind":"r","columns":[{"name":"id","type":1}],"constraints":[{"kind":"p","columns":["id"]},{"kind":"f"}],
		"policy_roles":[{"role":"anon","commands":[]}],"indexes":[{"name":"i","method":"btree","unique":true,"keys":[{"column":"id","option":3}]}]}],
		"functions":[{"schema":"public","name":"f","volatility":"s","returns":1,"defaults":7,"parameters":[{"name":"x","type":2,"mode":"v"},{"type":1,"mode":""}],"row":[{"name":"y","type":1}]}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		snap, err := ReadCatalog(raw)
		if err != nil {
			if k := fault.From(err).Kind; k == fault.Internal {
				t.Fatalf("an error without a public face: %v", err)
			}
			return
		}
		if err := snap.Validate(); err != nil {
			t.Fatalf("an invalid snapshot: %v", err)
		}
		if text, err := json.Marshal(snap); err == nil {
			if _, err := ParseSnapshot(text); err != nil {
				t.Fatalf("its own JSON is refused: %v", err)
			}
		}
		// What stands on a snapshot copes with any that is valid.
		_ = Posture(snap, nil)
		for _, table := range Offerable(snap) {
			if _, err := Starter(snap, "x", []string{table}); err != nil {
				t.Fatalf("offerable and refused: %v", err)
			}
		}
	})
}

func TestCatalogStatementIsNotWorthCompilingToPostgres(t *testing.T) {
	t.Parallel()
	conn := nasty(t)
	if _, err := conn.Exec(t.Context(), `do $$ begin for i in 1..60 loop
		execute format('create table public.t%s (id bigint primary key, a text, b text, c timestamptz)', i);
		execute format('create function public.f%s() returns setof public.t%s language sql as ''select * from public.t%s''', i, i, i);
		end loop; end $$`); err != nil {
		t.Fatal(err)
	}
	query, err := CatalogQuery(ImportOptions{Schemas: nastySchemas})
	if err != nil {
		t.Fatal(err)
	}
	var raw []byte
	if err := conn.QueryRow(t.Context(), "explain (format json) "+query).Scan(&raw); err != nil {
		t.Fatal(err)
	}
	var plan []struct {
		Plan struct {
			Cost float64 `json:"Total Cost"`
		}
	}
	if err := json.Unmarshal(raw, &plan); err != nil {
		t.Fatal(err)
	}
	const above = 100_000 // jit_above_cost
	if len(plan) != 1 || plan[0].Plan.Cost <= 0 || plan[0].Plan.Cost >= above {
		t.Errorf("cost %v", plan)
	}
}
