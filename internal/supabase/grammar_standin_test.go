package supabase_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/standin"
	"github.com/chumbo-dev/chumbo/internal/supabase"
)

// oddTable has a column of every kind that is compared by text: each hostile
// value has a row of its own, beside rows that a widened query would show.
const oddTable = `
create table public."odd, ""table" (
  id int primary key,
  "a.b" text,
  "or" text[],
  "d(x)" jsonb,
  role text not null default 'admin'
);
grant select on public."odd, ""table" to authenticated;
insert into public."odd, ""table" (id, "a.b") values (1000, 'admin'), (1001, null);
`

// hostile are texts that mean something to a grammar somewhere on the way.
var hostile = []string{
	`a"b,c`, `back\slash`, `(x)`, `null`, `x&role=eq.admin`, `),id.gt.0,(`, ``, ` lead and trail `, `{x,"y"}`, `100%_*`,
	"quote'; drop table x; --", `")`, `\"`, `not.is.null`, `admin`, `é😀+%2B;#?`,
}

// ask is how the rows of one condition are found twice: by the Data API, and
// by Postgres with parameters.
type ask struct {
	name      string
	condition supabase.Condition
	sql       string // of the same predicate, $1 and $2 its parameters
	args      []any
}

// asks are the conditions for a value, one per operator.
func asks(t *testing.T, v string) []ask {
	t.Helper()
	text, err := json.Marshal(map[string][]string{v: {v}})
	if err != nil {
		t.Fatal(err)
	}
	const column, list, doc = "a.b", "or", "d(x)"
	pattern := strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`, `*`, `_`).Replace(v)
	compare := func(operator, sql string) ask {
		return ask{operator, supabase.Condition{Column: column, Operator: operator, Value: v}, `"a.b" ` + sql + ` $1::text`, []any{v}}
	}
	arrays := func(operator, sql string, values ...string) ask {
		return ask{fmt.Sprint(operator, len(values)), supabase.Condition{Column: list, Operator: operator, Values: values}, `"or" ` + sql + ` $1::text[]`, []any{values}}
	}
	return []ask{
		compare("eq", "="), compare("neq", "<>"), compare("gt", ">"), compare("gte", ">="), compare("lt", "<"), compare("lte", "<="),
		compare("isdistinct", "is distinct from"),
		{"like", supabase.Condition{Column: column, Operator: "like", Value: `%` + pattern + `%`}, `"a.b" like $1`, []any{`%` + pattern + `%`}},
		{"ilike", supabase.Condition{Column: column, Operator: "ilike", Value: pattern}, `"a.b" ilike $1`, []any{pattern}},
		{"in", supabase.Condition{Column: column, Operator: "in", Values: []string{v}}, `"a.b" = any($1::text[])`, []any{[]string{v}}},
		{"in2", supabase.Condition{Column: column, Operator: "in", Values: []string{v, "(x)"}}, `"a.b" = any($1::text[])`, []any{[]string{v, "(x)"}}},
		{"wfts", supabase.Condition{Column: column, Operator: "wfts", Config: "simple", Value: v}, `to_tsvector('simple', "a.b") @@ websearch_to_tsquery('simple', $1)`, []any{v}},
		arrays("cs", "@>", v), arrays("cd", "<@", v, "", "admin"), arrays("ov", "&&", v, "never"),
		{"cs json", supabase.Condition{Column: doc, Operator: "cs", Value: string(text)}, `"d(x)" @> $1::text::jsonb`, []any{string(text)}},
		{"cd json", supabase.Condition{Column: doc, Operator: "cd", Value: string(text)}, `"d(x)" <@ $1::text::jsonb`, []any{string(text)}},
	}
}

// TestField71_ValuesOfCallersNeverBecomeGrammar asks for hostile values with
// every operator in every place of the grammar: what comes back is what
// Postgres finds for the same value as a parameter, no row more and none less.
func TestField71_ValuesOfCallersNeverBecomeGrammar(t *testing.T) {
	t.Parallel()
	p, client, session := startOdd(t)
	conn, err := pgx.Connect(t.Context(), p.DSN())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	for i, v := range hostile {
		list := []string{v, "x"}[:1+i%2]
		doc, err := json.Marshal(map[string][]string{v: list})
		if err != nil {
			t.Fatal(err)
		}
		_, err = conn.Exec(t.Context(), `insert into "odd, ""table" (id, "a.b", "or", "d(x)") values ($1, $2::text, $3, $4)`, i+1, v, list, string(doc))
		if err != nil {
			t.Fatal(err)
		}
	}
	never := supabase.Condition{Column: "id", Operator: "lt", Value: "0"}
	found := map[string]int{}
	for _, v := range hostile {
		for _, a := range asks(t, v) {
			negated := a.condition
			negated.Negate = true
			nested := supabase.Condition{Or: []supabase.Condition{never, {And: []supabase.Condition{a.condition, {Column: "id", Operator: "in", Values: []string{"1", "2", "3", "4", "5", "6", "7", "8"}}}}}}
			for _, place := range []struct {
				name  string
				where []supabase.Condition
				sql   string
			}{
				{"top", []supabase.Condition{a.condition}, a.sql},
				{"not", []supabase.Condition{negated, {Column: "id", Operator: "lt", Value: "900"}}, "not (" + a.sql + ") and id < 900"},
				{"tree", []supabase.Condition{nested}, a.sql + " and id between 1 and 8"},
				{"not in a tree", []supabase.Condition{{Or: []supabase.Condition{negated, never}}}, "not (" + a.sql + ")"},
			} {
				want := rowIDs(t, conn, place.sql, a.args)
				answer, err := client.Select(t.Context(), session, supabase.Select{
					Relation: `odd, "table`, Columns: []string{`"id"`}, Where: place.where, Order: []supabase.OrderBy{{Column: "id"}},
				})
				if err != nil {
					t.Fatalf("%s %q %s: %v", a.name, v, place.name, err)
				}
				if got := answeredIDs(t, answer.Body); got != want {
					t.Errorf("%s %q %s: rows %s, want %s", a.name, v, place.name, got, want)
				}
				found[a.name+" "+place.name] += len(want)
			}
		}
	}
	for what, rows := range found {
		if rows == 0 {
			t.Errorf("%s never found a row, so it shows nothing", what)
		}
	}
}

func rowIDs(t *testing.T, conn *pgx.Conn, predicate string, args []any) string {
	t.Helper()
	var list string
	err := conn.QueryRow(t.Context(), `select coalesce(string_agg(id::text, ',' order by id), '') from "odd, ""table" where `+predicate, args...).Scan(&list)
	if err != nil {
		t.Fatalf("%s: %v", predicate, err)
	}
	return list
}

func answeredIDs(t *testing.T, body []byte) string {
	t.Helper()
	var rows []struct{ ID json.Number }
	if err := json.Unmarshal(body, &rows); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	list := make([]string, len(rows))
	for i, r := range rows {
		list[i] = r.ID.String()
	}
	return strings.Join(list, ",")
}

// TestNULIsRefusedByPostgres: the one character that no text can hold is an
// error everywhere, and drops out of no value on the way.
func TestNULIsRefusedByPostgres(t *testing.T) {
	t.Parallel()
	_, client, session := startOdd(t)
	for _, a := range asks(t, "ad\x00min") {
		if strings.Contains(a.name, "json") {
			continue // a JSON text says \u0000, which is another error
		}
		for _, where := range [][]supabase.Condition{{a.condition}, {{Or: []supabase.Condition{a.condition}}}} {
			_, err := client.Select(t.Context(), session, supabase.Select{Relation: `odd, "table`, Columns: []string{`"id"`}, Where: where})
			var e *supabase.Error
			if !errors.As(err, &e) || e.Code != "22021" {
				t.Errorf("%s: %v, want 22021", a.name, err)
			}
		}
	}
}

func startOdd(t *testing.T) (*standin.Project, *supabase.Client, supabase.Session) {
	t.Helper()
	p, client := start(t, standin.Options{Schema: standin.CRM + oddTable, Users: standin.CRMUsers()})
	return p, client, sessionOf(t, p, standin.AliceEmail)
}

// sessionOf is a project as its Auth signs somebody in.
func sessionOf(t *testing.T, p *standin.Project, email string) supabase.Session {
	t.Helper()
	token, err := p.AccessToken(email, standin.TokenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	project := supabase.Project{ID: id.New[id.ProjectKind](), APIOrigin: p.URL(), PublishableKey: p.PublishableKey()}
	return supabase.AsUser(project, seal.NewSecret(token))
}
