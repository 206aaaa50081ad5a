package cli

import (
	"context"
	"net/http"
)

// showDrifts shows, for every live surface, what moved in the database under
// it. It returns the drifted ones.
func (s *session) showDrifts(ctx context.Context, w *workplace) (map[string]drift, error) {
	list, err := w.surfaces(ctx)
	if err != nil {
		return nil, err
	}
	moved := map[string]drift{}
	for _, have := range list.Surfaces {
		if have.LiveRevision == 0 {
			continue
		}
		d, err := w.drift(ctx, have.Slug)
		if err != nil {
			return nil, err
		}
		if s.showDrift(have, d) {
			moved[have.Slug] = d
		}
	}
	return moved, nil
}

func (w *workplace) drift(ctx context.Context, slug string) (drift, error) {
	var d drift
	return d, w.client.do(ctx, http.MethodGet, w.surface(slug)+"/drift", nil, &d)
}

// showDrift reports whether there was anything to show.
func (s *session) showDrift(have surface, d drift) bool {
	if !d.Drifted && len(d.Broken) == 0 {
		return false
	}
	message := "the database has moved under surface " + have.Slug + "; what is live keeps serving"
	fix := "chumbo push " + have.Slug
	if len(d.Broken) > 0 {
		message += ", and its file would be refused today"
		fix = "change " + fileOf(have.Slug).path + ", then " + fix
	}
	s.printer.step(step{ID: have.Slug + ":drift", Status: "warn", Message: message, Fix: fix})
	for _, object := range d.Objects {
		s.printer.line("      %s", object)
	}
	for _, p := range d.Broken {
		s.printer.line("      line %d: %s", p.Line, p.Message)
	}
	return true
}
