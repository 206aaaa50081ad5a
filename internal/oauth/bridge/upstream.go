package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/maypok86/otter/v2"
	"golang.org/x/sync/singleflight"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// upstreamKind says which endpoint of the project refreshes a session.
type upstreamKind string

const (
	upstreamOAuth   upstreamKind = "oauth"   // /oauth/token, as our client
	upstreamSession upstreamKind = "session" // /token, a first-party session
)

// Why a session ended (upstream_sessions.ended_why).
const (
	endedSignedOut = "signed_out"      // by us, when nothing needed it any more
	endedSession   = "session_ended"   // the project says so
	endedClient    = "client_gone"     // our client, without which it cannot be refreshed
	endedSubject   = "subject_changed" // a refresh brought somebody else's token, or another kind
	endedUnused    = "unused"          // found by the worker
)

// upstreams is what a server keeps in memory of sessions at projects.
type upstreams struct {
	sealer  *seal.Sealer
	warm    *otter.Cache[upstreamKey, warmToken]
	paused  *otter.Cache[upstreamKey, time.Time] // the project wants to be left alone until then
	flights singleflight.Group
}

// upstreamKey is whose session it is, and where its tokens would go: a builder
// can point a project at another origin, and no token of the one before goes
// there. The version is in the value: a token of an older one is as good until
// it expires.
type upstreamKey struct {
	organization id.Organization
	project      id.Project
	session      id.Upstream
	issuer       string
	origin       string
}

func keyOfUpstream(p *tenants.ProjectRef, org id.Organization, session id.Upstream) upstreamKey {
	return upstreamKey{org, p.ID, session, p.Issuer, p.APIOrigin}
}

// text is the key for singleflight.
func (k upstreamKey) text() string {
	return string(seal.AD(k.organization.String(), k.project.String(), k.session.String(), k.issuer, k.origin))
}

// isOf reports whether a session was begun at the project that the key names.
func (k upstreamKey) isOf(issuer, origin string) bool {
	return k.issuer == issuer && k.origin == origin
}

// warmToken is the project's access token of a session, as last stored.
type warmToken struct {
	token  seal.Secret
	claims func() (json.RawMessage, error) // of the token; read when first asked for
	until  time.Time                       // from here on it is refreshed first
	mark   tenants.Mark
}

// claimsOf are the claims of the session's token, without user_metadata: read
// once for as long as the token is kept.
func (u *upstreams) claimsOf(key upstreamKey, token seal.Secret) (json.RawMessage, error) {
	read := claimsReader(token)
	if known, ok := u.warm.GetIfPresent(key); ok && known.token == token {
		read = known.claims
	}
	claims, err := read()
	if err != nil {
		return nil, fmt.Errorf("read claims of %s: %w", key.session, err)
	}
	return claims, nil
}

func claimsReader(token seal.Secret) func() (json.RawMessage, error) {
	return func() (json.RawMessage, error) { return oauth.TokenClaims(token.Reveal()) }
}

// warmSessions bounds the sessions whose tokens are kept in memory: a token of
// Supabase's takes one or two KiB, and so do its claims.
const warmSessions = 20_000

func newUpstreams(keys *seal.Keyset) (*upstreams, error) {
	warm, err := otter.New(&otter.Options[upstreamKey, warmToken]{MaximumSize: warmSessions})
	if err != nil {
		return nil, err
	}
	paused, err := otter.New(&otter.Options[upstreamKey, time.Time]{MaximumSize: warmSessions})
	if err != nil {
		return nil, err
	}
	return &upstreams{sealer: keys.Sealer(seal.Upstream), warm: warm, paused: paused}, nil
}

func (u *upstreams) seal(k upstreamKey, column string, token seal.Secret) []byte {
	return u.sealer.Seal([]byte(token.Reveal()), upstreamAD(k, column))
}

func (u *upstreams) open(k upstreamKey, column string, sealed []byte) (seal.Secret, error) {
	text, err := u.sealer.Open(sealed, upstreamAD(k, column))
	if err != nil {
		return seal.Secret{}, fmt.Errorf("open %s of %s: %w", column, k.session, err)
	}
	return seal.NewSecret(string(text)), nil
}

func upstreamAD(k upstreamKey, column string) []byte {
	return seal.AD(k.organization.String(), "upstream_sessions", k.session.String(), column)
}

// keepUpstream checks the tokens that a sign-in at the project gave (signature
// and issuer, or GET /user where the project signs with a shared secret; the
// client is ours, or no client at all; role, anonymity and who it is), and
// stores them sealed. Errors are *fault.Error with a text for the page.
func (s *Service) keepUpstream(ctx context.Context, ep *tenants.Endpoint, kind upstreamKind, client string, t supabase.Tokens) (*Person, error) {
	token, err := s.checkUpstream(ctx, &ep.Project, kind, client, t)
	if err != nil {
		return nil, err
	}
	if err := mayUse(ep, token.Role, token.Anonymous); err != nil {
		s.dropTokens(ctx, &ep.Project, t)
		return nil, err
	}
	key := keyOfUpstream(&ep.Project, ep.Organization, id.New[id.UpstreamKind]())
	err = s.cfg.Store.AsOrganization(ctx, ep.Organization, func(q *db.Queries, _ pgx.Tx) error {
		return q.InsertUpstream(ctx, db.InsertUpstreamParams{
			OrganizationID: key.organization, ID: key.session, ProjectID: key.project, Issuer: key.issuer, APIOrigin: key.origin,
			Subject: token.Subject, Email: token.Email, Role: token.Role, Anonymous: token.Anonymous, Kind: string(kind), ClientID: client,
			AccessToken: s.upstreams.seal(key, "access_token", t.Access), RefreshToken: s.upstreams.seal(key, "refresh_token", t.Refresh),
			AccessUntil: token.Expires, Now: s.cfg.Now(),
		})
	})
	if err != nil {
		return nil, away(fmt.Errorf("store upstream session: %w", err))
	}
	return &Person{
		Organization: ep.Organization, Project: ep.Project.ID, Issuer: ep.Project.Issuer,
		Subject: token.Subject, Email: token.Email, Upstream: key.session,
	}, nil
}

// dropTokens ends a session that is of no use. A failure there harms nobody.
func (s *Service) dropTokens(ctx context.Context, p *tenants.ProjectRef, t supabase.Tokens) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseBound)
	defer cancel()
	if err := s.cfg.Projects.SignOutLocal(ctx, upstreamProject(p), t.Access); err != nil {
		s.cfg.Logger.LogAttrs(ctx, slog.LevelInfo, "a refused sign-in was not signed out", slog.String("project", p.ID.String()), slog.String("error", err.Error()))
	}
}

// checkUpstream is what is checked of tokens of the project, when a session
// begins and at every refresh.
func (s *Service) checkUpstream(ctx context.Context, p *tenants.ProjectRef, kind upstreamKind, client string, t supabase.Tokens) (oauth.ProjectToken, error) {
	token, err := s.cfg.Verifier.VerifyProjectToken(ctx, p, t.Access)
	if err != nil {
		return token, err
	}
	ours := kind == upstreamSession && !token.Delegated || kind == upstreamOAuth && client != "" && token.Client == client
	if !ours {
		return token, fault.Wrap(errOtherClient, fault.Unauthenticated, "token_client",
			"Sign-in did not work: the app's sign-in answered with a token for another client. Start again from your AI app.")
	}
	if !token.Shared {
		return token, nil
	}
	user, err := s.cfg.Projects.CurrentUser(ctx, upstreamProject(p), t.Access)
	var refused *supabase.AuthRefusal
	switch {
	case errors.As(err, &refused) && refused.Kind == supabase.RateLimited:
		return token, upstreamBusy(err, refused.RetryAfter)
	case errors.As(err, &refused), err == nil && user.ID != token.Subject:
		return token, fault.Wrap(err, fault.Unauthenticated, "token_refused",
			"Sign-in did not work: the app did not accept the token of its own sign-in. Start again from your AI app.")
	}
	return token, err
}

// mayUse applies the surface's rules about who may use it at all.
func mayUse(ep *tenants.Endpoint, role string, anonymous bool) error {
	switch {
	case anonymous && !ep.Access.AnonymousUsers:
		return fault.New(fault.Forbidden, "token_anonymous_user",
			"Anonymous users are not accepted here. Sign in with an account of the app.")
	case !roleAllowed(ep.Access, role):
		return fault.New(fault.Forbidden, "token_role",
			"Your account may not use %s: its role is not one of those allowed. Ask the app's owner.", ep.Title)
	}
	return nil
}

// roleAllowed accepts the declared roles, but never those that are not a
// user's, whatever a surface file says.
func roleAllowed(a surfaces.Access, role string) bool {
	if !userRole(role) {
		return false
	}
	if len(a.Roles) == 0 {
		return role == "authenticated"
	}
	return slices.Contains(a.Roles, role)
}

func userRole(role string) bool {
	switch role {
	case "", "anon", "service_role", "supabase_admin":
		return false
	}
	return true
}

// upstreamToken is the project's access token of a session, refreshed first
// when it is near its end: one refresh at a time over all servers, never a
// connection held meanwhile. A zero refused asks for what there is; else for
// anything but that token. Errors: fault.Unauthenticated when the session has
// ended at the project (its grants end with it), fault.Unavailable when that
// cannot be told now.
func (s *Service) upstreamToken(ctx context.Context, p *tenants.ProjectRef, org id.Organization, session id.Upstream, refused seal.Secret) (seal.Secret, error) {
	key := keyOfUpstream(p, org, session)
	if token, ok := s.warmToken(key, refused); ok {
		return token, nil
	}
	project := *p
	var token seal.Secret
	for range 3 {
		flight := s.upstreams.flights.DoChan(key.text(), func() (any, error) {
			// For all who wait, so not on behalf of one of them.
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), refreshBound)
			defer cancel()
			return s.freshToken(ctx, &project, key, refused)
		})
		select {
		case <-ctx.Done():
			return seal.Secret{}, ctx.Err()
		case r := <-flight:
			if r.Err != nil {
				return seal.Secret{}, r.Err
			}
			// Whoever began the flight may not have known of our refusal.
			if token = r.Val.(seal.Secret); token != refused || !r.Shared {
				return token, nil
			}
		}
	}
	return token, nil
}

// warmToken is what memory has, if that is known to be right.
func (s *Service) warmToken(key upstreamKey, refused seal.Secret) (seal.Secret, bool) {
	known, ok := s.upstreams.warm.GetIfPresent(key)
	if !ok || !s.cfg.Watch.Fresh(known.mark) || !s.cfg.Now().Before(known.until) || known.token == refused {
		return seal.Secret{}, false
	}
	return known.token, true
}

// releaseUpstream signs a session out at the project (scope local) when no
// live grant, visit or sign-in under way needs it any more. A failure there is
// logged, not told.
func (s *Service) releaseUpstream(ctx context.Context, p *tenants.ProjectRef, org id.Organization, session id.Upstream) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseBound)
	defer cancel()
	if err := s.endUnneeded(ctx, p, keyOfUpstream(p, org, session), endedSignedOut); err != nil {
		s.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "an upstream session could not be signed out",
			slog.String("upstream", session.String()), slog.String("error", err.Error()))
	}
}

// endUnneeded ends a session that nothing needs, here first and then there.
func (s *Service) endUnneeded(ctx context.Context, p *tenants.ProjectRef, key upstreamKey, why string) error {
	var row db.LockUpstreamToEndRow
	var ended int64
	err := s.cfg.Store.AsOrganization(ctx, key.organization, func(q *db.Queries, _ pgx.Tx) error {
		var err error
		row, err = q.LockUpstreamToEnd(ctx, db.LockUpstreamToEndParams{OrganizationID: key.organization, ProjectID: key.project, ID: key.session})
		if err != nil {
			return err
		}
		now := s.cfg.Now()
		ended, err = q.EndUnneededUpstream(ctx, db.EndUnneededUpstreamParams{
			Now: &now, Why: why, OrganizationID: key.organization, ProjectID: key.project, ID: key.session,
		})
		return err
	})
	if errors.Is(err, pgx.ErrNoRows) || err == nil && ended == 0 {
		return nil // ended already, or needed
	}
	if err != nil {
		return fmt.Errorf("end upstream session: %w", err)
	}
	s.upstreams.warm.Invalidate(key)
	if !key.isOf(row.Issuer, row.APIOrigin) {
		return nil // the project is another one now, which must not see its tokens
	}
	return s.signOut(ctx, p, key, row)
}

// signOut tells the project. It takes an access token that has not expired, so
// an old session is refreshed once more for it.
func (s *Service) signOut(ctx context.Context, p *tenants.ProjectRef, key upstreamKey, row db.LockUpstreamToEndRow) error {
	access, err := s.upstreams.open(key, "access_token", row.AccessToken)
	if err != nil {
		return err
	}
	if !s.cfg.Now().Before(row.AccessUntil) {
		refresh, err := s.upstreams.open(key, "refresh_token", row.RefreshToken)
		if err != nil {
			return err
		}
		tokens, err := s.refreshAt(ctx, p, key.organization, upstreamKind(row.Kind), row.ClientID, refresh)
		if supabase.IsRefusal(err, supabase.SessionEnded) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("refresh to sign out: %w", err)
		}
		access = tokens.Access
	}
	if err := s.cfg.Projects.SignOutLocal(ctx, upstreamProject(p), access); err != nil {
		return fmt.Errorf("sign out: %w", err)
	}
	return nil
}
