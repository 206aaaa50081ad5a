-- Table: builder_sessions, browsers that are signed in. All of these run as
-- chumbo_system: the cookie says whose it is. Only hashes of it are stored.

-- name: InsertBuilderSession :exec
insert into builder_sessions (id, builder_id, organization_id, token_hash, address, agent, created_at, rotated_at, seen_at, expires_at)
values (@id, @builder_id, @organization_id, @token_hash, @address, @agent, @now, @now, @now, @expires_at);

-- name: GetBuilderSession :one
-- By the cookie's value or by the value before it.
select s.id, s.builder_id, s.organization_id, (s.token_hash = @hash)::boolean as is_current, s.previous_until,
    s.rotated_at, s.seen_at, s.expires_at, s.ended_at, b.email
from builder_sessions s
join builders b on b.id = s.builder_id
where s.token_hash = @hash or s.previous_hash = @hash;

-- name: RotateBuilderSession :execrows
-- 0 rows for whoever comes second with the same value.
update builder_sessions
set token_hash = @next_hash, previous_hash = @hash, previous_until = @previous_until, rotated_at = @now, seen_at = @now
where id = @id and token_hash = @hash and ended_at is null;

-- name: SeeBuilderSession :exec
update builder_sessions set seen_at = @now where id = @id;

-- name: ChooseOrganization :execrows
update builder_sessions set organization_id = @organization_id
where id = @id and builder_id = @builder_id and ended_at is null;

-- name: EndBuilderSession :execrows
update builder_sessions set ended_at = @now where id = @id and ended_at is null;

-- name: EndBuilderSessionsExcept :exec
-- Every session of a builder but one; the nil id spares none.
update builder_sessions set ended_at = @now where builder_id = @builder_id and id <> @id and ended_at is null;

-- name: DeleteStaleBuilderSessions :exec
-- A few at a time, and never in the way of somebody else.
delete from builder_sessions where id in (
    select s.id from builder_sessions s where s.expires_at < @before or s.ended_at < @before limit 100 for update skip locked);
