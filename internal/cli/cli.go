package cli

import (
	"context"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/chumbo-dev/chumbo/internal/egress"
	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/tenants"
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
	Host   string // this machine's name, shown to who approves a login; may be empty
	Out    io.Writer
	Err    io.Writer

	In         io.Reader // answers to questions; nil: nobody answers
	IsTerminal bool      // In and Out are terminals: questions may be asked

	// ReadHidden reads one line of In without showing it; nil where In is no
	// terminal.
	ReadHidden func(ctx context.Context) (string, error)

	// What follows has a default where it is nil.
	Now        func() time.Time
	After      func(time.Duration) <-chan time.Time
	Browse     func(ctx context.Context, address string) error // opens a page
	Management *supabase.Management                            // Supabase's Management API
}

func (e Environment) withDefaults() Environment {
	if e.Now == nil {
		e.Now = time.Now
	}
	if e.After == nil {
		e.After = time.After
	}
	if e.Browse == nil {
		e.Browse = browse
	}
	if e.Management == nil {
		e.Management = supabase.NewManagement(egress.New(egress.Policy{}))
	}
	return e
}

// Main runs the command and returns its exit code: 0 done, 1 refused or not
// reachable, 2 wrong use.
func Main(ctx context.Context, env Environment) int {
	env = env.withDefaults()
	p := &printer{out: env.Out, err: env.Err, json: asksForJSON(env.Args)}
	err := refuseSecretArguments(env.Args)
	if err == nil {
		err = execute(ctx, env, p)
	}
	p.finish(err)
	return exitCode(err)
}

func execute(ctx context.Context, env Environment, p *printer) error {
	root := newRoot(env, p)
	root.SetArgs(env.Args)
	root.SetOut(env.Out)
	root.SetErr(env.Err)
	ran, err := root.ExecuteContextC(ctx)
	if ran != nil && ran != root {
		p.command = strings.TrimPrefix(ran.CommandPath(), root.Name()+" ")
	}
	return err
}

// asksForJSON looks for --json before anything is parsed: a wrong flag is told
// in JSON, too.
func asksForJSON(args []string) bool {
	for _, arg := range args {
		switch arg {
		case "--":
			return false
		case "--json", "--json=true":
			return true
		}
	}
	return false
}

// refuseSecretArguments refuses a secret key anywhere on the command line,
// before a message could quote it. The connection string is not looked at: it
// holds a password, and goes nowhere.
func refuseSecretArguments(args []string) error {
	flag := "" // whose value comes next
	for _, arg := range args {
		name, value := flag, arg
		flag = ""
		if strings.HasPrefix(arg, "-") {
			var hasValue bool
			if name, value, hasValue = strings.Cut(arg, "="); !hasValue {
				flag = name
			}
			if err := tenants.RefuseSecret("argument", name); err != nil {
				return publicError(err)
			}
		}
		if name == "--db-url" {
			continue
		}
		if err := tenants.RefuseSecret(first(name, "argument"), value); err != nil {
			return publicError(err)
		}
	}
	return nil
}

func newRoot(env Environment, p *printer) *cobra.Command {
	s := &session{env: env, printer: p}
	root := &cobra.Command{
		Use:   "chumbo",
		Short: "Give a Supabase app an MCP endpoint for its own users",
		Long: `Give a Supabase app an MCP endpoint for its own users.

From the app's folder: login, link, import, init, push. Each says what comes
next. docs/cli.md is the reference.`,
		SilenceErrors:     true,
		SilenceUsage:      true,
		Args:              cobra.NoArgs,
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		p.quiet = !p.json
		if p.json {
			cmd.Root().SetOut(env.Err) // the output is for the object alone
		}
		help(cmd, args)
	})
	root.PersistentFlags().BoolVar(&p.json, "json", p.json, "print one JSON object instead of text, and ask nothing")
	root.PersistentFlags().Lookup("json").DefValue = "false" // what help shows
	root.PersistentFlags().BoolVar(&s.insecure, "insecure", false, "allow a server over plain http that is not on this machine")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usage("%v", err) })
	root.AddCommand(
		loginCommand(s), logoutCommand(s),
		linkCommand(s), importCommand(s), initCommand(s),
		pushCommand(s), pullCommand(s), diffCommand(s), rollbackCommand(s), unpinCommand(s),
		statusCommand(s), doctorCommand(s), openCommand(s), consentCommand(s), introspectionCommand(s),
		keysCommand(s), clientsCommand(s),
	)
	for _, c := range root.Commands() {
		c.Args = asUsage(c.Args)
	}
	root.Args = asUsage(root.Args)
	return root
}

var plainWord = regexp.MustCompile(`^[a-z][a-z-]{0,20}$`)

// asUsage makes a wrong number of arguments a usage error. It quotes nothing
// that is not a plain word: a connection string may have been pasted.
func asUsage(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if check(cmd, args) == nil {
			return nil
		}
		if !cmd.HasParent() && plainWord.MatchString(args[0]) {
			return usage("there is no command %s. See chumbo --help.", args[0])
		}
		return usage("too many arguments: %s is how it is used. See %s --help.", cmd.UseLine(), cmd.CommandPath())
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

// oneSurface is the optional surface argument of a command.
func oneSurface(args []string) string { return strings.Join(args, "") }

// first is the first value that is not empty.
func first(values ...string) string {
	i := slices.IndexFunc(values, func(v string) bool { return v != "" })
	if i < 0 {
		return ""
	}
	return values[i]
}
