package app

import (
	"log/slog"
	"time"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/egress"
	"github.com/chumbo-dev/chumbo/internal/oauth/apikeys"
	"github.com/chumbo-dev/chumbo/internal/oauth/directclients"
	"github.com/chumbo-dev/chumbo/internal/oauth/issuers"
	"github.com/chumbo-dev/chumbo/internal/ratelimit"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// doors are the ways in beside the bridge and the project's own tokens, and
// the limits that they share.
type doors struct {
	limits  *ratelimit.Limiter
	keys    *apikeys.Service
	issuers *issuers.Service
	clients *directclients.Service
}

// newDoors wires them over what the server has.
func newDoors(store *db.Store, keys *seal.Keyset, watch *tenants.Watch, projects *supabase.Client, out *egress.Client, log *slog.Logger, now func() time.Time) (doors, error) {
	var d doors
	var err error
	if d.limits, err = ratelimit.New(ratelimit.Config{Store: store, Keys: keys, Now: now, Logger: log}); err != nil {
		return doors{}, err
	}
	d.keys, err = apikeys.New(apikeys.Config{Store: store, Watch: watch, Projects: projects, Limits: d.limits, Logger: log, Now: now})
	if err != nil {
		return doors{}, err
	}
	d.issuers, err = issuers.New(issuers.Config{Store: store, Keys: keys, Watch: watch, Out: out, Limits: d.limits, Logger: log, Now: now})
	if err != nil {
		return doors{}, err
	}
	d.clients, err = directclients.New(directclients.Config{Store: store, Watch: watch, Projects: projects, Logger: log, Now: now})
	return d, err
}
