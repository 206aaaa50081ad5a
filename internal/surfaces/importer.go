package surfaces

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
)

// ImportOptions says what to read. The zero value reads schema public.
type ImportOptions struct {
	Schemas []string // exposed schemas, in the Data API's order; default [public]
	MaxRows int      // the Data API's db-max-rows; 0: as the database says, else 1000
}

// ImportPostgres reads a snapshot from the catalogs of a database, over the
// builder's own connection. It reads no row of the builder's data and changes
// nothing.
func ImportPostgres(ctx context.Context, conn *pgx.Conn, opt ImportOptions) (*Snapshot, error) {
	return nil, errors.New("import postgres: in progress")
}
