package app

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/egress"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/tasks"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// RunWorker works River's jobs until ctx ends, then lets running ones finish.
func RunWorker(ctx context.Context, cfg Config, opt Options) error {
	err := requireSecrets(map[string]seal.Secret{"CHUMBO_DATABASE_URL": cfg.DatabaseURL, "CHUMBO_RIVER_DATABASE_URL": cfg.RiverDatabaseURL})
	if err != nil {
		return err
	}
	pool, err := openPool(ctx, cfg.DatabaseURL)
	if err != nil {
		return err
	}
	defer pool.Close()
	worker, err := newWorker(ctx, cfg, opt, db.NewStore(pool))
	if err != nil {
		return fmt.Errorf("start worker: %w", err)
	}
	return worker.Run(ctx)
}

func newWorker(ctx context.Context, cfg Config, opt Options, store *db.Store) (*tasks.Worker, error) {
	now := opt.Now
	if now == nil {
		now = time.Now
	}
	organizations, err := tenants.NewService(tenants.ServiceConfig{
		Store: store, Now: now, Hosts: tenants.Hosts{PublicURL: cfg.PublicURL, Aliases: opt.Aliases, SurfaceDomain: cfg.SurfaceDomain},
	})
	if err != nil {
		return nil, err
	}
	out := egress.New(egressPolicy(cfg))
	return tasks.NewWorker(ctx, tasks.WorkerConfig{
		Store: store, RiverDSN: cfg.RiverDatabaseURL, Logger: opt.Logger, InvocationRetention: cfg.InvocationRetention, Now: now,
		Tenants: organizations, Prover: prover{supabase.New(out), supabase.NewManagement(out)},
	})
}

// prover asks projects for proofs of ownership. The worker repeats only those
// that need neither key nor token.
type prover struct {
	*supabase.Client
	*supabase.Management
}

// Migrate brings the database to this version's schema: roles, tables, River's
// own. It needs CHUMBO_MIGRATE_DATABASE_URL, and takes the passwords of the
// two login roles from their URLs.
func Migrate(ctx context.Context, cfg Config) error {
	err := requireSecrets(map[string]seal.Secret{
		"CHUMBO_MIGRATE_DATABASE_URL": cfg.MigrateDatabaseURL, "CHUMBO_DATABASE_URL": cfg.DatabaseURL, "CHUMBO_RIVER_DATABASE_URL": cfg.RiverDatabaseURL,
	})
	if err != nil {
		return err
	}
	server, err := passwordOf(cfg.DatabaseURL, "CHUMBO_DATABASE_URL")
	if err != nil {
		return err
	}
	river, err := passwordOf(cfg.RiverDatabaseURL, "CHUMBO_RIVER_DATABASE_URL")
	if err != nil {
		return err
	}
	return db.Migrate(ctx, cfg.MigrateDatabaseURL.Reveal(), db.MigrateOptions{ServerPassword: server, RiverPassword: river})
}

// passwordOf is the password inside a database URL.
func passwordOf(dsn seal.Secret, setting string) (string, error) {
	config, err := pgx.ParseConfig(dsn.Reveal())
	if err != nil {
		return "", fmt.Errorf("%s is not a Postgres URL", setting) // the parser's text may quote the password
	}
	if config.Password == "" {
		return "", fmt.Errorf("%s has no password: migrate sets the role's password from it", setting)
	}
	return config.Password, nil
}
