package tenants

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/events"
)

// NewOrganization makes one more organization, owned by the builder of the
// session, which works in it from then on.
func (s *Service) NewOrganization(ctx context.Context, session Session, name string) (Organization, error) {
	name = strings.TrimSpace(name)
	if err := checkOrganization(name); err != nil {
		return Organization{}, err
	}
	var o Organization
	err := s.store.AsSystem(ctx, func(q *db.Queries, _ pgx.Tx) error {
		var err error
		by := events.Actor{Builder: session.Builder.ID, Address: session.Current.Address}
		if o, err = s.found(ctx, q, session.Builder, name, by, nil); err != nil {
			return err
		}
		return s.choose(ctx, q, session, o.ID)
	})
	if err != nil {
		return Organization{}, err
	}
	return o, nil
}
