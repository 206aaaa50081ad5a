package mcp

import (
	"errors"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// readKind reads a resource and returns its contents, or the kind of what is
// told instead.
func readKind(t *testing.T, r *toolRunner, spec *surfaces.Resource, arguments string) (one *mcp.ResourceContents, kind string) {
	t.Helper()
	res, err := r.read(t.Context(), runCall(), spec, "acme://x", []byte(arguments))
	var told *toolError
	switch {
	case errors.As(err, &told):
		return nil, told.kind
	case err != nil || len(res.Contents) != 1:
		t.Fatalf("%s: %+v, %v", spec.URI, res, err)
	}
	return res.Contents[0], ""
}

func fileResource(budget int) *surfaces.Resource {
	return &surfaces.Resource{URI: "acme://{+path}", Name: "file", Budget: budget, Variables: []surfaces.Variable{{Name: "path", Path: true}},
		File: &surfaces.ReadFilePlan{Place: surfaces.FilePlace{Bucket: "documents"}, Inline: 64 << 10}}
}

func functionResource(budget int) *surfaces.Resource {
	return &surfaces.Resource{URI: "acme://x", Name: "said", Budget: budget, Function: &surfaces.FunctionPlan{Slug: "say", Timeout: 30}}
}

// TestFilesOfResourcesAreTextBlobsOrLinks, as their budget has it: a blob takes
// four bytes for three.
func TestFilesOfResourcesAreTextBlobsOrLinks(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct{ media, body, want string }{
		"text":         {"text/markdown", "# a", "text/markdown # a"},
		"bytes":        {"image/png", strings.Repeat("x", 750), "image/png blob of 750"},
		"large bytes":  {"image/png", strings.Repeat("x", 752), "text/plain link"},
		"a large text": {"text/plain", strings.Repeat("x", 1001), "text/plain link"},
	} {
		p := holding(k.media, k.body)
		got, kind := readKind(t, newServicesRunner(t, p), fileResource(1000), `{"path":"a/b"}`)
		if kind != "" {
			t.Errorf("%s: %s", name, kind)
			continue
		}
		said := got.MIMEType + " " + got.Text
		switch {
		case got.Blob != nil && string(got.Blob) == k.body:
			said = got.MIMEType + " blob of 750"
		case strings.Contains(got.Text, "60 seconds") && strings.HasSuffix(got.Text, "/documents/a/b?token=t") && len(p.lives) == 1 && p.lives[0] == linkLife:
			said = got.MIMEType + " link"
		}
		if said != k.want || got.URI != "acme://x" {
			t.Errorf("%s: %.200s", name, said)
		}
	}
	fixed := fileResource(1000)
	fixed.Variables, fixed.FilePath = nil, "readme.md"
	p := holding("text/plain", "x")
	if _, kind := readKind(t, newServicesRunner(t, p), fixed, `{}`); kind != "" || p.opened[0] != "documents/readme.md" {
		t.Errorf("a file by its path: %s, %v", kind, p.opened)
	}
	static := &surfaces.Resource{URI: "acme://x", Name: "pixel", MIMEType: "image/gif", Budget: 1000, Blob: []byte("GIF")}
	if got, _ := readKind(t, newServicesRunner(t, p), static, `{}`); string(got.Blob) != "GIF" || got.MIMEType != "image/gif" {
		t.Errorf("a static blob: %+v", got)
	}
}

func TestFunctionsOfResourcesAnswerInEveryForm(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct{ media, body, want string }{
		"JSON":             {"application/json", `{"a":1.10}`, `application/json {"a":1.10}`},
		"text":             {"text/csv", "a,b", "text/csv a,b"},
		"bytes":            {"application/pdf", "%PDF", "application/pdf blob"},
		"text that is not": {"text/plain", "\xff", "text/plain blob"},
		"a whole result":   {mediaResult, `{"contents":[{"mimeType":"text/plain","text":"a"}]}`, "text/plain a"},
		"of no contents":   {mediaResult, `{"contents":[]}`, "not_found"},
		"of a tool":        {mediaResult, `{"content":[]}`, kindOutOfDate},
		"a question":       {mediaResult, `{"inputRequests":{"roots":{"method":"roots/list"}}}`, kindOutOfDate},
		"a stream":         {mediaEvents, "event: result\ndata: {}\n\n", kindOutOfDate},
		"too much text":    {"text/plain", strings.Repeat("x", 1001), "too_large"},
		"too many bytes":   {"application/pdf", strings.Repeat("x", 752), "too_large"},
	} {
		got, kind := readKind(t, newServicesRunner(t, answers(k.media, k.body)), functionResource(1000), `{}`)
		switch {
		case kind != "":
		case got.Blob != nil:
			kind = got.MIMEType + " blob"
		default:
			kind = got.MIMEType + " " + got.Text
		}
		if kind != k.want {
			t.Errorf("%s: %s, want %s", name, kind, k.want)
		}
	}
	// What a function of a resource or a prompt did not answer did no harm.
	for want, err := range map[string]error{
		kindUpstream: &supabase.FunctionError{Status: 500, Own: true, Message: "secret"}, "unavailable": &supabase.FunctionError{Status: 546, Code: "WORKER_LIMIT"},
		"invalid": &supabase.FunctionError{Status: 400, Own: true, Message: "No such month."}, "not_found": &supabase.FunctionError{Status: 404, Own: true},
	} {
		if _, kind := readKind(t, newServicesRunner(t, refuses(err)), functionResource(1000), `{}`); kind != want {
			t.Errorf("%v: %s, want %s", err, kind, want)
		}
		spec := &surfaces.Prompt{Name: "p", Budget: 1000, Function: &surfaces.FunctionPlan{Slug: "say", Timeout: 30}}
		var told *toolError
		if _, got := newServicesRunner(t, refuses(err)).prompt(t.Context(), runCall(), spec, []byte(`{}`)); !errors.As(got, &told) || told.kind != want || strings.Contains(told.detail, "secret") {
			t.Errorf("a prompt, %v: %v, want %s", err, got, want)
		}
	}
}

// TestRowsOfAResourceEndWhereItsBudgetDoes, and say so.
func TestRowsOfAResourceEndWhereItsBudgetDoes(t *testing.T) {
	t.Parallel()
	row := `{"id":"1","name":"` + strings.Repeat("x", 80) + `","status":null}`
	list := *listTool().List
	list.Filters, list.DefaultLimit = nil, 5
	spec := &surfaces.Resource{URI: "acme://x", Name: "rows", Budget: 1000, Rows: &list}
	for budget, want := range map[int]int{1000: 5, 400: 2} {
		spec.Budget = budget
		got, kind := readKind(t, newTestRunner(t, answering("["+strings.Repeat(row+",", 5)+row+"]")), spec, `{}`)
		if kind != "" || got.MIMEType != "application/json" || strings.Count(got.Text, `"name"`) != want || !strings.HasSuffix(got.Text, `],"truncated":true}`) || wireSize(got.Text) > budget {
			t.Errorf("%d bytes: %s %+v", budget, kind, got)
		}
	}
	if got, kind := readKind(t, newTestRunner(t, answering("["+row+"]")), spec, `{}`); kind != "" || strings.Contains(got.Text, "truncated") {
		t.Errorf("all of them: %s %+v", kind, got)
	}
	if got, kind := readKind(t, newTestRunner(t, answering("[]")), spec, `{}`); kind != "" || got.Text != `{"items":[]}` {
		t.Errorf("none: %s %+v", kind, got)
	}
	spec.Budget = 100
	if _, kind := readKind(t, newTestRunner(t, answering("["+row+"]")), spec, `{}`); kind != "too_large" {
		t.Errorf("a row that is too large: %s", kind)
	}
	one := &surfaces.Resource{URI: "acme://{id}", Name: "row", Budget: 100, Row: getTool().Get, Variables: []surfaces.Variable{{Name: "id"}}}
	if _, kind := readKind(t, newTestRunner(t, answering(row)), one, `{"id":"1"}`); kind != "too_large" {
		t.Errorf("one row that is too large: %s", kind)
	}
}
