package cli

import (
	"context"
	"net/http"
	"net/url"
)

// workplace is where a command of a linked folder works.
type workplace struct {
	repo   *repository
	client *client
	link   linkFile
}

func (s *session) linked() (*workplace, error) {
	repo, err := findRepository(s.env.Dir)
	if err != nil {
		return nil, err
	}
	c, err := s.client()
	if err != nil {
		return nil, err
	}
	link, err := repo.link(c.settings)
	if err != nil {
		return nil, err
	}
	if err := refuseSecrets(field{linkPath, link.Project}); err != nil {
		return nil, err
	}
	return &workplace{repo: repo, client: c, link: link}, nil
}

// project is the path of the linked project in the control API.
func (w *workplace) project() string { return "/projects/" + url.PathEscape(w.link.Project) }

// surface is the path of one of its surfaces.
func (w *workplace) surface(slug string) string {
	return w.project() + "/surfaces/" + url.PathEscape(slug)
}

func (w *workplace) surfaces(ctx context.Context) (surfacesAnswer, error) {
	var list surfacesAnswer
	return list, w.client.do(ctx, http.MethodGet, w.project()+"/surfaces", nil, &list)
}
