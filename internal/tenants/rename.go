package tenants

import "context"

// RenameProject gives a project another slug. Every URL it had keeps serving
// as an alias; the new ones become primary. The old slug stays the
// organization's.
func (s *Service) RenameProject(ctx context.Context, p Principal, project, slug string) (Project, error) {
	panic("not built")
}

// RenameSurface gives a surface another name; its old URLs are aliases then.
func (s *Service) RenameSurface(ctx context.Context, p Principal, project, surface, slug string) (Surface, error) {
	panic("not built")
}

// SetProjectName changes what people call a project.
func (s *Service) SetProjectName(ctx context.Context, p Principal, project, name string) (Project, error) {
	panic("not built")
}

// DeleteProject takes a project, its surfaces, revisions and snapshots away.
// confirm must be its slug. Its names stay claimed by the organization.
func (s *Service) DeleteProject(ctx context.Context, p Principal, project, confirm string) error {
	panic("not built")
}

// DeleteSurface takes one surface and its revisions away. confirm must be its
// name.
func (s *Service) DeleteSurface(ctx context.Context, p Principal, project, surface, confirm string) error {
	panic("not built")
}
