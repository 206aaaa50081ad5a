package bridge

import (
	"context"
	"errors"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// StartOAuth begins (a): where to send the browser, to the project's own
// OAuth server. It registers our client of the project on first need, and
// again when the project has forgotten it.
func (s *Service) StartOAuth(ctx context.Context, in *SignIn) (string, error) {
	to, err := s.startOAuth(ctx, in)
	if err != nil {
		s.noteSignIn(in, Visitor{}, err)
	}
	return to, err
}

func (s *Service) startOAuth(ctx context.Context, in *SignIn) (string, error) {
	ep := in.Endpoint
	if err := maySignIn(ep); err != nil {
		return "", err
	}
	set, err := s.signInRow(ctx, ep.Organization, ep.Project.ID)
	if err != nil {
		return "", err
	}
	if used, err := s.usesOAuth(ctx, in, set); err != nil || !used {
		return "", errors.Join(err, notOffered(used || err != nil))
	}
	client, err := s.standingClient(ctx, ep)
	if err != nil {
		return "", err
	}
	w, state, verifier := newWay(wayOAuth)
	w.Client = client.ID
	if err := s.beginWay(ctx, in, w, state); err != nil {
		return "", err
	}
	return supabase.AuthorizeURL(ep.Project.Issuer, supabase.AuthorizeRequest{
		ClientID: client.ID, RedirectURI: s.callbackURL(), State: state.Reveal(), Challenge: supabase.Challenge(verifier),
	}), nil
}

// notOffered is the error of a way that the project does not have.
func notOffered(ok bool) error {
	if ok {
		return nil
	}
	return fault.New(fault.Invalid, "not_offered", "This app does not offer this way to sign in. Choose another one.")
}

// standingClient is ensureClient's, and the project knows it: an address with a
// client that was deleted there would leave the browser on an error page of
// the project's, from which nothing leads back.
func (s *Service) standingClient(ctx context.Context, ep *tenants.Endpoint) (supabase.OAuthClient, error) {
	client, err := s.ensureClient(ctx, ep)
	if err != nil || s.known.clientSeen(ep, client.ID) {
		return client, err
	}
	if !s.isGone(ctx, ep, client) {
		return client, nil
	}
	if err := s.forgetOAuthClient(ctx, &ep.Project, ep.Organization, client.ID); err != nil {
		return supabase.OAuthClient{}, err
	}
	again, err := s.ensureClient(ctx, ep)
	if err == nil && again.ID == client.ID {
		return supabase.OAuthClient{}, clientGone(nil)
	}
	return again, err
}

// isGone asks the project for the tokens of a code that there is not: it
// looks at the client first.
func (s *Service) isGone(ctx context.Context, ep *tenants.Endpoint, client supabase.OAuthClient) bool {
	_, err := s.cfg.Projects.ExchangeCode(ctx, upstreamProject(&ep.Project), client, "00000000-0000-4000-8000-000000000000", s.callbackURL(), supabase.NewVerifier())
	if supabase.IsRefusal(err, supabase.SessionEnded) {
		s.known.seeClient(ep, client.ID)
	}
	return supabase.IsRefusal(err, supabase.ClientGone)
}

// exchangeOAuth turns the code into tokens, as the client that asked for it.
func (s *Service) exchangeOAuth(ctx context.Context, in *SignIn, w way, code string) (Outcome, error) {
	ep := in.Endpoint
	client, err := s.oauthClient(ctx, &ep.Project, ep.Organization)
	if fault.Is(err, fault.NotFound) || err == nil && client.ID != w.Client {
		return Outcome{}, unfinished() // another client since: begin again with that
	}
	if err != nil {
		return Outcome{}, err
	}
	tokens, err := s.cfg.Projects.ExchangeCode(ctx, upstreamProject(&ep.Project), client, code, s.callbackURL(), seal.NewSecret(w.Verifier))
	switch {
	case supabase.IsRefusal(err, supabase.ClientGone):
		if forgotten := s.forgetOAuthClient(ctx, &ep.Project, ep.Organization, client.ID); forgotten != nil {
			return Outcome{}, forgotten
		}
		return Outcome{}, clientGone(err)
	case supabase.IsRefusal(err, supabase.SessionEnded):
		return Outcome{}, unfinished()
	case err != nil:
		return Outcome{}, s.refused(ctx, in, err)
	}
	who, err := s.keepUpstream(ctx, ep, upstreamOAuth, client.ID, tokens)
	if err != nil {
		return Outcome{}, err
	}
	return s.arrived(ctx, in, who)
}

func clientGone(cause error) *fault.Error {
	return fault.Wrap(cause, fault.Unavailable, "client_gone",
		"You are not signed in: the app no longer knows us as a client of its sign-in. Try again; if it stays, its owner must renew our client in the sign-in settings.")
}
