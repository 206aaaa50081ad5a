package surfaces

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
)

// Revision is one publication of a surface.
type Revision struct {
	Surface      id.Surface
	Number       int
	Digest       string // hex
	Title        string
	Access       Access
	Format       int
	SchemaDigest string // hex, of the snapshot it was compiled against; empty without one
	CreatedBy    *id.Builder
	Author       string // email of CreatedBy; empty for the instance itself
	CreatedAt    time.Time
	Live         bool
	Class        ChangeClass // to what was live before
	Summary      string      // its gravest changes, in one line
	Overrides    []RecordedOverride
}

// RecordedOverride is an override as a revision keeps it.
type RecordedOverride struct {
	Override
	By string `json:"by"` // bld_… or tok_…
}

// Published is what Publish did.
type Published struct {
	Revision Revision
	Again    bool      // the surface had this digest: that revision is live again
	Warnings []Problem // by line
}

// Publish compiles a file and makes it live, in one transaction. An empty src
// publishes the draft. A digest the surface already has makes that revision
// live again, without a new number. A refused file is fault.Unprocessable with
// an issue per error, and nothing is published. A zero by is the instance
// itself.
func (s *Service) Publish(ctx context.Context, org id.Organization, surface id.Surface, by id.Builder, src []byte, facts ProjectFacts) (Published, error) {
	var done Published
	err := s.store.AsOrganization(ctx, org, func(q *db.Queries, _ pgx.Tx) error {
		row, err := lock(ctx, q, org, surface)
		if err != nil {
			return err
		}
		if len(src) == 0 {
			if row.Draft == nil {
				return fault.New(fault.Conflict, "no_draft", "There is no draft to publish. Send a surface file.")
			}
			src = []byte(*row.Draft)
		}
		built, schemaDigest, err := build(ctx, q, org, row.ProjectID, src, facts)
		if err != nil {
			return err
		}
		if built.Compiled == nil {
			return RefusedFile(built.Problems)
		}
		done = Published{Warnings: built.Problems}
		done.Revision, done.Again, err = s.revision(ctx, q, org, surface, by, src, built, schemaDigest)
		if err != nil {
			return err
		}
		return s.goLive(ctx, q, org, by, &done.Revision, "surface.publish")
	})
	if err != nil {
		return Published{}, s.recordRefusal(ctx, org, by, surface, "surface.publish", err)
	}
	return done, nil
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

// revision finds the revision of this digest, or writes it.
func (s *Service) revision(ctx context.Context, q *db.Queries, org id.Organization, surface id.Surface, by id.Builder, src []byte, built Built, schemaDigest string) (Revision, bool, error) {
	digest := unhex(built.Digest)
	have, err := q.GetRevisionByDigest(ctx, db.GetRevisionByDigestParams{OrganizationID: org, SurfaceID: surface, Digest: digest})
	if err == nil {
		r, err := revisionOf(have)
		return r, true, err
	}
	if !errors.Is(err, pgx.ErrNoRows) {
		return Revision{}, false, fmt.Errorf("find revision: %w", err)
	}
	access, err := json.Marshal(built.Compiled.Access)
	if err != nil {
		return Revision{}, false, fmt.Errorf("marshal access: %w", err)
	}
	compiled, err := marshal(built.Compiled)
	if err != nil {
		return Revision{}, false, fmt.Errorf("marshal compiled: %w", err)
	}
	r := Revision{
		Surface: surface, Digest: built.Digest, Title: built.Compiled.Title, Access: built.Compiled.Access,
		Format: built.Compiled.Format, SchemaDigest: schemaDigest, CreatedAt: s.now(),
	}
	if !by.IsZero() {
		r.CreatedBy = &by
	}
	number, err := q.InsertRevision(ctx, db.InsertRevisionParams{
		OrganizationID: org, SurfaceID: surface, Digest: digest, File: string(src), Title: r.Title, Access: access,
		Format: int32(r.Format), Compiled: compiled, SchemaDigest: notNil(unhex(schemaDigest)), CreatedBy: r.CreatedBy, Now: r.CreatedAt,
	})
	if err != nil {
		return Revision{}, false, fmt.Errorf("insert revision: %w", err)
	}
	r.Number = int(number)
	return r, false, nil
}

// goLive makes a revision the one that is served. Triggers tell every
// Directory.
func (s *Service) goLive(ctx context.Context, q *db.Queries, org id.Organization, by id.Builder, r *Revision, action string) error {
	now := s.now()
	if _, err := q.SetLiveRevision(ctx, db.SetLiveRevisionParams{OrganizationID: org, SurfaceID: r.Surface, Number: int32(r.Number), Now: now}); err != nil {
		return fmt.Errorf("set live revision: %w", err)
	}
	if action == "surface.publish" {
		if _, err := q.ClearSurfaceDraft(ctx, db.ClearSurfaceDraftParams{OrganizationID: org, SurfaceID: r.Surface}); err != nil {
			return fmt.Errorf("clear draft: %w", err)
		}
	}
	if _, err := q.FixRootSurface(ctx, db.FixRootSurfaceParams{OrganizationID: org, SurfaceID: r.Surface}); err != nil {
		return fmt.Errorf("fix root surface: %w", err)
	}
	r.Live = true
	return s.audit(ctx, q, org, by, r.Surface, action, "ok", map[string]any{"revision": r.Number, "digest": r.Digest})
}

// Revisions lists a surface's revisions, newest first, at most 1000.
func (s *Service) Revisions(ctx context.Context, org id.Organization, surface id.Surface) ([]Revision, error) {
	var revisions []Revision
	err := s.store.AsOrganization(ctx, org, func(q *db.Queries, _ pgx.Tx) error {
		if _, err := surfaceRow(ctx, q, org, surface); err != nil {
			return err
		}
		rows, err := q.ListRevisions(ctx, db.ListRevisionsParams{OrganizationID: org, SurfaceID: surface})
		if err != nil {
			return fmt.Errorf("list revisions: %w", err)
		}
		for _, row := range rows {
			r, err := revisionOf(db.GetRevisionByDigestRow{
				SurfaceID: row.SurfaceID, Number: row.Number, Digest: row.Digest, Title: row.Title, Access: row.Access,
				Format: row.Format, SchemaDigest: row.SchemaDigest, CreatedBy: row.CreatedBy, CreatedAt: row.CreatedAt,
			})
			if err != nil {
				return err
			}
			r.Live = row.Live
			revisions = append(revisions, r)
		}
		return nil
	})
	return revisions, err
}

// Revision returns one revision and its file, or fault.NotFound.
func (s *Service) Revision(ctx context.Context, org id.Organization, surface id.Surface, number int) (Revision, []byte, error) {
	var r Revision
	var file []byte
	err := s.store.AsOrganization(ctx, org, func(q *db.Queries, _ pgx.Tx) error {
		var err error
		r, file, err = revisionByNumber(ctx, q, org, surface, number)
		return err
	})
	return r, file, err
}

// Rollback makes an earlier revision live again; the draft stays. Errors:
// fault.NotFound (surface or revision).
func (s *Service) Rollback(ctx context.Context, org id.Organization, surface id.Surface, by id.Builder, number int) (Revision, error) {
	var r Revision
	err := s.store.AsOrganization(ctx, org, func(q *db.Queries, _ pgx.Tx) error {
		if _, err := lock(ctx, q, org, surface); err != nil {
			return err
		}
		var err error
		if r, _, err = revisionByNumber(ctx, q, org, surface, number); err != nil {
			return err
		}
		if !KnownFormat(r.Format) {
			return fault.New(fault.Conflict, "newer_format", "Revision %d was published by a newer version of Chumbo. Publish its file again.", number)
		}
		return s.goLive(ctx, q, org, by, &r, "surface.rollback")
	})
	if err != nil {
		return Revision{}, s.recordRefusal(ctx, org, by, surface, "surface.rollback", err)
	}
	return r, nil
}

func revisionByNumber(ctx context.Context, q *db.Queries, org id.Organization, surface id.Surface, number int) (Revision, []byte, error) {
	none := fault.New(fault.NotFound, "no_revision", "There is no such revision of this surface.")
	if number < 1 || number > 1<<31-1 {
		return Revision{}, nil, none
	}
	row, err := q.GetRevision(ctx, db.GetRevisionParams{OrganizationID: org, SurfaceID: surface, Number: int32(number)})
	if errors.Is(err, pgx.ErrNoRows) {
		return Revision{}, nil, none
	}
	if err != nil {
		return Revision{}, nil, fmt.Errorf("get revision: %w", err)
	}
	r, err := revisionOf(db.GetRevisionByDigestRow{
		SurfaceID: row.SurfaceID, Number: row.Number, Digest: row.Digest, Title: row.Title, Access: row.Access,
		Format: row.Format, SchemaDigest: row.SchemaDigest, CreatedBy: row.CreatedBy, CreatedAt: row.CreatedAt,
	})
	r.Live = row.Live
	return r, []byte(row.File), err
}

func revisionOf(row db.GetRevisionByDigestRow) (Revision, error) {
	r := Revision{
		Surface: row.SurfaceID, Number: int(row.Number), Digest: hex.EncodeToString(row.Digest), Title: row.Title,
		Format: int(row.Format), SchemaDigest: hex.EncodeToString(row.SchemaDigest), CreatedBy: row.CreatedBy, CreatedAt: row.CreatedAt,
	}
	if err := json.Unmarshal(row.Access, &r.Access); err != nil {
		return Revision{}, fmt.Errorf("read access: %w", err)
	}
	return r, nil
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

// recordRefusal writes a refusal to the audit log and returns it.
func (s *Service) recordRefusal(ctx context.Context, org id.Organization, by id.Builder, surface id.Surface, action string, err error) error {
	var refusal *fault.Error
	if !errors.As(err, &refusal) {
		return err
	}
	recorded := s.store.AsOrganization(ctx, org, func(q *db.Queries, _ pgx.Tx) error {
		return s.audit(ctx, q, org, by, surface, action, "refused", map[string]any{"reason": refusal.Kind.String(), "code": refusal.Code})
	})
	if recorded != nil {
		return errors.Join(err, recorded)
	}
	return err
}

func (s *Service) audit(ctx context.Context, q *db.Queries, org id.Organization, by id.Builder, surface id.Surface, action, outcome string, detail map[string]any) error {
	actor := "system"
	if !by.IsZero() {
		actor = by.String()
	}
	raw, err := json.Marshal(detail)
	if err != nil {
		return fmt.Errorf("marshal audit detail: %w", err)
	}
	err = q.InsertAuditEvent(ctx, db.InsertAuditEventParams{
		OrganizationID: org, ID: id.New[id.AuditKind](), Now: s.now(), Actor: actor,
		Action: action, Target: surface.String(), Outcome: outcome, Detail: raw,
	})
	if err != nil {
		return fmt.Errorf("insert audit event: %w", err)
	}
	return nil
}
