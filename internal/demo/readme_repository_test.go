package demo

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/localpg"
	"github.com/chumbo-dev/chumbo/internal/standin"
)

// answers are what a person at the terminal would say, as flags.
var answers = map[string]string{
	"chumbo link": "chumbo link --yes",
	"chumbo init": "chumbo init --tables customers",
	"chumbo push": "chumbo push --yes",
}

// TestCommandsForARepositoryWork types the commands that the pages print for a
// builder's own project, one after the other.
func TestCommandsForARepositoryWork(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		page, from, until string
		copied            string   // surface files that are there already
		set               []string // variables that the page need not set
	}{
		"readme":  {page: "../../README.md", from: "### From a repository", until: "```yaml"},
		"example": {page: "../../examples/crm/README.md", from: "## Serve it", until: "## Try", copied: "../../examples/crm/supabase/chumbo", set: []string{"SUPABASE_DB_URL"}},
		"cli":     {page: "../../docs/cli.md", from: "# The chumbo command", until: "Install it", set: []string{"SUPABASE_DB_URL", "SUPABASE_PUBLISHABLE_KEY"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			page, err := os.ReadFile(c.page)
			if err != nil {
				t.Fatal(err)
			}
			_, part, _ := strings.Cut(string(page), c.from)
			part, _, found := strings.Cut(part, c.until)
			if !found {
				t.Fatalf("%s has no part from %q to %q any more", c.page, c.from, c.until)
			}
			project, err := standin.Start(t.Context(), standin.Options{Postgres: localpg.Shared(t), Schema: standin.CRM, Users: standin.CRMUsers()})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = project.Close() })
			repo := newCheckout(t, "typed-from-"+name, project)
			if c.copied != "" {
				if err := os.CopyFS(filepath.Join(repo.dir, "supabase/chumbo"), os.DirFS(c.copied)); err != nil {
					t.Fatal(err)
				}
			}
			shell := repo.env
			repo.env = map[string]string{"CHUMBO_URL": shell["CHUMBO_URL"], "CHUMBO_TOKEN": shell["CHUMBO_TOKEN"]}
			for _, variable := range c.set {
				repo.env[variable] = shell[variable]
			}
			typed := 0
			for line := range strings.Lines(part) {
				command, _, _ := strings.Cut(line, " #")
				command = strings.TrimSpace(command)
				switch {
				case strings.HasPrefix(command, "export "):
					variable, _, _ := strings.Cut(strings.TrimPrefix(command, "export "), "=")
					repo.env[variable] = shell[variable]
				case command == "supabase db push", command == "supabase migration up":
					applyProofs(t, repo, project)
				case strings.HasPrefix(command, "chumbo login"): // the checkout has a token
				case strings.HasPrefix(command, "chumbo "):
					if answer, ok := answers[command]; ok {
						command = answer
					}
					typed++
					repo.chumbo(t, 0, strings.TrimPrefix(command, "chumbo "))
				}
			}
			if typed < 4 {
				t.Errorf("%s prints only %d commands", c.page, typed)
			}
			status := repo.chumbo(t, 0, "status", "proven", "surface main: live, revision 1")
			if strings.Contains(status, "warn") {
				t.Errorf("after all that, something is not right: %s", status)
			}
		})
	}
}

// applyProofs runs the migrations that the command wrote.
func applyProofs(t *testing.T, repo *checkout, project *standin.Project) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(repo.dir, "supabase/migrations/*_chumbo_*.sql"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no migration was written: %v", err)
	}
	slices.Sort(files)
	for _, file := range files {
		sql, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := project.Exec(t.Context(), string(sql)); err != nil {
			t.Fatal(err)
		}
	}
	if err := project.ReloadSchema(t.Context()); err != nil {
		t.Fatal(err)
	}
}
