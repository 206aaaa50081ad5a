package tenants

import (
	"encoding/json"
	"time"

	"github.com/chumbo-dev/chumbo/internal/events"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
)

// Organization is a team of builders, the tenant.
type Organization struct {
	ID   id.Organization
	Slug string
	Name string
}

// Builder is a person who signs in to Chumbo.
type Builder struct {
	ID    id.Builder
	Email string
}

// Role is what a member may do in an organization.
type Role string

// The roles. A viewer reads; every other one also changes projects and
// surfaces.
const (
	RoleOwner     Role = "owner"
	RoleAdmin     Role = "admin"
	RoleDeveloper Role = "developer"
	RoleViewer    Role = "viewer"
)

// Scope is what an API token may do. A browser session may do what its
// builder may.
type Scope string

// The scopes. Each one includes those before it.
const (
	ScopeRead  Scope = "read"  // look
	ScopeWrite Scope = "write" // change projects and surfaces, publish
	ScopeAdmin Scope = "admin" // make and revoke API tokens, delete, rename
)

// Principal is a builder at work in one organization, as proven by an API
// token or by a browser session.
type Principal struct {
	Organization Organization
	Builder      Builder
	Role         Role
	Token        id.Token   // zero for a browser session
	Session      id.Session // zero for an API token
	Scope        Scope      // of the token; ScopeAdmin for a session
	Address      string     // of the request, for the audit log
}

// Actor is the principal as the audit log names it.
func (p Principal) Actor() events.Actor {
	return events.Actor{Organization: p.Organization.ID, Builder: p.Builder.ID, Token: p.Token, Address: p.Address}
}

// MayWrite refuses a principal who may not change projects and surfaces, with
// fault.Forbidden.
func (p Principal) MayWrite() error {
	if p.Scope == ScopeRead {
		return fault.New(fault.Forbidden, "scope_read", "This API token may look and not change. Use one of scope write.")
	}
	switch p.Role {
	case RoleOwner, RoleAdmin, RoleDeveloper:
		return nil
	}
	return fault.New(fault.Forbidden, "viewer", "A viewer may look and not change. Ask an owner or admin of the organization for the developer role.")
}

// MayAdminister refuses a principal who may not make API tokens, rename or
// delete, with fault.Forbidden.
func (p Principal) MayAdminister() error {
	if err := p.MayWrite(); err != nil {
		return err
	}
	if p.Scope != ScopeAdmin {
		return fault.New(fault.Forbidden, "scope_write", "This API token may not do that. Use one of scope admin, or the dashboard.")
	}
	if p.Role == RoleDeveloper {
		return fault.New(fault.Forbidden, "developer", "Only an owner or admin of the organization may do that.")
	}
	return nil
}

// Signing is how a project signs its users' tokens.
type Signing string

// The kinds of signing. Direct mode needs asymmetric keys.
const (
	SigningAsymmetric Signing = "asymmetric"
	SigningHS256      Signing = "hs256"
)

// ProjectFacts is what a probe learnt of a Supabase project.
type ProjectFacts struct {
	TypedURL        string // as the builder typed it; for display only
	APIOrigin       string // scheme://host[:port]; the only origin that gets tokens
	Issuer          string // as the project claims it, byte for byte
	JWKSURI         string // shares the origin of APIOrigin; may be empty for hs256
	PublishableKey  string // sb_publishable_… or a legacy anon key
	Signing         Signing
	OAuthEnabled    bool
	ScopesSupported []string        // of the project's own metadata
	Registration    bool            // dynamic client registration is on
	Findings        json.RawMessage // of the probe that learnt this: an array of doctor.Finding; nil for none
}

// NewProject is a project about to be registered.
type NewProject struct {
	Slug string
	Name string // shown to people; the slug when empty
	ProjectFacts
}

// Project is one registered Supabase project.
type Project struct {
	ID           id.Project
	Organization id.Organization
	Slug         string
	Name         string
	ProjectFacts
	VerifiedAt *time.Time // nil until ownership is proven
	CreatedAt  time.Time
	UpdatedAt  time.Time

	Ownership           Ownership
	RegistrationEnabled bool            // dynamic client registration, as the last probe found it
	Findings            json.RawMessage // of the last probe: an array of doctor.Finding
	ProbedAt            *time.Time
	Logo                string   // digest of the logo in hex; empty for none
	CatalogRelations    []string // the builder's list for chumbo_catalog; empty until it is generated
}

// Surface is one MCP endpoint of a project.
type Surface struct {
	ID           id.Surface
	Organization id.Organization
	Project      id.Project
	Slug         string
	State        State
	LiveRevision int        // 0: nothing published yet
	URLs         []Resource // primary first
	PinnedAt     *time.Time // the live revision is held: publishing and rolling back are refused
	CreatedAt    time.Time
	UpdatedAt    time.Time
}
