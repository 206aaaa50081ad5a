-- Tables: revisions, surfaces, surface_urls, as publishing uses them. A
-- revision is never changed; which one is live is a column of its surface.

-- name: GetSurfaceForBuild :one
-- What a compilation needs to know of a surface.
select s.id, s.project_id, s.draft, s.live_revision
from surfaces s where s.organization_id = @organization_id and s.id = @surface_id;

-- name: LockSurfaceForPublish :one
-- Publications of one project wait for each other: numbers never collide, and
-- a host gets one root surface.
select s.id, s.project_id, s.draft, s.live_revision
from surfaces s
join projects p on p.organization_id = s.organization_id and p.id = s.project_id
where s.organization_id = @organization_id and s.id = @surface_id
for no key update of p, s;

-- name: SetSurfaceDraft :execrows
update surfaces set draft = @draft, updated_at = @now
where organization_id = @organization_id and id = @surface_id;

-- name: SetLiveRevision :execrows
update surfaces set live_revision = @number::integer, updated_at = @now
where organization_id = @organization_id and id = @surface_id;

-- name: ClearSurfaceDraft :execrows
update surfaces set draft = null
where organization_id = @organization_id and id = @surface_id and draft is not null;

-- name: FixRootSurface :execrows
-- The first surface published on a host of its own is that host's root.
update surface_urls u set is_root = true
where u.organization_id = @organization_id and u.surface_id = @surface_id and u.host <> ''
  and u.id in (select distinct on (o.host) o.id from surface_urls o
      where o.organization_id = @organization_id and o.surface_id = @surface_id and o.host <> ''
      order by o.host, o.is_primary desc, o.created_at, o.id)
  and not exists (select from surface_urls r where r.organization_id = @organization_id and r.host = u.host and r.is_root);

-- name: InsertRevision :one
-- The next number of the surface. Its row is locked by LockSurfaceForPublish.
insert into revisions (organization_id, surface_id, number, digest, file, title, access, format, compiled, schema_digest, created_by, created_at)
values (@organization_id, @surface_id,
    (select coalesce(max(r.number), 0) + 1 from revisions r where r.organization_id = @organization_id and r.surface_id = @surface_id),
    @digest, @file, @title, @access, @format, @compiled, @schema_digest, @created_by, @now)
returning number;

-- name: GetRevisionByDigest :one
select r.surface_id, r.number, r.digest, r.title, r.access, r.format, r.schema_digest, r.created_by, r.created_at
from revisions r where r.organization_id = @organization_id and r.surface_id = @surface_id and r.digest = @digest;

-- name: GetRevision :one
select r.surface_id, r.number, r.digest, r.title, r.access, r.format, r.schema_digest, r.created_by, r.created_at, r.file,
    (s.live_revision is not distinct from r.number)::boolean as live
from revisions r
join surfaces s on s.organization_id = r.organization_id and s.id = r.surface_id
where r.organization_id = @organization_id and r.surface_id = @surface_id and r.number = @number;

-- name: ListRevisions :many
select r.surface_id, r.number, r.digest, r.title, r.access, r.format, r.schema_digest, r.created_by, r.created_at,
    (s.live_revision is not distinct from r.number)::boolean as live
from revisions r
join surfaces s on s.organization_id = r.organization_id and s.id = r.surface_id
where r.organization_id = @organization_id and r.surface_id = @surface_id
order by r.number desc
limit 1000;
