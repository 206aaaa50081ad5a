package mcp

import (
	"context"
	"net/http"

	"github.com/chumbo-dev/chumbo/internal/oauth"
)

// subscribed answers resources/subscribe and resources/unsubscribe of versions
// before 2026-07-28: yes, for a resource that the caller may read. No session is
// kept, so no notice ever comes, and the capability is not advertised.
func (x *exchange) subscribed(ctx context.Context, c *call, m *message, r *revision, t *target) (answer, *oauth.Challenge, bool) {
	arguments, ok := t.arguments()
	if !ok {
		return x.unknown(c, m)
	}
	told, err := r.permits(ctx, c, &t.res.capability, arguments)
	switch {
	case err != nil:
		return x.failed(c, m, err)
	case told != nil:
		return x.unknown(c, m)
	}
	return answer{status: http.StatusOK, body: envelope(m.id, "result", []byte("{}"))}, nil, true
}
