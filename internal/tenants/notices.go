package tenants

import (
	"context"
	"time"

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
func (s *Service) Notices(ctx context.Context, p Principal) ([]Notice, error) { panic("not built") }

// DismissNotice says that a notice was read.
func (s *Service) DismissNotice(ctx context.Context, p Principal, notice id.Notice) error {
	panic("not built")
}
