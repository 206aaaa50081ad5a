-- Table: surface_urls, the (host, path) a surface answers at. host is '' for
-- the shared host, 'label.*' under the surface domain, else a custom domain.

-- name: InsertSurfaceURL :execrows
-- 0 rows when the URL is taken, by whomever.
insert into surface_urls (organization_id, id, surface_id, host, path, is_primary, is_root, created_at)
values (@organization_id, @id, @surface_id, @host, @path, @is_primary, false, @now)
on conflict (host, path) do nothing;

-- name: ListSurfaceURLs :many
-- Of one project's surfaces, primary first.
select u.surface_id, u.host, u.path, u.is_primary, u.is_root
from surface_urls u
join surfaces s on s.organization_id = u.organization_id and s.id = u.surface_id
where u.organization_id = @organization_id and s.project_id = @project_id
order by u.surface_id, u.is_primary desc, u.created_at, u.id;

-- name: HasSurfaceURL :one
select exists (select from surface_urls
    where organization_id = @organization_id and surface_id = @surface_id and host = @host and path = @path);

-- name: ClearPrimarySurfaceURL :exec
update surface_urls set is_primary = false
where organization_id = @organization_id and surface_id = @surface_id and is_primary;

-- name: SetPrimarySurfaceURL :exec
update surface_urls set is_primary = true
where organization_id = @organization_id and surface_id = @surface_id and host = @host and path = @path;

-- name: SurfaceServedAt :one
-- The surface of the organization that answers at a URL, and its project.
select s.slug, p.slug as project_slug from surface_urls u
join surfaces s on s.organization_id = u.organization_id and s.id = u.surface_id
join projects p on p.organization_id = s.organization_id and p.id = s.project_id
where u.organization_id = @organization_id and u.host = @host and u.path = @path;

-- name: KeepRootSurface :exec
-- The root surface of a host label is that of the project's new label too,
-- unless that one has a root already.
update surface_urls n set is_root = true
where n.organization_id = @organization_id and n.host = @host and n.is_primary
    and n.surface_id = (select o.surface_id from surface_urls o
        where o.organization_id = @organization_id and o.host = @host_before and o.is_root)
    and not exists (select from surface_urls r where r.organization_id = @organization_id and r.host = @host and r.is_root);

-- name: DeleteSurfaceURLs :exec
delete from surface_urls where organization_id = @organization_id and surface_id = @surface_id;
