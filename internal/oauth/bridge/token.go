package bridge

import (
	"github.com/chumbo-dev/chumbo/internal/fault"
)

// tokenError is an error answer of the token endpoint (RFC 6749 section 5.2).
type tokenError struct {
	status      int    // 400, 401 for invalid_client, 503 for temporarily_unavailable
	code        string // error
	description string // error_description: what to do
}

// Error implements error.
func (e *tokenError) Error() string { return "token endpoint: " + e.code }

func invalidGrant(description string) *tokenError {
	return &tokenError{status: 400, code: "invalid_grant", description: description}
}

var _ = fault.Invalid
