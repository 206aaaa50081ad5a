package api

import (
	"time"

	"github.com/chumbo-dev/chumbo/internal/builders"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

type surfaceJSON struct {
	ID           id.Surface    `json:"id"`
	Slug         string        `json:"slug"`
	State        tenants.State `json:"state"`
	URLs         []string      `json:"urls"`          // primary first
	LiveRevision int           `json:"live_revision"` // 0: nothing published yet
	Pinned       bool          `json:"pinned"`
	PinnedAt     *time.Time    `json:"pinned_at,omitempty"`
	CreatedAt    time.Time     `json:"created_at"`
	UpdatedAt    time.Time     `json:"updated_at"`
}

func surfaceOf(s tenants.Surface) surfaceJSON {
	return surfaceJSON{
		ID: s.ID, Slug: s.Slug, State: s.State, URLs: urlsOf(s), LiveRevision: s.LiveRevision, Pinned: s.PinnedAt != nil, PinnedAt: s.PinnedAt,
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
	Weight      int                  `json:"weight"` // tokens it costs in a client's context, estimated
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
			Scopes: t.Scopes, Public: t.Public, Input: t.Input, Weight: surfaces.Weight(t),
		}
		if len(t.Output) > 0 {
			tool.Output = t.Output
		}
		tools = append(tools, tool)
	}
	return tools
}

type resourceJSON struct {
	URI         string   `json:"uri"`      // or its template
	Template    bool     `json:"template"` // uri has variables
	Name        string   `json:"name"`
	Title       string   `json:"title"`
	Description string   `json:"description,omitempty"`
	MIMEType    string   `json:"mime_type,omitempty"` // absent: as what is read says
	Scopes      []string `json:"scopes,omitempty"`
	Public      bool     `json:"public,omitempty"`
}

func resourcesOf(c *surfaces.Compiled) []resourceJSON {
	var resources []resourceJSON
	if c == nil {
		return nil
	}
	for i := range c.Resources {
		r := &c.Resources[i]
		resources = append(resources, resourceJSON{
			URI: r.URI, Template: len(r.Variables) > 0, Name: r.Name, Title: r.Title, Description: r.Description, MIMEType: r.MIMEType,
			Scopes: r.Scopes, Public: r.Public,
		})
	}
	return resources
}

type promptJSON struct {
	Name        string               `json:"name"`
	Title       string               `json:"title"`
	Description string               `json:"description,omitempty"`
	Arguments   []promptArgumentJSON `json:"arguments"`
	Scopes      []string             `json:"scopes,omitempty"`
	Public      bool                 `json:"public,omitempty"`
}

type promptArgumentJSON struct {
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required"`
	Schema      any    `json:"schema"` // of its value; clients send text
}

func promptsOf(c *surfaces.Compiled) []promptJSON {
	var prompts []promptJSON
	if c == nil {
		return nil
	}
	for i := range c.Prompts {
		p := &c.Prompts[i]
		prompt := promptJSON{Name: p.Name, Title: p.Title, Description: p.Description, Arguments: []promptArgumentJSON{}, Scopes: p.Scopes, Public: p.Public}
		for _, a := range p.Arguments {
			prompt.Arguments = append(prompt.Arguments, promptArgumentJSON{Name: a.Name, Title: a.Title, Description: a.Description, Required: a.Required, Schema: a.Schema})
		}
		prompts = append(prompts, prompt)
	}
	return prompts
}

type fileAnswer struct {
	Accepted bool               `json:"accepted"` // no problem stops publishing
	Kept     bool               `json:"kept"`     // as the surface's draft
	Live     bool               `json:"live"`     // what it compiles to is what is live
	Digest   string             `json:"digest,omitempty"`
	Problems []surfaces.Problem `json:"problems"`
	Tools    []toolJSON         `json:"tools"`

	Resources []resourceJSON `json:"resources,omitempty"`
	Prompts   []promptJSON   `json:"prompts,omitempty"`
}

type storedFileAnswer struct {
	File  string `json:"file"`
	Draft bool   `json:"draft"` // not what is live
}

type liveJSON struct {
	Number int       `json:"number"`
	Digest string    `json:"digest"`
	Author string    `json:"author,omitempty"`
	At     time.Time `json:"created_at"`
}

type planAnswer struct {
	Accepted bool                 `json:"accepted"` // no problem stops publishing
	Digest   string               `json:"digest,omitempty"`
	Same     bool                 `json:"same"`            // it is what is live
	Again    int                  `json:"again,omitempty"` // an earlier revision with this digest, which would go live again
	Class    surfaces.ChangeClass `json:"class,omitempty"`
	Changes  []surfaces.Change    `json:"changes"`
	Lines    []surfaces.Line      `json:"lines"`
	Findings []surfaces.Finding   `json:"findings"`
	Blocking []string             `json:"blocking"` // ids of those findings that need an override
	Pinned   bool                 `json:"pinned"`
	Live     *liveJSON            `json:"live"` // null: nothing is
	Problems []surfaces.Problem   `json:"problems"`
	Tools    []toolJSON           `json:"tools"`
	Weight   int                  `json:"weight"` // of all tools

	Resources []resourceJSON `json:"resources,omitempty"`
	Prompts   []promptJSON   `json:"prompts,omitempty"`
}

func planOf(p surfaces.Plan) planAnswer {
	answer := planAnswer{
		Accepted: p.Compiled != nil, Digest: p.Digest, Same: p.Same, Again: p.Again, Class: p.Class, Changes: list(p.Changes),
		Lines: list(p.Lines), Findings: list(p.Findings), Blocking: []string{}, Pinned: p.Pinned,
		Problems: list(p.Problems), Tools: toolsOf(p.Compiled), Resources: resourcesOf(p.Compiled), Prompts: promptsOf(p.Compiled),
	}
	for _, f := range p.Blocking {
		answer.Blocking = append(answer.Blocking, f.ID)
	}
	for _, t := range answer.Tools {
		answer.Weight += t.Weight
	}
	if p.Live != nil {
		answer.Live = &liveJSON{Number: p.Live.Number, Digest: p.Live.Digest, Author: p.Live.Author, At: p.Live.CreatedAt}
	}
	return answer
}

type publishAnswer struct {
	Revision int                  `json:"revision"`
	Digest   string               `json:"digest"`
	Created  bool                 `json:"created"` // false: the surface had this digest, that revision is live again
	Class    surfaces.ChangeClass `json:"class"`   // of the revision, to what was live before it
	Summary  string               `json:"summary"`
	URLs     []string             `json:"urls"`
	State    tenants.State        `json:"state"`
	Pinned   bool                 `json:"pinned"`
	Problems []surfaces.Problem   `json:"problems"` // warnings only
	Notes    []string             `json:"notes"`
}

func publishAnswerOf(p builders.Publication) publishAnswer {
	return publishAnswer{
		Revision: p.Revision.Number, Digest: p.Revision.Digest, Created: !p.Again, Class: p.Revision.Class, Summary: p.Revision.Summary,
		URLs: urlsOf(p.Surface), State: p.Surface.State, Pinned: p.Surface.PinnedAt != nil, Problems: list(p.Warnings), Notes: list(p.Notes),
	}
}

type revisionJSON struct {
	Number       int                         `json:"number"`
	Digest       string                      `json:"digest"`
	Title        string                      `json:"title"`
	Access       surfaces.Access             `json:"access"`
	SchemaDigest string                      `json:"schema_digest"`
	Class        surfaces.ChangeClass        `json:"class"`
	Summary      string                      `json:"summary"`
	Overrides    []surfaces.RecordedOverride `json:"overrides"`
	CreatedBy    *id.Builder                 `json:"created_by,omitempty"`
	Author       string                      `json:"author,omitempty"`
	CreatedAt    time.Time                   `json:"created_at"`
	Live         bool                        `json:"live"`
}

func revisionOf(r surfaces.Revision) revisionJSON {
	return revisionJSON{
		Number: r.Number, Digest: r.Digest, Title: r.Title, Access: r.Access, SchemaDigest: r.SchemaDigest, Class: r.Class,
		Summary: r.Summary, Overrides: list(r.Overrides), CreatedBy: r.CreatedBy, Author: r.Author, CreatedAt: r.CreatedAt, Live: r.Live,
	}
}

type revisionAnswer struct {
	revisionJSON
	File string `json:"file"`
}

type comparisonAnswer struct {
	From    revisionJSON         `json:"from"`
	To      revisionJSON         `json:"to"`
	Class   surfaces.ChangeClass `json:"class"`
	Changes []surfaces.Change    `json:"changes"`
	Lines   []surfaces.Line      `json:"lines"`
}

type driftAnswer struct {
	Known   bool               `json:"known"`
	Drifted bool               `json:"drifted"`
	Objects []string           `json:"objects"`
	Broken  []surfaces.Problem `json:"broken"` // why the live file would be refused today
}

type revisionsAnswer struct {
	Revisions []revisionJSON `json:"revisions"`
	Pinned    bool           `json:"pinned"`
}
