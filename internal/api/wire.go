package api

import (
	"time"

	"github.com/chumbo-dev/chumbo/internal/doctor"
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

type meJSON struct {
	Organization organizationJSON `json:"organization"`
	Builder      builderJSON      `json:"builder"`
	Role         tenants.Role     `json:"role"`
	Token        id.Token         `json:"token"`
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
	Verified        bool            `json:"verified"`
	VerifiedAt      *time.Time      `json:"verified_at,omitempty"`
	CreatedAt       time.Time       `json:"created_at"`
	UpdatedAt       time.Time       `json:"updated_at"`
}

func projectOf(p tenants.Project) projectJSON {
	return projectJSON{
		ID: p.ID, Slug: p.Slug, Name: p.Name, TypedURL: p.TypedURL, APIOrigin: p.APIOrigin, Issuer: p.Issuer,
		JWKSURI: p.JWKSURI, PublishableKey: p.PublishableKey, Signing: p.Signing, OAuthEnabled: p.OAuthEnabled,
		ScopesSupported: list(p.ScopesSupported), Verified: p.VerifiedAt != nil, VerifiedAt: p.VerifiedAt,
		CreatedAt: p.CreatedAt, UpdatedAt: p.UpdatedAt,
	}
}

type projectAnswer struct {
	Project  projectJSON      `json:"project"`
	Findings []doctor.Finding `json:"findings,omitempty"`
	Notes    []string         `json:"notes,omitempty"`
}

type projectsAnswer struct {
	Projects []projectJSON `json:"projects"`
}

type snapshotJSON struct {
	Digest    string             `json:"digest"`
	Source    surfaces.Source    `json:"source"`
	At        time.Time          `json:"at"`
	Relations int                `json:"relations"`
	Functions int                `json:"functions"`
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

type surfaceJSON struct {
	ID           id.Surface    `json:"id"`
	Slug         string        `json:"slug"`
	State        tenants.State `json:"state"`
	URLs         []string      `json:"urls"`          // primary first
	LiveRevision int           `json:"live_revision"` // 0: nothing published yet
	CreatedAt    time.Time     `json:"created_at"`
	UpdatedAt    time.Time     `json:"updated_at"`
}

func surfaceOf(s tenants.Surface) surfaceJSON {
	return surfaceJSON{
		ID: s.ID, Slug: s.Slug, State: s.State, URLs: urlsOf(s), LiveRevision: s.LiveRevision,
		CreatedAt: s.CreatedAt, UpdatedAt: s.UpdatedAt,
	}
}

func urlsOf(s tenants.Surface) []string {
	urls := make([]string, 0, len(s.URLs))
	for _, u := range s.URLs {
		urls = append(urls, u.URL())
	}
	return urls
}

type surfacesAnswer struct {
	Surfaces []surfaceJSON `json:"surfaces"`
	Notes    []string      `json:"notes"`
}

type toolJSON struct {
	Name        string               `json:"name"`
	Title       string               `json:"title"`
	Description string               `json:"description"`
	Annotations surfaces.Annotations `json:"annotations"`
	Scopes      []string             `json:"scopes,omitempty"`
	Public      bool                 `json:"public,omitempty"`
	Input       any                  `json:"input"`
	Output      any                  `json:"output,omitempty"`
}

func toolsOf(c *surfaces.Compiled) []toolJSON {
	tools := []toolJSON{}
	if c == nil {
		return tools
	}
	for i := range c.Tools {
		t := &c.Tools[i]
		tool := toolJSON{
			Name: t.Name, Title: t.Title, Description: t.Description, Annotations: t.Annotations,
			Scopes: t.Scopes, Public: t.Public, Input: t.Input,
		}
		if len(t.Output) > 0 {
			tool.Output = t.Output
		}
		tools = append(tools, tool)
	}
	return tools
}

type fileAnswer struct {
	Accepted bool               `json:"accepted"` // no problem stops publishing
	Kept     bool               `json:"kept"`     // as the surface's draft
	Live     bool               `json:"live"`     // what it compiles to is what is live
	Digest   string             `json:"digest,omitempty"`
	Problems []surfaces.Problem `json:"problems"`
	Tools    []toolJSON         `json:"tools"`
}

type storedFileAnswer struct {
	File  string `json:"file"`
	Draft bool   `json:"draft"` // not what is live
}

type publishAnswer struct {
	Revision int                `json:"revision"`
	Digest   string             `json:"digest"`
	Created  bool               `json:"created"` // false: the surface had this digest, that revision is live again
	URLs     []string           `json:"urls"`
	State    tenants.State      `json:"state"`
	Problems []surfaces.Problem `json:"problems"` // warnings only
	Notes    []string           `json:"notes"`
}

type revisionJSON struct {
	Number       int             `json:"number"`
	Digest       string          `json:"digest"`
	Title        string          `json:"title"`
	Access       surfaces.Access `json:"access"`
	SchemaDigest string          `json:"schema_digest"`
	CreatedBy    *id.Builder     `json:"created_by,omitempty"`
	CreatedAt    time.Time       `json:"created_at"`
	Live         bool            `json:"live"`
}

func revisionOf(r surfaces.Revision) revisionJSON {
	return revisionJSON{
		Number: r.Number, Digest: r.Digest, Title: r.Title, Access: r.Access, SchemaDigest: r.SchemaDigest,
		CreatedBy: r.CreatedBy, CreatedAt: r.CreatedAt, Live: r.Live,
	}
}

type revisionsAnswer struct {
	Revisions []revisionJSON `json:"revisions"`
}

// list makes an absent list an empty one: clients never see null.
func list[T any](items []T) []T {
	if items == nil {
		return []T{}
	}
	return items
}
