-- Table: device_authorizations (RFC 8628). All of these run as chumbo_system:
-- a code belongs to no organization until a builder decides.

-- name: InsertDevice :execrows
-- 0 rows when the user code is in use.
insert into device_authorizations (id, device_hash, user_code_hash, client_name, scope, address, created_at, expires_at, interval_s)
values (@id, @device_hash, @user_code_hash, @client_name, @scope, @address, @now, @expires_at, @interval_s)
on conflict (user_code_hash) do nothing;

-- name: LockDevice :one
select id, client_name, scope, address, expires_at, polled_at, interval_s, organization_id, builder_id, decision, consumed_at
from device_authorizations where device_hash = @device_hash for update;

-- name: LockPendingDevice :one
select id, client_name, scope, address, created_at, expires_at
from device_authorizations
where user_code_hash = @user_code_hash and decision is null and expires_at > @now
for update;

-- name: DecideDevice :exec
update device_authorizations
set decision = @decision::text, organization_id = @organization_id::uuid, builder_id = @builder_id::uuid, scope = @scope
where id = @id and decision is null;

-- name: NoteDevicePoll :exec
update device_authorizations set polled_at = @now, interval_s = @interval_s where id = @id;

-- name: ConsumeDevice :exec
update device_authorizations set consumed_at = @now where id = @id;

-- name: DeleteStaleDevices :exec
-- A few at a time, and never in the way of somebody else.
delete from device_authorizations where id in (
    select d.id from device_authorizations d where d.expires_at < @before limit 100 for update skip locked);
