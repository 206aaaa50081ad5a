package tenants

import (
	"context"
	"time"

	"github.com/chumbo-dev/chumbo/internal/seal"
)

// DeviceRequest begins a device authorization (RFC 8628).
type DeviceRequest struct {
	ClientName string // the machine's name, shown to who approves
	Scope      Scope  // of the token to be made
	Address    string
}

// DeviceGrant is what the waiting program gets (RFC 8628 section 3.2).
type DeviceGrant struct {
	DeviceCode seal.Secret
	UserCode   string // WDJB-MJHT
	ExpiresIn  time.Duration
	Interval   time.Duration
}

// DevicePending is a device authorization as who approves it sees it.
type DevicePending struct {
	UserCode   string
	ClientName string
	Scope      Scope
	Address    string
	CreatedAt  time.Time
	ExpiresAt  time.Time
}

// DeviceToken is the outcome of an approved device authorization.
type DeviceToken struct {
	Token        seal.Secret // cht_…, shown only now
	Organization Organization
	Builder      Builder
	Scope        Scope
}

// BeginDevice begins a device authorization, good for ten minutes.
func (s *Service) BeginDevice(ctx context.Context, in DeviceRequest) (DeviceGrant, error) {
	panic("not built")
}

// PollDevice asks whether a device authorization was decided. Codes of its
// errors are those of RFC 8628 section 3.5: authorization_pending, slow_down,
// access_denied, expired_token. The token is made once, with the first poll
// after the approval.
func (s *Service) PollDevice(ctx context.Context, deviceCode seal.Secret) (DeviceToken, error) {
	panic("not built")
}

// PendingDevice finds the undecided device authorization of a user code, or
// fault.NotFound. Wrong codes are throttled.
func (s *Service) PendingDevice(ctx context.Context, p Principal, userCode string) (DevicePending, error) {
	panic("not built")
}

// DecideDevice approves or denies one for the principal's organization.
func (s *Service) DecideDevice(ctx context.Context, p Principal, userCode string, approve bool) error {
	panic("not built")
}
