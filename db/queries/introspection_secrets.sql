-- Table: introspection_secrets. All of these run as chumbo_app.

-- name: PutIntrospectionSecret :exec
insert into introspection_secrets (organization_id, surface_id, secret, updated_by, updated_at)
values (@organization_id, @surface_id, @secret, @updated_by, @now)
on conflict (organization_id, surface_id) do update set
    secret = excluded.secret, updated_by = excluded.updated_by, updated_at = excluded.updated_at;

-- name: GetIntrospectionSecret :one
select secret, updated_at from introspection_secrets where organization_id = @organization_id and surface_id = @surface_id;

-- name: DeleteIntrospectionSecret :execrows
delete from introspection_secrets where organization_id = @organization_id and surface_id = @surface_id;
