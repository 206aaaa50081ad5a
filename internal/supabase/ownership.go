package supabase

import (
	"context"

	"github.com/chumbo-dev/chumbo/internal/seal"
)

// OwnershipToken calls chumbo_ownership() at the project's API origin with the
// publishable key and returns what it says. Errors: fault.NotFound when there
// is no such function, fault.Forbidden when anon may not call it, else those
// of the Data API.
func (c *Client) OwnershipToken(ctx context.Context, p Project) (string, error) { panic("not built") }

// ProveSecretKey makes one call that only a secret key (or a legacy
// service-role key) of the project may make, and reads nothing of anybody.
// fault.Forbidden when the project refuses the key.
func (c *Client) ProveSecretKey(ctx context.Context, p Project, key seal.Secret) error {
	panic("not built")
}

// Catalog calls chumbo_catalog(token) with the publishable key and returns its
// JSON. Errors as OwnershipToken's.
func (c *Client) Catalog(ctx context.Context, p Project, token seal.Secret) ([]byte, error) {
	panic("not built")
}
