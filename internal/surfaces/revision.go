package surfaces

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
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
	Author       string // email of CreatedBy; empty for the instance itself and for who left
	CreatedAt    time.Time
	Live         bool
	Class        ChangeClass // to what was live before its first publication
	Summary      string      // its gravest changes then, in one line
	Overrides    []RecordedOverride
}

// Revisions lists a surface's revisions, newest first, at most 1000. Errors:
// fault.NotFound (surface).
func (s *Service) Revisions(ctx context.Context, org id.Organization, surface id.Surface) ([]Revision, error) {
	var revisions []Revision
	err := s.store.AsOrganization(ctx, org, func(q *db.Queries, _ pgx.Tx) error {
		if _, err := surfaceRow(ctx, q, org, surface); err != nil {
			return err
		}
		var err error
		revisions, err = listRevisions(ctx, q, org, surface)
		return err
	})
	if err != nil {
		return nil, err
	}
	return revisions, s.nameAuthors(ctx, org, each(revisions)...)
}

// Revision returns one revision and its file, or fault.NotFound.
func (s *Service) Revision(ctx context.Context, org id.Organization, surface id.Surface, number int) (Revision, []byte, error) {
	var r Revision
	var file []byte
	err := s.store.AsOrganization(ctx, org, func(q *db.Queries, _ pgx.Tx) error {
		var err error
		if r, err = revisionByNumber(ctx, q, org, surface, number); err != nil {
			return err
		}
		content, err := q.GetRevisionContent(ctx, db.GetRevisionContentParams{OrganizationID: org, SurfaceID: surface, Number: int32(r.Number)})
		if err != nil {
			return fmt.Errorf("get revision's file: %w", err)
		}
		file = []byte(content.File)
		return nil
	})
	if err != nil {
		return Revision{}, nil, err
	}
	return r, file, s.nameAuthors(ctx, org, &r)
}

func each(revisions []Revision) []*Revision {
	list := make([]*Revision, len(revisions))
	for i := range revisions {
		list[i] = &revisions[i]
	}
	return list
}

func listRevisions(ctx context.Context, q *db.Queries, org id.Organization, surface id.Surface) ([]Revision, error) {
	rows, err := q.ListRevisions(ctx, db.ListRevisionsParams{OrganizationID: org, SurfaceID: surface})
	if err != nil {
		return nil, fmt.Errorf("list revisions: %w", err)
	}
	revisions := make([]Revision, len(rows))
	for i, row := range rows {
		if revisions[i], err = revisionOf(db.GetRevisionRow(row)); err != nil {
			return nil, err
		}
	}
	return revisions, nil
}

func noRevision() error {
	return fault.New(fault.NotFound, "no_revision", "There is no such revision of this surface.")
}

func revisionByNumber(ctx context.Context, q *db.Queries, org id.Organization, surface id.Surface, number int) (Revision, error) {
	if number < 1 || number > 1<<31-1 {
		return Revision{}, noRevision()
	}
	row, err := q.GetRevision(ctx, db.GetRevisionParams{OrganizationID: org, SurfaceID: surface, Number: int32(number)})
	if errors.Is(err, pgx.ErrNoRows) {
		return Revision{}, noRevision()
	}
	if err != nil {
		return Revision{}, fmt.Errorf("get revision: %w", err)
	}
	return revisionOf(row)
}

// minDigest is how many hex digits of a digest name a revision.
const minDigest = 12

// revisionByDigest finds the revision that a digest names, whole or by its
// first minDigest hex digits and more.
func revisionByDigest(ctx context.Context, q *db.Queries, org id.Organization, surface id.Surface, digest string) (Revision, error) {
	prefix := strings.ToLower(strings.TrimSpace(digest))
	if len(prefix) < minDigest || len(prefix) > 64 || strings.Trim(prefix, "0123456789abcdef") != "" {
		return Revision{}, fault.New(fault.Invalid, "digest", "Name the revision by its digest, or by the first %d or more of its hexadecimal digits.", minDigest)
	}
	rows, err := q.ListRevisionsByDigest(ctx, db.ListRevisionsByDigestParams{OrganizationID: org, SurfaceID: surface, Prefix: prefix})
	if err != nil {
		return Revision{}, fmt.Errorf("find revision by digest: %w", err)
	}
	switch len(rows) {
	case 0:
		return Revision{}, noRevision()
	case 1:
		return revisionOf(db.GetRevisionRow(rows[0]))
	}
	return Revision{}, fault.New(fault.Conflict, "ambiguous_digest", "Several revisions have a digest that starts with %s. Give more of it.", prefix)
}

func revisionOf(row db.GetRevisionRow) (Revision, error) {
	r := Revision{
		Surface: row.SurfaceID, Number: int(row.Number), Digest: hex.EncodeToString(row.Digest), Title: row.Title,
		Format: int(row.Format), SchemaDigest: hex.EncodeToString(row.SchemaDigest), CreatedBy: row.CreatedBy, CreatedAt: row.CreatedAt,
		Live: row.Live, Class: ChangeClass(row.ChangeClass), Summary: row.Summary,
	}
	if err := json.Unmarshal(row.Access, &r.Access); err != nil {
		return Revision{}, fmt.Errorf("read access: %w", err)
	}
	if err := json.Unmarshal(row.Overrides, &r.Overrides); err != nil {
		return Revision{}, fmt.Errorf("read overrides: %w", err)
	}
	return r, nil
}

// publication is a revision with what it holds.
type publication struct {
	Revision
	file     string
	compiled *Compiled // nil when its format is a newer version's
}

// published is a revision by number; nil for no number.
func published(ctx context.Context, q *db.Queries, org id.Organization, surface id.Surface, number *int32) (*publication, error) {
	if number == nil {
		return nil, nil
	}
	r, err := revisionByNumber(ctx, q, org, surface, int(*number))
	if err != nil {
		return nil, err
	}
	content, err := q.GetRevisionContent(ctx, db.GetRevisionContentParams{OrganizationID: org, SurfaceID: surface, Number: *number})
	if err != nil {
		return nil, fmt.Errorf("get revision's content: %w", err)
	}
	p := &publication{Revision: r, file: content.File}
	if !KnownFormat(r.Format) {
		return p, nil
	}
	p.compiled = &Compiled{}
	if err := json.Unmarshal(content.Compiled, p.compiled); err != nil {
		return nil, fmt.Errorf("read compiled revision: %w", err)
	}
	return p, nil
}

// digest is the publication's digest; empty for none.
func (p *publication) digest() string {
	if p == nil {
		return ""
	}
	return p.Digest
}

// text is the publication's file; empty for none.
func (p *publication) text() string {
	if p == nil {
		return ""
	}
	return p.file
}

// changes is Diff of two publications, either of which may be of a format that
// this version cannot read.
func (p *publication) changes(after *Compiled) []Change {
	switch {
	case p == nil:
		return nil
	case p.compiled == nil || after == nil:
		return []Change{{Class: ChangeBehaviour, Summary: "one of the two was published by a newer version of Chumbo, so what changes cannot be told"}}
	}
	return Diff(p.compiled, after)
}

// class is the class of changes to this publication.
func (p *publication) class(changes []Change) ChangeClass {
	if p == nil {
		return ChangeFirst
	}
	return WorstChange(changes)
}

// nameAuthors fills in the emails of authors. Builders are no organization's
// rows, so it asks as the system, for members of this organization only.
func (s *Service) nameAuthors(ctx context.Context, org id.Organization, revisions ...*Revision) error {
	var authors []id.Builder
	for _, r := range revisions {
		if r.CreatedBy != nil {
			authors = append(authors, *r.CreatedBy)
		}
	}
	emails, err := s.emails(ctx, org, authors)
	if err != nil {
		return err
	}
	for _, r := range revisions {
		if r.CreatedBy != nil {
			r.Author = emails[*r.CreatedBy]
		}
	}
	return nil
}

// emails finds the emails of members. It opens a transaction of its own: never
// call it inside another.
func (s *Service) emails(ctx context.Context, org id.Organization, builders []id.Builder) (map[id.Builder]string, error) {
	emails := map[id.Builder]string{}
	var ids []uuid.UUID
	for _, b := range builders {
		if _, have := emails[b]; !have {
			emails[b] = ""
			ids = append(ids, b.UUID())
		}
	}
	if len(ids) == 0 {
		return emails, nil
	}
	err := s.store.AsSystem(ctx, func(q *db.Queries, _ pgx.Tx) error {
		rows, err := q.ListMemberEmails(ctx, db.ListMemberEmailsParams{OrganizationID: org, BuilderIds: ids})
		if err != nil {
			return fmt.Errorf("list emails of members: %w", err)
		}
		for _, row := range rows {
			emails[row.ID] = row.Email
		}
		return nil
	})
	return emails, err
}

// named is a builder for people: an email, or who else it may have been.
func named(email string) string { return cmp.Or(email, "this instance or a former member") }
