package bridge

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/events"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// Question is what a person is asked before a client gets access.
type Question struct {
	Surface    string   // title
	ClientName string   // as the client says: unverified
	ClientHost string   // of its metadata document; empty for a registered client
	Redirect   string   // where the answer goes, in full
	Email      string   // as whom the person is signed in; may be empty
	Scopes     []string // asked for
	Reads      []QuestionTool
	Writes     []QuestionTool
	Lifetimes  []time.Duration // to choose from; the default first
	Skip       bool            // already allowed, exactly this: answer with Skipped, without asking
}

// QuestionTool is one thing the client may do.
type QuestionTool struct {
	Title       string
	Description string
	Destructive bool
}

// Answer is what the person chose.
type Answer struct {
	Allow    bool
	Skipped  bool // nobody was asked, for Question said Skip: with Allow and nothing else
	ReadOnly bool
	Lifetime time.Duration // one of the question's
}

// lifetimes are how long a person can allow access, the default first.
var lifetimes = []time.Duration{grantLifetime, 30 * 24 * time.Hour, 7 * 24 * time.Hour, 24 * time.Hour}

// Question is what to ask, once the person of the sign-in is known. Errors:
// start_again; fault.Forbidden when the person may not use the surface.
func (s *Service) Question(ctx context.Context, in *SignIn) (*Question, error) {
	if in.byTicket || in.Person == nil || in.Client == nil {
		return nil, startAgain()
	}
	compiled, err := s.cfg.Directory.Compiled(ctx, in.Endpoint)
	if err != nil {
		return nil, fmt.Errorf("load what the surface offers: %w", err)
	}
	q := &Question{
		Surface: in.Endpoint.Title, ClientName: in.Client.Name, ClientHost: documentHost(in.Client), Redirect: in.RedirectURI,
		Email: in.Person.Email, Scopes: in.Scopes, Lifetimes: slices.Clone(lifetimes),
	}
	var offered []string
	err = s.cfg.Store.AsOrganization(ctx, in.Endpoint.Organization, func(tx *db.Queries, _ pgx.Tx) error {
		ep := in.Endpoint
		offered, err = tx.OfferSignIn(ctx, db.OfferSignInParams{
			Offered: effects(compiled, in.Scopes), OrganizationID: ep.Organization, ProjectID: ep.Project.ID, ID: in.ID, Now: s.cfg.Now(),
		})
		if errors.Is(err, pgx.ErrNoRows) {
			return startAgain()
		}
		if err != nil {
			return err
		}
		if err := s.checkPerson(ctx, tx, in); err != nil {
			return err
		}
		grant, err := tx.GetLiveGrant(ctx, db.GetLiveGrantParams{
			OrganizationID: ep.Organization, SurfaceID: ep.Surface, Issuer: in.Person.Issuer, Subject: in.Person.Subject,
			ClientID: in.Client.ID, Now: s.cfg.Now(),
		})
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		q.Skip = err == nil && maySkip(in, grant.Asked, grant.ApprovedRedirects)
		return err
	})
	if err != nil {
		return nil, publicOr(err, "ask for consent")
	}
	for i := range compiled.Tools {
		t := &compiled.Tools[i]
		shown := QuestionTool{Title: t.Title, Description: t.Description, Destructive: t.Annotations.Destructive}
		switch {
		case !within(t.Scopes, in.Scopes):
		case t.Annotations.ReadOnly:
			q.Reads = append(q.Reads, shown)
		case slices.Contains(offered, t.Effect()):
			q.Writes = append(q.Writes, shown)
		}
	}
	for i := range compiled.Resources {
		if one := &compiled.Resources[i]; within(one.Scopes, in.Scopes) {
			q.Reads = append(q.Reads, QuestionTool{Title: one.Title, Description: one.Description})
		}
	}
	return q, nil
}

// publicOr passes on what has words for people, and makes everything else a
// failure of the database.
func publicOr(err error, doing string) error {
	var public *fault.Error
	if errors.As(err, &public) {
		return err
	}
	return away(fmt.Errorf("%s: %w", doing, err))
}

// checkPerson sees that the person's session stands and that they may use the
// surface, and keeps it standing until the transaction ends.
func (s *Service) checkPerson(ctx context.Context, q *db.Queries, in *SignIn) error {
	row, err := q.LockUpstream(ctx, db.LockUpstreamParams{
		OrganizationID: in.Endpoint.Organization, ProjectID: in.Endpoint.Project.ID, ID: in.Person.Upstream,
		Issuer: in.Endpoint.Project.Issuer, APIOrigin: in.Endpoint.Project.APIOrigin, Subject: in.Person.Subject,
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return sessionEnded()
	}
	if err != nil {
		return fmt.Errorf("lock upstream session: %w", err)
	}
	return mayUse(in.Endpoint, row.Role, row.Anonymous)
}

// documentHost is where a client's metadata document comes from: the only name
// of a client that somebody vouches for.
func documentHost(c *Client) string {
	if !c.Document {
		return ""
	}
	u, err := url.Parse(c.ID)
	if err != nil {
		return ""
	}
	return u.Host
}

// effects lists what the writing tools within the scopes do.
func effects(c *surfaces.Compiled, scopes []string) []string {
	list := []string{}
	for i := range c.Tools {
		if t := &c.Tools[i]; !t.Annotations.ReadOnly && within(t.Scopes, scopes) {
			list = append(list, t.Effect())
		}
	}
	return list
}

// within reports whether all of some is in all.
func within(some, all []string) bool {
	return !slices.ContainsFunc(some, func(scope string) bool { return !slices.Contains(all, scope) })
}

// maySkip reports whether the person allowed exactly this before: these scopes,
// to this https address. Loopback addresses and private schemes belong to
// whoever is faster on a machine, so they are always asked about.
func maySkip(in *SignIn, asked, approved []string) bool {
	return !in.Ask && rememberable(in.RedirectURI) && slices.Contains(approved, in.RedirectURI) && sameScopes(asked, in.Scopes)
}

// rememberable reports whether an approval of the redirect URI is worth
// anything later.
func rememberable(redirectURI string) bool {
	u, err := url.Parse(redirectURI)
	return err == nil && u.Scheme == "https" && !loopbackHost(u.Hostname())
}

func loopbackHost(host string) bool {
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || strings.HasPrefix(host, "127.") || host == "::1"
}

func sameScopes(a, b []string) bool { return within(a, b) && within(b, a) }

// Decide carries the answer out once, and returns where to send the browser:
// to the client with a code or access_denied, state and iss. A second answer
// is start_again.
func (s *Service) Decide(ctx context.Context, in *SignIn, a Answer, v Visitor) (string, error) {
	if in.byTicket || in.Person == nil || in.Client == nil {
		return "", startAgain()
	}
	if !a.Allow {
		return s.deny(ctx, in, v)
	}
	if !a.Skipped && !slices.Contains(lifetimes, a.Lifetime) {
		return "", fault.New(fault.Invalid, "lifetime", "Nothing was allowed: choose how long from the list.")
	}
	compiled, err := s.cfg.Directory.Compiled(ctx, in.Endpoint)
	if err != nil {
		return "", fmt.Errorf("load what the surface offers: %w", err)
	}
	code := newSecret()
	var done allowed
	err = s.cfg.Store.AsOrganization(ctx, in.Endpoint.Organization, func(q *db.Queries, _ pgx.Tx) error {
		now := s.cfg.Now()
		until, person := now.Add(codeLifetime), in.Person.Upstream
		offered, err := q.AllowSignIn(ctx, db.AllowSignInParams{
			Now: &now, CodeHash: hashOf(code), CodeUntil: &until, OrganizationID: in.Endpoint.Organization, ProjectID: in.Endpoint.Project.ID,
			SurfaceID: in.Endpoint.Surface, ID: in.ID, UpstreamSessionID: &person,
		})
		if errors.Is(err, pgx.ErrNoRows) {
			return startAgain()
		}
		if err != nil {
			return fmt.Errorf("finish sign-in: %w", err)
		}
		if err := s.checkPerson(ctx, q, in); err != nil {
			return err
		}
		if done, err = s.allow(ctx, q, in, a, inBoth(effects(compiled, in.Scopes), offered)); err != nil {
			return err
		}
		return q.NameGrantOfSignIn(ctx, db.NameGrantOfSignInParams{OrganizationID: in.Endpoint.Organization, ID: in.ID, GrantID: &done.grant})
	})
	if err != nil {
		return "", publicOr(err, "allow")
	}
	s.step(in.Endpoint, v, events.Step{Kind: events.StepConsent, Client: in.Client.ID, ClientName: in.Client.Name, SignIn: in.ID, Grant: done.grant})
	if !done.expired.IsZero() {
		s.ended(ctx, Visitor{}, in.Endpoint.Organization, in.Endpoint.Surface, done.expired, in.Client.ID, in.Client.Name, revokedExpired)
	}
	for _, former := range done.former {
		s.releaseUpstream(ctx, &in.Endpoint.Project, in.Endpoint.Organization, former)
	}
	return s.backTo(in, url.Values{"code": {code.Reveal()}}), nil
}

// allowed is what an approval did.
type allowed struct {
	grant   id.Grant
	expired id.Grant      // the one before, whose time was over; zero otherwise
	former  []id.Upstream // sessions that the grant no longer refers to
}

// allow makes the caller's one live grant for the client what the person says
// now. writes are the effects that were offered and are still there.
func (s *Service) allow(ctx context.Context, q *db.Queries, in *SignIn, a Answer, writes []string) (allowed, error) {
	ep, now := in.Endpoint, s.cfg.Now()
	done := allowed{grant: id.New[id.GrantKind]()}
	before, err := q.LockLiveGrant(ctx, db.LockLiveGrantParams{
		OrganizationID: ep.Organization, SurfaceID: ep.Surface, Issuer: in.Person.Issuer, Subject: in.Person.Subject, ClientID: in.Client.ID,
	})
	known := err == nil
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return done, fmt.Errorf("lock grant: %w", err)
	}
	if known && before.UpstreamSessionID != in.Person.Upstream {
		done.former = append(done.former, before.UpstreamSessionID)
	}
	if known && !now.Before(before.ExpiresAt) {
		if _, err := q.RevokeGrant(ctx, db.RevokeGrantParams{OrganizationID: ep.Organization, ID: before.ID, Now: &now, Why: revokedExpired}); err != nil {
			return done, fmt.Errorf("revoke expired grant: %w", err)
		}
		done.expired, known = before.ID, false
	}
	if a.Skipped {
		if !known || !maySkip(in, before.Asked, before.ApprovedRedirects) {
			return done, fault.New(fault.Conflict, "ask_again", "Nothing was allowed: what was allowed before has changed. Connect again from your AI app.")
		}
		n, err := q.RepeatGrant(ctx, db.RepeatGrantParams{OrganizationID: ep.Organization, ID: before.ID, UpstreamSessionID: in.Person.Upstream, Now: now})
		if err == nil && n != 1 {
			err = errors.New("the grant is gone")
		}
		done.grant = before.ID
		return done, err
	}
	var approved []string
	if known && sameScopes(before.Asked, in.Scopes) {
		approved = before.ApprovedRedirects
	}
	if rememberable(in.RedirectURI) && !slices.Contains(approved, in.RedirectURI) {
		approved = append(approved, in.RedirectURI)
	}
	if a.ReadOnly {
		writes = nil
	}
	done.grant, err = q.AllowGrant(ctx, db.AllowGrantParams{
		OrganizationID: ep.Organization, ID: done.grant, SurfaceID: ep.Surface, ProjectID: ep.Project.ID, Issuer: in.Person.Issuer,
		Subject: in.Person.Subject, ClientID: in.Client.ID, ClientName: in.Client.Name, Asked: list(in.Scopes), Scopes: list(in.Scopes),
		ReadOnly: a.ReadOnly, Writes: list(writes), ApprovedRedirects: list(approved), UpstreamSessionID: in.Person.Upstream,
		Now: now, ExpiresAt: now.Add(a.Lifetime),
	})
	if err != nil {
		return done, fmt.Errorf("allow grant: %w", err)
	}
	return done, nil
}

// list is a list that the database takes: never null.
func list(texts []string) []string {
	if texts == nil {
		return []string{}
	}
	return texts
}

// deny ends the sign-in; a session that nothing else needs ends with it.
func (s *Service) deny(ctx context.Context, in *SignIn, v Visitor) (string, error) {
	ep := in.Endpoint
	err := s.change(ctx, in, "deny", func(q *db.Queries) (int64, error) {
		now := s.cfg.Now()
		return q.DenySignIn(ctx, db.DenySignInParams{Now: &now, OrganizationID: ep.Organization, ProjectID: ep.Project.ID, ID: in.ID})
	})
	if err != nil {
		return "", publicOr(err, "deny")
	}
	s.step(ep, v, events.Step{
		Kind: events.StepConsent, Failed: true, Code: "access_denied", Client: in.Client.ID, ClientName: in.Client.Name, SignIn: in.ID,
	})
	s.releaseUpstream(ctx, &ep.Project, ep.Organization, in.Person.Upstream)
	return s.backTo(in, url.Values{"error": {"access_denied"}, "error_description": {"The access was not allowed."}}), nil
}
