package supabase

import (
	"context"

	"github.com/chumbo-dev/chumbo/internal/egress"
	"github.com/chumbo-dev/chumbo/internal/seal"
)

// ManagementOrigin is the only place a Management API token is ever sent to.
const ManagementOrigin = "https://api.supabase.com"

// Management reaches Supabase's Management API, for projects at
// *.supabase.co. It keeps no token.
type Management struct {
	out    doer
	origin string
}

// NewManagement returns a Management that sends through e to ManagementOrigin.
func NewManagement(e *egress.Client) *Management {
	return &Management{out: e, origin: ManagementOrigin}
}

// NewManagementAt is NewManagement for another origin: tests only.
func NewManagementAt(e *egress.Client, origin string) *Management {
	return &Management{out: e, origin: origin}
}

// ProveManagement makes one read-only call to the project's database that only
// somebody with access to it may make. fault.Forbidden when it is refused.
func (m *Management) ProveManagement(ctx context.Context, ref string, token seal.Secret) error {
	panic("not built")
}

// Query runs one read-only statement and returns its rows as JSON.
func (m *Management) Query(ctx context.Context, ref string, token seal.Secret, sql string) ([]byte, error) {
	panic("not built")
}

// ConfigureOAuth switches the project's OAuth server on, with dynamic
// registration and the consent page's path, all in one request: half of it
// leaves a server that fails at the consent step.
func (m *Management) ConfigureOAuth(ctx context.Context, ref string, token seal.Secret, authorizationPath string) error {
	panic("not built")
}
