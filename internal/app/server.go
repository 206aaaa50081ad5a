package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"github.com/chumbo-dev/chumbo/internal/api"
	"github.com/chumbo-dev/chumbo/internal/approvals"
	"github.com/chumbo-dev/chumbo/internal/builders"
	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/dedupe"
	"github.com/chumbo-dev/chumbo/internal/egress"
	"github.com/chumbo-dev/chumbo/internal/events"
	"github.com/chumbo-dev/chumbo/internal/mcp"
	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/oauth/bridge"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
	"github.com/chumbo-dev/chumbo/web/connect"
	"github.com/chumbo-dev/chumbo/web/dashboard"
)

// Options are what the program decides, not the operator.
type Options struct {
	Logger  *slog.Logger
	Version string
	// Aliases are further base URLs of the shared host, such as the
	// 127.0.0.1 form of a localhost URL.
	Aliases []string
	Now     func() time.Time // nil means time.Now
}

// Server is the HTTP service: control API, pages and every surface.
type Server struct {
	Tenants  *tenants.Service
	Surfaces *surfaces.Service

	config    Config
	log       *slog.Logger
	pool      *pgxpool.Pool
	directory *tenants.Directory
	recorder  *events.Recorder
	steps     *events.Steps
	bridge    *bridge.Service
	surfaces  *mcp.Handler
	handler   http.Handler
}

// shutdownGrace is how long running requests may take to end.
const shutdownGrace = 10 * time.Second

// NewServer opens the database, refuses an unsafe role or a wrong master key,
// and wires every service. Close it, also when Run was never called.
func NewServer(ctx context.Context, cfg Config, opt Options) (*Server, error) {
	if err := requireSecrets(map[string]seal.Secret{"CHUMBO_DATABASE_URL": cfg.DatabaseURL, "CHUMBO_MASTER_KEY": cfg.MasterKey}); err != nil {
		return nil, err
	}
	keys, err := seal.ParseKeyset(cfg.MasterKey)
	if err != nil {
		return nil, fmt.Errorf("CHUMBO_MASTER_KEY: %w", err)
	}
	pool, err := openPool(ctx, cfg.DatabaseURL)
	if err != nil {
		return nil, err
	}
	s := &Server{config: cfg, log: opt.Logger, pool: pool}
	if err := s.wire(ctx, keys, opt); err != nil {
		pool.Close()
		return nil, err
	}
	return s, nil
}

func (s *Server) wire(ctx context.Context, keys *seal.Keyset, opt Options) error {
	now := opt.Now
	if now == nil {
		now = time.Now
	}
	store := db.NewStore(s.pool)
	if err := checkMasterKey(ctx, store, keys); err != nil {
		return migrateFirst(err)
	}
	hosts := tenants.Hosts{
		PublicURL: s.config.PublicURL, Aliases: opt.Aliases,
		SurfaceDomain: s.config.SurfaceDomain, TrustedProxies: s.config.TrustedProxies,
	}
	var err error
	if s.Tenants, err = tenants.NewService(tenants.ServiceConfig{Store: store, Hosts: hosts, Keys: keys, Now: now}); err != nil {
		return err
	}
	if s.Surfaces, err = surfaces.NewService(store, now); err != nil {
		return err
	}
	s.directory, err = tenants.NewDirectory(tenants.DirectoryConfig{
		Store: store, Hosts: hosts, Logger: s.log, Now: now,
		StaleMax: s.config.StaleMax, RequireOwnership: s.config.RequireOwnership,
	})
	if err != nil {
		return err
	}
	policy := egressPolicy(s.config)
	s.log.Info("egress policy", "allows", policy)
	if s.config.AllowSplitIssuer {
		s.log.Warn("CHUMBO_ALLOW_SPLIT_ISSUER is on: a project's tokens may go to another origin than their issuer's")
	}
	if !s.config.RequireOwnership {
		s.log.Warn("CHUMBO_REQUIRE_OWNERSHIP is off: projects are served without proof that the organization owns them")
	}
	out := egress.New(policy)
	projects := supabase.New(out)
	authenticator, err := oauth.New(oauth.Config{Keys: projects, Logger: s.log, Now: now})
	if err != nil {
		return err
	}
	s.recorder, s.steps = events.NewRecorder(store, s.log), events.NewSteps(store, s.log)
	s.bridge, err = bridge.New(bridge.Config{
		Store: store, Keys: keys, Directory: s.directory, Watch: s.directory.Watch(), Hosts: hosts, Projects: projects, Documents: out,
		Verifier: authenticator, Steps: s.steps, PagesURL: s.config.PagesURL, Logger: s.log, Now: now,
	})
	if err != nil {
		return err
	}
	agreed, err := approvals.New(approvals.Config{Store: store, Keys: keys, PagesURL: s.config.PagesURL, Now: now, Logger: s.log})
	if err != nil {
		return err
	}
	people, err := connect.New(connect.Config{
		Bridge: s.bridge, Approvals: agreed, Directory: s.directory, Hosts: hosts, Keys: keys, Logger: s.log, Now: now, PagesURL: s.config.PagesURL,
	})
	if err != nil {
		return err
	}
	open, err := newDoors(store, keys, s.directory.Watch(), projects, out, s.log, now)
	if err != nil {
		return err
	}
	callers := authenticator.With(oauth.Doors{Bridge: s.bridge, Keys: open.keys, Issuers: open.issuers, Clients: open.clients, Sessions: open.clients})
	creates, err := dedupe.New(dedupe.Config{Store: store, Keys: keys, Now: now, Logger: s.log})
	if err != nil {
		return err
	}
	s.surfaces, err = mcp.NewHandler(mcp.Config{
		Directory: s.directory, Hosts: hosts, Authenticator: callers, Projects: projects, Keys: keys, Limiter: open.limits, Creates: creates, Clients: open.clients,
		Approvals: agreed, Changes: s.directory.Watch(),
		Recorder: s.recorder, Bridge: s.bridge, Steps: s.steps, Connect: connectPage(s.config.PagesURL, s.log), Logger: s.log, Now: now,
		Version: opt.Version, CacheBytes: s.config.CacheBytes,
	})
	if err != nil {
		return err
	}
	work, err := builders.New(builders.Config{
		Tenants: s.Tenants, Surfaces: s.Surfaces, Supabase: projects, Management: supabase.NewManagement(out),
		AllowSplitIssuer: s.config.AllowSplitIssuer, RequireOwnership: s.config.RequireOwnership,
	})
	if err != nil {
		return err
	}
	reader, err := events.NewReader(store)
	if err != nil {
		return err
	}
	control, err := api.New(api.Config{
		Tenants: s.Tenants, Surfaces: s.Surfaces, Builders: work, Bridge: s.bridge, Keys: open.keys, Clients: open.clients, Introspection: open.issuers, Connections: reader, Hosts: hosts, Logger: s.log, Now: now,
	})
	if err != nil {
		return err
	}
	pages, err := dashboard.New(dashboard.Config{
		Tenants: s.Tenants, Surfaces: s.Surfaces, Builders: work, Usage: reader, Bridge: s.bridge, Keys: open.keys, Clients: open.clients, Introspection: open.issuers, Connections: reader, Hosts: hosts, Preview: func(c *surfaces.Compiled) dashboard.Preview { return dashboard.Preview(mcp.PreviewOf(c)) },
		Logger: s.log, Version: opt.Version, Now: now,
	})
	if err != nil {
		return err
	}
	s.handler = routes(handlers{
		surfaces: s.surfaces, bridge: s.bridge, people: people, control: control, builders: pages, logos: logos(s.Tenants, s.log),
	}, hosts, s.directory, s.pool)
	return nil
}

// Setup says where the first owner is made, and with which code: a new one at
// each call, or the operator's own. The code is zero once there is an owner.
func (s *Server) Setup(ctx context.Context) (page string, code seal.Secret, err error) {
	code, err = s.Tenants.PrepareSetup(ctx, s.config.SetupCode)
	if err != nil {
		return "", seal.Secret{}, fmt.Errorf("prepare setup: %w", err)
	}
	return s.config.PublicURL + "/app/setup", code, nil
}

// egressPolicy is what the operator allows server and worker; without a word
// from them only public https on port 443.
func egressPolicy(cfg Config) egress.Policy {
	policy := egress.Policy{OwnHosts: ownHosts(cfg)}
	if cfg.AllowPrivateHosts {
		policy.AllowHTTP, policy.AllowLoopback, policy.AllowPrivate, policy.AllowAnyPort = true, true, true, true
	}
	return policy
}

// Handler is the whole service as one http.Handler.
func (s *Server) Handler() http.Handler { return s.handler }

// Run serves on the listener until ctx ends, then lets running requests
// finish.
func (s *Server) Run(ctx context.Context, listener net.Listener) error {
	server := httpServer(s.handler, s.log)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.directory.Run(ctx) })
	group.Go(func() error {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serve: %w", err)
		}
		return nil
	})
	group.Go(func() error {
		<-ctx.Done()
		s.surfaces.Close() // long-lived streams end first
		graceful, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownGrace)
		defer cancel()
		if err := server.Shutdown(graceful); err != nil {
			return errors.Join(fmt.Errorf("shut down: %w", err), server.Close())
		}
		return nil
	})
	if err := group.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// httpServer bounds how long a client may take, to send and to receive.
// Surfaces set the deadline anew when an answer begins and for every event of
// a stream, so that a long call is not cut.
func httpServer(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      2 * time.Minute,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}

// Close writes what is still queued and closes the database.
func (s *Server) Close(ctx context.Context) error {
	err := errors.Join(s.recorder.Close(ctx), s.steps.Close(ctx))
	s.surfaces.Close()
	s.pool.Close()
	return err
}

// migrateFirst names the step that is missing when a login role, its password
// or a table is not there yet.
func migrateFirst(err error) error {
	var pg *pgconn.PgError
	if errors.As(err, &pg) && slices.Contains([]string{"28P01", "28000", "42P01", "3F000"}, pg.Code) {
		return fmt.Errorf("%w; run server migrate first: it makes the tables and the login roles, with the passwords of CHUMBO_DATABASE_URL and CHUMBO_RIVER_DATABASE_URL", err)
	}
	return err
}

func openPool(ctx context.Context, dsn seal.Secret) (*pgxpool.Pool, error) {
	if err := db.CheckPooler(ctx, dsn.Reveal()); err != nil { // the Directory listens
		return nil, migrateFirst(err)
	}
	pool, err := db.Open(ctx, dsn.Reveal())
	if err != nil {
		return nil, migrateFirst(err)
	}
	if err := db.CheckRole(ctx, pool); err != nil {
		pool.Close()
		return nil, err
	}
	return pool, nil
}
