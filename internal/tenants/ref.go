package tenants

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
)

// refOf names one URL in the addresses of pages: the id of its row as shown
// (url_0190…), and ".n" for the n-th base of a host that has several.
func refOf(url id.SurfaceURL, n int) string {
	if n == 0 {
		return share(url.String())
	}
	return share(url.String() + "." + strconv.Itoa(n))
}

// parseRef reads what refOf wrote, and nothing else: every URL has one name.
func parseRef(ref string) (url id.SurfaceURL, n int, ok bool) {
	if len(ref) > 64 {
		return id.SurfaceURL{}, 0, false
	}
	shown, number, numbered := strings.Cut(ref, ".")
	url, err := id.Parse[id.SurfaceURLKind](shown)
	if err != nil {
		return id.SurfaceURL{}, 0, false
	}
	if numbered {
		if n, err = strconv.Atoi(number); err != nil {
			return id.SurfaceURL{}, 0, false
		}
	}
	return url, n, n >= 0 && refOf(url, n) == ref
}

// ByRef finds the endpoint that Resource.Ref names, as it stands now. Every
// rule of Lookup holds, and whatever is not served is the same
// fault.NotFound. Errors else as Lookup's.
func (d *Directory) ByRef(ctx context.Context, ref string) (*Endpoint, error) {
	url, n, ok := parseRef(ref)
	if !ok {
		return nil, errNotFound()
	}
	at, err := d.placeOf(ctx, url)
	if err != nil {
		return nil, err
	}
	bases := d.hosts.basesOf(at.host)
	if n >= len(bases) {
		return nil, errNotFound()
	}
	ep, err := d.lookup(ctx, lookupKey{at.host, bases[n], at.path})
	if fault.Is(err, fault.Misdirected) {
		return nil, errNotFound()
	}
	return ep, err
}

// placeOf asks where a URL is. It is not kept: pages ask, calls do not.
func (d *Directory) placeOf(ctx context.Context, url id.SurfaceURL) (place, error) {
	bounded, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	var row db.GetURLPlaceRow
	err := d.store.AsSystem(bounded, func(q *db.Queries, _ pgx.Tx) error {
		var err error
		row, err = q.GetURLPlace(bounded, url)
		return err
	})
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return place{}, errNotFound()
	case err != nil && ctx.Err() != nil:
		return place{}, fmt.Errorf("find URL: %w", ctx.Err())
	case err != nil:
		return place{}, errAway(err)
	}
	return place{row.Host, row.Path}, nil
}

// OwnBases lists the bases (scheme://host[:port]) of the hosts that belong to
// ep's project alone, the best first: under the surface domain, and proven
// custom domains. Empty where the project is reached on the shared host only.
func (d *Directory) OwnBases(ep *Endpoint) []string {
	var own []string
	for _, r := range ep.URLs {
		if !slices.Contains(d.hosts.bases, r.Base) && !slices.Contains(own, r.Base) {
			own = append(own, r.Base)
		}
	}
	return own
}
