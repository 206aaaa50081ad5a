package surfaces

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/events"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
)

// Service keeps schema snapshots, drafts and revisions. Every method acts as
// one organization: what belongs to another is not found.
type Service struct {
	store *db.Store
	now   func() time.Time
}

// NewService returns a Service. Both arguments are needed.
func NewService(store *db.Store, now func() time.Time) (*Service, error) {
	if store == nil || now == nil {
		return nil, errors.New("surfaces: a service needs a store and a clock")
	}
	return &Service{store: store, now: now}, nil
}

// Source is where a snapshot came from.
type Source string

// The sources of snapshots.
const (
	SourcePostgres   Source = "postgres"
	SourceFile       Source = "file"
	SourceCatalog    Source = "catalog"    // chumbo_catalog()
	SourceManagement Source = "management" // Supabase's Management API
)

// StoredSnapshot is a snapshot as kept for a project.
type StoredSnapshot struct {
	Snapshot *Snapshot
	Digest   string // hex
	Source   Source
	At       time.Time // when it was last put
}

// PutSnapshot makes snap the project's latest; one that was there before is
// the latest again. It normalizes snap. Errors: fault.NotFound (project),
// fault.Invalid (snapshot).
func (s *Service) PutSnapshot(ctx context.Context, by events.Actor, project id.Project, snap *Snapshot, source Source) (StoredSnapshot, error) {
	snap.Normalize()
	if err := snap.Validate(); err != nil {
		return StoredSnapshot{}, s.refuse(ctx, by, actSchema, project.String(), err)
	}
	digest, err := snap.Digest()
	if err != nil {
		return StoredSnapshot{}, err
	}
	raw, err := json.Marshal(snap)
	if err != nil {
		return StoredSnapshot{}, fmt.Errorf("marshal snapshot: %w", err)
	}
	stored := StoredSnapshot{Snapshot: snap, Digest: digest, Source: source, At: s.now()}
	err = s.change(ctx, by, actSchema, project.String(), func(q *db.Queries) (map[string]any, error) {
		if err := mustHaveProject(ctx, q, by.Organization, project); err != nil {
			return nil, err
		}
		before, err := latestDigest(ctx, q, by.Organization, project)
		if err != nil {
			return nil, err
		}
		err = q.PutSchemaSnapshot(ctx, db.PutSchemaSnapshotParams{
			OrganizationID: by.Organization, ProjectID: project, Digest: unhex(digest), Snapshot: raw, Source: string(source), Now: stored.At,
		})
		if err != nil {
			return nil, fmt.Errorf("put schema snapshot: %w", err)
		}
		return map[string]any{"before": before, "digest": digest, "source": string(source)}, nil
	})
	if err != nil {
		return StoredSnapshot{}, err
	}
	return stored, nil
}

// LatestSnapshot returns the project's latest snapshot, or fault.NotFound.
func (s *Service) LatestSnapshot(ctx context.Context, org id.Organization, project id.Project) (StoredSnapshot, error) {
	var stored StoredSnapshot
	err := s.store.AsOrganization(ctx, org, func(q *db.Queries, _ pgx.Tx) error {
		var err error
		stored, err = latest(ctx, q, org, project)
		return err
	})
	return stored, err
}

func latest(ctx context.Context, q *db.Queries, org id.Organization, project id.Project) (StoredSnapshot, error) {
	row, err := q.GetLatestSchemaSnapshot(ctx, db.GetLatestSchemaSnapshotParams{OrganizationID: org, ProjectID: project})
	if errors.Is(err, pgx.ErrNoRows) {
		return StoredSnapshot{}, fault.New(fault.NotFound, "no_snapshot", "This project's schema is not imported yet. Run chumbo import.")
	}
	if err != nil {
		return StoredSnapshot{}, fmt.Errorf("get schema snapshot: %w", err)
	}
	return storedOf(row)
}

// latestDigest is empty where no snapshot was imported yet.
func latestDigest(ctx context.Context, q *db.Queries, org id.Organization, project id.Project) (string, error) {
	row, err := q.GetLatestSchemaSnapshot(ctx, db.GetLatestSchemaSnapshotParams{OrganizationID: org, ProjectID: project})
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return "", fmt.Errorf("get schema snapshot: %w", err)
	}
	return hex.EncodeToString(row.Digest), nil
}

func storedOf(row db.GetLatestSchemaSnapshotRow) (StoredSnapshot, error) {
	var snap Snapshot
	if err := json.Unmarshal(row.Snapshot, &snap); err != nil {
		return StoredSnapshot{}, fmt.Errorf("read schema snapshot: %w", err)
	}
	return StoredSnapshot{Snapshot: &snap, Digest: hex.EncodeToString(row.Digest), Source: Source(row.Source), At: row.CreatedAt}, nil
}

// Draft is a surface file not yet published, and what the compiler says of it
// now.
type Draft struct {
	Source []byte // the file
	Built
}

// Check compiles a file against the project's latest snapshot and keeps
// nothing. A zero surface is one that does not exist yet. Errors: fault.NotFound (project).
func (s *Service) Check(ctx context.Context, org id.Organization, project id.Project, surface id.Surface, src []byte, facts ProjectFacts) (Built, error) {
	var built Built
	err := s.store.AsOrganization(ctx, org, func(q *db.Queries, _ pgx.Tx) error {
		err := mustHaveProject(ctx, q, org, project)
		if err != nil {
			return err
		}
		built, _, err = build(ctx, q, org, project, surface, src, facts)
		return err
	})
	return built, err
}

func mustHaveProject(ctx context.Context, q *db.Queries, org id.Organization, project id.Project) error {
	have, err := q.HasProject(ctx, db.HasProjectParams{OrganizationID: org, ProjectID: project})
	if err != nil {
		return fmt.Errorf("find project: %w", err)
	}
	if !have {
		return fault.New(fault.NotFound, "no_project", "There is no such project.")
	}
	return nil
}

// PutDraft keeps a file as the surface's draft, with or without problems in
// it, and says what the compiler finds. Errors: fault.NotFound (surface),
// fault.TooLarge, fault.Invalid (not UTF-8).
func (s *Service) PutDraft(ctx context.Context, by events.Actor, surface id.Surface, src []byte, facts ProjectFacts) (Draft, error) {
	if err := checkText(src); err != nil {
		return Draft{}, s.refuse(ctx, by, actDraft, surface.String(), err)
	}
	draft, text := Draft{Source: src}, string(src)
	err := s.change(ctx, by, actDraft, surface.String(), func(q *db.Queries) (map[string]any, error) {
		row, err := surfaceRow(ctx, q, by.Organization, surface)
		if err != nil {
			return nil, err
		}
		if draft.Built, _, err = build(ctx, q, by.Organization, row.ProjectID, surface, src, facts); err != nil {
			return nil, err
		}
		_, err = q.SetSurfaceDraft(ctx, db.SetSurfaceDraftParams{
			OrganizationID: by.Organization, SurfaceID: surface, Draft: &text, DraftBy: builder(by), Now: s.now(),
		})
		if err != nil {
			return nil, fmt.Errorf("set draft: %w", err)
		}
		return map[string]any{"before": fileDigest(row.Draft), "file": fileDigest(&text), "digest": draft.Digest}, nil
	})
	if err != nil {
		return Draft{}, err
	}
	return draft, nil
}

// fileDigest tells versions of a file apart in the audit log; empty where there
// is none.
func fileDigest(file *string) string {
	if file == nil {
		return ""
	}
	sum := sha256.Sum256([]byte(*file))
	return hex.EncodeToString(sum[:])
}

// checkText refuses what cannot be a surface file.
func checkText(src []byte) error {
	if len(src) > MaxFileBytes {
		return fault.New(fault.TooLarge, "file_too_large", "The surface file is %d bytes; at most %d (256 KiB).", len(src), MaxFileBytes)
	}
	if !utf8.Valid(src) || bytes.IndexByte(src, 0) >= 0 {
		return fault.New(fault.Invalid, "not_text", "The surface file is not UTF-8 text.")
	}
	return nil
}

// File returns the draft, or the live revision's file where there is no draft;
// draft tells which. fault.NotFound when there is neither.
func (s *Service) File(ctx context.Context, org id.Organization, surface id.Surface) (src []byte, draft bool, err error) {
	err = s.store.AsOrganization(ctx, org, func(q *db.Queries, _ pgx.Tx) error {
		row, err := surfaceRow(ctx, q, org, surface)
		if err != nil {
			return err
		}
		if row.Draft != nil {
			src, draft = []byte(*row.Draft), true
			return nil
		}
		if row.LiveRevision == nil {
			return fault.New(fault.NotFound, "no_file", "This surface has no file yet. Push one with chumbo push.")
		}
		revision, err := q.GetRevisionContent(ctx, db.GetRevisionContentParams{OrganizationID: org, SurfaceID: surface, Number: *row.LiveRevision})
		if err != nil {
			return fmt.Errorf("get revision's file: %w", err)
		}
		src = []byte(revision.File)
		return nil
	})
	return src, draft, err
}

func surfaceRow(ctx context.Context, q *db.Queries, org id.Organization, surface id.Surface) (db.GetSurfaceForBuildRow, error) {
	row, err := q.GetSurfaceForBuild(ctx, db.GetSurfaceForBuildParams{OrganizationID: org, SurfaceID: surface})
	if errors.Is(err, pgx.ErrNoRows) {
		return row, noSurface()
	}
	if err != nil {
		return row, fmt.Errorf("get surface: %w", err)
	}
	return row, nil
}

func noSurface() error { return fault.New(fault.NotFound, "no_surface", "There is no such surface.") }

// build compiles against the latest snapshot, beside what else is live of the
// project, and returns the snapshot; without one it
// is zero, and the compiler says what to do.
func build(ctx context.Context, q *db.Queries, org id.Organization, project id.Project, surface id.Surface, src []byte, facts ProjectFacts) (Built, StoredSnapshot, error) {
	stored, err := latest(ctx, q, org, project)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return Built{}, StoredSnapshot{}, err
	}
	if facts.Siblings, err = siblings(ctx, q, org, project, surface); err != nil {
		return Built{}, StoredSnapshot{}, err
	}
	if facts.HostedSignIn, err = hostedSignIn(ctx, q, org, project, facts); err != nil {
		return Built{}, StoredSnapshot{}, err
	}
	return Build(src, stored.Snapshot, facts), stored, nil
}

// unhex reads a digest made by this package.
func unhex(s string) []byte {
	b, err := hex.DecodeString(s)
	if err != nil {
		return nil
	}
	return b
}
