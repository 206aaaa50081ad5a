package cli

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

type rollbackFlags struct {
	to       string
	pin, yes bool
}

func rollbackCommand(s *session) *cobra.Command {
	var f rollbackFlags
	c := &cobra.Command{
		Use:   "rollback [surface]",
		Short: "Make an earlier revision of a surface live again",
		Long: `Make an earlier revision live again, by its number or the beginning of its digest
(12 digits or more). What that changes for connected clients is shown first and
asked about as with push.

With --pin the revision is held: nothing can be published or rolled back until
chumbo unpin. To hold what is live, name it.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.rollback(cmd.Context(), oneSurface(args), f)
		},
	}
	c.Flags().StringVar(&f.to, "to", "", "number or digest of the revision")
	c.Flags().BoolVar(&f.pin, "pin", false, "hold it: nothing can be published until chumbo unpin")
	c.Flags().BoolVar(&f.yes, "yes", false, "without asking")
	return c
}

func (s *session) rollback(ctx context.Context, slug string, f rollbackFlags) error {
	w, err := s.linked()
	if err != nil {
		return err
	}
	have, err := w.theSurface(ctx, slug)
	if err != nil {
		return err
	}
	var list revisionsAnswer
	if err := w.client.do(ctx, http.MethodGet, w.surface(have.Slug)+"/revisions", nil, &list); err != nil {
		return err
	}
	target, err := list.find(f.to)
	if err != nil {
		return err
	}
	if target.Live && !f.pin {
		s.printer.data = map[string]any{"surface": have.Slug, "revision": target.Number, "digest": target.Digest, "pinned": have.Pinned, "changed": false}
		s.printer.done(have.Slug, "revision %d is live already", target.Number)
		return nil
	}
	if ok, err := s.mayRollBack(ctx, w, have, target, f); err != nil || !ok {
		return err
	}
	return s.makeLive(ctx, w, have.Slug, target, list.digest(have.LiveRevision), f.pin)
}

// digest is that of a revision by number: what was shown as live.
func (a revisionsAnswer) digest(number int) string {
	for _, r := range a.Revisions {
		if r.Number == number {
			return r.Digest
		}
	}
	return ""
}

// find finds a revision by number or by the beginning of its digest.
func (a revisionsAnswer) find(to string) (revision, error) {
	if to == "" {
		return revision{}, usage("where to? Pass --to with one of: %s", a.names())
	}
	number, err := strconv.Atoi(to)
	for _, r := range a.Revisions {
		if (err == nil && r.Number == number) || (len(to) >= 12 && strings.HasPrefix(r.Digest, to)) {
			return r, nil
		}
	}
	return revision{}, usage("there is no revision %s. There are: %s", to, a.names())
}

const namedRevisions = 10

func (a revisionsAnswer) names() string {
	var names []string
	for i, r := range a.Revisions {
		if i == namedRevisions {
			names = append(names, "…")
			break
		}
		name := strconv.Itoa(r.Number)
		if r.Live {
			name += " (live)"
		}
		names = append(names, name)
	}
	return first(strings.Join(names, ", "), "none")
}

// mayRollBack shows what clients would notice, and asks.
func (s *session) mayRollBack(ctx context.Context, w *workplace, have surface, target revision, f rollbackFlags) (bool, error) {
	if target.Live || have.LiveRevision == 0 {
		return true, nil
	}
	c, err := w.compare(ctx, have.Slug, have.LiveRevision, target.Number)
	if err != nil {
		return false, err
	}
	class := surfaces.WorstChange(c.Changes)
	s.printer.line("plan  surface %s, from revision %d back to %d: %s", have.Slug, have.LiveRevision, target.Number, classWords[class])
	s.showChanges(c.Changes)
	s.printer.data = map[string]any{"surface": have.Slug, "class": class, "changes": listed(c.Changes), "changed": false}
	ok, err := s.consent(ctx, class, f.yes, fmt.Sprintf("Make revision %d live", target.Number))
	if err != nil || ok {
		return ok, err
	}
	text := "nothing was changed"
	if !s.asks() {
		text = "breaks connected clients, nothing was changed"
	}
	s.printer.step(step{ID: have.Slug, Status: "fail", Message: text, Fix: fmt.Sprintf("chumbo rollback %s --to %d --yes", have.Slug, target.Number)})
	return false, errShown
}

func (s *session) makeLive(ctx context.Context, w *workplace, slug string, target revision, seen string, pin bool) error {
	var err error
	if pin {
		err = w.client.do(ctx, http.MethodPut, w.surface(slug)+"/pin", map[string]string{"digest": target.Digest}, nil)
	} else {
		err = w.client.do(ctx, http.MethodPost, w.surface(slug)+"/rollback", map[string]any{"revision": target.Number, "expect": seen}, nil)
	}
	if hasCode(err, "pinned") {
		s.printer.step(step{ID: slug, Status: "fail", Message: err.Error(), Fix: "chumbo unpin " + slug})
		return errShown
	}
	if err != nil {
		return err
	}
	s.printer.data = map[string]any{"surface": slug, "revision": target.Number, "digest": target.Digest, "pinned": pin, "changed": true}
	if pin {
		s.printer.done(slug, "revision %d is live and pinned", target.Number)
		s.printer.end("Nothing can be published before chumbo unpin " + slug + ".")
		return nil
	}
	s.printer.done(slug, "revision %d is live again", target.Number)
	s.printer.end("The local file is as it was.", "chumbo pull "+slug)
	return nil
}

func unpinCommand(s *session) *cobra.Command {
	return &cobra.Command{
		Use:   "unpin [surface]",
		Short: "Let a pinned surface be published again",
		Args:  cobra.MaximumNArgs(1),
		RunE:  func(cmd *cobra.Command, args []string) error { return s.unpin(cmd.Context(), oneSurface(args)) },
	}
}

func (s *session) unpin(ctx context.Context, slug string) error {
	w, err := s.linked()
	if err != nil {
		return err
	}
	have, err := w.theSurface(ctx, slug)
	if err != nil {
		return err
	}
	s.printer.data = map[string]any{"surface": have.Slug, "pinned": false, "changed": have.Pinned}
	if !have.Pinned {
		s.printer.done(have.Slug, "surface %s is not pinned", have.Slug)
		return nil
	}
	if err := w.client.do(ctx, http.MethodDelete, w.surface(have.Slug)+"/pin", nil, nil); err != nil {
		return err
	}
	s.printer.done(have.Slug, "surface %s can be published again", have.Slug)
	return nil
}
