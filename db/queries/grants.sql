-- Table: grants, what one caller allowed one client at one surface. All of
-- these run as chumbo_app, but for those that say otherwise. A grant is live
-- while revoked_at is null and expires_at lies ahead.

-- name: LockLiveGrant :one
-- The grant of a caller and client that is not revoked; expired ones too.
select id, asked, scopes, read_only, writes, approved_redirects, upstream_session_id, expires_at
from grants
where organization_id = @organization_id and surface_id = @surface_id and kind = 'client' and issuer = @issuer
    and subject = @subject and client_id = @client_id and revoked_at is null
for update;

-- name: GetLiveGrant :one
select id, asked, scopes, read_only, writes, approved_redirects, upstream_session_id, expires_at
from grants
where organization_id = @organization_id and surface_id = @surface_id and kind = 'client' and issuer = @issuer
    and subject = @subject and client_id = @client_id and revoked_at is null and expires_at > @now;

-- name: AllowGrant :one
-- A new grant, or what its person says of it now. Two answers at once make one.
insert into grants as g (organization_id, id, surface_id, project_id, kind, issuer, subject, client_id, client_name, asked, scopes,
    read_only, writes, approved_redirects, upstream_session_id, created_at, approved_at, expires_at)
values (@organization_id, @id, @surface_id, @project_id, 'client', @issuer, @subject, @client_id, @client_name, @asked, @scopes,
    @read_only, @writes, @approved_redirects, @upstream_session_id, @now, @now, @expires_at)
on conflict (organization_id, surface_id, kind, issuer, subject, client_id) where revoked_at is null do update set
    client_name = excluded.client_name, asked = excluded.asked, scopes = excluded.scopes, read_only = excluded.read_only,
    writes = excluded.writes, approved_redirects = excluded.approved_redirects, upstream_session_id = excluded.upstream_session_id,
    approved_at = excluded.approved_at, expires_at = excluded.expires_at
returning g.id;

-- name: RepeatGrant :execrows
-- The person signed in anew and was not asked again: nothing else changes.
update grants set upstream_session_id = @upstream_session_id
where organization_id = @organization_id and id = @id and revoked_at is null and expires_at > @now;

-- name: InsertPersonalGrant :execrows
-- 0 rows when the person has that many already.
insert into grants (organization_id, id, surface_id, project_id, kind, issuer, subject, client_id, client_name, asked, scopes,
    read_only, writes, upstream_session_id, token_hash, token_hint, created_at, approved_at, expires_at)
select @organization_id, @id, @surface_id, @project_id, 'personal', @issuer, @subject, @client_id, @client_name, @scopes, @scopes,
    @read_only, @writes, @upstream_session_id, @token_hash, @token_hint, @now, @now, @expires_at
where (select count(*) from grants g where g.organization_id = @organization_id and g.project_id = @project_id
    and g.issuer = @issuer and g.subject = @subject and g.kind = 'personal' and g.revoked_at is null and g.expires_at > @now) < @bound::integer;

-- name: GetGrantState :one
-- All that a request with one of the grant's tokens needs to know. ended are
-- the chains that ended since, for their access tokens may still be around.
select g.id, g.surface_id, g.project_id, g.kind, g.issuer, g.subject, g.client_id, g.scopes, g.read_only, g.writes,
    g.upstream_session_id, g.expires_at, g.first_call_at, g.revoked_at, g.revoked_why,
    u.ended_at as upstream_ended_at, u.role, u.anonymous,
    array(select c.id from refresh_chains c where c.organization_id = g.organization_id and c.grant_id = g.id and c.ended_at is null)::uuid[] as chains,
    array(select c.id from refresh_chains c where c.organization_id = g.organization_id and c.grant_id = g.id and c.ended_at > @since::timestamptz)::uuid[] as ended
from grants g
join upstream_sessions u on u.organization_id = g.organization_id and u.project_id = g.project_id and u.id = g.upstream_session_id
where g.organization_id = @organization_id and g.id = @id;

-- name: GetGrantUpstream :one
select upstream_session_id from grants where organization_id = @organization_id and id = @id;

-- name: StandingGrants :many
-- As chumbo_system: which of these grants stand, for the calls under way.
select g.id from grants g
join upstream_sessions u on u.organization_id = g.organization_id and u.id = g.upstream_session_id
where g.id = any(@ids::uuid[]) and g.revoked_at is null and g.expires_at > @now and u.ended_at is null;

-- name: FindPersonalGrant :one
select id from grants
where organization_id = @organization_id and surface_id = @surface_id and kind = 'personal' and token_hash = @token_hash;

-- name: ListGrantsOfPerson :many
select g.id, g.surface_id, g.subject, g.kind, g.client_id, g.client_name, g.scopes, g.read_only, g.writes, g.token_hint,
    g.created_at, g.approved_at, g.expires_at, g.last_used_at, g.revoked_at, g.revoked_why,
    s.live_revision, coalesce(r.title, '') as title
from grants g
join surfaces s on s.organization_id = g.organization_id and s.id = g.surface_id
left join revisions r on r.organization_id = s.organization_id and r.surface_id = s.id and r.number = s.live_revision
where g.organization_id = @organization_id and g.project_id = @project_id and g.issuer = @issuer and g.subject = @subject
    and (g.revoked_at is null and g.expires_at > @now or coalesce(g.revoked_at, g.expires_at) > @since)
order by (g.revoked_at is null and g.expires_at > @now) desc, g.approved_at desc, g.id desc
limit 500;

-- name: GetGrantOfPerson :one
select g.id, g.surface_id, g.kind, g.client_id, g.client_name, g.scopes, g.read_only, g.writes, g.upstream_session_id, g.expires_at, g.revoked_at,
    s.live_revision
from grants g
join surfaces s on s.organization_id = g.organization_id and s.id = g.surface_id
where g.organization_id = @organization_id and g.project_id = @project_id and g.issuer = @issuer and g.subject = @subject and g.id = @id
for update of g;

-- name: LimitGrant :execrows
-- Only ever called with less than there was, or after the person agreed to more.
update grants set read_only = @read_only, scopes = @scopes, writes = @writes
where organization_id = @organization_id and project_id = @project_id and issuer = @issuer and subject = @subject and id = @id
    and revoked_at is null and expires_at > @now;

-- name: ListGrantsOfSurface :many
-- Newest first, below the id given; a zero id is no bound.
select g.id, g.surface_id, g.subject, g.kind, g.client_id, g.client_name, g.scopes, g.read_only, g.writes, g.token_hint,
    g.created_at, g.approved_at, g.expires_at, g.last_used_at, g.revoked_at, g.revoked_why
from grants g
where g.organization_id = @organization_id and g.surface_id = @surface_id
    and (@after::uuid = '00000000-0000-0000-0000-000000000000' or g.id < @after::uuid)
order by g.id desc limit @page::integer;

-- name: SurfaceStands :one
select exists (select from surfaces where organization_id = @organization_id and id = @id);

-- name: RevokeGrant :one
-- No row when it is revoked already.
update grants set revoked_at = @now, revoked_why = @why
where organization_id = @organization_id and id = @id and revoked_at is null
returning id, surface_id, project_id, client_id, client_name, upstream_session_id;

-- name: RevokeGrantsOfUpstream :many
update grants set revoked_at = @now, revoked_why = @why
where organization_id = @organization_id and upstream_session_id = @upstream_session_id and revoked_at is null
returning id, surface_id, client_id, client_name;

-- name: RevokeGrantsOfEndedUpstreams :exec
-- After EndUpstreamsOfMovedProject.
update grants g set revoked_at = @now, revoked_why = @why
where g.organization_id = @organization_id and g.project_id = @project_id and g.revoked_at is null
    and exists (select from upstream_sessions u
        where u.organization_id = g.organization_id and u.id = g.upstream_session_id and u.ended_at is not null);

-- name: GetGrantOfSurface :one
select id, revoked_at from grants where organization_id = @organization_id and surface_id = @surface_id and id = @id;

-- name: TouchGrants :exec
update grants set last_used_at = @now
where organization_id = @organization_id and id = any(@ids::uuid[]) and revoked_at is null
    and (last_used_at is null or last_used_at < @now);

-- name: NoteFirstCall :execrows
update grants set first_call_at = @now
where organization_id = @organization_id and id = @id and first_call_at is null;

-- name: ListExpiredGrants :many
-- As chumbo_system, for the worker.
select organization_id, id from grants where revoked_at is null and expires_at < @before order by expires_at limit @batch::integer;
