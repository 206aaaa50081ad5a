package tenants

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
)

// Notice is something an organization must be told.
type Notice struct {
	ID        id.Notice
	Kind      string // ownership.taken_over, ownership.missed, ownership.sign_in_paused
	Project   *id.Project
	Text      string // one or two sentences: what happened, what to do
	CreatedAt time.Time
}

// Notices lists what was not dismissed, newest first, at most 50.
func (s *Service) Notices(ctx context.Context, p Principal) ([]Notice, error) {
	var list []Notice
	err := s.store.AsOrganization(ctx, p.Organization.ID, func(q *db.Queries, _ pgx.Tx) error {
		rows, err := q.ListNotices(ctx, p.Organization.ID)
		if err != nil {
			return fmt.Errorf("list notices: %w", err)
		}
		for _, row := range rows {
			list = append(list, Notice{ID: row.ID, Kind: row.Kind, Project: row.ProjectID, Text: row.Text, CreatedAt: row.CreatedAt})
		}
		return nil
	})
	return list, err
}

// DismissNotice says that a notice was read, for everybody in the
// organization. Twice is as once.
func (s *Service) DismissNotice(ctx context.Context, p Principal, notice id.Notice) error {
	a := &act{action: "notice.dismiss", target: notice.String()}
	return s.change(ctx, p, a, func(q *db.Queries) error {
		n, err := q.DismissNotice(ctx, db.DismissNoticeParams{OrganizationID: p.Organization.ID, ID: notice, Now: s.now()})
		if err != nil {
			return fmt.Errorf("dismiss notice: %w", err)
		}
		if n == 0 {
			return fault.New(fault.NotFound, "notice_unknown", "Your organization has no such notice.")
		}
		return nil
	})
}
