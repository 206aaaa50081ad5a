package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

type pushFlags struct {
	dryRun, yes bool
	overrides   []string
}

func pushCommand(s *session) *cobra.Command {
	var f pushFlags
	c := &cobra.Command{
		Use:   "push [surface]",
		Short: "Publish the surface files of this folder",
		Long: `Publish supabase/chumbo/<surface>.yaml, or every surface file when none is named.

What would change for connected clients is shown first. On a terminal, anything
that is not safe is asked about; elsewhere, what breaks clients needs --yes.
Problems are printed as file:line:column. With --dry-run everything is checked
and nothing is kept or published.

A serious finding about the database stops a push, until it is fixed or
overridden: --override <finding>=<reason>. The reason is kept with the revision.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.push(cmd.Context(), oneSurface(args), f)
		},
	}
	c.Flags().BoolVar(&f.dryRun, "dry-run", false, "show the plan and the diff, change nothing")
	c.Flags().BoolVar(&f.yes, "yes", false, "publish without asking, what breaks clients too")
	c.Flags().StringArrayVar(&f.overrides, "override", nil, "finding=reason of a serious finding to publish over; may be repeated")
	return c
}

// pushed is what --json says of one surface.
type pushed struct {
	Surface  string               `json:"surface"`
	File     string               `json:"file"`
	Outcome  string               `json:"outcome"` // published, unchanged, planned, refused, not_tried
	Revision int                  `json:"revision,omitempty"`
	Digest   string               `json:"digest,omitempty"`
	Class    surfaces.ChangeClass `json:"class,omitempty"`
	Changes  []surfaces.Change    `json:"changes,omitempty"`
	Lines    []surfaces.Line      `json:"lines,omitempty"`
	Findings []surfaces.Finding   `json:"findings,omitempty"`
	Blocking []string             `json:"blocking,omitempty"`
	Live     *revisionName        `json:"live,omitempty"`
	URLs     []string             `json:"urls,omitempty"`
	Problems []problemLine        `json:"problems"`
	declared
	Notes     []string `json:"notes,omitempty"`
	overrides []surfaces.Override
	text      string
}

// Outcomes of a push.
const (
	outcomePublished = "published"
	outcomeUnchanged = "unchanged"
	outcomePlanned   = "planned"
	outcomeRefused   = "refused"
	outcomeNotTried  = "not_tried"
)

func (s *session) push(ctx context.Context, only string, f pushFlags) error {
	w, err := s.linked()
	if err != nil {
		return err
	}
	files, err := w.repo.surfaceFiles(only)
	if err != nil {
		return err
	}
	overrides, err := readOverrides(f.overrides)
	if err != nil {
		return err
	}
	results := make([]*pushed, 0, len(files))
	for _, file := range files {
		results = append(results, &pushed{Surface: file.surface, File: file.path, Outcome: outcomeNotTried, Problems: []problemLine{}})
	}
	s.printer.data = map[string]any{"dry_run": f.dryRun, "surfaces": results}
	err = s.pushAll(ctx, w, results, overrides, f)
	if err != nil && !errors.Is(err, errShown) {
		s.showNotTried(results)
	}
	return err
}

// pushAll plans everything before it publishes anything, so that a file that
// cannot be read or a wrong override is known in time.
func (s *session) pushAll(ctx context.Context, w *workplace, results []*pushed, overrides []surfaces.Override, f pushFlags) error {
	for _, r := range results {
		if err := s.planFile(ctx, w, r, f); err != nil {
			return err
		}
	}
	if err := assignOverrides(results, overrides); err != nil {
		return err
	}
	for _, r := range results {
		if err := s.settle(ctx, w, r, f); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(results, func(r *pushed) bool { return r.Outcome == outcomeRefused }) {
		return errShown
	}
	return nil
}

// showNotTried ends a push that was cut off: what was published is said
// already, and this is the rest.
func (s *session) showNotTried(results []*pushed) {
	for _, r := range results {
		if r.Outcome == outcomeNotTried || r.Outcome == outcomePlanned {
			r.Outcome = outcomeNotTried
			s.printer.step(step{ID: r.Surface, Status: "skip", Message: r.File + ": not published", Fix: "chumbo push " + r.Surface})
		}
	}
}

// readOverrides reads finding=reason. An id holds no equals sign before the
// reason's.
func readOverrides(given []string) ([]surfaces.Override, error) {
	var overrides []surfaces.Override
	for _, text := range given {
		id, reason, found := strings.Cut(text, "=")
		if id = strings.TrimSpace(id); !found || id == "" || strings.TrimSpace(reason) == "" {
			return nil, usage("--override is finding=reason, such as --override 'table_without_rls:public.notes=an import of ours, no user reaches it'")
		}
		overrides = append(overrides, surfaces.Override{Finding: id, Reason: strings.TrimSpace(reason)})
	}
	return overrides, nil
}

// assignOverrides gives each surface the overrides of findings that stop it.
// One that stops no surface is a mistake.
func assignOverrides(results []*pushed, overrides []surfaces.Override) error {
	for _, o := range overrides {
		used := false
		for _, r := range results {
			if slices.Contains(r.Blocking, o.Finding) {
				r.overrides = append(r.overrides, o)
				used = true
			}
		}
		if !used {
			return usage("no finding %s stops any of these surfaces: take it out of --override", o.Finding)
		}
	}
	return nil
}

// planFile asks what publishing the file would do and shows that. A refusal is
// the file's own: the others go on.
func (s *session) planFile(ctx context.Context, w *workplace, r *pushed, f pushFlags) error {
	if err := tenants.CheckSurfaceSlug(r.Surface); err != nil {
		s.refuse(r, fault.From(err).Message, "give the file another name: the surface is named after it")
		return nil
	}
	text, err := readSurfaceFile(w.repo, fileOf(r.Surface))
	if err != nil {
		return err
	}
	if strings.TrimSpace(text) == "" { // to the server it would mean: the draft
		r.Problems = []problemLine{{Line: 1, Column: 1, Message: "the file is empty; start with version: 1", Severity: "error"}}
		s.refuseFile(r)
		return nil
	}
	plan, err := w.plan(ctx, r.Surface, text)
	var p *problem
	if errors.As(err, &p) && p.Status == http.StatusUnprocessableEntity && len(p.Issues) > 0 {
		r.Problems = linesOf(p.Issues)
		s.refuseFile(r)
		return nil
	}
	if err != nil {
		return err
	}
	r.take(plan, text)
	if !plan.Accepted {
		s.refuseFile(r)
		return nil
	}
	s.showProblems(r)
	switch {
	case plan.Same:
		r.Outcome = outcomeUnchanged
	case plan.Pinned:
		s.refuse(r, "the surface is pinned, nothing published", "chumbo unpin "+r.Surface)
	default:
		r.Outcome = outcomePlanned
		s.showPlanned(r, plan, f.dryRun && plan.Live != nil)
	}
	return nil
}

func (r *pushed) take(p planAnswer, text string) {
	r.text, r.Digest, r.Class, r.Changes, r.Lines = text, p.Digest, p.Class, p.Changes, p.Lines
	r.Findings, r.Blocking, r.Live, r.Problems, r.declared = p.Findings, p.Blocking, p.Live, p.Problems, p.declared
	if r.Problems == nil {
		r.Problems = []problemLine{}
	}
}

func (w *workplace) plan(ctx context.Context, surface, text string) (planAnswer, error) {
	var plan planAnswer
	return plan, w.client.do(ctx, http.MethodPost, w.surface(surface)+"/plan", map[string]string{"file": text}, &plan)
}

// settle ends one surface: published, unchanged, or why not.
func (s *session) settle(ctx context.Context, w *workplace, r *pushed, f pushFlags) error {
	switch {
	case r.Outcome == outcomeUnchanged && f.dryRun:
		s.printer.done(r.Surface, "%s: %s, is live already", r.File, r.inWords())
		r.Revision = r.Live.number()
		return nil
	case r.Outcome == outcomeUnchanged:
		return s.showUnchanged(ctx, w, r)
	case r.Outcome != outcomePlanned:
		return nil
	case s.blocked(r):
		return nil
	case f.dryRun:
		s.showWouldPublish(r)
		return nil
	}
	if ok, err := s.mayPublish(ctx, r, f.yes); err != nil || !ok {
		return err
	}
	return s.publish(ctx, w, r)
}

func (s *session) showWouldPublish(r *pushed) {
	status, text := "pass", fmt.Sprintf("%s: %s, would be published", r.File, r.inWords())
	fix := ""
	if r.Class == surfaces.ChangeBreaks {
		status, text, fix = "warn", text+" and breaks connected clients", "chumbo push "+r.Surface+" --yes"
	}
	s.printer.step(step{ID: r.Surface, Status: status, Message: text, Fix: fix})
	s.printer.suggest(first(fix, "chumbo push "+r.Surface))
}

// blocked refuses a surface with a serious finding that is not overridden.
func (s *session) blocked(r *pushed) bool {
	stop := false
	for _, found := range r.Findings {
		overridden := slices.ContainsFunc(r.overrides, func(o surfaces.Override) bool { return o.Finding == found.ID })
		if !slices.Contains(r.Blocking, found.ID) || overridden {
			continue
		}
		stop = true
		s.printer.step(step{
			ID: r.Surface + ":" + found.ID, Status: "fail", Message: found.Summary,
			Fix: strings.TrimSpace(found.SQL) + "\nor publish over it: --override '" + found.ID + "=<reason>'",
		})
	}
	if stop {
		s.refuse(r, "a serious finding about the database, nothing published", "apply the SQL, then chumbo import, then chumbo push "+r.Surface)
	}
	return stop
}

// mayPublish asks before what is not safe. Where nobody can answer, what
// breaks clients needs --yes.
func (s *session) mayPublish(ctx context.Context, r *pushed, yes bool) (bool, error) {
	ok, err := s.consent(ctx, r.Class, yes, "Publish "+r.Surface)
	if err != nil || ok {
		return ok, err
	}
	text := "not published"
	if !s.asks() {
		text = "breaks connected clients, nothing published"
	}
	s.refuse(r, text, "chumbo push "+r.Surface+" --yes")
	return false, nil
}

// consent decides by what a change means for connected clients.
func (s *session) consent(ctx context.Context, class surfaces.ChangeClass, yes bool, what string) (bool, error) {
	switch {
	case class != surfaces.ChangeBreaks && class != surfaces.ChangeBehaviour:
		return true, nil
	case class == surfaces.ChangeBehaviour && !s.asks():
		return true, nil
	case class == surfaces.ChangeBehaviour:
		return s.agree(ctx, yes, what+"? It changes what connected clients see.")
	}
	return s.agree(ctx, yes, what+"? It breaks connected clients.")
}

// publish publishes what was planned, if what was live then still is.
func (s *session) publish(ctx context.Context, w *workplace, r *pushed) error {
	expect := ""
	if r.Live != nil {
		expect = r.Live.Digest
	}
	body := map[string]any{"file": r.text, "expect": expect}
	if len(r.overrides) > 0 {
		body["overrides"] = r.overrides
	}
	var answer publishAnswer
	err := w.client.do(ctx, http.MethodPost, w.surface(r.Surface)+"/publish", body, &answer)
	var p *problem
	switch {
	case errors.As(err, &p) && p.Status == http.StatusUnprocessableEntity && len(p.Issues) > 0 && p.Issues[0].Line > 0:
		r.Problems = linesOf(p.Issues)
		s.refuseFile(r)
		return nil
	case hasCode(err, "live_moved"):
		errors.As(err, &p)
		s.refuse(r, p.Error(), "chumbo diff "+r.Surface+" shows how it differs now; then chumbo pull or chumbo push "+r.Surface)
		s.printer.suggest("chumbo diff " + r.Surface)
		return nil
	case err != nil && (isStatus(err, http.StatusConflict) || isStatus(err, http.StatusUnprocessableEntity)):
		s.refuse(r, err.Error(), "")
		return nil
	case err != nil:
		return err
	}
	r.Outcome, r.Revision, r.Digest = outcomePublished, answer.Revision, answer.Digest
	r.URLs, r.Notes = answer.URLs, answer.Notes
	verdict := fmt.Sprintf("revision %d is live", answer.Revision)
	switch {
	case answer.Created:
	case r.Live.number() == answer.Revision:
		r.Outcome, verdict = outcomeUnchanged, "unchanged, "+verdict
	default:
		verdict += " again"
	}
	s.printer.done(r.Surface, "%s: %s", r.File, verdict)
	s.showServed(ctx, w, r)
	return nil
}

func (n *revisionName) number() int {
	if n == nil {
		return 0
	}
	return n.Number
}

// showUnchanged shows a surface whose file is live already.
func (s *session) showUnchanged(ctx context.Context, w *workplace, r *pushed) error {
	list, err := w.surfaces(ctx)
	if err != nil {
		return err
	}
	for _, have := range list.Surfaces {
		if have.Slug == r.Surface {
			r.URLs, r.Notes = have.URLs, list.Notes
		}
	}
	r.Revision = r.Live.number()
	s.printer.done(r.Surface, "%s: unchanged, revision %d is live", r.File, r.Revision)
	s.showServed(ctx, w, r)
	return nil
}

// showServed says where the surface is, and what keeps people from it.
func (s *session) showServed(ctx context.Context, w *workplace, r *pushed) {
	for i, note := range r.Notes {
		s.printer.step(step{ID: fmt.Sprintf("%s:note:%d", r.Surface, i+1), Status: "warn", Message: note})
	}
	if len(r.URLs) == 0 {
		return
	}
	s.printer.line("      %s", r.URLs[0])
	if len(r.Notes) > 0 {
		return
	}
	// Where the modes cannot be told, it is what most surfaces want.
	live, err := w.access(ctx, r.Surface, r.Revision)
	modes := live.Modes
	if live.Issuer.Introspection != nil {
		s.warnOfSecret(ctx, w, r.Surface)
	}
	switch {
	case err != nil || len(modes) == 0 || slices.Contains(modes, modeOAuth) || slices.Contains(modes, modePublic):
	case slices.Contains(modes, modeKey):
		s.printer.line("      Next: make a key for each application that calls it: chumbo keys create --surface %s --name …", r.Surface)
		return
	default:
		s.printer.line("      Next: call it from your backend with the access token of the signed-in user, as Authorization: Bearer …")
		return
	}
	add := "claude mcp add --transport http " + serverName(w.link.Project, r.Surface) + " " + r.URLs[0]
	s.printer.suggest(add)
	s.printer.line("      Next: paste this URL into an MCP client, such as: %s", add)
}

// serverName is what the surface's own page calls it in client configuration.
func serverName(project, surface string) string {
	if surface == tenants.MainSurface {
		return project
	}
	return project + "-" + surface
}

func (s *session) refuse(r *pushed, message, fix string) {
	r.Outcome = outcomeRefused
	s.printer.step(step{ID: r.Surface, Status: "fail", Message: r.File + ": " + message, Fix: fix})
}

// refuseFile refuses a file for its problems.
func (s *session) refuseFile(r *pushed) {
	s.showProblems(r)
	errs := 0
	for _, p := range r.Problems {
		if p.Severity == "error" {
			errs++
		}
	}
	s.refuse(r, counted(errs, "problem")+", nothing published", "")
}

func readSurfaceFile(repo *repository, f surfaceFile) (string, error) {
	text, err := repo.read(f.path, surfaces.MaxFileBytes)
	if err != nil {
		return "", err
	}
	return text, refuseSecrets(field{f.path, text})
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
