package cli

import (
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

type me struct {
	Organization struct {
		Slug string `json:"slug"`
		Name string `json:"name"`
	} `json:"organization"`
	Role string `json:"role"`
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
}

type fileAnswer struct {
	Accepted bool          `json:"accepted"` // no error among the problems
	Digest   string        `json:"digest"`
	Live     bool          `json:"live"`
	Problems []problemLine `json:"problems"`
	Tools    []toolPreview `json:"tools"`
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
