package approvals

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// Call is one call that needs a person's word.
type Call struct {
	Endpoint *tenants.Endpoint
	Caller   *oauth.Caller // of a bridge: the page is for the same issuer and subject
	Digest   []byte        // the same for the same call: capability, arguments and revision
	About    About
}

// About is what the page says of a call.
type About struct {
	Tool      string          `json:"tool"`      // its name
	Title     string          `json:"title"`     // of the tool
	Surface   string          `json:"surface"`   // title
	Question  string          `json:"question"`  // what the person is asked
	Arguments json.RawMessage `json:"arguments"` // an object, as the tool gets it
}

// State is what became of a question.
type State string

// The states of a question. Used: its answer was told to the call.
const (
	Pending  State = "pending"
	Approved State = "approved"
	Declined State = "declined"
	Used     State = "used"
	Expired  State = "expired" // never stored
)

// Answer is what a call is told.
type Answer struct {
	State State     // Approved, Declined or Pending
	URL   string    // of Pending: the page
	Until time.Time // of Pending
}

// Ask takes the person's answer to the call, once, if there is one; else it
// asks. Approved is to be believed at once and by this call only. The same call
// again, while its question waits, gets the same page. Errors:
// fault.RateLimited for too many questions, fault.TooLarge for arguments that no
// page shows, fault.Unavailable.
func (s *Service) Ask(ctx context.Context, c Call) (Answer, error) {
	key := c.Caller.Key
	if key.Mode != oauth.ModeBridge || key.Subject == "" || key.Surface != c.Endpoint.Surface || c.Caller.Grant.IsZero() || len(c.Digest) == 0 {
		return Answer{}, errors.New("approvals: only callers of a bridge have a page")
	}
	ctx, cancel := context.WithTimeout(ctx, askBound)
	defer cancel()
	org, now := c.Endpoint.Organization, s.cfg.Now()
	// The grant, too: with it goes what was approved for it, and the same client
	// allowed anew begins with nothing.
	caller := s.cfg.Keys.MAC(seal.Approval, seal.AD("caller", key.Surface.String(), string(key.Mode), key.Issuer, key.Subject, key.Client, c.Caller.Grant.String()))
	call := s.cfg.Keys.MAC(seal.Approval, seal.AD("call", string(c.Digest)))
	var answer Answer
	err := s.cfg.Store.AsOrganization(ctx, org, func(q *db.Queries, _ pgx.Tx) error {
		row, err := q.UseApproval(ctx, db.UseApprovalParams{OrganizationID: org, Caller: caller, Call: call, Now: now})
		if err == nil {
			answer.State = State(row.Was)
			return nil
		}
		if !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		answer, err = s.put(ctx, q, c, caller, call, now)
		return err
	})
	var refused *fault.Error
	switch {
	case errors.As(err, &refused):
		return Answer{}, refused
	case err != nil:
		return Answer{}, s.away(ctx, "ask", err)
	}
	return answer, nil
}

// put makes the question of a call, or finds the one that waits.
func (s *Service) put(ctx context.Context, q *db.Queries, c Call, caller, call []byte, now time.Time) (Answer, error) {
	if len(c.About.Arguments) > MaxArguments {
		return Answer{}, fault.New(fault.TooLarge, "arguments_too_large", "Nothing was done: a person must approve this call, and its arguments are too long to be shown to one. Send less than %d KiB.", MaxArguments>>10)
	}
	org := c.Endpoint.Organization
	if err := q.LockCaller(ctx, int64(binary.BigEndian.Uint64(caller))); err != nil { //nolint:gosec // any number will do
		return Answer{}, err
	}
	waiting, err := q.CountPendingApprovals(ctx, db.CountPendingApprovalsParams{OrganizationID: org, Caller: caller, Now: now, Call: call})
	if err != nil {
		return Answer{}, err
	}
	pending := func() (Answer, error) {
		row, err := q.PendingApproval(ctx, db.PendingApprovalParams{OrganizationID: org, Caller: caller, Call: call, Now: now})
		return Answer{State: Pending, URL: s.url(row.ID), Until: row.ExpiresAt.UTC()}, err
	}
	if waiting >= MaxPending {
		answer, err := pending()
		if errors.Is(err, pgx.ErrNoRows) {
			return Answer{}, fault.New(fault.RateLimited, "too_many_approvals", "Nothing was done: %d calls wait for approval already. Let the user answer those first.", MaxPending).WithRetryAfter(time.Minute)
		}
		return answer, err
	}
	name := newID()
	plain, err := json.Marshal(c.About)
	if err != nil {
		return Answer{}, fmt.Errorf("write what is asked: %w", err)
	}
	key := c.Caller.Key
	n, err := q.PutApproval(ctx, db.PutApprovalParams{
		OrganizationID: org, ID: name, SurfaceID: key.Surface, UrlRef: c.Endpoint.Resource.Ref, Issuer: key.Issuer, Subject: key.Subject, GrantID: c.Caller.Grant,
		Caller: caller, Call: call, Sealed: s.sealer.Seal(plain, sealedFor(org, name)), Now: now, ExpiresAt: now.Add(Window),
	})
	if err != nil {
		return Answer{}, err
	}
	if n == 0 {
		return pending()
	}
	return Answer{State: Pending, URL: s.url(name), Until: now.Add(Window)}, nil
}

func (s *Service) url(name string) string { return s.cfg.PagesURL + Path + name }

func sealedFor(org id.Organization, name string) []byte {
	return seal.AD(org.String(), "approvals", name, "sealed")
}

// encoding of names in addresses: 32 letters and digits for 160 bits.
var encoding = base32.StdEncoding.WithPadding(base32.NoPadding)

func newID() string {
	b := make([]byte, 20)
	_, _ = rand.Read(b) // never fails (crypto/rand)
	return strings.ToLower(encoding.EncodeToString(b))
}

// IsName reports whether a text can be the name of an approval, so that nothing
// else is looked up.
func IsName(text string) bool {
	return len(text) == 32 && strings.Trim(text, "abcdefghijklmnopqrstuvwxyz234567") == ""
}
