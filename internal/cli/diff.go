package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

func diffCommand(s *session) *cobra.Command {
	var from, to int
	c := &cobra.Command{
		Use:   "diff [surface]",
		Short: "Show how local surface files differ from what is live",
		Long: `Show how supabase/chumbo/<surface>.yaml, or every surface file, differs from what
is live: what that means for connected clients, then line by line. With --from
and --to, compare two revisions of one surface instead.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if from != 0 || to != 0 {
				return s.diffRevisions(cmd.Context(), oneSurface(args), from, to)
			}
			return s.diffLocal(cmd.Context(), oneSurface(args))
		},
	}
	c.Flags().IntVar(&from, "from", 0, "number of the earlier revision")
	c.Flags().IntVar(&to, "to", 0, "number of the later revision (default: the live one)")
	return c
}

// compared is what --json says of one comparison.
type compared struct {
	Surface  string               `json:"surface"`
	File     string               `json:"file,omitempty"`
	From     int                  `json:"from"` // revision; 0 for none
	To       int                  `json:"to"`   // revision; 0 for the local file
	Same     bool                 `json:"same"`
	Class    surfaces.ChangeClass `json:"class"`
	Changes  []surfaces.Change    `json:"changes"`
	Lines    []surfaces.Line      `json:"lines"`
	Problems []problemLine        `json:"problems,omitempty"`
}

func (s *session) diffLocal(ctx context.Context, only string) error {
	w, err := s.linked()
	if err != nil {
		return err
	}
	files, err := w.repo.surfaceFiles(only)
	if err != nil {
		return err
	}
	results := []compared{}
	for _, f := range files {
		text, err := readSurfaceFile(w.repo, f)
		if err != nil {
			return err
		}
		plan, err := w.plan(ctx, f.surface, text)
		if err != nil {
			return fmt.Errorf("%s: %w", f.path, err)
		}
		results = append(results, compared{
			Surface: f.surface, File: f.path, From: plan.Live.number(), Same: plan.Same,
			Class: plan.Class, Changes: listed(plan.Changes), Lines: listed(plan.Lines), Problems: plan.Problems,
		})
		s.showLocalDiff(f, plan)
	}
	s.printer.data = map[string]any{"surfaces": results}
	return nil
}

func (s *session) showLocalDiff(f surfaceFile, plan planAnswer) {
	switch {
	case plan.Same && len(plan.Lines) == 0:
		s.printer.done(f.surface, "%s is what is live, revision %d", f.path, plan.Live.number())
		return
	case plan.Same:
		s.printer.done(f.surface, "%s means the same as what is live, revision %d", f.path, plan.Live.number())
	case plan.Live == nil:
		s.printer.step(step{ID: f.surface, Status: "warn", Message: f.path + ": nothing of this surface is live", Fix: "chumbo push " + f.surface})
	case !plan.Accepted:
		s.printer.step(step{ID: f.surface, Status: "warn", Message: f.path + " would be refused", Fix: "chumbo push " + f.surface + " --dry-run"})
	default:
		s.printer.step(step{
			ID: f.surface, Status: "warn", Fix: "chumbo push " + f.surface + ", or chumbo pull " + f.surface,
			Message: fmt.Sprintf("%s differs from revision %d: %s", f.path, plan.Live.Number, classWords[plan.Class]),
		})
	}
	s.showChanges(plan.Changes)
	s.showLines(plan.Lines)
}

func (s *session) diffRevisions(ctx context.Context, slug string, from, to int) error {
	w, err := s.linked()
	if err != nil {
		return err
	}
	have, err := w.theSurface(ctx, slug)
	if err != nil {
		return err
	}
	if to == 0 {
		to = have.LiveRevision
	}
	if from < 1 || to < 1 {
		return usage("pass two revisions: --from N --to M")
	}
	c, err := w.compare(ctx, have.Slug, from, to)
	if err != nil {
		return err
	}
	class := surfaces.WorstChange(c.Changes)
	s.printer.data = map[string]any{"surfaces": []compared{{
		Surface: have.Slug, From: from, To: to, Same: c.From.Digest == c.To.Digest,
		Class: class, Changes: listed(c.Changes), Lines: listed(c.Lines),
	}}}
	s.printer.done(have.Slug, "surface %s, from revision %d to %d: %s", have.Slug, from, to, classWords[class])
	s.showChanges(c.Changes)
	s.showLines(c.Lines)
	return nil
}

func (w *workplace) compare(ctx context.Context, slug string, from, to int) (comparison, error) {
	var c comparison
	return c, w.client.do(ctx, http.MethodGet, fmt.Sprintf("%s/revisions/compare?from=%d&to=%d", w.surface(slug), from, to), nil, &c)
}

// theSurface is the one named, or the only one there is.
func (w *workplace) theSurface(ctx context.Context, slug string) (surface, error) {
	list, err := w.surfaces(ctx)
	if err != nil {
		return surface{}, err
	}
	for _, have := range list.Surfaces {
		if have.Slug == slug || (slug == "" && len(list.Surfaces) == 1) {
			return have, nil
		}
	}
	if slug != "" {
		return surface{}, fmt.Errorf("there is no surface %q in this project: chumbo status lists them", slug)
	}
	if len(list.Surfaces) == 0 {
		return surface{}, errors.New("this project has no surface yet: chumbo init, then chumbo push")
	}
	return surface{}, usage("which surface? This project has several: chumbo status lists them")
}

// listed makes an absent list an empty one: readers of --json never see null.
func listed[T any](items []T) []T {
	if items == nil {
		return []T{}
	}
	return items
}
