package tenants

import (
	"errors"
	"fmt"
	"time"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/seal"
)

// Service is what builders do: organizations, projects, surfaces, API tokens.
// Every method of a Principal works inside that principal's organization only;
// another organization's object is fault.NotFound, like one that does not
// exist. Safe for concurrent use.
type Service struct {
	store     *db.Store
	hosts     *hostTable
	keys      *seal.Keyset
	passwords *passwords
	now       func() time.Time
}

// ServiceConfig is what a Service needs.
type ServiceConfig struct {
	Store *db.Store
	Hosts Hosts // for the URLs of surfaces
	// Keys is the master keyset: forms and throttles are keyed with it. Without
	// one the service makes keys of its own, which no other replica and no later
	// start shares; that is for tests.
	Keys *seal.Keyset
	// Passwords is what hashing one costs; DefaultPasswordCost when zero.
	Passwords PasswordCost
	Now       func() time.Time
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
	if c.Keys == nil {
		if c.Keys, err = seal.ParseKeyset(seal.GenerateKey()); err != nil {
			return nil, fmt.Errorf("make keys: %w", err)
		}
	}
	return &Service{store: c.Store, hosts: hosts, keys: c.Keys, passwords: newPasswords(c.Passwords), now: c.Now}, nil
}
