package web

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/chumbo-dev/chumbo/internal/doctor"
	"github.com/chumbo-dev/chumbo/internal/events"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func surfaceHeadOf(state tenants.State, live int) SurfaceHead {
	return SurfaceHead{
		Project: tenants.Project{Slug: "acme", Name: "Acme"}, CSRF: "form-value", Now: noon, MayWrite: true, MayAdminister: true,
		Surface: tenants.Surface{Slug: "main", State: state, LiveRevision: live, URLs: []tenants.Resource{
			{Base: "https://mcp.example.test", Path: "/acme/mcp"}, {Base: "https://mcp.example.test", Path: "/old/mcp"},
		}},
	}
}

func TestOverviewSaysTheMostImportantFactFirst(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		edit func(*SurfaceOverviewPage)
		want string
	}{
		"used":       {func(*SurfaceOverviewPage) {}, "Live: revision 7, 3 clients and 2 errors in the last 24 hours."},
		"one":        {func(p *SurfaceOverviewPage) { p.Usage.Clients, p.Usage.Errors = 1, 1 }, "Live: revision 7, 1 client and 1 error in the last 24 hours."},
		"not called": {func(p *SurfaceOverviewPage) { p.Usage = &events.Usage{} }, "Live: revision 7, not called in the last 24 hours."},
		"unknown":    {func(p *SurfaceOverviewPage) { p.Usage = nil }, "Live: revision 7."},
		"read-only":  {func(p *SurfaceOverviewPage) { p.Surface.State = tenants.StateReadOnly; p.Usage = nil }, "Live, read-only: revision 7."},
		"paused":     {func(p *SurfaceOverviewPage) { p.Surface.State = tenants.StatePaused }, "Paused: revision 7 answers nobody."},
		"unproven":   {func(p *SurfaceOverviewPage) { p.WhyNotServed = "Prove ownership first." }, "Not served."},
		"new":        {func(p *SurfaceOverviewPage) { p.Live, p.Surface.LiveRevision = nil, 0 }, "Not published yet."},
		"draft":      {func(p *SurfaceOverviewPage) { p.Live, p.HasDraft = nil, true }, "Not published yet. There is a draft."},
	} {
		page := SurfaceOverviewPage{
			SurfaceHead: surfaceHeadOf(tenants.StateLive, 7), Live: &surfaces.Revision{Number: 7, CreatedAt: noon.Add(-time.Hour), Author: "alice@example.test", Class: surfaces.ChangeSafe},
			Usage: &events.Usage{Calls: 40, Errors: 2, Clients: 3, P50: 12 * time.Millisecond, P95: 1500 * time.Millisecond, LastAt: noon.Add(-3 * time.Minute)},
			Drift: &surfaces.Drift{Known: true},
		}
		tc.edit(&page)
		text := render(t, SurfaceOverview(page))
		if !strings.Contains(text, `<p class="fact">`+tc.want+`</p>`) {
			t.Errorf("%s: %q is not said: %s", name, tc.want, between(text, `<p class="fact">`, "</p>"))
		}
	}
}

func between(text, from, to string) string {
	_, text, _ = strings.Cut(text, from)
	text, _, _ = strings.Cut(text, to)
	return text
}

func TestOverviewShowsDriftAndTheDoctorsGrade(t *testing.T) {
	t.Parallel()
	looked := noon.Add(-2 * time.Hour)
	page := SurfaceOverviewPage{
		SurfaceHead: surfaceHeadOf(tenants.StateLive, 1), Live: &surfaces.Revision{Number: 1, CreatedAt: noon}, ProbedAt: &looked,
		Findings: []doctor.Finding{
			{Title: "Issuer", Status: doctor.Pass, Summary: "fine"},
			{Title: "OAuth server", Status: doctor.Warn, Summary: "The OAuth server is off.", Fix: "Enable it."},
		},
		Drift: &surfaces.Drift{Known: true, Drifted: true, Objects: []string{"customers.status: type text became customer_status"},
			Broken: []surfaces.Problem{{Line: 8, Message: "there is no column status"}}},
	}
	text := render(t, SurfaceOverview(page))
	for _, want := range []string{"works, with warnings", "The OAuth server is off.", "Enable it.", "type text became customer_status", "keeps serving", "line 8", "2 h ago"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing", want)
		}
	}
	if strings.Contains(text, "fine") {
		t.Error("a check that passed is listed")
	}
}

// toolsOf is many tools with much to say.
func toolsOf(n int) []PreviewTool {
	var list []PreviewTool
	for i := range n {
		list = append(list, PreviewTool{
			Name: fmt.Sprintf("table_%03d_list", i), Title: "List " + strings.Repeat("x", 90), Description: strings.Repeat("What it does. ", 140), Weight: 900,
			InputSchema:  json.RawMessage(`{"type":"object","properties":{"name":{"type":"string","description":"` + strings.Repeat("d", 1500) + `"}}}`),
			OutputSchema: json.RawMessage(`{"type":"object","properties":{"items":{"type":"array","items":{"type":"object"}}}}`),
		})
	}
	return list
}

func TestPreviewOfTwoHundredToolsStaysSmall(t *testing.T) {
	t.Parallel()
	page := SurfaceCapabilitiesPage{SurfaceHead: surfaceHeadOf(tenants.StateLive, 1), File: "version: 1\n", Saved: true, Preview: SurfacePreview{Checked: true, Tools: toolsOf(200)}}
	text := render(t, SurfaceCapabilities(page))
	if len(text) > 95_000 { // the frame around it has the rest
		t.Errorf("%d bytes", len(text))
	}
	if strings.Contains(text, "ddddd") || !strings.Contains(text, "table_199_list") || strings.Count(text, `name="open"`) != 200 {
		t.Error("the schemas are not left for when they are asked for")
	}
	page.Preview.Open = "table_007_list"
	if text = render(t, SurfaceCapabilities(page)); strings.Count(text, "<h3>Input</h3>") != 1 || !strings.Contains(text, `<details class="tool" open data-tool="table_007_list">`) {
		t.Error("the schemas that were asked for are not shown")
	}
}

func TestPreviewShowsAFewToolsWhole(t *testing.T) {
	t.Parallel()
	text := render(t, SurfacePreviewFragment(SurfacePreview{Checked: true, Tools: toolsOf(3)}))
	if strings.Count(text, "<h3>Input</h3>") != 3 || strings.Contains(text, `name="open"`) || !strings.Contains(text, "3 tools, about 2,700 tokens in every conversation.") {
		t.Errorf("fragment: %.400s", text)
	}
}

func TestProblemsLeadToTheirLine(t *testing.T) {
	t.Parallel()
	text := render(t, SurfacePreviewFragment(SurfacePreview{
		Checked: true, Lines: []string{"version: 1", "tools:", "  - table: custmers"},
		Problems: []surfaces.Problem{
			{Line: 1, Column: 1, Message: "a warning", Severity: surfaces.SeverityWarning},
			{Line: 3, Column: 12, Message: "there is no table custmers", Severity: surfaces.SeverityError},
		},
	}))
	if !strings.Contains(text, `data-line="3" data-column="12"`) || !strings.Contains(text, "<code class=\"excerpt\">- table: custmers</code>") {
		t.Errorf("no place: %s", text)
	}
	if strings.Index(text, "there is no table") > strings.Index(text, "a warning") {
		t.Error("the warning stands before the error")
	}
}

const hostile = `"><script>alert(1)</script><svg onload=alert(2)><img src=x onerror=alert(3)>` + "\u202etxet\u2066\x00\u2028"

// TestSurfacePagesShowHostileTextAsText puts markup, turned text and far too
// much of both wherever a builder's or a database's words stand.
func TestSurfacePagesShowHostileTextAsText(t *testing.T) {
	t.Parallel()
	long := strings.Repeat(hostile, 130) // over 10,000 characters
	head := surfaceHeadOf(tenants.StateLive, 2)
	head.Project.Name = long
	revision := surfaces.Revision{Number: 2, Title: long, Author: long, Summary: long, Digest: strings.Repeat("ab", 32), Class: surfaces.ChangeBreaks, Live: true,
		CreatedAt: noon, Overrides: []surfaces.RecordedOverride{{Override: surfaces.Override{Finding: long, Reason: long}, By: "bld_1"}}}
	finding := surfaces.Finding{ID: long, Summary: long, SQL: long, Severity: surfaces.FindingSerious}
	warning := surfaces.Finding{ID: long, Summary: long, SQL: long, Severity: surfaces.FindingWarning}
	changes := []surfaces.Change{{Class: surfaces.ChangeBreaks, Capability: long, Summary: long}}
	lines := []surfaces.Line{{Op: "+", New: 1, Text: long}, {Op: "-", Old: 9, Text: long}, {Op: " ", Old: 10, New: 2, Text: long}}
	problem := surfaces.Problem{Line: 1, Column: 1, Path: long, Message: long, Severity: surfaces.SeverityError}
	warned := problem
	warned.Severity = surfaces.SeverityWarning
	tool := PreviewTool{Name: long, Title: long, Description: long, InputSchema: json.RawMessage(long), OutputSchema: json.RawMessage(`{"a":"` + strings.Repeat("<svg>", 100) + `"}`)}
	plan := surfaces.Plan{Built: surfaces.Built{Compiled: &surfaces.Compiled{}, Digest: "d", Problems: []surfaces.Problem{warned}}, Live: &revision,
		Changes: changes, Class: surfaces.ChangeBreaks, Lines: lines, Findings: []surfaces.Finding{finding, warning}, Blocking: []surfaces.Finding{finding}}
	comparison := surfaces.Comparison{From: revision, To: revision, Changes: changes, Lines: lines}

	for name, page := range map[string]string{
		"overview": render(t, SurfaceOverview(SurfaceOverviewPage{SurfaceHead: head, WhyNotServed: long, Live: &revision, ProbedAt: &noon,
			Findings: []doctor.Finding{{Title: long, Summary: long, Fix: long, Status: doctor.Fail}},
			Drift:    &surfaces.Drift{Known: true, Drifted: true, Objects: []string{long}, Broken: []surfaces.Problem{problem}}})),
		"capabilities": render(t, SurfaceCapabilities(SurfaceCapabilitiesPage{SurfaceHead: head, File: "</textarea>" + hostile, Trouble: long,
			Preview: SurfacePreview{Checked: true, Lines: []string{long}, Problems: []surfaces.Problem{problem}}})),
		"tools": render(t, SurfacePreviewFragment(SurfacePreview{Checked: true, Tools: []PreviewTool{tool}})),
		"resources": render(t, SurfacePreviewFragment(SurfacePreview{
			Checked:   true,
			Resources: []PreviewResource{{URI: long, Name: long, Title: long, Description: long, MIMEType: long}, {Template: long, LeftOut: true}},
			Prompts:   []PreviewPrompt{{Name: long, Title: long, Description: long, LeftOut: true}},
		})),
		"review":    render(t, SurfaceReview(SurfaceReviewPage{SurfaceHead: head, Plan: plan, Trouble: long, Reasons: map[string]string{long: hostile}})),
		"conflict":  render(t, SurfaceConflict(SurfaceConflictPage{SurfaceHead: head, Why: long})),
		"revisions": render(t, SurfaceRevisions(SurfaceRevisionsPage{SurfaceHead: head, Revisions: []surfaces.Revision{revision}, Newest: 2, Live: &revision})),
		"compare":   render(t, SurfaceCompare(SurfaceComparePage{head, comparison})),
		"rollback":  render(t, SurfaceRollback(SurfaceRollbackPage{head, comparison, long})),
		"revision":  render(t, SurfaceRevision(SurfaceRevisionPage{head, revision, long})),
		"settings":  render(t, SurfaceSettings(SurfaceSettingsPage{SurfaceHead: head, Rename: hostile, Trouble: long, Doing: "rename"})),
		"new":       render(t, NewSurface(NewSurfacePage{Project: head.Project, MayWrite: true, Imported: true, Slug: hostile, Title: hostile, Trouble: long, Tables: []OfferedTable{{Name: long, Comment: long}}})),
	} {
		doc, err := html.Parse(strings.NewReader(page))
		if err != nil {
			t.Fatal(err)
		}
		for n := range doc.Descendants() {
			if n.Type != html.ElementNode {
				continue
			}
			switch n.Data {
			case "script":
				if len(n.Attr) == 0 || !strings.HasPrefix(n.Attr[0].Val, AssetsPath) {
					t.Errorf("%s: a script of its own", name)
				}
			case "svg", "img", "iframe", "style", "object", "embed":
				t.Errorf("%s: an element %s", name, n.Data)
			}
			for _, a := range n.Attr {
				if strings.HasPrefix(a.Key, "on") || a.Key == "style" || (a.Key == "href" || a.Key == "action") && strings.Contains(strings.ToLower(a.Val), "script:") {
					t.Errorf("%s: an attribute %s=%q", name, a.Key, a.Val)
				}
			}
		}
		if name != "capabilities" && name != "settings" && name != "new" && name != "review" && strings.ContainsAny(page, "\u202e\u2066") { // those give back what was typed, in fields
			t.Errorf("%s: holds characters that turn text around", name)
		}
		if len(page) > 100_000 {
			t.Errorf("%s: %d bytes", name, len(page))
		}
	}
}

func TestReviewOffersToPublishOnlyWhatCanBePublished(t *testing.T) {
	t.Parallel()
	compiled := &surfaces.Compiled{Tools: make([]surfaces.Tool, 2)}
	live := &surfaces.Revision{Number: 4, Digest: "live-digest"}
	for name, tc := range map[string]struct {
		plan   surfaces.Plan
		edit   func(*SurfaceReviewPage)
		fact   string
		button bool
	}{
		"first":     {surfaces.Plan{Built: surfaces.Built{Compiled: compiled}, Class: surfaces.ChangeFirst}, nil, "Publishing opens the surface: revision 1, with 2 tools.", true},
		"safe":      {surfaces.Plan{Built: surfaces.Built{Compiled: compiled}, Live: live, Class: surfaces.ChangeSafe}, nil, "Publishing is safe", true},
		"behaviour": {surfaces.Plan{Built: surfaces.Built{Compiled: compiled}, Live: live, Class: surfaces.ChangeBehaviour}, nil, "changes what connected clients see", true},
		"breaks":    {surfaces.Plan{Built: surfaces.Built{Compiled: compiled}, Live: live, Class: surfaces.ChangeBreaks}, nil, "breaks something", true},
		"same":      {surfaces.Plan{Built: surfaces.Built{Compiled: compiled}, Live: live, Same: true}, nil, "is what is live: revision 4", false},
		"again":     {surfaces.Plan{Built: surfaces.Built{Compiled: compiled}, Live: live, Again: 2}, nil, "makes revision 2 live again", true},
		"pinned":    {surfaces.Plan{Built: surfaces.Built{Compiled: compiled}, Live: live, Pinned: true}, nil, "Revision 4 is pinned", false},
		"refused":   {surfaces.Plan{Live: live}, nil, "cannot be published as it stands", false},
		"viewer":    {surfaces.Plan{Built: surfaces.Built{Compiled: compiled}, Live: live}, func(p *SurfaceReviewPage) { p.MayWrite = false }, "", false},
	} {
		page := SurfaceReviewPage{SurfaceHead: surfaceHeadOf(tenants.StateLive, 4), Plan: tc.plan}
		if tc.edit != nil {
			tc.edit(&page)
		}
		text := render(t, SurfaceReview(page))
		if !strings.Contains(text, tc.fact) || strings.Contains(text, ">Publish</button>") != tc.button {
			t.Errorf("%s: says %q, button %v", name, between(text, `<p class="fact">`, "</p>"), strings.Contains(text, ">Publish</button>"))
		}
		if tc.button && tc.plan.Live != nil && !strings.Contains(text, `name="expect" value="live-digest"`) {
			t.Errorf("%s: does not say what it expects to be live", name)
		}
	}
}

func TestReviewSaysWhatConnectedAppsDoNotSeeYet(t *testing.T) {
	t.Parallel()
	bridge := surfaces.Access{Modes: []surfaces.Mode{surfaces.ModeOAuth}, Authorization: surfaces.AuthorizationBridge}
	direct := surfaces.Access{Modes: []surfaces.Mode{surfaces.ModeOAuth}, Authorization: surfaces.AuthorizationDirect}
	added := surfaces.Change{Class: surfaces.ChangeSafe, Capability: "archive", Summary: "archive: new tool"}
	for name, tc := range map[string]struct {
		access surfaces.Access
		tool   surfaces.Tool
		change surfaces.Change
		want   bool
	}{
		"a tool that writes":  {bridge, surfaces.Tool{Name: "archive"}, added, true},
		"without a bridge":    {direct, surfaces.Tool{Name: "archive"}, added, false},
		"a tool that reads":   {bridge, surfaces.Tool{Name: "archive", Annotations: surfaces.Annotations{ReadOnly: true}}, added, false},
		"a tool that changed": {bridge, surfaces.Tool{Name: "archive"}, surfaces.Change{Class: surfaces.ChangeBehaviour, Capability: "archive", Summary: "archive: the description changed"}, false},
	} {
		plan := surfaces.Plan{Built: surfaces.Built{Compiled: &surfaces.Compiled{Access: tc.access, Tools: []surfaces.Tool{tc.tool}}}, Live: &surfaces.Revision{Number: 4}, Changes: []surfaces.Change{tc.change}}
		text := render(t, SurfaceReview(SurfaceReviewPage{SurfaceHead: surfaceHeadOf(tenants.StateLive, 4), Plan: plan}))
		if strings.Contains(text, "until they agree under Connected apps") != tc.want {
			t.Errorf("%s: said %t", name, !tc.want)
		}
	}
}

func TestBlockingFindingsAskForAReasonEach(t *testing.T) {
	t.Parallel()
	plan := surfaces.Plan{Built: surfaces.Built{Compiled: &surfaces.Compiled{}}, Blocking: []surfaces.Finding{
		{ID: "table_without_rls:public.notes", Summary: "public.notes has no row level security", SQL: "alter table public.notes enable row level security;"},
		{ID: "view_without_security_invoker:public.v", Summary: "public.v runs as its owner"},
	}}
	text := render(t, SurfaceReview(SurfaceReviewPage{SurfaceHead: surfaceHeadOf(tenants.StateLive, 0), Plan: plan, Reasons: map[string]string{"table_without_rls:public.notes": "Only public data."}}))
	if strings.Count(text, `name="finding"`) != 2 || strings.Count(text, `name="reason"`) != 2 || !strings.Contains(text, `value="Only public data."`) || !strings.Contains(text, "enable row level security;") {
		t.Errorf("page: %s", text)
	}
}

func TestOnlyThoseWhoMaySeeTheFormsThatChange(t *testing.T) {
	t.Parallel()
	head := surfaceHeadOf(tenants.StateLive, 1)
	head.MayWrite, head.MayAdminister = false, false
	live := surfaces.Revision{Number: 1, Live: true, CreatedAt: noon}
	for name, page := range map[string]string{
		"overview":     render(t, SurfaceOverview(SurfaceOverviewPage{SurfaceHead: head, Live: &live})),
		"capabilities": render(t, SurfaceCapabilities(SurfaceCapabilitiesPage{SurfaceHead: head})),
		"revisions":    render(t, SurfaceRevisions(SurfaceRevisionsPage{SurfaceHead: head, Revisions: []surfaces.Revision{live}, Newest: 1, Live: &live})),
		"settings":     render(t, SurfaceSettings(SurfaceSettingsPage{SurfaceHead: head})),
	} {
		for _, button := range []string{"Turn the switch", "Save draft", "Review and publish", "Pin it", "Make live again", ">Rename<", "Delete the surface"} {
			if strings.Contains(page, button) {
				t.Errorf("%s: a viewer is offered %q", name, button)
			}
		}
	}
}

func TestTimesAreRelativeWithTheExactOneBeside(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		5 * time.Second: "just now", 3 * time.Minute: "3 min ago", 5 * time.Hour: "5 h ago", 30 * time.Hour: "1 day ago", 72 * time.Hour: "3 days ago", 90 * 24 * time.Hour: "1 September 2026",
	} {
		if got := ago(noon.Add(-d), noon); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
	if text := render(t, moment(noon.Add(-time.Hour), noon)); text != `<time datetime="2026-11-30T11:00:00Z" title="30 November 2026 11:00:00 UTC">1 h ago</time>` {
		t.Error(text)
	}
}

func TestSpelledShowsWhatClientsGet(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"plain": "plain", "a\u202eb": `a\u202eb`, "a\x00b": `a\u0000b`, "a\nb\tc": "a\nb\tc", "\xff": `\ufffd`, "漢字": "漢字"} {
		if got := spelled(text, 20); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := shown("a\u202e\n b\x07 "+strings.Repeat("é", 50), 10); got != "a b éééé…" && len([]rune(got)) != 10 {
		t.Errorf("%q", got)
	}
}
