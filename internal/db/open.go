package db

import (
	"context"
	"fmt"
	"maps"

	"github.com/jackc/pgx/v5/pgxpool"
)

// sessionSettings are in force on every connection of Open: names resolve in
// our schema only, times are UTC, and a forgotten transaction ends by itself.
var sessionSettings = map[string]string{
	"application_name":                    "chumbo",
	"search_path":                         "chumbo",
	"timezone":                            "UTC",
	"lock_timeout":                        "10s",
	"statement_timeout":                   "30s",
	"idle_in_transaction_session_timeout": "60s",
}

// Open connects a pool with our session settings. The DSN is a URL or
// keyword/value string; pool_max_conns and its like are understood. A
// transaction pooler is refused by its port (CheckPooler looks closer). The
// pool is usable only when the server answers; the caller closes it.
func Open(ctx context.Context, dsn string) (*pgxpool.Pool, error) {
	return OpenSized(ctx, dsn, 0)
}

// OpenSized is Open with a limit on connections; 0 leaves it to the DSN.
func OpenSized(ctx context.Context, dsn string, maxConns int32) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("parse database URL: %w", err)
	}
	if err := refusePoolerPort(config.ConnConfig.Port); err != nil {
		return nil, err
	}
	if maxConns > 0 {
		config.MaxConns = maxConns
	}
	maps.Copy(config.ConnConfig.RuntimeParams, sessionSettings)
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("open pool: %w", err)
	}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, fmt.Errorf("reach database: %w", err)
	}
	return pool, nil
}
