package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/chumbo-dev/chumbo/internal/app"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/seal"
)

// setPassword lets in a builder who has no password or lost it. The password
// is made here and printed once: nobody has to type one into a shell.
func setPassword(ctx context.Context, args, environ []string, stdout, stderr io.Writer) error {
	flags := newFlags("server set-password", stderr)
	email := flags.String("email", "", "the builder's email address")
	if err := parse(flags, args); err != nil {
		return ignoreHelp(err)
	}
	if *email == "" {
		return errors.New("set-password needs -email")
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
	password := rand.Text()
	err = server.Tenants.SetPassword(ctx, *email, seal.NewSecret(password))
	if f := new(fault.Error); errors.As(err, &f) && f.Cause == nil {
		return errors.New(f.Message)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, `%s signs in with this password, shown once. Every session of theirs has ended.

  %s

Next: sign in at %s/app and choose another one under Account.
`, *email, password, cfg.PublicURL)
	return err
}
