-- Tables: revisions, surfaces, surface_urls, sign_in_settings, as publishing
-- uses them; members and builders for the names of authors. A revision is never
-- changed; which one is live is a column of its surface.

-- name: GetSurfaceForBuild :one
-- What a compilation needs to know of a surface.
select s.id, s.project_id, s.draft, s.live_revision, s.live_by, s.live_at, s.pinned_at
from surfaces s where s.organization_id = @organization_id and s.id = @surface_id;

-- name: LockSurfaceForPublish :one
-- Publications of one project wait for each other: numbers never collide, and
-- a host gets one root surface.
select s.id, s.project_id, s.draft, s.live_revision, s.live_by, s.live_at, s.pinned_at
from surfaces s
join projects p on p.organization_id = s.organization_id and p.id = s.project_id
where s.organization_id = @organization_id and s.id = @surface_id
for no key update of p, s;

-- name: SetSurfaceDraft :execrows
update surfaces set draft = @draft, draft_by = @draft_by, draft_at = @now::timestamptz, updated_at = @now
where organization_id = @organization_id and id = @surface_id;

-- name: SetLiveRevision :execrows
update surfaces set live_revision = @number::integer, live_by = @live_by, live_at = @now::timestamptz, updated_at = @now
where organization_id = @organization_id and id = @surface_id;

-- name: ClearSurfaceDraft :execrows
update surfaces set draft = null, draft_by = null, draft_at = null
where organization_id = @organization_id and id = @surface_id and draft is not null;

-- name: PinSurface :execrows
-- Whoever pinned it first stays named.
update surfaces set pinned_at = @now::timestamptz, pinned_by = @pinned_by, updated_at = @now
where organization_id = @organization_id and id = @surface_id and pinned_at is null;

-- name: UnpinSurface :execrows
update surfaces set pinned_at = null, pinned_by = null, updated_at = @now
where organization_id = @organization_id and id = @surface_id and pinned_at is not null;

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
insert into revisions (organization_id, surface_id, number, digest, file, title, access, format, compiled, schema_digest, created_by, created_at, summary, change_class, overrides)
values (@organization_id, @surface_id,
    (select coalesce(max(r.number), 0) + 1 from revisions r where r.organization_id = @organization_id and r.surface_id = @surface_id),
    @digest, @file, @title, @access, @format, @compiled, @schema_digest, @created_by, @now, @summary, @change_class, @overrides)
returning number;

-- The next four describe a revision the same way.

-- name: GetRevision :one
select r.surface_id, r.number, r.digest, r.title, r.access, r.format, r.schema_digest, r.created_by, r.created_at,
    r.summary, r.change_class, r.overrides, (s.live_revision is not distinct from r.number)::boolean as live
from revisions r
join surfaces s on s.organization_id = r.organization_id and s.id = r.surface_id
where r.organization_id = @organization_id and r.surface_id = @surface_id and r.number = @number;

-- name: GetRevisionByDigest :one
select r.surface_id, r.number, r.digest, r.title, r.access, r.format, r.schema_digest, r.created_by, r.created_at,
    r.summary, r.change_class, r.overrides, (s.live_revision is not distinct from r.number)::boolean as live
from revisions r
join surfaces s on s.organization_id = r.organization_id and s.id = r.surface_id
where r.organization_id = @organization_id and r.surface_id = @surface_id and r.digest = @digest;

-- name: ListRevisionsByDigest :many
-- By the first hex digits; two rows are enough to know that there is not one.
select r.surface_id, r.number, r.digest, r.title, r.access, r.format, r.schema_digest, r.created_by, r.created_at,
    r.summary, r.change_class, r.overrides, (s.live_revision is not distinct from r.number)::boolean as live
from revisions r
join surfaces s on s.organization_id = r.organization_id and s.id = r.surface_id
where r.organization_id = @organization_id and r.surface_id = @surface_id and starts_with(encode(r.digest, 'hex'), @prefix::text)
order by r.number
limit 2;

-- name: ListRevisions :many
select r.surface_id, r.number, r.digest, r.title, r.access, r.format, r.schema_digest, r.created_by, r.created_at,
    r.summary, r.change_class, r.overrides, (s.live_revision is not distinct from r.number)::boolean as live
from revisions r
join surfaces s on s.organization_id = r.organization_id and s.id = r.surface_id
where r.organization_id = @organization_id and r.surface_id = @surface_id
order by r.number desc
limit 1000;

-- name: GetRevisionContent :one
select r.file, r.compiled from revisions r
where r.organization_id = @organization_id and r.surface_id = @surface_id and r.number = @number;

-- name: ListMemberEmails :many
-- As chumbo_system: emails of builders who are members of the organization.
select b.id, b.email
from builders b
join members m on m.builder_id = b.id
where m.organization_id = @organization_id and b.id = any(@builder_ids::uuid[]);

-- name: ListSiblings :many
-- What the other live surfaces of a project ask of callers.
select s.slug, r.access
from surfaces s
join revisions r on r.organization_id = s.organization_id and r.surface_id = s.id and r.number = s.live_revision
where s.organization_id = @organization_id and s.project_id = @project_id and s.id <> @surface_id
order by s.slug;
