package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/chumbo-dev/chumbo/internal/app"
	"github.com/chumbo-dev/chumbo/internal/demo"
	"github.com/chumbo-dev/chumbo/internal/fault"
)

func run(ctx context.Context, args, environ []string, stdout, stderr io.Writer) error {
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		switch args[0] {
		case "migrate":
			return migrate(ctx, args[1:], environ, stdout, stderr)
		case "bootstrap":
			return bootstrap(ctx, args[1:], environ, stdout, stderr)
		case "set-password":
			return setPassword(ctx, args[1:], environ, stdout, stderr)
		case "version":
			_, err := fmt.Fprintln(stdout, version)
			return err
		}
		return fmt.Errorf("unknown command %q: use migrate, bootstrap, set-password or version, or none to serve (server -h lists the flags)", args[0])
	}
	flags := newFlags("server", stderr)
	flags.Usage = func() {
		_, _ = fmt.Fprintln(stderr, usage)
		flags.PrintDefaults()
	}
	withWorker := flags.Bool("with-worker", false, "run the worker in this process too")
	isDemo := flags.Bool("demo", false, "run everything on this machine with a stand-in Supabase project")
	readyFile := flags.String("ready-file", "", "with -demo: write how to connect to this file as JSON once ready")
	if err := parse(flags, args); err != nil {
		return ignoreHelp(err)
	}
	if *isDemo {
		return demo.Run(ctx, demo.Options{Out: stdout, Log: stderr, ReadyFile: *readyFile, Version: version})
	}
	if *readyFile != "" {
		return errors.New("-ready-file goes with -demo")
	}
	cfg, err := app.LoadConfig(environ)
	if err != nil {
		return err
	}
	return serve(ctx, cfg, *withWorker, stderr)
}

const usage = `Usage:
  server              serve; settings come from CHUMBO_* variables (docs/self-hosting.md)
  server migrate      bring the database to this version
  server bootstrap    make the first owner and print an API token once
  server set-password give a builder a new password and print it once
  server version      print the version
Flags of serving:`

func serve(ctx context.Context, cfg app.Config, withWorker bool, stderr io.Writer) error {
	app.TuneMemory()
	opt := options(cfg, stderr)
	server, err := app.NewServer(ctx, cfg, opt)
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", cfg.Listen)
	if err != nil {
		return errors.Join(fmt.Errorf("listen on %s (CHUMBO_LISTEN): %w", cfg.Listen, err), server.Close(ctx))
	}
	if err := announceSetup(ctx, server, cfg, stderr); err != nil {
		return errors.Join(err, listener.Close(), server.Close(ctx))
	}
	opt.Logger.Info("serving", "listen", listener.Addr().String(), "public_url", cfg.PublicURL)
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() error { return server.Run(groupCtx, listener) })
	if withWorker {
		group.Go(func() error { return app.RunWorker(groupCtx, cfg, opt) })
	}
	err = group.Wait()
	return errors.Join(err, server.Close(context.WithoutCancel(ctx)))
}

// announceSetup tells the operator how the first owner is made. The code is the
// one secret that is meant to be read in this output; the operator's own is not
// repeated.
func announceSetup(ctx context.Context, server *app.Server, cfg app.Config, out io.Writer) error {
	page, code, err := server.Setup(ctx)
	if err != nil || code.IsZero() {
		return err
	}
	shown := code.Reveal()
	if !cfg.SetupCode.IsZero() {
		shown = "that CHUMBO_SETUP_CODE holds"
	}
	_, err = fmt.Fprintf(out, "Nobody owns this server yet. Open %s and enter the setup code %s\n", page, shown)
	return err
}

func migrate(ctx context.Context, args, environ []string, stdout, stderr io.Writer) error {
	flags := newFlags("server migrate", stderr)
	if err := parse(flags, args); err != nil {
		return ignoreHelp(err)
	}
	cfg, err := app.LoadConfig(environ)
	if err != nil {
		return err
	}
	if err := app.Migrate(ctx, cfg); err != nil {
		return err
	}
	_, err = fmt.Fprintln(stdout, "The database is at this version. Next: start the server. While nobody owns it, it prints the setup code of the first owner; or make one now with server bootstrap -email you@example.com -organization Acme")
	return err
}

func bootstrap(ctx context.Context, args, environ []string, stdout, stderr io.Writer) error {
	flags := newFlags("server bootstrap", stderr)
	email := flags.String("email", "", "the first owner's email address")
	organization := flags.String("organization", "", "the organization's name")
	if err := parse(flags, args); err != nil {
		return ignoreHelp(err)
	}
	if *email == "" || *organization == "" {
		return errors.New("bootstrap needs -email and -organization")
	}
	cfg, err := app.LoadConfig(environ)
	if err != nil {
		return err
	}
	cfg.LogLevel = max(cfg.LogLevel, slog.LevelError) // how it would serve is of no interest here
	server, err := app.NewServer(ctx, cfg, options(cfg, stderr))
	if err != nil {
		return err
	}
	defer func() { _ = server.Close(context.WithoutCancel(ctx)) }()
	org, _, token, err := server.Tenants.CreateOwner(ctx, *email, *organization)
	if f := new(fault.Error); errors.As(err, &f) && f.Cause == nil {
		return errors.New(f.Message)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, `%s is the owner of %s. This API token is shown once; keep it like a password:

  %s

Next, in your app's repository:

  export CHUMBO_URL=%s
  export CHUMBO_TOKEN=%s
  chumbo link && chumbo import && chumbo push
`, *email, org.Name, token.Reveal(), cfg.PublicURL, token.Reveal())
	return err
}

func options(cfg app.Config, stderr io.Writer) app.Options {
	log := slog.New(slog.NewJSONHandler(stderr, &slog.HandlerOptions{Level: cfg.LogLevel}))
	return app.Options{Logger: log, Version: version}
}

func newFlags(name string, stderr io.Writer) *flag.FlagSet {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(stderr)
	return flags
}

func parse(flags *flag.FlagSet, args []string) error {
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	return nil
}

// ignoreHelp makes -h a success: the flag package has printed the help.
func ignoreHelp(err error) error {
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	return err
}
