-- Table: introspection_secrets. All of these run as chumbo_app.

-- name: PutIntrospectionSecret :exec
-- It is for the issuer that the live revision asks, or, where that asks nobody,
-- for the first that is asked.
insert into introspection_secrets (organization_id, surface_id, secret, updated_by, updated_at, issuer)
values (@organization_id, @surface_id, @secret, @updated_by, @now, coalesce((
    select r.access -> 'issuer' ->> 'url' from surfaces s
    join revisions r on r.organization_id = s.organization_id and r.surface_id = s.id and r.number = s.live_revision
    where s.organization_id = @organization_id and s.id = @surface_id and r.access -> 'issuer' ? 'introspection'), ''))
on conflict (organization_id, surface_id) do update set
    secret = excluded.secret, updated_by = excluded.updated_by, updated_at = excluded.updated_at, issuer = excluded.issuer;

-- name: GetIntrospectionSecret :one
select secret, updated_at, issuer from introspection_secrets where organization_id = @organization_id and surface_id = @surface_id;

-- name: BindIntrospectionSecret :one
-- Says whom the secret is for where that was open; whoever is first stays. The
-- secret comes along: another one may have been set meanwhile.
update introspection_secrets set issuer = case when issuer = '' then @issuer else issuer end
where organization_id = @organization_id and surface_id = @surface_id
returning secret, updated_at, issuer;

-- name: DeleteIntrospectionSecret :execrows
delete from introspection_secrets where organization_id = @organization_id and surface_id = @surface_id;
