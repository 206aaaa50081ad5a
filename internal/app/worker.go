package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/egress"
	"github.com/chumbo-dev/chumbo/internal/events"
	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/oauth/bridge"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/tasks"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// RunWorker works River's jobs until ctx ends, then lets running ones finish.
func RunWorker(ctx context.Context, cfg Config, opt Options) error {
	err := requireSecrets(map[string]seal.Secret{
		"CHUMBO_DATABASE_URL": cfg.DatabaseURL, "CHUMBO_RIVER_DATABASE_URL": cfg.RiverDatabaseURL, "CHUMBO_MASTER_KEY": cfg.MasterKey,
	})
	if err != nil {
		return err
	}
	keys, err := seal.ParseKeyset(cfg.MasterKey)
	if err != nil {
		return fmt.Errorf("CHUMBO_MASTER_KEY: %w", err)
	}
	pool, err := openPool(ctx, cfg.DatabaseURL)
	if err != nil {
		return err
	}
	defer pool.Close()
	store := db.NewStore(pool)
	if err := checkMasterKey(ctx, store, keys); err != nil {
		return migrateFirst(err)
	}
	steps := events.NewSteps(store, opt.Logger)
	worker, err := newWorker(ctx, cfg, opt, store, keys, steps)
	if err != nil {
		return fmt.Errorf("start worker: %w", err)
	}
	err = worker.Run(ctx)
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownGrace)
	defer cancel()
	return errors.Join(err, steps.Close(closing))
}

func newWorker(ctx context.Context, cfg Config, opt Options, store *db.Store, keys *seal.Keyset, steps *events.Steps) (*tasks.Worker, error) {
	if opt.Now == nil {
		opt.Now = time.Now
	}
	hosts := tenants.Hosts{PublicURL: cfg.PublicURL, Aliases: opt.Aliases, SurfaceDomain: cfg.SurfaceDomain}
	organizations, err := tenants.NewService(tenants.ServiceConfig{Store: store, Now: opt.Now, Hosts: hosts})
	if err != nil {
		return nil, err
	}
	out := egress.New(egressPolicy(cfg))
	projects := supabase.New(out)
	people, err := workersBridge(cfg, opt, bridge.Config{
		Store: store, Keys: keys, Hosts: hosts, Projects: projects, Documents: out, Steps: steps, PagesURL: cfg.PagesURL, Logger: opt.Logger, Now: opt.Now,
	})
	if err != nil {
		return nil, err
	}
	return tasks.NewWorker(ctx, tasks.WorkerConfig{
		Store: store, RiverDSN: cfg.RiverDatabaseURL, Logger: opt.Logger, InvocationRetention: cfg.InvocationRetention, Now: opt.Now,
		Tenants: organizations, Prover: prover{projects, supabase.NewManagement(out)}, Bridge: people,
	})
}

// workersBridge is the bridge as the worker needs it. Its Directory does not
// listen, so that whatever it is asked it asks the database.
func workersBridge(cfg Config, opt Options, c bridge.Config) (*bridge.Service, error) {
	directory, err := tenants.NewDirectory(tenants.DirectoryConfig{
		Store: c.Store, Hosts: c.Hosts, Logger: opt.Logger, Now: opt.Now, RequireOwnership: cfg.RequireOwnership,
	})
	if err != nil {
		return nil, err
	}
	verifier, err := oauth.New(oauth.Config{Keys: c.Projects, Logger: opt.Logger, Now: opt.Now})
	if err != nil {
		return nil, err
	}
	c.Directory, c.Watch, c.Verifier = directory, directory.Watch(), verifier
	return bridge.New(c)
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
