-- Table: end_user_sessions, browsers whose person signed in to one project.

-- name: InsertVisit :execrows
insert into end_user_sessions (organization_id, id, project_id, upstream_session_id, token_hash, created_at, expires_at)
select @organization_id, @id, @project_id, u.id, @token_hash, @now, @expires_at
from upstream_sessions u
where u.organization_id = @organization_id and u.project_id = @project_id and u.id = @upstream_session_id;

-- name: GetVisit :one
-- Only while the session at the project stands.
select v.id, v.upstream_session_id, u.issuer, u.subject, u.email
from end_user_sessions v
join upstream_sessions u on u.organization_id = v.organization_id and u.project_id = v.project_id and u.id = v.upstream_session_id
where v.organization_id = @organization_id and v.project_id = @project_id and v.token_hash = @token_hash
    and v.ended_at is null and v.expires_at > @now and u.ended_at is null;

-- name: FindVisit :one
-- As chumbo_system: whose it is.
select organization_id from end_user_sessions where token_hash = @token_hash and project_id = @project_id;

-- name: EndVisit :exec
update end_user_sessions set ended_at = @now
where organization_id = @organization_id and project_id = @project_id and token_hash = @token_hash and ended_at is null;
