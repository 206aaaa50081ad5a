package app

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/seal"
)

const masterKeyFact = "master-key-check"

// errWrongMasterKey is what an operator sees who starts with another key than
// the one the database was first used with.
var errWrongMasterKey = errors.New("CHUMBO_MASTER_KEY is not the key this database was first used with: restore that key (a rotated one goes after the new one, separated by a comma)")

// checkMasterKey refuses a keyset that cannot open what the database holds;
// the first start leaves a check value.
func checkMasterKey(ctx context.Context, store *db.Store, keys *seal.Keyset) error {
	return store.AsSystem(ctx, func(q *db.Queries, _ pgx.Tx) error {
		// Insert first: of two servers at their first start one value stays.
		if err := q.InsertInstanceFact(ctx, db.InsertInstanceFactParams{Name: masterKeyFact, Value: keys.Check()}); err != nil {
			return err
		}
		check, err := q.InstanceFact(ctx, masterKeyFact)
		if err != nil {
			return err
		}
		if !keys.Matches(check) {
			return errWrongMasterKey
		}
		return nil
	})
}
