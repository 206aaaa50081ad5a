// Command worker works Chumbo's background jobs: River on Postgres.
// Configuration comes from CHUMBO_* variables.
package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/chumbo-dev/chumbo/internal/app"
)

// version is set by the linker in releases.
var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Environ(), os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop has run
	}
}

func run(ctx context.Context, environ []string, stderr io.Writer) error {
	cfg, err := app.LoadConfig(environ)
	if err != nil {
		return err
	}
	app.TuneMemory()
	log := slog.New(slog.NewJSONHandler(stderr, &slog.HandlerOptions{Level: cfg.LogLevel}))
	return app.RunWorker(ctx, cfg, app.Options{Logger: log, Version: version})
}
