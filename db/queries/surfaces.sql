-- Table: surfaces, one MCP endpoint of a project each.

-- name: InsertSurface :execrows
-- 0 rows when the project has a surface of that slug already.
insert into surfaces (organization_id, id, project_id, slug, state, created_at, updated_at)
values (@organization_id, @id, @project_id, @slug, 'live', @now, @now)
on conflict (organization_id, project_id, slug) do nothing;

-- name: GetSurfaceBySlug :one
select organization_id, id, project_id, slug, state, live_revision, created_at, updated_at
from surfaces where organization_id = @organization_id and project_id = @project_id and slug = @slug;

-- name: ListSurfaces :many
select organization_id, id, project_id, slug, state, live_revision, created_at, updated_at
from surfaces where organization_id = @organization_id and project_id = @project_id order by slug;

-- name: SetSurfaceState :execrows
update surfaces set state = @state, updated_at = @now where organization_id = @organization_id and id = @id;
