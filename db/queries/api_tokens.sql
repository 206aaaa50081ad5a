-- Table: api_tokens. The token is shown once; its SHA-256 is stored.

-- name: InsertAPIToken :exec
insert into api_tokens (organization_id, id, builder_id, name, token_hash, scope, created_at, expires_at)
values (@organization_id, @id, @builder_id, @name, @token_hash, @scope, @now, @expires_at);

-- name: GetAPITokenByHash :one
-- As chumbo_system: the token says whose it is. The hash is unique.
select t.id, t.expires_at, t.revoked_at, t.last_used_at, t.scope, m.role,
    o.id as organization_id, o.slug as organization_slug, o.name as organization_name,
    b.id as builder_id, b.email as builder_email
from api_tokens t
join members m on m.organization_id = t.organization_id and m.builder_id = t.builder_id
join organizations o on o.id = t.organization_id
join builders b on b.id = t.builder_id
where t.token_hash = @token_hash;

-- name: TouchAPIToken :exec
update api_tokens set last_used_at = @now where organization_id = @organization_id and id = @id;

-- name: ListAPITokens :many
-- As chumbo_system, which may read the builders' emails.
select t.id, t.name, t.scope, t.created_at, t.expires_at, t.last_used_at, b.id as builder_id, b.email as builder_email
from api_tokens t
join builders b on b.id = t.builder_id
where t.organization_id = @organization_id and t.revoked_at is null
order by t.created_at desc, t.id desc;

-- name: RevokeAPIToken :execrows
-- any_builder: not only the tokens of builder_id.
update api_tokens set revoked_at = @now
where organization_id = @organization_id and id = @id and revoked_at is null
    and (@any_builder::boolean or builder_id = @builder_id);
