package builders

import (
	"context"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// Facts is what the compiler needs to know of a project and of this server.
func (s *Service) Facts(project tenants.Project) surfaces.ProjectFacts {
	scopes := project.ScopesSupported
	if scopes == nil {
		scopes = []string{} // nil would mean: not known
	}
	return surfaces.ProjectFacts{
		Signing: string(project.Signing), OAuthOff: !project.OAuthEnabled, ScopesSupported: scopes, Issuer: project.Issuer,
	}
}

// Plan says what publishing a file as that surface would do. The surface need
// not exist. An empty src plans the draft.
func (s *Service) Plan(ctx context.Context, p tenants.Principal, project, surface string, src []byte) (surfaces.Plan, error) {
	if err := tenants.RefuseSecret("file", string(src)); err != nil {
		return surfaces.Plan{}, err
	}
	owner, target, err := s.find(ctx, p, project, surface, len(src) > 0)
	if err != nil {
		return surfaces.Plan{}, err
	}
	return s.Surfaces.Plan(ctx, p.Organization.ID, owner.ID, target.ID, src, s.Facts(owner))
}

// find finds a surface; one that may be missing is a zero one, when it could
// be made.
func (s *Service) find(ctx context.Context, p tenants.Principal, project, surface string, mayMiss bool) (tenants.Project, tenants.Surface, error) {
	owner, err := s.Tenants.Project(ctx, p, project)
	if err != nil {
		return tenants.Project{}, tenants.Surface{}, err
	}
	target, err := s.Tenants.Surface(ctx, p, project, surface)
	if err == nil || !mayMiss || !fault.Is(err, fault.NotFound) {
		return owner, target, err
	}
	return owner, tenants.Surface{}, tenants.CheckSurfaceSlug(surface)
}

// SaveDraft keeps a file as the surface's draft and makes the surface if need
// be.
func (s *Service) SaveDraft(ctx context.Context, p tenants.Principal, project, surface string, src []byte) (surfaces.Draft, tenants.Surface, error) {
	if err := s.write(ctx, p, "surface.draft", project, surface); err != nil {
		return surfaces.Draft{}, tenants.Surface{}, err
	}
	if err := s.checkFile(ctx, p, "surface.draft", project, surface, src); err != nil {
		return surfaces.Draft{}, tenants.Surface{}, err
	}
	owner, err := s.Tenants.Project(ctx, p, project)
	if err != nil {
		return surfaces.Draft{}, tenants.Surface{}, err
	}
	target, err := s.Tenants.EnsureSurface(ctx, p, project, surface)
	if err != nil {
		return surfaces.Draft{}, tenants.Surface{}, err
	}
	draft, err := s.Surfaces.PutDraft(ctx, p.Actor(), target.ID, src, s.Facts(owner))
	return draft, target, err
}

// checkFile refuses a file that is too large to be one, or holds a secret.
func (s *Service) checkFile(ctx context.Context, p tenants.Principal, action, project, surface string, src []byte) error {
	err := tenants.RefuseSecret("file", string(src))
	if err == nil && len(src) > surfaces.MaxFileBytes {
		err = fault.New(fault.TooLarge, "file_too_large", "The surface file is %d bytes; at most %d (256 KiB).", len(src), surfaces.MaxFileBytes)
	}
	if err != nil {
		return s.Tenants.Refused(ctx, p, action, err, project, surface)
	}
	return nil
}

// Publication is what Publish did.
type Publication struct {
	surfaces.Published
	Project tenants.Project
	Surface tenants.Surface
	Notes   []string // what still stands between the surface and its users
}

// Publish publishes a file as that surface, which is made if need be: a
// refused first publication leaves nothing behind.
func (s *Service) Publish(ctx context.Context, p tenants.Principal, project, surface string, file []byte, expect *string, overrides []surfaces.Override) (Publication, error) {
	if err := s.write(ctx, p, "surface.publish", project, surface); err != nil {
		return Publication{}, err
	}
	if err := s.checkFile(ctx, p, "surface.publish", project, surface, file); err != nil {
		return Publication{}, err
	}
	owner, target, err := s.find(ctx, p, project, surface, len(file) > 0)
	if err != nil {
		return Publication{}, err
	}
	request := surfaces.PublishRequest{File: file, Facts: s.Facts(owner), Expect: expect, Overrides: overrides}
	if target.ID.IsZero() {
		if err := s.acceptable(ctx, owner, request); err != nil {
			return Publication{}, s.Tenants.Refused(ctx, p, "surface.publish", err, project, surface)
		}
	}
	if len(file) > 0 { // also adds what URLs the configuration has since gained
		if target, err = s.Tenants.EnsureSurface(ctx, p, project, surface); err != nil {
			return Publication{}, err
		}
	}
	done, err := s.Surfaces.Publish(ctx, p.Actor(), target.ID, request)
	if err != nil {
		return Publication{}, err
	}
	return s.publication(ctx, p, owner, target, done)
}

// acceptable refuses what would be refused once the surface is made.
func (s *Service) acceptable(ctx context.Context, owner tenants.Project, request surfaces.PublishRequest) error {
	plan, err := s.Surfaces.Plan(ctx, owner.Organization, owner.ID, tenants.Surface{}.ID, request.File, request.Facts)
	if err != nil {
		return err
	}
	return plan.Refuse(request)
}

// publication says what was done, with the surface as it is now.
func (s *Service) publication(ctx context.Context, p tenants.Principal, owner tenants.Project, before tenants.Surface, done surfaces.Published) (Publication, error) {
	surface, err := s.Tenants.Surface(ctx, p, owner.Slug, before.Slug)
	if err != nil {
		return Publication{}, err
	}
	return Publication{Published: done, Project: owner, Surface: surface, Notes: s.Notes(owner, surface)}, nil
}

// Notes says what stands between a surface and its users. A zero surface asks
// about the project alone.
func (s *Service) Notes(project tenants.Project, surface tenants.Surface) []string {
	notes := []string{}
	if ok, why := s.Served(project); !ok {
		notes = append(notes, why)
	}
	switch surface.State {
	case tenants.StatePaused:
		notes = append(notes, "The surface is paused: it answers nobody until its state is live.")
	case tenants.StateReadOnly:
		notes = append(notes, "The surface is read-only: tools that change anything are hidden until its state is live.")
	}
	return notes
}

// Rollback makes an earlier revision live again, named by its number or, where
// that is 0, by its digest (whole, or its first 12 or more hex digits).
func (s *Service) Rollback(ctx context.Context, p tenants.Principal, project, surface string, req surfaces.RollbackRequest) (Publication, error) {
	owner, target, err := s.toChange(ctx, p, "surface.rollback", project, surface)
	if err != nil {
		return Publication{}, err
	}
	revision, err := s.Surfaces.Rollback(ctx, p.Actor(), target.ID, req)
	if err != nil {
		return Publication{}, err
	}
	return s.publication(ctx, p, owner, target, surfaces.Published{Revision: revision, Again: true})
}

// Pin makes the revision of a digest live and holds it there.
func (s *Service) Pin(ctx context.Context, p tenants.Principal, project, surface, digest string) (Publication, error) {
	owner, target, err := s.toChange(ctx, p, "surface.pin", project, surface)
	if err != nil {
		return Publication{}, err
	}
	revision, err := s.Surfaces.Pin(ctx, p.Actor(), target.ID, digest)
	if err != nil {
		return Publication{}, err
	}
	return s.publication(ctx, p, owner, target, surfaces.Published{Revision: revision, Again: true})
}

// Unpin lets a surface be published again.
func (s *Service) Unpin(ctx context.Context, p tenants.Principal, project, surface string) (tenants.Surface, error) {
	_, target, err := s.toChange(ctx, p, "surface.unpin", project, surface)
	if err != nil {
		return tenants.Surface{}, err
	}
	if err := s.Surfaces.Unpin(ctx, p.Actor(), target.ID); err != nil {
		return tenants.Surface{}, err
	}
	return s.Tenants.Surface(ctx, p, project, surface)
}

// toChange finds a surface for somebody who may change it.
func (s *Service) toChange(ctx context.Context, p tenants.Principal, action, project, surface string) (tenants.Project, tenants.Surface, error) {
	if err := s.write(ctx, p, action, project, surface); err != nil {
		return tenants.Project{}, tenants.Surface{}, err
	}
	return s.find(ctx, p, project, surface, false)
}

// Drift is how the schema moved under a surface's live revision.
func (s *Service) Drift(ctx context.Context, p tenants.Principal, project, surface string) (surfaces.Drift, error) {
	owner, target, err := s.find(ctx, p, project, surface, false)
	if err != nil {
		return surfaces.Drift{}, err
	}
	return s.Surfaces.Drift(ctx, p.Organization.ID, owner.ID, target.ID, s.Facts(owner))
}
