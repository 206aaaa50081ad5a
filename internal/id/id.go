// Package id owns the identifiers of Chumbo's stored things: one distinct type
// per thing, so that a surface's id can never be passed where a project's is
// meant. An id is a UUIDv7 (RFC 9562) in the database and is shown to people
// and machines with a short prefix, such as org_0190….
//
// It never holds secrets: task, callback and approval ids are separate random
// values made where they are needed.
package id

import (
	"database/sql/driver"
	"fmt"
	"strings"

	"github.com/google/uuid"
)

// Kind names what an id identifies. Each kind is an empty struct type with the
// prefix under which its ids are shown.
type Kind interface{ prefix() string }

// The kinds of ids. They are exported only to name instances of ID.
type (
	// OrganizationKind marks ids of organizations.
	OrganizationKind struct{}
	// BuilderKind marks ids of builders, the people who sign in to Chumbo.
	BuilderKind struct{}
	// ProjectKind marks ids of registered Supabase projects.
	ProjectKind struct{}
	// SurfaceKind marks ids of surfaces.
	SurfaceKind struct{}
	// SurfaceURLKind marks ids of rows of surface_urls.
	SurfaceURLKind struct{}
	// DomainKind marks ids of custom domains.
	DomainKind struct{}
	// TokenKind marks ids of API tokens.
	TokenKind struct{}
	// InvocationKind marks ids of invocations.
	InvocationKind struct{}
	// AuditKind marks ids of audit events.
	AuditKind struct{}
	// SessionKind marks ids of builders' browser sessions.
	SessionKind struct{}
	// DeviceKind marks ids of device authorizations (RFC 8628).
	DeviceKind struct{}
	// RegistrationKind marks ids of projects being registered.
	RegistrationKind struct{}
	// NoticeKind marks ids of notices to an organization.
	NoticeKind struct{}
	// GrantKind marks ids of grants, a caller's permission to a client.
	GrantKind struct{}
	// ChainKind marks ids of chains of refresh tokens.
	ChainKind struct{}
	// UpstreamKind marks ids of sessions kept at a project's Auth.
	UpstreamKind struct{}
	// VisitKind marks ids of end users' browser sessions.
	VisitKind struct{}
	// SignInKind marks ids of sign-ins under way.
	SignInKind struct{}
	// StepKind marks ids of steps of an attempt to connect.
	StepKind struct{}
	// KeyKind marks ids of keys that applications call a surface with.
	KeyKind struct{}
)

func (OrganizationKind) prefix() string { return "org" }
func (BuilderKind) prefix() string      { return "bld" }
func (ProjectKind) prefix() string      { return "prj" }
func (SurfaceKind) prefix() string      { return "srf" }
func (SurfaceURLKind) prefix() string   { return "url" }
func (DomainKind) prefix() string       { return "dom" }
func (TokenKind) prefix() string        { return "tok" }
func (InvocationKind) prefix() string   { return "inv" }
func (AuditKind) prefix() string        { return "aud" }
func (SessionKind) prefix() string      { return "ses" }
func (DeviceKind) prefix() string       { return "dev" }
func (RegistrationKind) prefix() string { return "reg" }
func (NoticeKind) prefix() string       { return "ntc" }
func (GrantKind) prefix() string        { return "grt" }
func (ChainKind) prefix() string        { return "chn" }
func (UpstreamKind) prefix() string     { return "ups" }
func (VisitKind) prefix() string        { return "vis" }
func (SignInKind) prefix() string       { return "sgn" }
func (StepKind) prefix() string         { return "stp" }
func (KeyKind) prefix() string          { return "key" }

// The id types of the product's nouns.
type (
	// Organization identifies an organization, shown as org_….
	Organization = ID[OrganizationKind]
	// Builder identifies a builder, shown as bld_….
	Builder = ID[BuilderKind]
	// Project identifies a project, shown as prj_….
	Project = ID[ProjectKind]
	// Surface identifies a surface, shown as srf_….
	Surface = ID[SurfaceKind]
	// SurfaceURL identifies one URL of a surface, shown as url_….
	SurfaceURL = ID[SurfaceURLKind]
	// Domain identifies a custom domain, shown as dom_….
	Domain = ID[DomainKind]
	// Token identifies an API token, shown as tok_….
	Token = ID[TokenKind]
	// Invocation identifies an invocation, shown as inv_….
	Invocation = ID[InvocationKind]
	// Audit identifies an audit event, shown as aud_….
	Audit = ID[AuditKind]
	// Session identifies a builder's browser session, shown as ses_….
	Session = ID[SessionKind]
	// Device identifies a device authorization, shown as dev_….
	Device = ID[DeviceKind]
	// Registration identifies a project being registered, shown as reg_….
	Registration = ID[RegistrationKind]
	// Notice identifies a notice to an organization, shown as ntc_….
	Notice = ID[NoticeKind]
	// Grant identifies a grant, shown as grt_….
	Grant = ID[GrantKind]
	// Chain identifies a chain of refresh tokens, shown as chn_….
	Chain = ID[ChainKind]
	// Upstream identifies a session kept at a project's Auth, shown as ups_….
	Upstream = ID[UpstreamKind]
	// Visit identifies an end user's browser session, shown as vis_….
	Visit = ID[VisitKind]
	// SignIn identifies a sign-in under way, shown as sgn_….
	SignIn = ID[SignInKind]
	// Step identifies one step of an attempt to connect, shown as stp_….
	Step = ID[StepKind]
	// Key identifies a key of an application, shown as key_….
	Key = ID[KeyKind]
)

// ID is a UUIDv7 tagged with the kind of thing it identifies. The zero value
// is no id.
type ID[K Kind] uuid.UUID

// New returns a fresh id. UUIDv7 sorts by creation time.
func New[K Kind]() ID[K] { return ID[K](uuid.Must(uuid.NewV7())) }

// Parse reads the shown form (org_…) or a bare UUID, and refuses another
// kind's prefix.
func Parse[K Kind](s string) (ID[K], error) {
	var k K
	text := s
	if prefix, rest, found := strings.Cut(s, "_"); found {
		if prefix != k.prefix() {
			return ID[K]{}, fmt.Errorf("id %q: want prefix %s_", s, k.prefix())
		}
		text = rest
	}
	u, err := uuid.Parse(text)
	if err != nil {
		return ID[K]{}, fmt.Errorf("id %q: not a %s_ id", s, k.prefix())
	}
	return ID[K](u), nil
}

// IsZero reports whether the id is unset.
func (i ID[K]) IsZero() bool { return uuid.UUID(i) == uuid.Nil }

// UUID returns the id without its kind, as the database stores it.
func (i ID[K]) UUID() uuid.UUID { return uuid.UUID(i) }

// String returns the shown form, prefix and 32 hex digits.
func (i ID[K]) String() string {
	var k K
	return k.prefix() + "_" + strings.ReplaceAll(uuid.UUID(i).String(), "-", "")
}

// MarshalText implements encoding.TextMarshaler with the shown form.
func (i ID[K]) MarshalText() ([]byte, error) { return []byte(i.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (i *ID[K]) UnmarshalText(b []byte) error {
	parsed, err := Parse[K](string(b))
	if err != nil {
		return err
	}
	*i = parsed
	return nil
}

// Value implements driver.Valuer: ids are stored as plain UUIDs.
func (i ID[K]) Value() (driver.Value, error) { return uuid.UUID(i).String(), nil }

// Scan implements sql.Scanner.
func (i *ID[K]) Scan(src any) error {
	var u uuid.UUID
	if err := u.Scan(src); err != nil {
		return fmt.Errorf("scan id: %w", err)
	}
	*i = ID[K](u)
	return nil
}
