package api

import (
	"time"

	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// What goes over the wire. Members are added, never renamed or taken away,
// within /api/v1.

type organizationJSON struct {
	ID   id.Organization `json:"id"`
	Slug string          `json:"slug"`
	Name string          `json:"name"`
}

type builderJSON struct {
	ID    id.Builder `json:"id"`
	Email string     `json:"email"`
}

func organizationOf(o tenants.Organization) organizationJSON {
	return organizationJSON{ID: o.ID, Slug: o.Slug, Name: o.Name}
}

func builderOf(b tenants.Builder) builderJSON { return builderJSON{ID: b.ID, Email: b.Email} }

type meJSON struct {
	Organization organizationJSON `json:"organization"`
	Builder      builderJSON      `json:"builder"`
	Role         tenants.Role     `json:"role"`
	Token        id.Token         `json:"token"`
	Scope        tenants.Scope    `json:"scope"`
}

// deviceAnswer is RFC 8628 section 3.2.
type deviceAnswer struct {
	DeviceCode              string `json:"device_code"`
	UserCode                string `json:"user_code"`
	VerificationURI         string `json:"verification_uri"`
	VerificationURIComplete string `json:"verification_uri_complete"`
	ExpiresIn               int    `json:"expires_in"` // seconds
	Interval                int    `json:"interval"`   // seconds
}

type deviceTokenAnswer struct {
	Token        string           `json:"token"`
	Organization organizationJSON `json:"organization"`
	Builder      builderJSON      `json:"builder"`
	Scope        tenants.Scope    `json:"scope"`
}

type tokenJSON struct {
	ID         id.Token      `json:"id"`
	Name       string        `json:"name"`
	Scope      tenants.Scope `json:"scope"`
	Builder    builderJSON   `json:"builder"`
	CreatedAt  time.Time     `json:"created_at"`
	ExpiresAt  *time.Time    `json:"expires_at,omitempty"`
	LastUsedAt *time.Time    `json:"last_used_at,omitempty"`
}

func tokenOf(t tenants.APIToken) tokenJSON {
	return tokenJSON{
		ID: t.ID, Name: t.Name, Scope: t.Scope, Builder: builderOf(t.Builder),
		CreatedAt: t.CreatedAt, ExpiresAt: t.ExpiresAt, LastUsedAt: t.LastUsedAt,
	}
}

type tokensAnswer struct {
	Tokens []tokenJSON `json:"tokens"`
}

type createdTokenAnswer struct {
	Token     string        `json:"token"` // shown only now
	ID        id.Token      `json:"id"`
	Name      string        `json:"name"`
	Scope     tenants.Scope `json:"scope"`
	ExpiresAt *time.Time    `json:"expires_at,omitempty"`
}

type revokedAnswer struct {
	Revoked id.Token `json:"revoked"`
}

type noticeJSON struct {
	ID        id.Notice   `json:"id"`
	Kind      string      `json:"kind"`
	Project   *id.Project `json:"project,omitempty"`
	Text      string      `json:"text"`
	CreatedAt time.Time   `json:"created_at"`
}

type noticesAnswer struct {
	Notices []noticeJSON `json:"notices"`
}

type dismissedAnswer struct {
	Dismissed id.Notice `json:"dismissed"`
}

type deletedAnswer struct {
	Deleted string `json:"deleted"`
}

type projectJSON struct {
	ID              id.Project      `json:"id"`
	Slug            string          `json:"slug"`
	Name            string          `json:"name"`
	TypedURL        string          `json:"typed_url"`
	APIOrigin       string          `json:"api_origin"`
	Issuer          string          `json:"issuer"`
	JWKSURI         string          `json:"jwks_uri"`
	PublishableKey  string          `json:"publishable_key"`
	Signing         tenants.Signing `json:"signing"`
	OAuthEnabled    bool            `json:"oauth_enabled"`
	ScopesSupported []string        `json:"scopes_supported"`
	Registration    bool            `json:"registration_enabled"`
	ProbedAt        *time.Time      `json:"probed_at,omitempty"`
	Logo            string          `json:"logo,omitempty"` // path of the picture, on every host of this server
	Verified        bool            `json:"verified"`
	VerifiedAt      *time.Time      `json:"verified_at,omitempty"`
	CreatedAt       time.Time       `json:"created_at"`
	UpdatedAt       time.Time       `json:"updated_at"`
}

func projectOf(p tenants.Project) projectJSON {
	return projectJSON{
		ID: p.ID, Slug: p.Slug, Name: p.Name, TypedURL: p.TypedURL, APIOrigin: p.APIOrigin, Issuer: p.Issuer,
		JWKSURI: p.JWKSURI, PublishableKey: p.PublishableKey, Signing: p.Signing, OAuthEnabled: p.OAuthEnabled,
		ScopesSupported: list(p.ScopesSupported), Registration: p.RegistrationEnabled, ProbedAt: p.ProbedAt, Logo: p.LogoPath(), Verified: p.VerifiedAt != nil, VerifiedAt: p.VerifiedAt,
		CreatedAt: p.CreatedAt, UpdatedAt: p.UpdatedAt,
	}
}

type projectAnswer struct {
	Project  projectJSON `json:"project"`
	Findings any         `json:"findings,omitempty"` // a list of doctor.Finding, or such a list as it was stored
	Notes    []string    `json:"notes,omitempty"`
}

type listedProjectJSON struct {
	projectJSON
	Served  bool `json:"served"`  // its surfaces answer the world
	Notices int  `json:"notices"` // about it that nobody dismissed
}

type projectsAnswer struct {
	Projects []listedProjectJSON `json:"projects"`
}

type ownershipAnswer struct {
	Verified     bool                `json:"verified"`
	Method       tenants.ProofMethod `json:"method,omitempty"`
	VerifiedAt   *time.Time          `json:"verified_at,omitempty"`
	CheckedAt    *time.Time          `json:"checked_at,omitempty"`
	Misses       int                 `json:"misses"`
	SignInPaused bool                `json:"sign_in_paused"`
	TakenOverAt  *time.Time          `json:"taken_over_at,omitempty"`
	Served       bool                `json:"served"`
	Why          string              `json:"why,omitempty"` // nothing is served
	Token        string              `json:"token"`         // what chumbo_ownership() must return; no secret
	SQL          string              `json:"sql"`           // that makes it do so
}

type snapshotJSON struct {
	Digest    string             `json:"digest"`
	Source    surfaces.Source    `json:"source"`
	At        time.Time          `json:"at"`
	Relations int                `json:"relations"`
	Functions int                `json:"functions"`
	Offerable *[]string          `json:"offerable,omitempty"`
	Snapshot  *surfaces.Snapshot `json:"snapshot,omitempty"`
}

func snapshotOf(s surfaces.StoredSnapshot, whole bool) snapshotJSON {
	answer := snapshotJSON{
		Digest: s.Digest, Source: s.Source, At: s.At,
		Relations: len(s.Snapshot.Relations), Functions: len(s.Snapshot.Functions),
	}
	if whole {
		answer.Snapshot = s.Snapshot
	}
	return answer
}

type catalogAnswer struct {
	SQL       string   `json:"sql"`
	Relations []string `json:"relations"`
}

type starterAnswer struct {
	File string `json:"file"`
}

type postureAnswer struct {
	Findings []surfaces.Finding `json:"findings"`
}

// list makes an absent list an empty one: clients never see null.
func list[T any](items []T) []T {
	if items == nil {
		return []T{}
	}
	return items
}
