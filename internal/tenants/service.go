package tenants

import (
	"errors"
	"time"

	"github.com/chumbo-dev/chumbo/internal/db"
)

// Service is what builders do: organizations, projects, surfaces, API tokens.
// Every method of a Principal works inside that principal's organization only;
// another organization's object is fault.NotFound, like one that does not
// exist. Safe for concurrent use.
type Service struct {
	store *db.Store
	hosts *hostTable
	now   func() time.Time
}

// ServiceConfig is what a Service needs.
type ServiceConfig struct {
	Store *db.Store
	Hosts Hosts // for the URLs of surfaces
	Now   func() time.Time
}

// NewService returns a Service, or says what is missing.
func NewService(c ServiceConfig) (*Service, error) {
	if c.Store == nil || c.Now == nil {
		return nil, errors.New("tenants: Store and Now are needed")
	}
	hosts, err := newHostTable(c.Hosts)
	if err != nil {
		return nil, err
	}
	return &Service{store: c.Store, hosts: hosts, now: c.Now}, nil
}
