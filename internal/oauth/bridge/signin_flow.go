package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"

	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/supabase"
)

// wayKind is how a way was begun that ends at CallbackPath.
type wayKind string

const (
	wayOAuth    wayKind = "oauth"    // the project's OAuth server, as our client
	wayProvider wayKind = "provider" // a social provider
	wayMail     wayKind = "mail"     // a mailed link
)

// The parameter that brings the state back. Auth's OAuth server has the
// standard one; its sign-in endpoints keep the query of the address they were
// given, and nothing else.
const (
	stateParam  = "state"
	signInParam = "sign_in"
)

// way is what we must still know when the browser comes back. It is sealed on
// the sign-in's row, and found by the hash of the state.
type way struct {
	Kind     wayKind `json:"kind"`
	Verifier string  `json:"verifier"`         // PKCE (RFC 7636)
	Client   string  `json:"client,omitempty"` // ours, of wayOAuth
}

func (w way) param() string {
	if w.Kind == wayOAuth {
		return stateParam
	}
	return signInParam
}

// newWay makes a way with a state and a verifier of its own.
func newWay(kind wayKind) (w way, state, verifier seal.Secret) {
	verifier = supabase.NewVerifier()
	return way{Kind: kind, Verifier: verifier.Reveal()}, newSecret(), verifier
}

// backURL is CallbackPath with the state of a sign-in endpoint.
func (s *Service) backURL(state seal.Secret) string {
	return s.callbackURL() + "?" + url.Values{signInParam: {state.Reveal()}}.Encode()
}

// beginWay keeps the way that the browser is about to go. An earlier one of
// the same sign-in ends.
func (s *Service) beginWay(ctx context.Context, in *SignIn, w way, state seal.Secret) error {
	sealed, err := s.sealSignIn(in, "upstream_flow", w)
	if err != nil {
		return err
	}
	ep := in.Endpoint
	err = s.change(ctx, in, "begin way to sign in", func(q *db.Queries) (int64, error) {
		return q.BeginSignInWay(ctx, db.BeginSignInWayParams{
			OrganizationID: ep.Organization, ID: in.ID, ProjectID: ep.Project.ID, UpstreamState: hashOf(state), UpstreamFlow: sealed,
			Email: in.Email, TicketKey: in.newTicketKey(), Now: s.cfg.Now(),
		})
	})
	if err != nil {
		return err
	}
	in.Factor, in.pending = false, nil
	return nil
}

// takeWay ends the way a state stands for: the first to come has it.
func (s *Service) takeWay(ctx context.Context, in *SignIn, state seal.Secret) error {
	ep := in.Endpoint
	return s.change(ctx, in, "take way to sign in", func(q *db.Queries) (int64, error) {
		return q.TakeSignInState(ctx, db.TakeSignInStateParams{
			OrganizationID: ep.Organization, ID: in.ID, ProjectID: ep.Project.ID, UpstreamState: hashOf(state), Now: s.cfg.Now(),
		})
	})
}

// whose finds the sign-in that a state belongs to.
func (s *Service) whose(ctx context.Context, state seal.Secret) (id.SignIn, error) {
	var row db.FindSignInByStateRow
	err := s.cfg.Store.AsSystem(ctx, func(q *db.Queries, _ pgx.Tx) error {
		var err error
		row, err = q.FindSignInByState(ctx, hashOf(state))
		return err
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return id.SignIn{}, startAgain()
	}
	if err != nil {
		return id.SignIn{}, fmt.Errorf("find sign-in by state: %w", err)
	}
	return row.ID, nil
}

// sealSignIn seals a value into one column of a sign-in's row.
func (s *Service) sealSignIn(in *SignIn, column string, value any) ([]byte, error) {
	plain, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", column, err)
	}
	return s.cfg.Keys.Sealer(seal.SignInState).Seal(plain, in.ad(column)), nil
}

// openSealed is the reverse of sealSignIn.
func (s *Service) openSealed(in *SignIn, column string, sealed []byte, value any) error {
	plain, err := s.cfg.Keys.Sealer(seal.SignInState).Open(sealed, in.ad(column))
	if err == nil {
		err = json.Unmarshal(plain, value)
	}
	if err != nil {
		return fmt.Errorf("open %s of %s: %w", column, in.ID, err)
	}
	return nil
}

func (in *SignIn) ad(column string) []byte {
	return seal.AD(in.Endpoint.Organization.String(), "sign_ins", in.ID.String(), column)
}
