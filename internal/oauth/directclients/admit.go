package directclients

import (
	"context"
	"errors"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

const (
	// mostClients bounds the clients kept of a project. Where clients are not
	// isolated, further ones come in unrecorded; where they are, further ones are
	// refused: nobody could tell at which surface they were first.
	mostClients = 10_000
	// longestClient bounds a client id in bytes; Supabase's have 36.
	longestClient = 256
)

// Why a client is not let in where clients are isolated.
const (
	codeIsolated    = "client_isolated"
	textIsolated    = "This client belongs to another server of the app: it signed in there first. Register the client anew for this server and sign in."
	textUnrecorded  = "The id of this client cannot be kept, and this server takes only clients of its own. Register the client anew for this server and sign in."
	codeTooMany     = "too_many_clients"
	textTooMany     = "The app has more clients than are kept, and this server takes only clients it can tell apart. Tell the app's owner, or use a client that was connected before."
	codeUnavailable = "client_unavailable"
	textUnavailable = "It cannot be checked right now whether this client belongs to this server. Nothing is lost: try again in a moment."
)

// clientKey is an OAuth client of a project.
type clientKey struct {
	organization id.Organization
	project      id.Project
	client       string
}

func keyOf(ep *tenants.Endpoint, c *oauth.Caller) clientKey {
	return clientKey{ep.Organization, ep.Project.ID, c.Key.Client}
}

// Admit implements oauth.Clients: with access.isolation: client it refuses a
// client that was first seen at another surface (401 client_isolated) or that
// cannot be recorded; whether a client is bound is settled in the database at
// first sight. Else it only notes the client, and never waits.
func (s *Service) Admit(ctx context.Context, ep *tenants.Endpoint, c *oauth.Caller) error {
	if c.Key.Mode != oauth.ModeDirect {
		return nil // nobody else comes by a client of the project
	}
	key := keyOf(ep, c)
	if ep.Access.Isolation != surfaces.IsolationClient {
		s.noteUse(key, ep.Surface)
		return nil
	}
	if !recordable(key.client) {
		return oauth.InvalidToken(ep, codeIsolated, textUnrecorded)
	}
	surface, err := s.surfaceOf(ctx, key, ep.Surface)
	switch {
	case errors.Is(err, errTooMany):
		return fault.New(fault.Forbidden, codeTooMany, "%s", textTooMany)
	case err != nil:
		return err
	case surface != ep.Surface:
		return oauth.InvalidToken(ep, codeIsolated, textIsolated)
	}
	s.noteUse(key, ep.Surface)
	return nil
}

// recordable reports whether a client's id can be kept: what a project puts
// into its tokens is its owner's to say, and some of it no database takes.
func recordable(client string) bool {
	if client == "" || len(client) > longestClient {
		return false
	}
	for i := range len(client) {
		if client[i] < ' ' || client[i] > '~' {
			return false
		}
	}
	return true
}
