package api

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
)

// listNotices is GET /notices: what the organization was not told yet, newest
// first.
func (a *api) listNotices(c echo.Context) error {
	have, err := a.Tenants.Notices(c.Request().Context(), principal(c))
	if err != nil {
		return err
	}
	answer := noticesAnswer{Notices: []noticeJSON{}}
	for _, n := range have {
		answer.Notices = append(answer.Notices, noticeJSON{ID: n.ID, Kind: n.Kind, Project: n.Project, Text: n.Text, CreatedAt: n.CreatedAt})
	}
	return writeJSON(c, http.StatusOK, answer)
}

// dismissNotice is POST /notices/:notice/dismiss, for the whole organization.
func (a *api) dismissNotice(c echo.Context) error {
	notice, err := id.Parse[id.NoticeKind](c.Param("notice"))
	if err != nil {
		return fault.New(fault.NotFound, "notice_unknown", "Your organization has no such notice.")
	}
	if err := readNothing(c); err != nil {
		return err
	}
	if err := a.Tenants.DismissNotice(c.Request().Context(), principal(c), notice); err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, dismissedAnswer{Dismissed: notice})
}
