package surfaces

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/examples/crm"
	"github.com/chumbo-dev/chumbo/internal/localpg"
	"github.com/chumbo-dev/chumbo/internal/standin"
)

// crmProject starts the example app with more SQL run after its own, and
// connects to its database.
func crmProject(t *testing.T, more string) (*standin.Project, *pgx.Conn) {
	t.Helper()
	p, err := standin.Start(t.Context(), standin.Options{Postgres: localpg.Shared(t), Schema: standin.CRM, Users: standin.CRMUsers()})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), p.DSN())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close(context.Background())
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := conn.Exec(t.Context(), more); err != nil {
		t.Fatalf("plant: %v", err)
	}
	return p, conn
}

func importPublic(t *testing.T, conn *pgx.Conn) *Snapshot {
	t.Helper()
	snap, err := ImportPostgres(t.Context(), conn, ImportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return snap
}

// crmSurfaces compiles the example's surface files, and more.
func crmSurfaces(t *testing.T, snap *Snapshot, more ...string) []*Compiled {
	t.Helper()
	var compiled []*Compiled
	for _, name := range []string{"main", "reports"} {
		src, err := crm.SurfaceFile(name)
		if err != nil {
			t.Fatal(err)
		}
		more = append(more, string(src))
	}
	for _, src := range more {
		c, problems := Compile([]byte(src), snap, known())
		if c == nil {
			t.Fatalf("refused: %v\n%s", problems, src)
		}
		compiled = append(compiled, c)
	}
	return compiled
}

func TestPostureFindsNothingInTheExample(t *testing.T) {
	t.Parallel()
	_, conn := crmProject(t, "")
	snap := importPublic(t, conn)
	for _, f := range Posture(snap, crmSurfaces(t, snap)) {
		t.Errorf("%s: %s", f.ID, f.Summary)
	}
}

const oneTable = "version: 1\ntitle: More\naccess: { mode: oauth, authorization: direct }\ntools:\n"

func TestPostureFindsEachPlantedFaultAndItsSQLRemovesIt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		plant string
		file  string // a surface over it
		finds []Finding
	}{
		"a table without Row Level Security": {
			plant: `create table public.todos (id bigint primary key, owner_id uuid, body text); grant select on public.todos to authenticated;`,
			finds: []Finding{{ID: "table_without_rls:public.todos", Severity: FindingSerious}},
		},
		"one that a surface uses": {
			plant: `create table public.todos (id bigint primary key); grant select on public.todos to authenticated;`,
			file:  oneTable + "  - { table: todos, columns: [id] }\n",
			finds: []Finding{{ID: "table_without_rls:public.todos", Severity: FindingSerious, Used: true}},
		},
		"one that nobody reaches": {
			plant: `create table public.todos (id bigint primary key);`,
			finds: []Finding{{ID: "table_without_rls:public.todos", Severity: FindingWarning}},
		},
		"one that everybody may change": {
			plant: `create table public.todos (id bigint primary key); grant select, insert, update, delete on public.todos to anon;`,
			finds: []Finding{
				{ID: "table_without_rls:public.todos", Severity: FindingSerious},
				{ID: "grant_to_anon:public.todos:select,insert,update,delete", Severity: FindingWarning},
			},
		},
		"a view with its owner's rights": {
			plant: `create view public.all_customers as select id, name from public.customers; grant select on public.all_customers to authenticated;`,
			file:  oneTable + "  - { table: all_customers, columns: [id, name], key: [id] }\n",
			finds: []Finding{{ID: "view_without_security_invoker:public.all_customers", Severity: FindingSerious, Used: true}},
		},
		"such a view that nobody reaches": {
			plant: `create view public.all_customers as select id, name from public.customers;`,
			finds: []Finding{{ID: "view_without_security_invoker:public.all_customers", Severity: FindingWarning}},
		},
		"a function with its owner's rights": {
			plant: `create function public.everyone(term text, variadic ids bigint[], out n bigint) language sql security definer as 'select count(*) from public.customers';`,
			finds: []Finding{{ID: "security_definer_function:public.everyone:text,int8[]", Severity: FindingWarning}},
		},
		"a right of anon behind Row Level Security": {
			plant: `grant select, update (name) on public.customers to anon;`,
			finds: []Finding{{ID: "grant_to_anon:public.customers:select,update", Severity: FindingWarning, Used: true}},
		},
		"a right of anon by PUBLIC": {
			plant: `grant delete, select (id) on public.organizations to public;`,
			finds: []Finding{{ID: "grant_to_anon:public.organizations:select,delete", Severity: FindingWarning, Used: true}},
		},
		"a right of anon that a policy for everybody lets through": {
			plant: `grant select on public.notes to anon; create policy everybody on public.notes for select using (true);`,
			finds: []Finding{{ID: "grant_to_anon:public.notes:select", Severity: FindingWarning, Used: true}},
		},
		"more than the policy for anon means": {
			plant: `grant insert on public.announcements to anon;`,
			finds: []Finding{{ID: "grant_to_anon:public.announcements:insert", Severity: FindingWarning}},
		},
		"no index for an order": {
			plant: `drop index public.customers_updated;`,
			finds: []Finding{
				{ID: "missing_index:public.customers:updated_at", Severity: FindingWarning, Used: true},
				{ID: "missing_index:public.customers:updated_at,id", Severity: FindingWarning, Used: true},
			},
		},
		"no index for a search": {
			plant: `drop index public.customers_name_search;`,
			finds: []Finding{{ID: "missing_index:public.customers:gin name", Severity: FindingWarning, Used: true}},
		},
		"no index for a search, and no extension": {
			plant: `drop extension pg_trgm cascade;`,
			finds: []Finding{{ID: "missing_index:public.customers:gin name", Severity: FindingWarning, Used: true}},
		},
		"an overloaded function": {
			plant: `create function public.greet(name integer) returns text language sql immutable as $$ select 'x' $$; create function public.greet_2() returns text language sql immutable as $$ select 'x' $$;`,
			finds: []Finding{{ID: "overloaded_function:public.greet", Severity: FindingWarning}},
		},
		"names that need quoting": {
			plant: `create type public."Kind; drop" as enum ('x');
				create table public."it's ""odd""; --" ("user" bigint, "Group" text, primary key ("user")); grant all on public."it's ""odd""; --" to anon, authenticated;
				create view public."select" as select 1 as id; grant select on public."select" to authenticated;
				do $$ begin execute format('create table public.%I (id integer primary key)', E'new\nline; drop table public.customers;'); end $$;
				create function public."F(x)"(a public."Kind; drop", b "char", c timestamptz[]) returns void language sql security definer as '';
				create function public."F(x)"(a integer) returns void language sql as '';`,
			file: oneTable + "  - { table: \"it's \\\"odd\\\"; --\", columns: [user, Group], filters: { Group: [eq] }, order: [-Group] }\n",
			finds: []Finding{
				{ID: `table_without_rls:public.it's "odd"; --`, Severity: FindingSerious, Used: true},
				{ID: `view_without_security_invoker:public.select`, Severity: FindingSerious},
				{ID: `security_definer_function:public.F(x):public."Kind; drop","char",timestamptz[]`, Severity: FindingWarning},
				{ID: "overloaded_function:public.F(x)", Severity: FindingWarning},
				{ID: `grant_to_anon:public.it's "odd"; --:select,insert,update,delete`, Severity: FindingWarning, Used: true},
				{ID: `missing_index:public.it's "odd"; --:"Group"`, Severity: FindingWarning, Used: true},
				{ID: `missing_index:public.it's "odd"; --:"Group","user"`, Severity: FindingWarning, Used: true},
				{ID: "table_without_rls:public.new\nline; drop table public.customers;", Severity: FindingWarning},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, conn := crmProject(t, c.plant)
			snap := importPublic(t, conn)
			var more []string
			if c.file != "" {
				more = []string{c.file}
			}
			found := Posture(snap, crmSurfaces(t, snap, more...))
			checkFindings(t, found, c.finds)
			for _, f := range found {
				if f.Kind == "" || f.Summary == "" || f.SQL == "" || !strings.HasPrefix(f.ID, f.Kind+":"+f.Object) {
					t.Errorf("half a finding: %+v", f)
				}
				if _, err := conn.Exec(t.Context(), f.SQL); err != nil {
					t.Errorf("%s: its SQL does not run: %v\n%s", f.ID, err, f.SQL)
				}
			}
			after := importPublic(t, conn)
			for _, f := range Posture(after, crmSurfaces(t, after, more...)) {
				t.Errorf("still there: %s", f.ID)
			}
			if newIndex(after).relations["public.customers"] == nil {
				t.Error("customers is gone")
			}
		})
	}
}

func checkFindings(t *testing.T, got, want []Finding) {
	t.Helper()
	var ids, wanted []string
	for _, f := range got {
		ids = append(ids, f.ID)
	}
	for _, f := range want {
		wanted = append(wanted, f.ID)
	}
	if !slices.Equal(ids, wanted) {
		t.Fatalf("found\n%s\nwant\n%s", strings.Join(ids, "\n"), strings.Join(wanted, "\n"))
	}
	for i := range got {
		if got[i].Severity != want[i].Severity || got[i].Used != want[i].Used {
			t.Errorf("%s is %s, used %t", got[i].ID, got[i].Severity, got[i].Used)
		}
	}
}

func TestRightsTakenFromEverybodyStayWithTheOthers(t *testing.T) {
	t.Parallel()
	_, conn := crmProject(t, `create table public.shared (id bigint primary key, a text, b text);
		alter table public.shared enable row level security;
		grant select, delete, insert (a, b) on public.shared to public`)
	snap := importPublic(t, conn)
	found := Posture(snap, nil)
	checkFindings(t, found, []Finding{{ID: "grant_to_anon:public.shared:select,insert,delete", Severity: FindingWarning}})
	if _, err := conn.Exec(t.Context(), found[0].SQL); err != nil {
		t.Fatal(err)
	}
	var got []bool
	err := conn.QueryRow(t.Context(), `select array[
		has_table_privilege('anon', 'public.shared', 'select'), has_any_column_privilege('anon', 'public.shared', 'insert'), has_table_privilege('anon', 'public.shared', 'delete'),
		has_table_privilege('authenticated', 'public.shared', 'select'), has_column_privilege('authenticated', 'public.shared', 'b', 'insert'),
		has_column_privilege('authenticated', 'public.shared', 'id', 'insert'), has_table_privilege('authenticated', 'public.shared', 'delete')]`).Scan(&got)
	if err != nil || !slices.Equal(got, []bool{false, false, false, true, true, false, true}) {
		t.Errorf("rights after it: %v, %v", got, err)
	}
}

func TestPostureLeavesAloneWhatIsMeant(t *testing.T) {
	t.Parallel()
	for name, plant := range map[string]string{
		"a definer function that policies call, out of reach": `create function private.helper() returns boolean language sql security definer as 'select true'; grant execute on function private.helper() to authenticated, anon;`,
		"one that no role may call":                           `create function public.helper() returns boolean language sql security definer as 'select true'; revoke execute on function public.helper() from public;`,
		"a trigger":                                           `create function public.on_change() returns trigger language plpgsql security definer as $$ begin return new; end $$;`,
		"overloads that no role may call":                     `create function public.twice(a integer) returns integer language sql as 'select 1'; create function public.twice(a text) returns integer language sql as 'select 1'; revoke execute on function public.twice(integer), public.twice(text) from public;`,
		"a right with a policy for it":                        `grant insert on public.announcements to anon; create policy write on public.announcements for insert to anon with check (true);`,
		"a partition":                                         `create table public.parts (id bigint primary key) partition by range (id); alter table public.parts enable row level security; create table public.parts_1 partition of public.parts for values from (1) to (9);`,
		"chumbo's own functions":                              `create function public.chumbo_ownership() returns text language sql security definer as $$ select 'x' $$; create function public.chumbo_catalog(token text) returns jsonb language sql security definer as $$ select '{}'::jsonb $$;`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, conn := crmProject(t, plant)
			snap := importPublic(t, conn)
			checkFindings(t, Posture(snap, crmSurfaces(t, snap)), nil)
		})
	}
}

func TestPostureCountsAPublicToolAsMeant(t *testing.T) {
	t.Parallel()
	snap := loadSnapshot(t)
	public := &Compiled{Access: Access{Modes: []Mode{ModePublic}}, Tools: []Tool{{Gate: Gate{Public: true}, Get: &GetPlan{Relation: Relation{Schema: "public", Name: "announcements"}}}}}
	has := func(used []*Compiled) bool {
		return slices.ContainsFunc(Posture(snap, used), func(f Finding) bool { return f.ID == "grant_to_anon:public.announcements:select" })
	}
	if !has(nil) || has([]*Compiled{public, nil}) {
		t.Errorf("without the tool %t, with it %t", has(nil), has([]*Compiled{public}))
	}
}

func TestPostureCountsWhatAPublicToolWritesAsMeant(t *testing.T) {
	t.Parallel()
	snap := loadSnapshot(t)
	r := relationOf(t, snap, "notes")
	r.Delete = []string{"anon"}
	for i := range r.Columns {
		r.Columns[i].Select, r.Columns[i].Insert, r.Columns[i].Update = []string{"anon"}, []string{"anon"}, []string{"anon"}
	}
	on, key := Relation{Schema: "public", Name: "notes"}, []Column{{Name: "id"}}
	for want, tool := range map[string]Tool{
		"select,update,delete": {Gate: Gate{Public: true}, Create: &CreatePlan{Relation: on}},
		"update,delete":        {Gate: Gate{Public: true}, Create: &CreatePlan{Relation: on, Columns: key}},
		"insert,delete":        {Gate: Gate{Public: true}, Update: &UpdatePlan{Relation: on, Key: key}},
		"insert,update":        {Gate: Gate{Public: true}, Delete: &DeletePlan{Relation: on, Key: key}},
		// Signed-in callers do it as themselves.
		"select,insert,update,delete": {Delete: &DeletePlan{Relation: on, Key: key}},
	} {
		used := []*Compiled{{Access: Access{Modes: []Mode{ModePublic}}, Tools: []Tool{tool}}}
		if id := "grant_to_anon:public.notes:" + want; !slices.ContainsFunc(Posture(snap, used), func(f Finding) bool { return f.ID == id && f.Used }) {
			t.Errorf("%s is not found with %s", id, tool.Operation())
		}
	}
}

func TestPostureLooksForTheIndexesOfWritesByFilters(t *testing.T) {
	t.Parallel()
	snap := loadSnapshot(t)
	c := mustBuild(t, string(writeFile("table: notes, operations: [delete], columns: [id, author_id], filters: { author_id: [eq] }, max_affected: 5")), snap)
	if !slices.ContainsFunc(Posture(snap, []*Compiled{c}), func(f Finding) bool {
		return f.ID == "missing_index:public.notes:author_id" && f.SQL == "create index on public.notes (author_id);"
	}) {
		t.Errorf("findings are %+v", Posture(snap, []*Compiled{c}))
	}
}

func TestDefinerFunctionOfALiveSurfaceIsSerious(t *testing.T) {
	t.Parallel()
	// It was no definer when the revision was compiled.
	live := &Compiled{Tools: []Tool{{RPC: &RPCPlan{Relation: Relation{Schema: "public", Name: "as_owner"}}}}}
	for _, f := range Posture(loadSnapshot(t), []*Compiled{live}) {
		if f.Kind == FindingFunctionDefiner && f.Severity == FindingSerious && f.Used && f.ID == "security_definer_function:public.as_owner" {
			return
		}
	}
	t.Error("not found")
}

func TestPostureCopesWithNothing(t *testing.T) {
	t.Parallel()
	if got := Posture(nil, nil); got != nil {
		t.Errorf("without a snapshot: %v", got)
	}
	if got := Posture(&Snapshot{}, []*Compiled{nil, {Tools: []Tool{{List: &ListPlan{Relation: Relation{Schema: "public", Name: "gone"}}}}}}); len(got) != 0 {
		t.Errorf("of an empty one: %v", got)
	}
}
