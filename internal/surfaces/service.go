package surfaces

import (
	"context"
	"errors"
	"time"

	"github.com/chumbo-dev/chumbo/internal/db"
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
	SourceCatalog    Source = "catalog"
	SourceManagement Source = "management"
	SourceFile       Source = "file"
)

// StoredSnapshot is a snapshot as kept for a project.
type StoredSnapshot struct {
	Snapshot *Snapshot
	Digest   string // hex
	Source   Source
	At       time.Time // when it was last put
}

// PutSnapshot makes snap the project's latest. Putting the same one again is
// fine. Errors: fault.NotFound (project), fault.Invalid (snapshot).
func (s *Service) PutSnapshot(ctx context.Context, org id.Organization, project id.Project, snap *Snapshot, source Source) (StoredSnapshot, error) {
	return StoredSnapshot{}, errors.New("in progress")
}

// LatestSnapshot returns the project's latest snapshot, or fault.NotFound.
func (s *Service) LatestSnapshot(ctx context.Context, org id.Organization, project id.Project) (StoredSnapshot, error) {
	return StoredSnapshot{}, errors.New("in progress")
}

// Draft is a surface file not yet published, and what the compiler says of it
// now.
type Draft struct {
	Source []byte // the file; empty when there is none
	Built
}

// Check compiles a file against the project's latest snapshot and keeps
// nothing.
func (s *Service) Check(ctx context.Context, org id.Organization, surface id.Surface, src []byte, facts ProjectFacts) (Built, error) {
	return Built{}, errors.New("in progress")
}

// PutDraft keeps a file as the surface's draft, with or without problems in
// it, and says what the compiler finds. Errors: fault.NotFound (surface),
// fault.TooLarge, fault.Invalid (not UTF-8).
func (s *Service) PutDraft(ctx context.Context, org id.Organization, surface id.Surface, src []byte, facts ProjectFacts) (Draft, error) {
	return Draft{}, errors.New("in progress")
}

// File returns the draft, or the live revision's file where there is no draft.
// draft tells which. fault.NotFound when there is neither.
func (s *Service) File(ctx context.Context, org id.Organization, surface id.Surface) (src []byte, draft bool, err error) {
	return nil, false, errors.New("in progress")
}

// Revision is one publication of a surface.
type Revision struct {
	Surface      id.Surface
	Number       int
	Digest       string // hex
	Title        string
	Access       Access
	Format       int
	SchemaDigest string // hex, of the snapshot it was compiled against
	CreatedBy    *id.Builder
	CreatedAt    time.Time
	Live         bool
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
// an issue per problem, and nothing is written.
func (s *Service) Publish(ctx context.Context, org id.Organization, surface id.Surface, by id.Builder, src []byte, facts ProjectFacts) (Published, error) {
	return Published{}, errors.New("in progress")
}

// Revisions lists a surface's revisions, newest first.
func (s *Service) Revisions(ctx context.Context, org id.Organization, surface id.Surface) ([]Revision, error) {
	return nil, errors.New("in progress")
}

// Revision returns one revision and its file.
func (s *Service) Revision(ctx context.Context, org id.Organization, surface id.Surface, number int) (Revision, []byte, error) {
	return Revision{}, nil, errors.New("in progress")
}

// Rollback makes an earlier revision live again.
func (s *Service) Rollback(ctx context.Context, org id.Organization, surface id.Surface, by id.Builder, number int) (Revision, error) {
	return Revision{}, errors.New("in progress")
}
