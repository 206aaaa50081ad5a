package db

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/chumbo-dev/chumbo/db/migrations"
)

// RiverSchema is the schema of River's own tables.
const RiverSchema = "river"

// migrateLock keeps two migrations of one database apart (advisory lock key).
const migrateLock = 0x6368756d626f // "chumbo"

// MigrateOptions are the passwords of the two login roles, printable ASCII. An
// empty password leaves the role's password as it is. They are never logged;
// Postgres gets only what it stores (a SCRAM verifier).
type MigrateOptions struct {
	ServerPassword string // chumbo_server, for the server and the worker
	RiverPassword  string // chumbo_river, for River's fetching client
	Logger         *slog.Logger
}

// Migrate brings the database of adminDSN to this version: roles, schemas, our
// tables, River's tables, grants. It needs a superuser, or a role that may
// create roles and create in this database. It is idempotent, and safe to run
// several times at once, also for several databases of one cluster.
func Migrate(ctx context.Context, adminDSN string, opt MigrateOptions) error {
	if opt.Logger == nil {
		opt.Logger = slog.New(slog.DiscardHandler)
	}
	config, err := pgx.ParseConfig(adminDSN)
	if err != nil {
		return fmt.Errorf("parse database URL: %w", err)
	}
	if err := refusePoolerPort(config.Port); err != nil {
		return err
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return fmt.Errorf("reach database: %w", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if _, err := conn.Exec(ctx, "select pg_advisory_lock($1)", int64(migrateLock)); err != nil {
		return fmt.Errorf("lock migrations: %w", err)
	}
	if err := ensureRoles(ctx, conn, opt); err != nil {
		return fmt.Errorf("create roles: %w", err)
	}
	if err := ensureSchemas(ctx, conn); err != nil {
		return fmt.Errorf("create schemas: %w", err)
	}
	if err := migrateTables(ctx, config, opt.Logger); err != nil {
		return fmt.Errorf("migrate tables: %w", err)
	}
	if err := migrateRiver(ctx, adminDSN, opt.Logger); err != nil {
		return fmt.Errorf("migrate river: %w", err)
	}
	if err := applyGrants(ctx, conn); err != nil {
		return fmt.Errorf("grant: %w", err)
	}
	return nil
}

// ensureSchemas makes both schemas, owned by chumbo_owner, closed to PUBLIC.
func ensureSchemas(ctx context.Context, conn *pgx.Conn) error {
	var database string
	if err := conn.QueryRow(ctx, "select current_database()").Scan(&database); err != nil {
		return fmt.Errorf("read database name: %w", err)
	}
	for _, schema := range []string{"chumbo", RiverSchema} {
		if _, err := conn.Exec(ctx, "create schema if not exists "+schema+" authorization chumbo_owner"); err != nil {
			return fmt.Errorf("create schema %s: %w", schema, err)
		}
	}
	_, err := conn.Exec(ctx, "grant connect on database "+pgx.Identifier{database}.Sanitize()+" to chumbo_server, chumbo_river")
	if err != nil {
		return fmt.Errorf("grant connect: %w", err)
	}
	return nil
}

// migrateTables runs the goose migrations as chumbo_owner, which then owns
// what they make.
func migrateTables(ctx context.Context, config *pgx.ConnConfig, logger *slog.Logger) error {
	config = config.Copy()
	config.RuntimeParams["search_path"] = "chumbo"
	pool := stdlib.OpenDB(*config, stdlib.OptionAfterConnect(becomeOwner))
	defer func() { _ = pool.Close() }()
	return runGoose(ctx, pool, logger)
}

func runGoose(ctx context.Context, pool *sql.DB, logger *slog.Logger) error {
	provider, err := goose.NewProvider(goose.DialectPostgres, pool, migrations.FS,
		goose.WithTableName("goose_db_version"), goose.WithDisableGlobalRegistry(true), goose.WithSlog(logger))
	if err != nil {
		return fmt.Errorf("read migrations: %w", err)
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("apply migrations: %w", err)
	}
	return nil
}

// migrateRiver runs River's own migrations, as chumbo_owner, in their schema.
func migrateRiver(ctx context.Context, adminDSN string, logger *slog.Logger) error {
	config, err := pgxpool.ParseConfig(adminDSN)
	if err != nil {
		return fmt.Errorf("parse database URL: %w", err)
	}
	config.MaxConns = 2
	config.AfterConnect = becomeOwner
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return fmt.Errorf("open pool: %w", err)
	}
	defer pool.Close()
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Schema: RiverSchema, Logger: logger})
	if err != nil {
		return fmt.Errorf("make migrator: %w", err)
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return fmt.Errorf("apply migrations: %w", err)
	}
	return nil
}

func becomeOwner(ctx context.Context, conn *pgx.Conn) error {
	if _, err := conn.Exec(ctx, "set role chumbo_owner"); err != nil {
		return fmt.Errorf("become chumbo_owner: %w", err)
	}
	return nil
}

// applyGrants gives the roles what the migrations do not: River's schema, and
// goose's table closed like every other. Our own tables' grants are written in
// the migrations that make them.
func applyGrants(ctx context.Context, conn *pgx.Conn) error {
	for _, statement := range []string{
		"set role chumbo_owner",
		// Bookkeeping of migrations: the owner's only.
		"alter table chumbo.goose_db_version enable row level security",
		"alter table chumbo.goose_db_version force row level security",
		"drop policy if exists owner_all on chumbo.goose_db_version",
		"create policy owner_all on chumbo.goose_db_version to chumbo_owner using (true) with check (true)",
		// Enqueueing inside a transaction of ours: insert, and read back what
		// was inserted. Nothing else in River's schema.
		"grant usage on schema river to chumbo_app, chumbo_system, chumbo_river",
		"grant select, insert on river.river_job to chumbo_app, chumbo_system",
		"grant usage on sequence river.river_job_id_seq to chumbo_app, chumbo_system",
		// River's own client: its tables, and only rows.
		"grant select, insert, update, delete on all tables in schema river to chumbo_river",
		"revoke insert, update, delete on river.river_migration from chumbo_river",
		"grant usage, select on all sequences in schema river to chumbo_river",
		"reset role",
	} {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}
