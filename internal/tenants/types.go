package tenants

import (
	"time"

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

// Principal is a builder at work in one organization, as proven by an API
// token.
type Principal struct {
	Organization Organization
	Builder      Builder
	Token        id.Token
	Role         Role
}

// MayWrite refuses a principal who may not change projects and surfaces, with
// fault.Forbidden.
func (p Principal) MayWrite() error {
	switch p.Role {
	case RoleOwner, RoleAdmin, RoleDeveloper:
		return nil
	}
	return fault.New(fault.Forbidden, "viewer", "A viewer may look and not change. Ask an owner or admin of the organization for the developer role.")
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
	ScopesSupported []string // of the project's own metadata
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
	CreatedAt    time.Time
	UpdatedAt    time.Time
}
