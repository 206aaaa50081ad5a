package cli

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

type initFlags struct {
	tables []string
	title  string
}

func initCommand(s *session) *cobra.Command {
	var f initFlags
	c := &cobra.Command{
		Use:   "init [surface]",
		Short: "Write a surface file to begin with, over chosen tables",
		Long: `Write supabase/chumbo/<surface>.yaml (main.yaml when none is named): read-only
tools over the tables you choose, with comments that say how to go on. A file
that is there already is left as it is.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.initSurface(cmd.Context(), first(oneSurface(args), tenants.MainSurface), f)
		},
	}
	c.Flags().StringSliceVar(&f.tables, "tables", nil, "tables to offer, such as customers,notes")
	c.Flags().StringVar(&f.title, "title", "", "what the surface is called (default: the project's name)")
	return c
}

func (s *session) initSurface(ctx context.Context, slug string, f initFlags) error {
	if err := tenants.CheckSurfaceSlug(slug); err != nil {
		return usage("%s", fault.From(err).Message)
	}
	w, err := s.linked()
	if err != nil {
		return err
	}
	file := fileOf(slug)
	if len(f.tables) == 0 {
		if f.tables, err = s.chooseTables(ctx, w); err != nil {
			return err
		}
	}
	text, err := w.starter(ctx, f)
	if err != nil {
		return err
	}
	s.printer.data = map[string]any{"surface": slug, "file": file.path, "tables": f.tables}
	old, err := w.repo.read(file.path, surfaces.MaxFileBytes)
	switch {
	case err == nil && old == text:
		s.printer.done(slug, "%s is there already, the same", file.path)
	case err == nil:
		s.printer.step(step{
			ID: slug, Status: "fail", Message: file.path + " is there already and was left as it is",
			Fix: "chumbo init with another name, or remove the file first",
		})
		return errShown
	case !errors.Is(err, fs.ErrNotExist):
		return err
	default:
		if err := w.repo.write(file.path, text); err != nil {
			return err
		}
		s.printer.done(slug, "wrote %s with %s", file.path, counted(len(f.tables), "table"))
	}
	s.printer.end("Read it, and change what you like.", "chumbo push --dry-run", "chumbo push")
	return nil
}

// starter asks for the file and puts the line before it that editors find the
// JSON Schema by.
func (w *workplace) starter(ctx context.Context, f initFlags) (string, error) {
	query := url.Values{"tables": {strings.Join(f.tables, ",")}}
	if f.title != "" {
		query.Set("title", f.title)
	}
	var answer storedFile
	err := w.client.do(ctx, http.MethodGet, w.project()+"/schema/starter?"+query.Encode(), nil, &answer)
	if err != nil {
		return "", err
	}
	if err := checkText(answer.File); err != nil {
		return "", err
	}
	if strings.Contains(answer.File, "yaml-language-server:") {
		return answer.File, nil
	}
	return "# yaml-language-server: $schema=" + w.client.server() + "/schema/surface-v1.json\n" + answer.File, nil
}

// chooseTables lets somebody choose from what can be offered.
func (s *session) chooseTables(ctx context.Context, w *workplace) ([]string, error) {
	names, err := w.offerable(ctx)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, errors.New("no table can be offered: signed-in users must be able to read one that has a primary key. Run chumbo import after changing that")
	}
	if !s.asks() {
		return nil, usage("which tables? Pass --tables with some of: %s", strings.Join(names, ", "))
	}
	for i, name := range names {
		s.printer.line("%4d  %s", i+1, name)
	}
	answer, err := s.prompt(ctx, "Tables to offer, by number or name, with spaces between: ")
	if err != nil {
		return nil, err
	}
	return chosen(names, answer)
}

// chosen reads an answer of numbers and names.
func chosen(names []string, answer string) ([]string, error) {
	var picked []string
	for _, word := range strings.FieldsFunc(answer, func(r rune) bool { return r == ' ' || r == ',' }) {
		if n, err := strconv.Atoi(word); err == nil && n >= 1 && n <= len(names) {
			word = names[n-1]
		}
		if !slices.Contains(names, word) {
			return nil, usage("what was typed is not one of the tables: nothing was written")
		}
		if !slices.Contains(picked, word) {
			picked = append(picked, word)
		}
	}
	if len(picked) == 0 {
		return nil, usage("no table was chosen: nothing was written")
	}
	return picked, nil
}

func (w *workplace) offerable(ctx context.Context) ([]string, error) {
	var answer struct {
		Offerable []string `json:"offerable"`
	}
	err := w.client.do(ctx, http.MethodGet, w.project()+"/schema?summary=true&offerable=true", nil, &answer)
	return answer.Offerable, err
}

// checkText refuses a file of the server that is not plain text: it would be
// written and, sooner or later, shown in a terminal.
func checkText(text string) error {
	lines := strings.ReplaceAll(text, "\r\n", "\n")
	if len(text) > surfaces.MaxFileBytes || plain(lines) != lines {
		return errors.New("the server's file is not plain text, and was not written")
	}
	return nil
}
