package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

type pullFlags struct{ draft, yes bool }

func pullCommand(s *session) *cobra.Command {
	var f pullFlags
	c := &cobra.Command{
		Use:   "pull [surface]",
		Short: "Write the surface files that are live into this folder",
		Long: `Write what is live into supabase/chumbo/<surface>.yaml, for one surface or for all
that are published. A local file that differs is shown as a diff and replaced
only when you say so, or with --yes.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.pull(cmd.Context(), oneSurface(args), f)
		},
	}
	c.Flags().BoolVar(&f.draft, "draft", false, "the draft of the dashboard's editor instead of what is live")
	c.Flags().BoolVar(&f.yes, "yes", false, "replace local files that differ")
	return c
}

// pulled is what --json says of one surface.
type pulled struct {
	Surface  string          `json:"surface"`
	File     string          `json:"file"`
	Outcome  string          `json:"outcome"` // written, replaced, unchanged, refused, not_tried
	Revision int             `json:"revision,omitempty"`
	Draft    bool            `json:"draft"`
	Lines    []surfaces.Line `json:"lines,omitempty"`
}

func (s *session) pull(ctx context.Context, only string, f pullFlags) error {
	w, err := s.linked()
	if err != nil {
		return err
	}
	have, err := w.published(ctx, only, f.draft)
	if err != nil {
		return err
	}
	results := make([]*pulled, 0, len(have))
	for _, one := range have {
		results = append(results, &pulled{Surface: one.Slug, File: fileOf(one.Slug).path, Outcome: outcomeNotTried, Revision: one.LiveRevision})
	}
	s.printer.data = map[string]any{"surfaces": results}
	var refused error
	for i, r := range results {
		if err := s.pullFile(ctx, w, r, f); err != nil {
			s.showNotPulled(results[i:])
			return err
		}
		if r.Outcome == outcomeRefused {
			refused = errShown
		}
	}
	return refused
}

// showNotPulled ends a pull that was cut off: what was written is said
// already, and this is the rest.
func (s *session) showNotPulled(rest []*pulled) {
	for _, r := range rest {
		r.Outcome = outcomeNotTried
		s.printer.step(step{ID: r.Surface, Status: "skip", Message: r.File + ": left as it is", Fix: "chumbo pull " + r.Surface})
	}
}

// published lists the surfaces to pull. Their names come from the server and
// become names of files: one that no surface can have is refused.
func (w *workplace) published(ctx context.Context, only string, draft bool) ([]surface, error) {
	list, err := w.surfaces(ctx)
	if err != nil {
		return nil, err
	}
	var found []surface
	for _, have := range list.Surfaces {
		if err := tenants.CheckSurfaceSlug(have.Slug); err != nil {
			return nil, fmt.Errorf("%s names a surface that cannot be: nothing was written", w.client.server())
		}
		if (only == "" || have.Slug == only) && (have.LiveRevision > 0 || draft) {
			found = append(found, have)
		}
	}
	if len(found) > 0 {
		return found, nil
	}
	if only != "" {
		return nil, fmt.Errorf("nothing of a surface %q is published in this project: chumbo status lists what is", only)
	}
	return nil, errors.New("nothing is published in this project yet: chumbo init, then chumbo push")
}

func (s *session) pullFile(ctx context.Context, w *workplace, r *pulled, f pullFlags) error {
	text, err := w.serverFile(ctx, r, f.draft)
	if err != nil {
		return err
	}
	what := fmt.Sprintf("revision %d", r.Revision)
	if r.Draft {
		what = "the draft"
	}
	old, err := w.repo.read(r.File, surfaces.MaxFileBytes)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		r.Outcome = "written"
	case err != nil:
		return err
	case old == text:
		r.Outcome = outcomeUnchanged
		s.printer.done(r.Surface, "%s: unchanged, it is %s", r.File, what)
		return nil
	default:
		r.Outcome, r.Lines = "replaced", surfaces.DiffLines(old, text)
		if ok, err := s.mayReplace(ctx, r, f.yes); err != nil || !ok {
			return err
		}
	}
	if err := w.repo.write(r.File, text); err != nil {
		return err
	}
	s.printer.done(r.Surface, "%s: %s, with %s", r.File, r.Outcome, what)
	return nil
}

// mayReplace shows what would be lost and asks.
func (s *session) mayReplace(ctx context.Context, r *pulled, yes bool) (bool, error) {
	s.printer.line("plan  %s would change:", r.File)
	s.showLines(r.Lines)
	ok, err := s.agree(ctx, yes, "Replace "+r.File+"?")
	if err != nil || ok {
		return ok, err
	}
	r.Outcome = outcomeRefused
	s.printer.step(step{ID: r.Surface, Status: "fail", Message: r.File + ": differs, and was left as it is", Fix: "chumbo pull " + r.Surface + " --yes"})
	return false, nil
}

// serverFile is the live file, or the draft.
func (w *workplace) serverFile(ctx context.Context, r *pulled, draft bool) (string, error) {
	var stored storedFile
	path := fmt.Sprintf("%s/revisions/%d", w.surface(r.Surface), r.Revision)
	if draft {
		path = w.surface(r.Surface) + "/file"
	}
	if err := w.client.do(ctx, http.MethodGet, path, nil, &stored); err != nil {
		return "", err
	}
	r.Draft = stored.Draft
	if stored.File == "" {
		return "", fmt.Errorf("%s answered without a file", w.client.server())
	}
	return stored.File, checkText(stored.File)
}
