package bridge

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// How long one server may take to register our client, and how often the
// others look whether it has.
const (
	registrationLease = 15 * time.Second
	registrationPoll  = 100 * time.Millisecond
)

// clientNameLength bounds our name at a project, in bytes.
const clientNameLength = 200

// oauthClient is our confidential client of a project, as it stands:
// registered or pasted. Without one the error is fault.NotFound with code
// no_client.
func (s *Service) oauthClient(ctx context.Context, p *tenants.ProjectRef, org id.Organization) (supabase.OAuthClient, error) {
	row, err := s.signInRow(ctx, org, p.ID)
	if err != nil {
		return supabase.OAuthClient{}, err
	}
	return s.clientOf(row, org, p.ID)
}

func (s *Service) clientOf(row signInRow, org id.Organization, project id.Project) (supabase.OAuthClient, error) {
	if row.ClientID == "" {
		return supabase.OAuthClient{}, fault.New(fault.NotFound, "no_client", "There is no OAuth client of this project yet.")
	}
	secret, err := s.cfg.Keys.Sealer(seal.ClientKey).Open(row.ClientSecret, clientAD(org, project))
	if err != nil {
		return supabase.OAuthClient{}, fmt.Errorf("open secret of our client at %s: %w", project, err)
	}
	return supabase.OAuthClient{ID: row.ClientID, Secret: seal.NewSecret(string(secret))}, nil
}

func (s *Service) sealClient(org id.Organization, project id.Project, secret seal.Secret) []byte {
	return s.cfg.Keys.Sealer(seal.ClientKey).Seal([]byte(secret.Reveal()), clientAD(org, project))
}

func clientAD(org id.Organization, project id.Project) []byte {
	return seal.AD(org.String(), "sign_in_settings", project.String(), "client_secret")
}

// usable reports whether there is a client that sends browsers back to us: a
// registered one knows only the address it was registered with.
func (s *Service) usable(row signInRow) bool {
	return row.ClientID != "" && (row.ClientSource == clientPasted || row.ClientRedirect == s.callbackURL())
}

// ensureClient is oauthClient, registered first where there is none: once over
// all servers, and with no connection to the database held meanwhile.
func (s *Service) ensureClient(ctx context.Context, ep *tenants.Endpoint) (supabase.OAuthClient, error) {
	ctx, cancel := context.WithTimeout(ctx, registrationLease)
	defer cancel()
	poll := time.NewTicker(registrationPoll)
	defer poll.Stop()
	for {
		row, err := s.signInRow(ctx, ep.Organization, ep.Project.ID)
		if err != nil {
			return supabase.OAuthClient{}, err
		}
		if s.usable(row) {
			return s.clientOf(row, ep.Organization, ep.Project.ID)
		}
		until, leased, err := s.leaseRegistration(ctx, ep)
		if err != nil {
			return supabase.OAuthClient{}, err
		}
		if leased {
			return s.registerUs(ctx, ep, until)
		}
		select {
		case <-ctx.Done():
			return supabase.OAuthClient{}, fault.Wrap(ctx.Err(), fault.Unavailable, "sign_in_unavailable",
				"The app's sign-in does not answer right now. Try again in a moment.").WithRetryAfter(5 * time.Second)
		case <-poll.C:
		}
	}
}

// leaseRegistration reports whether the registration is ours to do until then.
func (s *Service) leaseRegistration(ctx context.Context, ep *tenants.Endpoint) (until time.Time, leased bool, err error) {
	now := s.cfg.Now()
	until = now.Add(registrationLease).Truncate(time.Microsecond) // as the database keeps it
	err = s.cfg.Store.AsOrganization(ctx, ep.Organization, func(q *db.Queries, _ pgx.Tx) error {
		n, err := q.LeaseSignInRegistration(ctx, db.LeaseSignInRegistrationParams{
			OrganizationID: ep.Organization, ProjectID: ep.Project.ID, Until: &until, Now: now, ClientRedirect: s.callbackURL(),
		})
		leased = n == 1
		return err
	})
	if err != nil {
		return until, false, fmt.Errorf("lease registration: %w", err)
	}
	return until, leased, nil
}

func (s *Service) registerUs(ctx context.Context, ep *tenants.Endpoint, until time.Time) (supabase.OAuthClient, error) {
	made, err := s.cfg.Projects.RegisterOAuthClient(ctx, upstreamProject(&ep.Project), supabase.NewOAuthClient{
		Name: ourName(ep), URI: s.cfg.PagesURL, RedirectURIs: []string{s.callbackURL()},
	})
	// What was made, or not, is noted even if the browser has gone.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err != nil {
		s.endRegistration(ctx, ep, until)
		return supabase.OAuthClient{}, registrationRefused(err)
	}
	var kept int64
	err = s.cfg.Store.AsOrganization(ctx, ep.Organization, func(q *db.Queries, _ pgx.Tx) error {
		kept, err = q.KeepRegisteredClient(ctx, db.KeepRegisteredClientParams{
			OrganizationID: ep.Organization, ProjectID: ep.Project.ID, ClientID: made.ID, ClientRedirect: s.callbackURL(),
			ClientSecret: s.sealClient(ep.Organization, ep.Project.ID, made.Secret), Until: &until, Now: s.cfg.Now(),
		})
		return err
	})
	if err != nil {
		return supabase.OAuthClient{}, fmt.Errorf("keep registered client: %w", err)
	}
	if kept == 0 { // the lease ran out, or a client was pasted: theirs counts
		return s.oauthClient(ctx, &ep.Project, ep.Organization)
	}
	return made, nil
}

func (s *Service) endRegistration(ctx context.Context, ep *tenants.Endpoint, until time.Time) {
	err := s.cfg.Store.AsOrganization(ctx, ep.Organization, func(q *db.Queries, _ pgx.Tx) error {
		return q.EndSignInRegistration(ctx, db.EndSignInRegistrationParams{OrganizationID: ep.Organization, ProjectID: ep.Project.ID, Until: &until})
	})
	if err != nil {
		s.cfg.Logger.WarnContext(ctx, "end registration", "project", ep.Project.ID.String(), "error", err)
	}
}

// registrationRefused tells the person what its owner must do.
func registrationRefused(err error) error {
	var refused *supabase.AuthRefusal
	switch {
	case !errors.As(err, &refused):
		return err
	case refused.Kind == supabase.RateLimited:
		return projectBusy(refused)
	}
	return fault.Wrap(err, fault.Unavailable, "registration_off",
		"This app does not let us register with its OAuth server. Its owner must switch dynamic client registration on, or give us a client of it in the sign-in settings.")
}

// ourName is what people read on the project's consent page.
func ourName(ep *tenants.Endpoint) string {
	name := ep.Project.Name
	if name == "" {
		name = ep.Title
	}
	return cut(name, clientNameLength) + " (Chumbo)"
}

// forgetOAuthClient forgets our registered client once the project does not
// know it any more, so that the next sign-in registers another one. A pasted
// client stays.
func (s *Service) forgetOAuthClient(ctx context.Context, p *tenants.ProjectRef, org id.Organization, clientID string) error {
	err := s.cfg.Store.AsOrganization(ctx, org, func(q *db.Queries, _ pgx.Tx) error {
		_, err := q.ForgetRegisteredClient(ctx, db.ForgetRegisteredClientParams{OrganizationID: org, ProjectID: p.ID, ClientID: clientID, Now: s.cfg.Now()})
		return err
	})
	if err != nil {
		return fmt.Errorf("forget our client: %w", err)
	}
	return nil
}
