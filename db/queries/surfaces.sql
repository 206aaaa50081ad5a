-- Table: surfaces, one MCP endpoint of a project each.

-- name: InsertSurface :execrows
-- 0 rows when the project has a surface of that slug already.
insert into surfaces (organization_id, id, project_id, slug, state, created_at, updated_at)
values (@organization_id, @id, @project_id, @slug, 'live', @now, @now)
on conflict (organization_id, project_id, slug) do nothing;

-- name: GetSurfaceBySlug :one
select organization_id, id, project_id, slug, state, live_revision, pinned_at, created_at, updated_at
from surfaces where organization_id = @organization_id and project_id = @project_id and slug = @slug;

-- name: ListSurfaces :many
select organization_id, id, project_id, slug, state, live_revision, pinned_at, created_at, updated_at
from surfaces where organization_id = @organization_id and project_id = @project_id order by slug;

-- name: SetSurfaceState :execrows
update surfaces set state = @state, updated_at = @now where organization_id = @organization_id and id = @id;

-- name: SetSurfaceSlug :execrows
update surfaces set slug = @slug, updated_at = @now where organization_id = @organization_id and id = @id;

-- name: LockSurfacesOfProject :many
select id, slug from surfaces
where organization_id = @organization_id and project_id = @project_id order by id for update;

-- name: LockSurface :one
select id from surfaces where organization_id = @organization_id and id = @id for update;

-- name: ForgetLiveRevision :exec
-- So that the surface's revisions can go.
update surfaces set live_revision = null, updated_at = @now where organization_id = @organization_id and id = @id;

-- name: DeleteRevisionsOfSurface :execrows
delete from revisions where organization_id = @organization_id and surface_id = @surface_id;

-- name: DeleteSurface :execrows
delete from surfaces where organization_id = @organization_id and id = @id;
