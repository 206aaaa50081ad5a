package surfaces

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// defaultMaxRows is Supabase's own db-max-rows.
const defaultMaxRows = 1000

// ImportOptions says what to read. The zero value reads schema public.
type ImportOptions struct {
	Schemas []string // exposed schemas, in the Data API's order; default [public]
	MaxRows int      // the Data API's db-max-rows; 0: as the database says, else 1000
	Roles   []string // roles whose rights to read beside anon and authenticated
}

// ImportPostgres reads a snapshot from the catalogs of a database, over the
// builder's own connection. It reads no row but Storage's list of buckets, and changes
// nothing: one statement in a read-only transaction, so that what it sees
// belongs together.
func ImportPostgres(ctx context.Context, conn *pgx.Conn, opt ImportOptions) (*Snapshot, error) {
	query, err := CatalogQuery(opt)
	if err != nil {
		return nil, err
	}
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return nil, fmt.Errorf("begin import: %w", err)
	}
	defer tx.Rollback(ctx) //nolint:errcheck // read only: there is nothing to keep
	// Operators cannot be named whole without hiding the statement's sense; and
	// compiling a statement this long costs seconds, where that is switched on.
	if _, err := tx.Exec(ctx, "set local search_path = ''; set local jit = off"); err != nil {
		return nil, fmt.Errorf("prepare import: %w", err)
	}
	var raw []byte
	if err := tx.QueryRow(ctx, query).Scan(&raw); err != nil {
		return nil, fmt.Errorf("read catalogs: %w", err)
	}
	return ReadCatalog(raw)
}
