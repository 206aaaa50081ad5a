package demo

import (
	"context"
	"encoding/hex"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
)

// find names the tables of the whole database, River's too, that hold one of
// the texts in any column of any row, as text or as its bytes.
func (w *world) find(t *testing.T, texts ...string) []string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), w.database.AdminDSN)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	rows, err := conn.Query(t.Context(), `select format('%I.%I', n.nspname, c.relname) from pg_class c join pg_namespace n on n.oid = c.relnamespace
		where c.relkind in ('r', 'p') and n.nspname not in ('pg_catalog', 'information_schema') and not c.relispartition order by 1`)
	if err != nil {
		t.Fatal(err)
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(tables) < 20 {
		t.Fatalf("tables %v: %v", tables, err)
	}
	var found []string
	for _, table := range tables {
		for _, text := range texts {
			var n int
			err := conn.QueryRow(t.Context(), fmt.Sprintf("select count(*) from %s r where position($1 in r::text) > 0 or position($2 in r::text) > 0", table),
				text, hex.EncodeToString([]byte(text))).Scan(&n)
			if err != nil {
				t.Fatal(err)
			}
			if n > 0 {
				found = append(found, table)
			}
		}
	}
	return found
}
