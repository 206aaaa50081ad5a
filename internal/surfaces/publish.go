package surfaces

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/events"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
)

// PublishRequest is what to publish, and what the publisher knows.
type PublishRequest struct {
	File      []byte // empty: the draft
	Facts     ProjectFacts
	Expect    *string // digest the publisher saw live ("" for nothing live); nil: whatever is live
	Overrides []Override
}

// Published is what Publish did.
type Published struct {
	Revision Revision
	Again    bool      // the surface had this digest: that revision is live again
	Changes  []Change  // to what was live before
	Warnings []Problem // by line
}

// Publish compiles a file and makes it live, in one transaction. A digest the
// surface already has makes that revision live again, without a new number.
//
// Errors, all of which publish nothing: fault.NotFound (surface);
// fault.Conflict no_draft, pinned, or live_moved (another revision is live than
// the publisher expected; the issues say what was published since, by whom);
// fault.Unprocessable surface_refused (the file; an issue per error),
// override_needed (serious findings about what the file uses; an issue each,
// its path the finding's id) and override_unknown; fault.Invalid
// override_reason.
func (s *Service) Publish(ctx context.Context, by events.Actor, surface id.Surface, req PublishRequest) (Published, error) {
	var done Published
	var stale *moved
	err := checkReasons(req.Overrides)
	if err != nil {
		return Published{}, s.refuse(ctx, by, actPublish, surface.String(), err)
	}
	err = s.change(ctx, by, actPublish, surface.String(), func(q *db.Queries) (map[string]any, error) {
		row, err := lock(ctx, q, by.Organization, surface)
		if err != nil {
			return nil, err
		}
		live, err := published(ctx, q, by.Organization, surface, row.LiveRevision)
		if err != nil {
			return nil, err
		}
		if err := refusePinned(row, live); err != nil {
			return nil, err
		}
		if req.Expect != nil && *req.Expect != live.digest() {
			stale, err = movedSince(ctx, q, by.Organization, surface, row, live, *req.Expect)
			return nil, err
		}
		src, err := fileOrDraft(req.File, row.Draft)
		if err != nil {
			return nil, err
		}
		built, snapshot, err := build(ctx, q, by.Organization, row.ProjectID, surface, src, req.Facts)
		if err != nil {
			return nil, err
		}
		if built.Compiled == nil {
			return nil, RefusedFile(built.Problems)
		}
		_, blocking := risks(snapshot.Snapshot, built.Compiled)
		overrides, err := settle(blocking, req.Overrides, by)
		if err != nil {
			return nil, err
		}
		done = Published{Warnings: built.Problems, Changes: live.changes(built.Compiled)}
		done.Revision, done.Again, err = s.revision(ctx, q, by, surface, newRevision{
			src: src, Built: built, schemaDigest: snapshot.Digest, overrides: overrides,
			class: live.class(done.Changes), summary: summarize(live == nil, built.Compiled, done.Changes),
		})
		if err != nil {
			return nil, err
		}
		if _, err := q.ClearSurfaceDraft(ctx, db.ClearSurfaceDraftParams{OrganizationID: by.Organization, SurfaceID: surface}); err != nil {
			return nil, fmt.Errorf("clear draft: %w", err)
		}
		detail, err := s.goLive(ctx, q, by, live, &done.Revision)
		if err != nil {
			return nil, err
		}
		if len(overrides) > 0 {
			detail["overrides"] = overrides
		}
		return detail, nil
	})
	if err == nil && stale != nil {
		err = s.refuse(ctx, by, actPublish, surface.String(), s.liveMoved(ctx, by.Organization, stale))
	}
	if err != nil {
		return Published{}, err
	}
	return done, s.nameAuthors(ctx, by.Organization, &done.Revision)
}

// RefusedFile is the fault.Unprocessable of a file that is not published, with
// an issue per error; nil when the problems hold none.
func RefusedFile(problems []Problem) error {
	if !HasErrors(problems) {
		return nil
	}
	var issues []fault.Issue
	for _, p := range problems {
		if p.Severity == SeverityError {
			issues = append(issues, p.Issue())
		}
	}
	return fault.New(fault.Unprocessable, "surface_refused", "The surface file is refused; nothing was published. %s below, by line.", plural(len(issues), "problem")).WithIssues(issues...)
}

func fileOrDraft(file []byte, draft *string) ([]byte, error) {
	switch {
	case len(file) > 0:
		return file, nil
	case draft == nil:
		return nil, fault.New(fault.Conflict, "no_draft", "There is no draft to publish. Send a surface file.")
	}
	return []byte(*draft), nil
}

// refusePinned holds what is live while the surface is pinned.
func refusePinned(row db.LockSurfaceForPublishRow, live *publication) error {
	if row.PinnedAt == nil || live == nil {
		return nil
	}
	return fault.New(fault.Conflict, "pinned", "The surface is pinned to revision %d (digest %s) since %s. Unpin it first.", live.Number, live.Digest[:minDigest], when(*row.PinnedAt))
}

// moved is what the publisher did not know.
type moved struct {
	live  *publication // nil: nothing is
	by    *id.Builder
	at    *time.Time
	newer []Revision // than what the publisher saw, newest first
}

// maxNewer bounds what is told of a surface that moved on.
const maxNewer = 10

func movedSince(ctx context.Context, q *db.Queries, org id.Organization, surface id.Surface, row db.LockSurfaceForPublishRow, live *publication, expect string) (*moved, error) {
	m := &moved{live: live, by: row.LiveBy, at: row.LiveAt}
	revisions, err := listRevisions(ctx, q, org, surface)
	if err != nil {
		return nil, err
	}
	for _, r := range revisions {
		if r.Digest == expect || len(m.newer) == maxNewer {
			break
		}
		m.newer = append(m.newer, r)
	}
	return m, nil
}

// liveMoved is the refusal of a publication that was planned against another
// revision than the live one.
func (s *Service) liveMoved(ctx context.Context, org id.Organization, m *moved) error {
	if m.live == nil {
		return fault.New(fault.Conflict, "live_moved", "Nothing was published: nothing is live any more. Look at the surface and publish again.")
	}
	var who []id.Builder
	if m.by != nil {
		who = append(who, *m.by)
	}
	emails, err := s.emails(ctx, org, who)
	if err != nil {
		return err
	}
	if err := s.nameAuthors(ctx, org, each(m.newer)...); err != nil {
		return err
	}
	since := ""
	if m.at != nil {
		since = " since " + when(*m.at)
	}
	if m.by != nil && emails[*m.by] != "" {
		since += ", by " + emails[*m.by]
	}
	e := fault.New(fault.Conflict, "live_moved", "Nothing was published: revision %d is live%s, not what you saw. Look at what changed and publish again.", m.live.Number, since)
	for _, r := range m.newer {
		e = e.WithIssues(fault.Issue{Message: fmt.Sprintf("revision %d, %s, by %s: %s", r.Number, when(r.CreatedAt), named(r.Author), r.Summary)})
	}
	return e
}

func when(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }

// newRevision is what a revision is made of.
type newRevision struct {
	Built
	src          []byte
	schemaDigest string
	class        ChangeClass
	summary      string
	overrides    []RecordedOverride
}

// revision finds the revision of this digest, or writes it.
func (s *Service) revision(ctx context.Context, q *db.Queries, by events.Actor, surface id.Surface, n newRevision) (Revision, bool, error) {
	digest := unhex(n.Digest)
	have, err := q.GetRevisionByDigest(ctx, db.GetRevisionByDigestParams{OrganizationID: by.Organization, SurfaceID: surface, Digest: digest})
	if err == nil {
		r, err := revisionOf(db.GetRevisionRow(have))
		return r, true, err
	}
	if !errors.Is(err, pgx.ErrNoRows) {
		return Revision{}, false, fmt.Errorf("find revision: %w", err)
	}
	access, err := json.Marshal(n.Compiled.Access)
	if err != nil {
		return Revision{}, false, fmt.Errorf("marshal access: %w", err)
	}
	compiled, err := marshal(n.Compiled)
	if err != nil {
		return Revision{}, false, fmt.Errorf("marshal compiled: %w", err)
	}
	overrides, err := json.Marshal(n.overrides)
	if err != nil {
		return Revision{}, false, fmt.Errorf("marshal overrides: %w", err)
	}
	r := Revision{
		Surface: surface, Digest: n.Digest, Title: n.Compiled.Title, Access: n.Compiled.Access, Format: n.Compiled.Format,
		SchemaDigest: n.schemaDigest, CreatedBy: builder(by), CreatedAt: s.now(), Class: n.class, Summary: n.summary, Overrides: n.overrides,
	}
	number, err := q.InsertRevision(ctx, db.InsertRevisionParams{
		OrganizationID: by.Organization, SurfaceID: surface, Digest: digest, File: string(n.src), Title: r.Title, Access: access,
		Format: int32(r.Format), Compiled: compiled, SchemaDigest: notNil(unhex(n.schemaDigest)), CreatedBy: r.CreatedBy, Now: r.CreatedAt,
		Summary: r.Summary, ChangeClass: string(r.Class), Overrides: overrides,
	})
	if err != nil {
		return Revision{}, false, fmt.Errorf("insert revision: %w", err)
	}
	r.Number = int(number)
	return r, false, nil
}

// goLive makes a revision the one that is served, and returns what the audit
// log says of it. Triggers tell every Directory.
func (s *Service) goLive(ctx context.Context, q *db.Queries, by events.Actor, before *publication, r *Revision) (map[string]any, error) {
	detail := map[string]any{"revision": r.Number, "digest": r.Digest, "before": before.digest()}
	if before.digest() != r.Digest {
		_, err := q.SetLiveRevision(ctx, db.SetLiveRevisionParams{OrganizationID: by.Organization, SurfaceID: r.Surface, Number: int32(r.Number), LiveBy: builder(by), Now: s.now()})
		if err != nil {
			return nil, fmt.Errorf("set live revision: %w", err)
		}
	}
	if _, err := q.FixRootSurface(ctx, db.FixRootSurfaceParams{OrganizationID: by.Organization, SurfaceID: r.Surface}); err != nil {
		return nil, fmt.Errorf("fix root surface: %w", err)
	}
	r.Live = true
	return detail, nil
}

func lock(ctx context.Context, q *db.Queries, org id.Organization, surface id.Surface) (db.LockSurfaceForPublishRow, error) {
	row, err := q.LockSurfaceForPublish(ctx, db.LockSurfaceForPublishParams{OrganizationID: org, SurfaceID: surface})
	if errors.Is(err, pgx.ErrNoRows) {
		return row, noSurface()
	}
	if err != nil {
		return row, fmt.Errorf("lock surface: %w", err)
	}
	return row, nil
}

// maxSummary is the longest summary of a revision, in characters.
const maxSummary = 300

// offered counts what a surface has.
func offered(c *Compiled) string {
	list := []string{plural(len(c.Tools), "tool")}
	if n := len(c.Resources); n > 0 {
		list = append(list, plural(n, "resource"))
	}
	if n := len(c.Prompts); n > 0 {
		list = append(list, plural(n, "prompt"))
	}
	return sentenceList(list)
}

// summarize is one line on a publication: its gravest changes.
func summarize(first bool, c *Compiled, changes []Change) string {
	switch {
	case first:
		return "first publication: " + offered(c)
	case len(changes) == 0:
		return "nothing that clients see"
	}
	worst := WorstChange(changes)
	var told []string
	for _, ch := range changes {
		if ch.Class == worst && len(told) < 3 {
			told = append(told, ch.Summary)
		}
	}
	line := oneLine(strings.Join(told, "; "), maxSummary)
	if more := len(changes) - len(told); more > 0 {
		line += fmt.Sprintf("; and %d more", more)
	}
	return line
}
