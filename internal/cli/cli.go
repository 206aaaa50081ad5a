package cli

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"
)

// Exit codes of the command.
const (
	exitOK      = 0 // done
	exitRefused = 1 // refused, or something could not be reached
	exitUsage   = 2 // wrong use: flags, arguments, missing settings
)

// Environment is all that the command takes from the process it runs in.
type Environment struct {
	Args   []string // without the program's name
	Getenv func(string) string
	Dir    string // working directory
	Home   string // the user's home directory; may be empty
	Out    io.Writer
	Err    io.Writer
}

// Main runs the command and returns its exit code: 0 done, 1 refused or not
// reachable, 2 wrong use.
func Main(ctx context.Context, env Environment) int {
	p := &printer{out: env.Out, err: env.Err}
	root := newRoot(env, p)
	root.SetArgs(env.Args)
	root.SetOut(env.Out)
	root.SetErr(env.Err)
	err := root.ExecuteContext(ctx)
	p.finish(err)
	return exitCode(err)
}

func newRoot(env Environment, p *printer) *cobra.Command {
	s := &session{env: env, printer: p}
	root := &cobra.Command{
		Use:           "chumbo",
		Short:         "Give a Supabase app an MCP endpoint for its own users",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p.quiet = true
			return cmd.Help()
		},
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	root.PersistentFlags().BoolVar(&p.json, "json", false, "print one JSON object instead of text")
	root.PersistentFlags().BoolVar(&s.insecure, "insecure", false, "allow a server over plain http that is not on this machine")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usage("%v", err) })
	root.AddCommand(linkCommand(s), importCommand(s), pushCommand(s), statusCommand(s))
	for _, c := range root.Commands() {
		c.Args = asUsage(c.Args)
	}
	root.Args = asUsage(root.Args)
	return root
}

// asUsage makes a wrong number of arguments a usage error.
func asUsage(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usage("%v. See %s --help.", err, cmd.CommandPath())
		}
		return nil
	}
}

func exitCode(err error) int {
	var u *usageError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &u):
		return exitUsage
	}
	return exitRefused
}
