package tenants

import (
	"context"
	"encoding/json"
	"time"

	"github.com/chumbo-dev/chumbo/internal/id"
)

// Registration is a project being registered: what was typed so far, and what
// the probe found. Kept for a day.
type Registration struct {
	ID             id.Registration
	TypedURL       string
	PublishableKey string
	Slug           string
	Name           string
	Findings       json.RawMessage // array of doctor.Finding
	FinishedAt     *time.Time      // of the probe
	Project        *id.Project     // once registered
	CreatedAt      time.Time
}

// BeginRegistration keeps a typed URL. A secret key in it is fault.Invalid and
// nothing is kept.
func (s *Service) BeginRegistration(ctx context.Context, p Principal, typedURL string) (Registration, error) {
	panic("not built")
}

// Registration finds one of the organization's, or fault.NotFound.
func (s *Service) Registration(ctx context.Context, p Principal, registration id.Registration) (Registration, error) {
	panic("not built")
}

// SaveRegistration keeps the key, the names, and what the probe found.
func (s *Service) SaveRegistration(ctx context.Context, p Principal, r Registration) error {
	panic("not built")
}
