// Command chumbo registers a Supabase project with a Chumbo server, imports
// its schema and publishes surface files. See docs/cli.md.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"

	"github.com/mattn/go-isatty"
	"golang.org/x/term"

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
	env := cli.Environment{
		Args: os.Args[1:], Getenv: os.Getenv, Dir: dir, Home: home, Host: host,
		Out: os.Stdout, Err: os.Stderr, In: os.Stdin, IsTerminal: isTerminal(os.Stdin) && isTerminal(os.Stdout),
	}
	if isTerminal(os.Stdin) {
		env.ReadHidden = readHidden
	}
	return cli.Main(ctx, env)
}

// readHidden reads a line of the terminal without showing it. A read cannot be
// interrupted: the terminal is put right when ctx ends before it.
func readHidden(ctx context.Context) (string, error) {
	fd := int(os.Stdin.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return "", fmt.Errorf("read the terminal: %w", err)
	}
	type answer struct {
		line []byte
		err  error
	}
	read := make(chan answer, 1)
	go func() {
		line, err := term.ReadPassword(fd)
		read <- answer{line, err}
	}()
	select {
	case <-ctx.Done():
		return "", errors.Join(ctx.Err(), term.Restore(fd, before))
	case a := <-read:
		return string(a.line), a.err
	}
}

func isTerminal(f *os.File) bool { return isatty.IsTerminal(f.Fd()) || isatty.IsCygwinTerminal(f.Fd()) }
