package cli

import (
	"time"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// What the command reads of the control API's answers (docs/api.md).

type finding struct {
	Check   string            `json:"check"`
	Title   string            `json:"title"`
	Status  string            `json:"status"`
	Summary string            `json:"summary"`
	Detail  string            `json:"detail,omitempty"`
	Fix     string            `json:"fix,omitempty"`
	Facts   map[string]string `json:"facts,omitempty"`
}

type organization struct {
	Slug string `json:"slug"`
	Name string `json:"name"`
}

type me struct {
	Organization organization `json:"organization"`
	Role         string       `json:"role"`
	Scope        string       `json:"scope"`
	Token        string       `json:"token"` // its id
}

type project struct {
	ID             string `json:"id"`
	Slug           string `json:"slug"`
	Name           string `json:"name"`
	TypedURL       string `json:"typed_url"`
	APIOrigin      string `json:"api_origin"`
	Issuer         string `json:"issuer"`
	PublishableKey string `json:"publishable_key"`
	Signing        string `json:"signing"`
	OAuthEnabled   bool   `json:"oauth_enabled"`
	Verified       bool   `json:"verified"`
}

type projectAnswer struct {
	Project  project   `json:"project"`
	Findings []finding `json:"findings"`
	Notes    []string  `json:"notes"` // what else stands between the project and its users
}

type ownershipAnswer struct {
	Verified    bool       `json:"verified"`
	Method      string     `json:"method,omitempty"`
	VerifiedAt  *time.Time `json:"verified_at,omitempty"`
	CheckedAt   *time.Time `json:"checked_at,omitempty"`
	Misses      int        `json:"misses"`
	TakenOverAt *time.Time `json:"taken_over_at,omitempty"`
	Token       string     `json:"token"` // what chumbo_ownership() must return
}

type snapshotAnswer struct {
	Digest    string `json:"digest"`
	Relations int    `json:"relations"`
	Functions int    `json:"functions"`
}

type surface struct {
	Slug         string   `json:"slug"`
	State        string   `json:"state"`
	URLs         []string `json:"urls"`
	LiveRevision int      `json:"live_revision"`
	Pinned       bool     `json:"pinned"`
}

type surfacesAnswer struct {
	Surfaces []surface `json:"surfaces"`
	Notes    []string  `json:"notes"`
}

type problemLine struct {
	Line     int    `json:"line"`
	Column   int    `json:"column"`
	Path     string `json:"path,omitempty"`
	Message  string `json:"message"`
	Severity string `json:"severity"`
}

type toolPreview struct {
	Name        string               `json:"name"`
	Title       string               `json:"title"`
	Annotations surfaces.Annotations `json:"annotations"`
	Weight      int                  `json:"weight"` // about as many tokens
}

type resourcePreview struct {
	URI      string `json:"uri"` // or its template
	Template bool   `json:"template"`
	Name     string `json:"name"`
	Title    string `json:"title"`
}

type promptPreview struct {
	Name  string `json:"name"`
	Title string `json:"title"`
}

// declared is what a file declares.
type declared struct {
	Tools     []toolPreview     `json:"tools,omitempty"`
	Resources []resourcePreview `json:"resources,omitempty"`
	Prompts   []promptPreview   `json:"prompts,omitempty"`
}

// inWords counts what is declared: the tools, and of the rest what there is.
func (d declared) inWords() string {
	text := counted(len(d.Tools), "tool")
	if n := len(d.Resources); n > 0 {
		text += ", " + counted(n, "resource")
	}
	if n := len(d.Prompts); n > 0 {
		text += ", " + counted(n, "prompt")
	}
	return text
}

type revisionName struct {
	Number int    `json:"number"`
	Digest string `json:"digest"`
	Author string `json:"author,omitempty"`
}

type planAnswer struct {
	Accepted bool                 `json:"accepted"` // no error among the problems
	Digest   string               `json:"digest"`
	Same     bool                 `json:"same"`  // what it compiles to is what is live
	Again    int                  `json:"again"` // an earlier revision that would go live again
	Class    surfaces.ChangeClass `json:"class"`
	Changes  []surfaces.Change    `json:"changes"`
	Lines    []surfaces.Line      `json:"lines"`
	Findings []surfaces.Finding   `json:"findings"`
	Blocking []string             `json:"blocking"` // ids of findings that need an override
	Pinned   bool                 `json:"pinned"`
	Live     *revisionName        `json:"live"`
	Problems []problemLine        `json:"problems"`

	declared
}

type revision struct {
	revisionName
	Title     string    `json:"title"`
	CreatedAt time.Time `json:"created_at"`
	Live      bool      `json:"live"`
	File      string    `json:"file,omitempty"` // of one revision alone
}

type revisionsAnswer struct {
	Revisions []revision `json:"revisions"`
}

type comparison struct {
	From    revisionName      `json:"from"`
	To      revisionName      `json:"to"`
	Changes []surfaces.Change `json:"changes"`
	Lines   []surfaces.Line   `json:"lines"`
}

type storedFile struct {
	File  string `json:"file"`
	Draft bool   `json:"draft"`
}

type drift struct {
	Known   bool          `json:"known"`
	Drifted bool          `json:"drifted"`
	Objects []string      `json:"objects"`
	Broken  []problemLine `json:"broken"`
}

type postureAnswer struct {
	Findings []surfaces.Finding `json:"findings"`
}

type publishAnswer struct {
	Revision int           `json:"revision"`
	Digest   string        `json:"digest"`
	Created  bool          `json:"created"`
	URLs     []string      `json:"urls"`
	Problems []problemLine `json:"problems"`
	Notes    []string      `json:"notes"`
}

// linesOf turns the issues of a refused file into problems by line.
func linesOf(issues []fault.Issue) []problemLine {
	lines := make([]problemLine, 0, len(issues))
	for _, i := range issues {
		lines = append(lines, problemLine{Line: i.Line, Column: i.Column, Path: i.Path, Message: i.Message, Severity: "error"})
	}
	return lines
}
