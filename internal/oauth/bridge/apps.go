package bridge

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/events"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

const (
	endedShown     = 30 * 24 * time.Hour // how long an ended grant is listed
	grantsOfPage   = 50
	personalBound  = 50 // live personal tokens of one person at one project
	personalPrefix = "chp_"
	personalLength = len(personalPrefix) + 43
	hintLength     = 4
	tokenName      = 80 // characters of a personal token's name
)

// unknownGrant is the answer for somebody else's grant, too.
func unknownGrant() *fault.Error {
	return fault.New(fault.NotFound, "unknown_grant", "Nothing was done: there is no such connected app. Open the list again.")
}

// Connected lists the person's grants at every surface of their project, the
// live ones first, then those ended within 30 days.
func (s *Service) Connected(ctx context.Context, who *Person) ([]AccessGrant, error) {
	now := s.cfg.Now()
	since := now.Add(-endedShown)
	var rows []db.ListGrantsOfPersonRow
	err := s.cfg.Store.AsOrganization(ctx, who.Organization, func(q *db.Queries, _ pgx.Tx) error {
		var err error
		rows, err = q.ListGrantsOfPerson(ctx, db.ListGrantsOfPersonParams{
			OrganizationID: who.Organization, ProjectID: who.Project, Issuer: who.Issuer, Subject: who.Subject, Now: now, Since: &since,
		})
		return err
	})
	if err != nil {
		return nil, away(fmt.Errorf("list grants: %w", err))
	}
	offers := offers{service: s, organization: who.Organization}
	grants := make([]AccessGrant, 0, len(rows))
	for _, row := range rows {
		g := AccessGrant{
			ID: row.ID, Surface: row.SurfaceID, SurfaceTitle: row.Title, Subject: row.Subject, Personal: row.Kind == grantOfPersonal, Client: row.ClientID,
			ClientName: row.ClientName, Scopes: row.Scopes, ReadOnly: row.ReadOnly, CreatedAt: row.CreatedAt, ApprovedAt: row.ApprovedAt,
			ExpiresAt: row.ExpiresAt, LastUsedAt: row.LastUsedAt, RevokedAt: row.RevokedAt, RevokedWhy: row.RevokedWhy, TokenHint: row.TokenHint,
		}
		if g.RevokedAt == nil && now.Before(g.ExpiresAt) && !g.ReadOnly {
			g.More = offers.beyond(ctx, row.SurfaceID, row.LiveRevision, row.Scopes, row.Writes)
			g.MoreNow = len(g.More) > 0
		}
		grants = append(grants, g)
	}
	return grants, nil
}

// offers loads what surfaces offer now, each once.
type offers struct {
	service      *Service
	organization id.Organization
	known        map[id.Surface]*surfaces.Compiled // nil where it cannot be told
}

// beyond lists a surface's writing tools within the scopes that writes does
// not cover. Where that cannot be told now there are none.
func (o *offers) beyond(ctx context.Context, surface id.Surface, revision *int32, scopes, writes []string) []QuestionTool {
	if revision == nil {
		return nil
	}
	c, ok := o.known[surface]
	if !ok {
		var err error
		c, err = o.service.cfg.Directory.Compiled(ctx, &tenants.Endpoint{Organization: o.organization, Surface: surface, Revision: int(*revision)})
		if err != nil {
			o.service.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "what a surface offers was not loaded",
				slog.String("surface", surface.String()), slog.String("error", err.Error()))
			c = nil
		}
		if o.known == nil {
			o.known = map[id.Surface]*surfaces.Compiled{}
		}
		o.known[surface] = c
	}
	if c == nil {
		return nil
	}
	var more []QuestionTool
	for i := range c.Tools {
		if t := &c.Tools[i]; !t.Annotations.ReadOnly && within(t.Scopes, scopes) && !slices.Contains(writes, t.Effect()) {
			more = append(more, QuestionTool{Title: t.Title, Description: t.Description, Destructive: t.Annotations.Destructive})
		}
	}
	return more
}

// Revoke takes a grant of the person's away. Somebody else's is
// fault.NotFound, like one that does not exist.
func (s *Service) Revoke(ctx context.Context, who *Person, grant id.Grant) error {
	if _, err := s.grantOf(ctx, who, grant); err != nil {
		return err
	}
	return s.revokeIn(ctx, who.Organization, Visitor{}, grant, revokedByUser, nil)
}

// grantOf finds a grant of the person's.
func (s *Service) grantOf(ctx context.Context, who *Person, grant id.Grant) (db.GetGrantOfPersonRow, error) {
	var row db.GetGrantOfPersonRow
	err := s.cfg.Store.AsOrganization(ctx, who.Organization, func(q *db.Queries, _ pgx.Tx) error {
		var err error
		row, err = lockGrantOf(ctx, q, who, grant)
		return err
	})
	if err != nil {
		return row, publicOr(err, "find grant")
	}
	return row, nil
}

func lockGrantOf(ctx context.Context, q *db.Queries, who *Person, grant id.Grant) (db.GetGrantOfPersonRow, error) {
	row, err := q.GetGrantOfPerson(ctx, db.GetGrantOfPersonParams{
		OrganizationID: who.Organization, ProjectID: who.Project, Issuer: who.Issuer, Subject: who.Subject, ID: grant,
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return row, unknownGrant()
	}
	return row, err
}

// Narrow makes a grant read-only or takes scopes from it; never more. Scopes
// that are not named go, those that it does not have are not given.
func (s *Service) Narrow(ctx context.Context, who *Person, grant id.Grant, readOnly bool, scopes []string) error {
	return s.limit(ctx, who, grant, func(row db.GetGrantOfPersonRow) (bool, []string, []string) {
		writes := row.Writes
		if readOnly {
			writes = nil
		}
		return row.ReadOnly || readOnly, inBoth(row.Scopes, scopes), writes
	})
}

// Widen agrees to the writing tools that the surface offers now, within the
// grant's scopes. It ends read-only.
func (s *Service) Widen(ctx context.Context, who *Person, grant id.Grant) error {
	row, err := s.grantOf(ctx, who, grant)
	if err != nil {
		return err
	}
	if row.LiveRevision == nil {
		return unknownGrant()
	}
	compiled, err := s.cfg.Directory.Compiled(ctx, &tenants.Endpoint{Organization: who.Organization, Surface: row.SurfaceID, Revision: int(*row.LiveRevision)})
	if err != nil {
		return fmt.Errorf("load what the surface offers: %w", err)
	}
	return s.limit(ctx, who, grant, func(row db.GetGrantOfPersonRow) (bool, []string, []string) {
		return false, row.Scopes, effects(compiled, row.Scopes)
	})
}

// limit sets what a live grant of the person's allows.
func (s *Service) limit(ctx context.Context, who *Person, grant id.Grant, to func(db.GetGrantOfPersonRow) (readOnly bool, scopes, writes []string)) error {
	err := s.cfg.Store.AsOrganization(ctx, who.Organization, func(q *db.Queries, _ pgx.Tx) error {
		row, err := lockGrantOf(ctx, q, who, grant)
		if err != nil {
			return err
		}
		readOnly, scopes, writes := to(row)
		n, err := q.LimitGrant(ctx, db.LimitGrantParams{
			OrganizationID: who.Organization, ProjectID: who.Project, Issuer: who.Issuer, Subject: who.Subject, ID: grant,
			ReadOnly: readOnly, Scopes: list(scopes), Writes: list(writes), Now: s.cfg.Now(),
		})
		if err == nil && n == 0 {
			return fault.New(fault.Conflict, "grant_over", "Nothing was changed: this app is not connected any more.")
		}
		return err
	})
	if err != nil {
		return publicOr(err, "limit grant")
	}
	return nil
}

// NewPersonalToken makes a token (chp_…) for clients that cannot do OAuth, for
// one bridge surface of the person's project, for at most 90 days. It is shown
// once.
func (s *Service) NewPersonalToken(ctx context.Context, who *Person, ep *tenants.Endpoint, name string, readOnly bool, lifetime time.Duration) (AccessGrant, seal.Secret, error) {
	none := AccessGrant{}
	if ep.Organization != who.Organization || ep.Project.ID != who.Project || ep.Project.Issuer != who.Issuer || !ep.Access.Bridged() {
		return none, seal.Secret{}, fault.New(fault.NotFound, "unknown_surface", "No token was made: there is no such surface of this app.")
	}
	name, err := checkTokenName(name)
	if err != nil {
		return none, seal.Secret{}, err
	}
	if lifetime <= 0 || lifetime > personalMaximum {
		return none, seal.Secret{}, fault.New(fault.Invalid, "lifetime_invalid", "No token was made: choose at most 90 days.").
			WithIssues(fault.Issue{Path: "days", Message: "at most 90 days"})
	}
	compiled, err := s.cfg.Directory.Compiled(ctx, ep)
	if err != nil {
		return none, seal.Secret{}, fmt.Errorf("load what the surface offers: %w", err)
	}
	now, scopes, writes := s.cfg.Now(), scopesOf(ep.Access), []string{}
	if !readOnly {
		writes = effects(compiled, scopes)
	}
	token := personalPrefix + newSecret().Reveal()
	hash := sha256.Sum256([]byte(token))
	g := AccessGrant{
		ID: id.New[id.GrantKind](), Surface: ep.Surface, Subject: who.Subject, Personal: true, ClientName: name, Scopes: scopes, ReadOnly: readOnly,
		CreatedAt: now, ApprovedAt: now, ExpiresAt: now.Add(lifetime), TokenHint: token[len(token)-hintLength:],
	}
	g.Client = g.ID.String()
	err = s.cfg.Store.AsOrganization(ctx, ep.Organization, func(q *db.Queries, _ pgx.Tx) error {
		if err := s.checkPerson(ctx, q, &SignIn{Endpoint: ep, Person: who}); err != nil {
			return err
		}
		n, err := q.InsertPersonalGrant(ctx, db.InsertPersonalGrantParams{
			OrganizationID: ep.Organization, ID: g.ID, SurfaceID: ep.Surface, ProjectID: ep.Project.ID, Issuer: who.Issuer, Subject: who.Subject,
			ClientID: g.Client, ClientName: name, Scopes: list(scopes), ReadOnly: readOnly, Writes: writes, UpstreamSessionID: who.Upstream,
			TokenHash: hash[:], TokenHint: g.TokenHint, Now: now, ExpiresAt: g.ExpiresAt, Bound: personalBound,
		})
		if err == nil && n == 0 {
			return fault.New(fault.Conflict, "too_many_tokens", "No token was made: you have %d already. Revoke one first.", personalBound)
		}
		return err
	})
	if err != nil {
		return none, seal.Secret{}, publicOr(err, "make personal token")
	}
	s.cfg.Logger.LogAttrs(ctx, slog.LevelInfo, "personal token made", slog.String("surface", ep.Surface.String()), slog.String("grant", g.ID.String()))
	return g, seal.NewSecret(token), nil
}

// scopesOf are all the scopes that a surface knows.
func scopesOf(a surfaces.Access) []string {
	all := slices.Clone(a.Scopes)
	for _, scope := range slices.Concat(a.Require, a.Advertise) {
		if !slices.Contains(all, scope) {
			all = append(all, scope)
		}
	}
	return all
}

// checkTokenName makes a name fit to be shown in a list.
func checkTokenName(name string) (string, error) {
	name = strings.Join(strings.Fields(name), " ")
	bad := func(r rune) bool { return !unicode.IsPrint(r) }
	if name == "" || utf8.RuneCountInString(name) > tokenName || !utf8.ValidString(name) || strings.ContainsFunc(name, bad) {
		return "", fault.New(fault.Invalid, "name_invalid", "No token was made: give it a name of 1 to %d characters.", tokenName).
			WithIssues(fault.Issue{Path: "name", Message: fmt.Sprintf("1 to %d characters", tokenName)})
	}
	if strings.HasPrefix(name, personalPrefix) { // a token, pasted into the wrong field
		return "", fault.New(fault.Invalid, "name_invalid", "No token was made: that is a token, not a name. If it was yours, revoke it.").
			WithIssues(fault.Issue{Path: "name", Message: "give it a name"})
	}
	return name, nil
}

// GrantsOf lists a surface's grants for its builders, newest first: 50 a page,
// after the id given. Emails and tokens are not theirs to see.
func (s *Service) GrantsOf(ctx context.Context, p tenants.Principal, surface id.Surface, after id.Grant) ([]AccessGrant, error) {
	var rows []db.ListGrantsOfSurfaceRow
	err := s.cfg.Store.AsOrganization(ctx, p.Organization.ID, func(q *db.Queries, _ pgx.Tx) error {
		stands, err := q.SurfaceStands(ctx, db.SurfaceStandsParams{OrganizationID: p.Organization.ID, ID: surface})
		if err == nil && !stands {
			return fault.New(fault.NotFound, "unknown_surface", "There is no such surface.")
		}
		if err != nil {
			return err
		}
		rows, err = q.ListGrantsOfSurface(ctx, db.ListGrantsOfSurfaceParams{
			OrganizationID: p.Organization.ID, SurfaceID: surface, After: uuid.UUID(after), Page: grantsOfPage,
		})
		return err
	})
	if err != nil {
		return nil, publicOr(err, "list grants")
	}
	grants := make([]AccessGrant, 0, len(rows))
	for _, row := range rows {
		grants = append(grants, AccessGrant{
			ID: row.ID, Surface: row.SurfaceID, Subject: row.Subject, Personal: row.Kind == grantOfPersonal, Client: row.ClientID,
			ClientName: row.ClientName, Scopes: row.Scopes, ReadOnly: row.ReadOnly, CreatedAt: row.CreatedAt, ApprovedAt: row.ApprovedAt,
			ExpiresAt: row.ExpiresAt, LastUsedAt: row.LastUsedAt, RevokedAt: row.RevokedAt, RevokedWhy: row.RevokedWhy,
		})
	}
	return grants, nil
}

// RevokeByBuilder takes a grant away, with a line in the audit log. One that
// is revoked already stays so, without another line.
func (s *Service) RevokeByBuilder(ctx context.Context, p tenants.Principal, surface id.Surface, grant id.Grant) error {
	err := p.MayWrite()
	if err == nil {
		err = s.cfg.Store.AsOrganization(ctx, p.Organization.ID, func(q *db.Queries, _ pgx.Tx) error {
			_, err := q.GetGrantOfSurface(ctx, db.GetGrantOfSurfaceParams{OrganizationID: p.Organization.ID, SurfaceID: surface, ID: grant})
			if errors.Is(err, pgx.ErrNoRows) {
				return fault.New(fault.NotFound, "unknown_grant", "Nothing was revoked: this surface has no such connection.")
			}
			return err
		})
	}
	entry := events.AuditEntry{Action: "grant.revoke", Target: grant.String(), Outcome: events.AuditOK, Detail: map[string]any{"surface": surface.String()}}
	if err != nil {
		return s.auditRefusal(ctx, p, entry, publicOr(err, "find grant"))
	}
	return s.revokeIn(ctx, p.Organization.ID, Visitor{}, grant, revokedByBuilder, func(q *db.Queries) error {
		return events.Audit(ctx, q, s.cfg.Now(), p.Actor(), entry)
	})
}

// auditRefusal records what a builder was refused, and gives back the error.
func (s *Service) auditRefusal(ctx context.Context, p tenants.Principal, entry events.AuditEntry, err error) error {
	why := fault.From(err)
	if why.Kind == fault.Unavailable || why.Kind == fault.Internal {
		return err
	}
	entry.Outcome, entry.Detail = events.AuditRefused, map[string]any{"reason": why.Kind.String(), "code": why.Code}
	recorded := s.cfg.Store.AsOrganization(ctx, p.Organization.ID, func(q *db.Queries, _ pgx.Tx) error {
		return events.Audit(ctx, q, s.cfg.Now(), p.Actor(), entry)
	})
	return errors.Join(err, recorded)
}
