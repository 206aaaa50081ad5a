-- Table: upstream_sessions, sign-ins at the projects. All of these run as
-- chumbo_app, but for those that say otherwise. A refresh belongs to whoever
-- took the lease: refresh_by, until refresh_until.

-- name: InsertUpstream :exec
insert into upstream_sessions (organization_id, id, project_id, issuer, api_origin, subject, email, role, anonymous, kind, client_id,
    access_token, refresh_token, access_until, created_at, refreshed_at)
values (@organization_id, @id, @project_id, @issuer, @api_origin, @subject, @email, @role, @anonymous, @kind, @client_id,
    @access_token, @refresh_token, @access_until, @now, @now);

-- name: GetUpstream :one
select id, project_id, issuer, api_origin, subject, email, role, anonymous, kind, client_id, version, access_token, refresh_token,
    access_until, refresh_until, refreshed_at, ended_at, ended_why
from upstream_sessions where organization_id = @organization_id and project_id = @project_id and id = @id;

-- name: LeaseUpstream :execrows
-- Whoever gets the one row refreshes these tokens, until the lease ends.
update upstream_sessions set refresh_until = @until, refresh_by = @refresh_by
where organization_id = @organization_id and project_id = @project_id and id = @id and version = @version and ended_at is null
    and (refresh_until is null or refresh_until <= @now);

-- name: ReleaseUpstreamLease :exec
update upstream_sessions set refresh_until = null, refresh_by = null
where organization_id = @organization_id and project_id = @project_id and id = @id and refresh_by = @refresh_by;

-- name: StoreUpstream :execrows
-- 0 rows when the lease went to somebody else meanwhile, or the session ended.
update upstream_sessions set version = version + 1, access_token = @access_token, refresh_token = @refresh_token,
    access_until = @access_until, role = @role, anonymous = @anonymous, refreshed_at = @now, refresh_until = null, refresh_by = null
where organization_id = @organization_id and project_id = @project_id and id = @id and version = @version
    and refresh_by = @refresh_by and ended_at is null;

-- name: EndUpstreamUnderLease :execrows
-- By the holder of the lease, whom the project told that the session is gone.
update upstream_sessions set ended_at = @now, ended_why = @why, refresh_until = null, refresh_by = null, access_token = '', refresh_token = ''
where organization_id = @organization_id and project_id = @project_id and id = @id and version = @version
    and refresh_by = @refresh_by and ended_at is null;

-- name: LockUpstream :one
-- Against EndUnneededUpstream: what is locked stands until the transaction ends.
select id, role, anonymous from upstream_sessions
where organization_id = @organization_id and project_id = @project_id and id = @id and issuer = @issuer
    and api_origin = @api_origin and subject = @subject and ended_at is null
for share;

-- name: LockUpstreamToEnd :one
select issuer, api_origin, kind, client_id, access_token, refresh_token, access_until from upstream_sessions
where organization_id = @organization_id and project_id = @project_id and id = @id and ended_at is null
for update;

-- name: EndUnneededUpstream :execrows
-- After LockUpstreamToEnd: 0 rows while a grant, a visit or a sign-in under way
-- still refers to the session. The tokens go with it.
update upstream_sessions u set ended_at = @now, ended_why = @why, refresh_until = null, refresh_by = null, access_token = '', refresh_token = ''
where u.organization_id = @organization_id and u.project_id = @project_id and u.id = @id and u.ended_at is null
    and not exists (select from grants g where g.organization_id = u.organization_id and g.upstream_session_id = u.id
        and g.revoked_at is null and g.expires_at > @now)
    and not exists (select from end_user_sessions v where v.organization_id = u.organization_id and v.upstream_session_id = u.id
        and v.ended_at is null and v.expires_at > @now)
    and not exists (select from sign_ins i where i.organization_id = u.organization_id
        and (i.upstream_session_id = u.id or i.hand_over_session_id = u.id) and i.finished_at is null and i.expires_at > @now);

-- name: ListUnneededUpstreams :many
-- As chumbo_system, for the worker: sessions since before that time which
-- nothing refers to.
select u.organization_id, u.project_id, u.id from upstream_sessions u
where u.ended_at is null and u.refreshed_at < @before and u.id > @after
    and not exists (select from grants g where g.organization_id = u.organization_id and g.upstream_session_id = u.id
        and g.revoked_at is null and g.expires_at > @now)
    and not exists (select from end_user_sessions v where v.organization_id = u.organization_id and v.upstream_session_id = u.id
        and v.ended_at is null and v.expires_at > @now)
    and not exists (select from sign_ins i where i.organization_id = u.organization_id
        and (i.upstream_session_id = u.id or i.hand_over_session_id = u.id) and i.finished_at is null and i.expires_at > @now)
order by u.id limit @batch::integer;

-- name: DeleteOldUpstreams :execrows
-- As chumbo_system, for the worker. A session that any grant names stays, for
-- the grant's tombstone goes with it.
delete from upstream_sessions d where d.id in (
    select u.id from upstream_sessions u
    where u.ended_at < @before
        and not exists (select from grants g where g.organization_id = u.organization_id and g.upstream_session_id = u.id)
    limit @batch::integer);

-- name: EndUpstreamsOfMovedProject :exec
-- With the change of the project: sessions at what it was before. The tokens
-- go with them, before anything can send them to where it is now.
update upstream_sessions set ended_at = @now, ended_why = @why, refresh_until = null, refresh_by = null, access_token = '', refresh_token = ''
where organization_id = @organization_id and project_id = @project_id and (issuer, api_origin) <> (@issuer, @api_origin)
    and ended_at is null;

-- name: ProjectForUpstream :one
-- What a project is reached with.
select id, slug, name, api_origin, issuer, jwks_uri, publishable_key from projects
where organization_id = @organization_id and id = @id;
