-- Table: api_keys, keys that applications call a surface with. All of these run
-- as chumbo_app.

-- name: InsertAPIKey :exec
insert into api_keys (organization_id, id, surface_id, name, key_hash, hint, scopes, created_by, created_at, expires_at)
values (@organization_id, @id, @surface_id, @name, @key_hash, @hint, @scopes, @created_by, @now, @expires_at);

-- name: GetAPIKeyByHash :one
-- For admission: whether it stands is decided by who reads it.
select id, scopes, expires_at, revoked_at, last_used_at
from api_keys
where organization_id = @organization_id and surface_id = @surface_id and key_hash = @key_hash;

-- name: ListAPIKeys :many
-- Newest first, after a key where one is named.
select k.id, k.name, k.hint, k.scopes, k.created_by, k.created_at, k.expires_at, k.last_used_at, k.revoked_at
from api_keys k
where k.organization_id = @organization_id and k.surface_id = @surface_id
    and (sqlc.narg('after')::uuid is null or k.id < sqlc.narg('after')::uuid)
order by k.id desc
limit @most;

-- name: CountLiveAPIKeys :one
select count(*) from api_keys
where organization_id = @organization_id and surface_id = @surface_id and revoked_at is null and (expires_at is null or expires_at > @now);

-- name: RevokeAPIKey :execrows
update api_keys set revoked_at = @now
where organization_id = @organization_id and surface_id = @surface_id and id = @id and revoked_at is null;

-- name: TouchAPIKeys :exec
update api_keys set last_used_at = @now where organization_id = @organization_id and id = any(@ids::uuid[]);
