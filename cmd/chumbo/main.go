// Command chumbo registers a Supabase project with a Chumbo server, imports
// its schema and publishes surface files. See docs/cli.md.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/mattn/go-isatty"

	"github.com/chumbo-dev/chumbo/internal/cli"
)

func main() { os.Exit(run()) }

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	context.AfterFunc(ctx, stop) // a second interrupt ends the process at once
	dir, err := os.Getwd()
	if err != nil {
		fmt.Fprintln(os.Stderr, "chumbo: find the working directory:", err)
		return 1
	}
	home, _ := os.UserHomeDir() // without one, only the environment is read
	host, _ := os.Hostname()    // without one, a login says less
	return cli.Main(ctx, cli.Environment{
		Args: os.Args[1:], Getenv: os.Getenv, Dir: dir, Home: home, Host: host,
		Out: os.Stdout, Err: os.Stderr, In: os.Stdin, IsTerminal: isTerminal(os.Stdin) && isTerminal(os.Stdout),
	})
}

func isTerminal(f *os.File) bool { return isatty.IsTerminal(f.Fd()) || isatty.IsCygwinTerminal(f.Fd()) }
