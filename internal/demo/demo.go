// Package demo composes everything on one machine: a throwaway Postgres, the
// service with its worker, and a stand-in Supabase project with Alice and Bob
// in two organizations, registered and published through the control API.
//
// It listens on loopback only and leaves nothing behind. Only cmd/server
// imports it.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/chumbo-dev/chumbo/internal/app"
	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/localpg"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/standin"
)

// Options of a demo.
type Options struct {
	Out       io.Writer // what a person reads
	Log       io.Writer // the service's log
	ReadyFile string    // written as JSON once everything answers; removed at the end
	Version   string
	Port      int // preferred port; 0 means DefaultPort; when taken, or AnyPort, a free one
}

// DefaultPort is where the demo listens when it is free; AnyPort asks for any
// free port.
const (
	DefaultPort = 8080
	AnyPort     = -1
)

// Run starts everything, prints how to connect, and stops when ctx ends, also
// in the middle of starting.
func Run(ctx context.Context, o Options) error {
	var closing []error
	err := run(ctx, o, func(err error) { closing = append(closing, err) })
	if left := errors.Join(closing...); left != nil {
		return errors.Join(err, left)
	}
	select {
	case <-ctx.Done(): // stopped on purpose: what that interrupted is no error
		_, _ = fmt.Fprintln(o.Out, "\nStopped; nothing is left behind.")
		return nil
	default:
		return err
	}
}

// run is Run without the last word: closed hears how each part's end went.
func run(ctx context.Context, o Options, closed func(error)) error {
	app.TuneMemory()
	if err := clearReadyFile(o.ReadyFile); err != nil {
		return err
	}
	start := time.Now()
	progress := func(format string, args ...any) { _, _ = fmt.Fprintf(o.Out, format+"\n", args...) }
	cleanup := context.WithoutCancel(ctx)

	progress("Starting Postgres …")
	postgres, err := localpg.Start(ctx, localpg.Options{Own: true, Log: o.Out})
	if err != nil {
		return err
	}
	defer func() { closed(postgres.Close()) }()

	listener, err := listen(ctx, o.Port)
	if err != nil {
		return err
	}
	defer func() { _ = listener.Close() }()
	cfg, err := prepareDatabase(ctx, postgres, listener)
	if err != nil {
		return err
	}

	progress("Starting the stand-in Supabase project …")
	var e edge
	functions, open, err := e.functions()
	if err != nil {
		return err
	}
	project, err := standin.Start(ctx, standin.Options{
		Postgres: postgres, Schema: standin.CRM, Users: standin.CRMUsers(), Functions: functions, OpenFunctions: open,
		RedirectURLs: []string{cfg.PublicURL + "/connect/callback**"},
		Mailed: func(to string, m standin.Mail) { // nothing leaves this machine: the terminal is the mailbox
			progress("\nMail to %s: %s\n  code %s, or in the same browser %s", to, m.Subject, m.Code, m.Link)
		},
	})
	if err != nil {
		return fmt.Errorf("start stand-in project: %w", err)
	}
	defer func() { closed(project.Close()) }()
	e.project.Store(project)

	log := slog.New(slog.NewTextHandler(o.Log, &slog.HandlerOptions{Level: slog.LevelWarn}))
	opt := app.Options{Logger: log, Version: o.Version, Aliases: aliases(listener)}
	server, err := app.NewServer(ctx, cfg, opt)
	if err != nil {
		return err
	}
	defer func() { closed(server.Close(cleanup)) }()

	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() error { return server.Run(groupCtx, listener) })
	group.Go(func() error { return app.RunWorker(groupCtx, cfg, opt) })
	group.Go(func() error {
		progress("Registering the project and publishing five surfaces …")
		ready, err := publish(groupCtx, server, cfg, project, &e)
		if err != nil {
			return fmt.Errorf("set up the demo: %w", err)
		}
		ready.print(o.Out, time.Since(start))
		return ready.write(o.ReadyFile)
	})
	defer removeReadyFile(o.ReadyFile)
	return group.Wait()
}

// listen takes the preferred port on loopback, or any free one.
func listen(ctx context.Context, port int) (net.Listener, error) {
	if port == 0 {
		port = DefaultPort
	}
	var lc net.ListenConfig
	if port != AnyPort {
		if l, err := lc.Listen(ctx, "tcp", "127.0.0.1:"+strconv.Itoa(port)); err == nil {
			return l, nil
		}
	}
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen on loopback: %w", err)
	}
	return l, nil
}

func portOf(l net.Listener) string {
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

// aliases are the other loopback spellings of the public URL.
func aliases(l net.Listener) []string { return []string{"http://127.0.0.1:" + portOf(l)} }

func prepareDatabase(ctx context.Context, postgres *localpg.Server, l net.Listener) (app.Config, error) {
	databaseName := postgres.NewName() // on an existing server, others may run too
	if err := postgres.CreateDatabase(ctx, databaseName, ""); err != nil {
		return app.Config{}, err
	}
	serverPassword, riverPassword := postgres.RolePassword("chumbo_server"), postgres.RolePassword("chumbo_river")
	err := db.Migrate(ctx, postgres.DSN(databaseName), db.MigrateOptions{ServerPassword: serverPassword, RiverPassword: riverPassword})
	if err != nil {
		return app.Config{}, err
	}
	cfg, err := app.LoadConfig([]string{
		"CHUMBO_PUBLIC_URL=http://localhost:" + portOf(l),
		"CHUMBO_REQUIRE_OWNERSHIP=false",
		"CHUMBO_ALLOW_PRIVATE_HOSTS=true",
	})
	if err != nil {
		return app.Config{}, err
	}
	cfg.DatabaseURL = seal.NewSecret(postgres.DSNAs(databaseName, "chumbo_server"))
	cfg.RiverDatabaseURL = seal.NewSecret(postgres.DSNAs(databaseName, "chumbo_river"))
	cfg.MasterKey = seal.GenerateKey()
	return cfg, nil
}
