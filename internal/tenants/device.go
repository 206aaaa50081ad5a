package tenants

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/events"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/seal"
)

const (
	deviceLife     = 10 * time.Minute
	deviceInterval = 5 * time.Second
	// RFC 8628 section 6.1: letters that make no words and are hard to confuse.
	userCodeLetters = "BCDFGHJKLMNPQRSTVWXZ"
	userCodeLength  = 8
)

// DeviceRequest begins a device authorization (RFC 8628).
type DeviceRequest struct {
	ClientName string // the machine's name, shown to who approves
	Scope      Scope  // of the token to be made; ScopeWrite when empty
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
	Scope      Scope // what the token would get: never more than who approves may do
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
	if in.Scope == "" {
		in.Scope = ScopeWrite
	}
	if err := checkScope(in.Scope); err != nil {
		return DeviceGrant{}, err
	}
	in.ClientName = strings.TrimSpace(in.ClientName)
	if err := RefuseSecret("client_name", in.ClientName); err != nil {
		return DeviceGrant{}, err
	}
	if !titleShaped(in.ClientName) {
		return DeviceGrant{}, fault.New(fault.Invalid, "client_name_invalid", "Give the machine's name as client_name: 1 to 80 characters, on one line.")
	}
	if err := s.try(ctx, byAddress("device begin", in.Address)); err != nil {
		return DeviceGrant{}, err
	}
	code := seal.NewSecret(random256())
	var user string
	err := s.store.AsSystem(ctx, func(q *db.Queries, _ pgx.Tx) error {
		now := s.now()
		if err := q.DeleteStaleDevices(ctx, now.Add(-staleAfter)); err != nil {
			return fmt.Errorf("delete old devices: %w", err)
		}
		for range 5 { // until a user code that nobody has
			user = newUserCode()
			n, err := q.InsertDevice(ctx, db.InsertDeviceParams{
				ID: id.New[id.DeviceKind](), DeviceHash: hashToken(code.Reveal()), UserCodeHash: hashToken(user),
				ClientName: in.ClientName, Scope: string(in.Scope), Address: oneLine(in.Address, 64),
				Now: now, ExpiresAt: now.Add(deviceLife), IntervalS: int32(deviceInterval / time.Second),
			})
			if err != nil {
				return fmt.Errorf("insert device: %w", err)
			}
			if n == 1 {
				return nil
			}
		}
		return errors.New("insert device: no free user code")
	})
	if err != nil {
		return DeviceGrant{}, err
	}
	return DeviceGrant{DeviceCode: code, UserCode: shownUserCode(user), ExpiresIn: deviceLife, Interval: deviceInterval}, nil
}

func newUserCode() string {
	code := make([]byte, userCodeLength)
	for i := range code {
		n, _ := rand.Int(rand.Reader, big.NewInt(int64(len(userCodeLetters)))) // never fails (crypto/rand)
		code[i] = userCodeLetters[n.Int64()]
	}
	return string(code)
}

func shownUserCode(bare string) string { return bare[:4] + "-" + bare[4:] }

// PollDevice asks whether a device authorization was decided. Codes of its
// errors, all fault.Invalid, are those of RFC 8628 section 3.5:
// authorization_pending, slow_down, access_denied, expired_token. The token is
// made once, with the first poll after the approval; a code that is unknown or
// was used is expired_token too.
func (s *Service) PollDevice(ctx context.Context, deviceCode seal.Secret) (DeviceToken, error) {
	hash, ok := hash256(deviceCode)
	if !ok {
		return DeviceToken{}, deviceOver()
	}
	var out DeviceToken
	var refused error
	err := s.store.AsSystem(ctx, func(q *db.Queries, _ pgx.Tx) error {
		row, err := q.LockDevice(ctx, hash)
		if errors.Is(err, pgx.ErrNoRows) || err == nil && (row.ConsumedAt != nil || !s.now().Before(row.ExpiresAt)) {
			refused = deviceOver()
			return nil
		}
		if err != nil {
			return fmt.Errorf("load device: %w", err)
		}
		switch {
		case row.Decision == nil:
			refused, err = s.pollTooEarly(ctx, q, row)
		case *row.Decision == deviceApproved:
			out, refused, err = s.mintDeviceToken(ctx, q, row)
		default:
			refused = deviceDenied()
		}
		return err
	})
	if err == nil {
		err = refused
	}
	if err != nil {
		return DeviceToken{}, err
	}
	return out, nil
}

const (
	deviceApproved = "approved"
	deviceRefused  = "denied"
)

func deviceOver() error {
	return fault.New(fault.Invalid, "expired_token", "This sign-in was used or has expired. Begin again with chumbo login.")
}

func deviceDenied() error {
	return fault.New(fault.Invalid, "access_denied", "The sign-in was denied.")
}

// pollTooEarly answers a poll before the decision. One that comes before its
// interval adds 5 s to it (RFC 8628 section 3.5).
func (s *Service) pollTooEarly(ctx context.Context, q *db.Queries, row db.LockDeviceRow) (refused, err error) {
	now, interval := s.now(), time.Duration(row.IntervalS)*time.Second
	pending := fault.New(fault.Invalid, "authorization_pending", "Nobody has decided yet. Ask again after the interval.")
	if row.PolledAt != nil && now.Sub(*row.PolledAt) < interval {
		interval += deviceInterval
		pending = fault.New(fault.Invalid, "slow_down", "Too early. Ask again after 5 seconds more than before.")
	}
	err = q.NoteDevicePoll(ctx, db.NoteDevicePollParams{ID: row.ID, Now: &now, IntervalS: int32(interval / time.Second)})
	if err != nil {
		return nil, fmt.Errorf("note poll of device: %w", err)
	}
	return pending.WithRetryAfter(interval), nil
}

// mintDeviceToken makes the token while it holds the row, so that two polls
// give one. The approver may have left or lost their role since.
func (s *Service) mintDeviceToken(ctx context.Context, q *db.Queries, row db.LockDeviceRow) (out DeviceToken, refused, err error) {
	if row.OrganizationID == nil || row.BuilderID == nil {
		return out, nil, errors.New("mint device token: approved by nobody")
	}
	seat, err := q.GetMembership(ctx, db.GetMembershipParams{OrganizationID: *row.OrganizationID, BuilderID: *row.BuilderID})
	if errors.Is(err, pgx.ErrNoRows) {
		return out, deviceDenied(), nil
	}
	if err != nil {
		return out, nil, fmt.Errorf("load membership: %w", err)
	}
	now, token, tokenID := s.now(), newToken(), id.New[id.TokenKind]()
	scope := Scope(row.Scope).atMost(Role(seat.Role).scope())
	err = q.InsertAPIToken(ctx, db.InsertAPITokenParams{
		OrganizationID: *row.OrganizationID, ID: tokenID, BuilderID: *row.BuilderID, Name: row.ClientName,
		TokenHash: hashToken(token.Reveal()), Scope: string(scope), Now: now,
	})
	if err != nil {
		return out, nil, fmt.Errorf("insert token: %w", err)
	}
	if err := q.ConsumeDevice(ctx, db.ConsumeDeviceParams{ID: row.ID, Now: &now}); err != nil {
		return out, nil, fmt.Errorf("consume device: %w", err)
	}
	by := events.Actor{Organization: *row.OrganizationID, Builder: *row.BuilderID, Address: row.Address}
	a := &act{action: "token.create", target: tokenID.String(), detail: map[string]any{"device": row.ID.String(), "scope": scope}}
	if err := s.audit(ctx, q, by, a, events.AuditOK); err != nil {
		return out, nil, err
	}
	return DeviceToken{
		Token: token, Scope: scope, Builder: Builder{ID: *row.BuilderID, Email: seat.Email},
		Organization: Organization{ID: *row.OrganizationID, Slug: seat.Slug, Name: seat.Name},
	}, nil, nil
}

// PendingDevice finds the undecided device authorization of a user code, or
// fault.NotFound. Wrong codes are throttled.
func (s *Service) PendingDevice(ctx context.Context, p Principal, userCode string) (DevicePending, error) {
	var out DevicePending
	err := s.withPendingDevice(ctx, p, userCode, func(_ *db.Queries, row db.LockPendingDeviceRow, user string) error {
		out = DevicePending{
			UserCode: shownUserCode(user), ClientName: row.ClientName, Address: row.Address,
			Scope:     Scope(row.Scope).atMost(p.Role.scope()).atMost(p.Scope),
			CreatedAt: row.CreatedAt, ExpiresAt: row.ExpiresAt,
		}
		return nil
	})
	if err != nil {
		return DevicePending{}, err
	}
	return out, nil
}

// DecideDevice approves or denies one for the principal's organization. The
// token gets the scope that was asked for, and no more than the principal may
// do. An API token decides only with ScopeAdmin, as it makes other tokens.
func (s *Service) DecideDevice(ctx context.Context, p Principal, userCode string, approve bool) error {
	a := &act{action: "device.approve", target: "?"}
	decision := deviceApproved
	if !approve {
		a.action, decision = "device.deny", deviceRefused
	}
	if !p.Token.IsZero() && p.Scope != ScopeAdmin {
		return s.refuse(ctx, p, a, fault.New(fault.Forbidden, "scope_write", "This API token may not do that. Use one of scope admin, or the dashboard."))
	}
	err := s.withPendingDevice(ctx, p, userCode, func(q *db.Queries, row db.LockPendingDeviceRow, _ string) error {
		seat, err := q.GetMembership(ctx, db.GetMembershipParams{OrganizationID: p.Organization.ID, BuilderID: p.Builder.ID})
		if errors.Is(err, pgx.ErrNoRows) {
			return fault.New(fault.Forbidden, "not_a_member", "You are no longer a member of this organization.")
		}
		if err != nil {
			return fmt.Errorf("load membership: %w", err)
		}
		scope := Scope(row.Scope).atMost(Role(seat.Role).scope()).atMost(p.Scope)
		err = q.DecideDevice(ctx, db.DecideDeviceParams{
			ID: row.ID, Decision: decision, OrganizationID: p.Organization.ID.UUID(), BuilderID: p.Builder.ID.UUID(), Scope: string(scope),
		})
		if err != nil {
			return fmt.Errorf("decide device: %w", err)
		}
		a.target, a.detail = row.ID.String(), map[string]any{"scope": scope, "device_address": row.Address}
		return s.audit(ctx, q, p.Actor(), a, events.AuditOK)
	})
	return s.refuse(ctx, p, a, err)
}

// withPendingDevice holds the row of an undecided user code. Tries are counted
// before it is looked up, by builder and by address, and taken back when the
// code was right.
func (s *Service) withPendingDevice(ctx context.Context, p Principal, userCode string, fn func(q *db.Queries, row db.LockPendingDeviceRow, user string) error) error {
	tries := []tried{byBuilder(p.Builder), byAddress("device", p.Address)}
	if err := s.try(ctx, tries...); err != nil {
		return err
	}
	user := bareCode(userCode)
	return s.store.AsSystem(ctx, func(q *db.Queries, _ pgx.Tx) error {
		row, err := q.LockPendingDevice(ctx, db.LockPendingDeviceParams{UserCodeHash: hashToken(user), Now: s.now()})
		if errors.Is(err, pgx.ErrNoRows) {
			return fault.New(fault.NotFound, "device_unknown", "No sign-in waits for this code: it is mistyped, decided already, or older than ten minutes. Look at the terminal again, or begin anew.")
		}
		if err != nil {
			return fmt.Errorf("load device: %w", err)
		}
		if err := s.right(ctx, q, tries...); err != nil {
			return err
		}
		return fn(q, row, user)
	})
}
