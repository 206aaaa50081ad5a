package bridge

import (
	"context"
	"slices"

	"github.com/chumbo-dev/chumbo/internal/supabase"
)

// StartProvider begins a social sign-in: where to send the browser. Only
// providers of Methods are known.
func (s *Service) StartProvider(ctx context.Context, in *SignIn, provider string) (string, error) {
	ep := in.Endpoint
	m, err := s.Methods(ctx, in, in.byTicket)
	if err != nil {
		return "", err
	}
	if err := notOffered(slices.Contains(m.Providers, provider)); err != nil {
		return "", err
	}
	w, state, verifier := newWay(wayProvider)
	if err := s.beginWay(ctx, in, w, state); err != nil {
		return "", err
	}
	return supabase.ProviderURL(ep.Project.Issuer, provider, s.backURL(state), supabase.Challenge(verifier)), nil
}
