package tenants

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"unique"

	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// load answers a miss: one query for everybody who asks for the same thing at
// once. Somebody who came after an invalidation is never answered by a query
// that began before it. With the database away, the last known answer serves
// within the stale bound.
func (d *Directory) load(ctx context.Context, key lookupKey) (*entry, error) {
	arrived := d.fresh.stamp()
	for {
		if d.now().UnixNano() < d.away.Load() {
			return d.lastKnown(key, errors.New("database did not answer a moment ago"))
		}
		flight := d.flights.DoChan(key.host+"|"+key.base+"|"+key.path, func() (any, error) {
			// Somebody may have looked, found nothing, and come here only after
			// the flight that stored the answer had ended.
			if e := d.remembered(key); e != nil {
				return e, nil
			}
			return d.query(context.WithoutCancel(ctx), key)
		})
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("look up surface: %w", ctx.Err())
		case result := <-flight:
			if result.Err != nil {
				return d.lastKnown(key, result.Err)
			}
			e := result.Val.(*entry)
			if e.at.seq >= arrived.seq && e.at.epoch >= arrived.epoch || d.fresh.valid(&e.read, d.now()) {
				return e, nil
			}
		}
	}
}

// lastKnown is the answer when the database gives none.
func (d *Directory) lastKnown(key lookupKey, cause error) (*entry, error) {
	e, ok := d.found.GetIfPresent(key)
	if !ok {
		return nil, errAway(cause)
	}
	if !d.usable(&e.read) {
		return nil, errAway(cause)
	}
	return e, nil
}

// query asks the database and stores the answer, unless it was overtaken by an
// invalidation.
func (d *Directory) query(ctx context.Context, key lookupKey) (*entry, error) {
	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	before, began := d.fresh.stamp(), d.now()
	var row db.LookupSurfaceRow
	path := key.path
	err := d.store.AsSystem(ctx, func(q *db.Queries, _ pgx.Tx) error {
		var err error
		if key.path == "/" {
			path, err = q.RootSurfacePath(ctx, key.host)
			if err != nil && !errors.Is(err, pgx.ErrNoRows) {
				return fmt.Errorf("find root surface: %w", err)
			}
		}
		row, err = q.LookupSurface(ctx, db.LookupSurfaceParams{Host: key.host, Path: path, Formats: d.formats})
		return err
	})
	if err != nil {
		d.away.Store(d.now().Add(awayFor).UnixNano())
		d.log.LogAttrs(ctx, slog.LevelWarn, "directory cannot load", slog.String("error", err.Error()))
		return nil, fmt.Errorf("load surface: %w", err)
	}
	d.away.Store(0)
	e := &entry{read: read{at: before, loaded: began, scopes: d.fresh.scopesOf(key, row.SurfaceID, row.ProjectID)}}
	if err := d.fill(ctx, e, key, path, row); err != nil {
		d.log.LogAttrs(ctx, slog.LevelError, "directory cannot read a row", slog.String("error", err.Error()))
		return nil, err
	}
	d.keep(key, e)
	return e, nil
}

// fill decides what a row means: an endpoint, an unknown host or an unknown
// path.
func (d *Directory) fill(ctx context.Context, e *entry, key lookupKey, path string, row db.LookupSurfaceRow) error {
	if key.host != sharedHost && !hasLabel(key.host) && !row.HostKnown {
		e.absent = errMisdirected()
		return nil
	}
	if row.SurfaceID.IsZero() || row.Revision == 0 || !d.servable(row) {
		e.absent = errNotFound()
		return nil
	}
	if row.Revision != row.LiveRevision {
		d.log.LogAttrs(ctx, slog.LevelWarn, "live revision has a newer format, serving the last known",
			slog.String("surface", row.SurfaceID.String()), slog.Int("live", int(row.LiveRevision)), slog.Int("serving", int(row.Revision)))
	}
	ep, err := d.endpoint(key, path, row)
	if err != nil {
		return err
	}
	e.endpoint = ep
	return nil
}

// servable reports whether the project may be reached by the world: it is
// proven, or need not be. Where somebody else proved the same API origin, an
// unproven one is never served, whatever the operator allows.
func (d *Directory) servable(row db.LookupSurfaceRow) bool {
	if row.VerifiedAt != nil {
		return true
	}
	return !d.require && !splitIssuer(row.Issuer, row.APIOrigin) && !row.ProvenElsewhere
}

// splitIssuer reports whether tokens of a project's issuer would go to another
// origin than the issuer's own. Such a project needs the ownership proof even
// where others do not.
func splitIssuer(issuer, apiOrigin string) bool {
	origin, err := supabase.APIOrigin(issuer)
	return err != nil || origin != apiOrigin
}

// keep stores an answer if it is still right, and drops what it replaces.
func (d *Directory) keep(key lookupKey, e *entry) {
	if !d.fresh.storable(&e.read) {
		return
	}
	if e.absent != nil {
		d.found.Invalidate(key)
		d.missing.Set(key, e)
		return
	}
	d.found.Set(key, e)
}

func (d *Directory) endpoint(key lookupKey, path string, row db.LookupSurfaceRow) (*Endpoint, error) {
	ep := &Endpoint{
		Organization: row.OrganizationID,
		Project: ProjectRef{
			ID: row.ProjectID, Slug: share(row.ProjectSlug), APIOrigin: share(row.APIOrigin), Issuer: share(row.Issuer),
			JWKSURI: share(row.JWKSURI), PublishableKey: share(row.PublishableKey), ScopesSupported: shareAll(row.ScopesSupported),
			Logo: share(row.Logo), Name: share(row.ProjectName),
			SignInPaused: Ownership{Misses: int(row.OwnershipMisses)}.SignInPaused(),
		},
		Surface: row.SurfaceID, SurfaceSlug: share(row.SurfaceSlug), Title: share(row.Title), State: State(share(row.State)),
		Revision: int(row.Revision), Digest: hex.EncodeToString(row.Digest),
	}
	if err := json.Unmarshal(row.Access, &ep.Access); err != nil {
		return nil, fmt.Errorf("decode access of %s revision %d: %w", row.SurfaceID, row.Revision, err)
	}
	shareAccess(&ep.Access)
	for i, host := range row.UrlHosts {
		for n, base := range d.hosts.basesOf(host) {
			r := Resource{
				Base: share(base), Path: share(row.UrlPaths[i]), Root: row.UrlRoots[i],
				Ref: refOf(id.SurfaceURL(row.UrlIds[i]), n),
			}
			ep.URLs = append(ep.URLs, r)
			if host == key.host && base == key.base && row.UrlPaths[i] == path {
				ep.Resource = r
			}
		}
	}
	if ep.Resource.Path == "" {
		return nil, fmt.Errorf("match URL of %s: the surface does not list it", row.SurfaceID)
	}
	return ep, nil
}

func hasLabel(stored string) bool {
	return len(stored) > len(labelSuffix) && stored[len(stored)-len(labelSuffix):] == labelSuffix
}

// share makes equal strings one string: thousands of entries say the same
// issuers, keys and modes.
func share(s string) string { return unique.Make(s).Value() }

func shareAll(list []string) []string {
	for i, s := range list {
		list[i] = share(s)
	}
	return list
}

func shareAccess(a *surfaces.Access) {
	for i, m := range a.Modes {
		a.Modes[i] = surfaces.Mode(share(string(m)))
	}
	a.Authorization = share(a.Authorization)
	for _, list := range [][]string{a.Advertise, a.Require, a.Roles, a.Origins, a.Scopes} {
		shareAll(list)
	}
}
