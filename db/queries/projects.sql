-- Tables: projects, name_claims. A name that ever served stays its
-- organization's for good.

-- name: ClaimName :exec
-- Then GetNameClaim: under Row Level Security it finds only one's own claim.
insert into name_claims (kind, name, organization_id, claimed_at)
values (@kind, @name, @organization_id, @now) on conflict (kind, name) do nothing;

-- name: GetNameClaim :one
select claimed_at from name_claims
where organization_id = @organization_id and kind = @kind and name = @name;

-- name: InsertProject :execrows
-- 0 rows when there is a project of that slug already.
insert into projects (organization_id, id, slug, name, typed_url, api_origin, issuer, jwks_uri, publishable_key,
    signing, oauth_enabled, scopes_supported, registration_enabled, findings, probed_at, ownership_token, created_at, updated_at)
values (@organization_id, @id, @slug, @name, @typed_url, @api_origin, @issuer, @jwks_uri, @publishable_key,
    @signing, @oauth_enabled, @scopes_supported, @registration_enabled, @findings, @now, @ownership_token, @now, @now)
on conflict (slug) do nothing;

-- name: UpdateProjectFacts :one
-- A project whose API origin moved is unproven, whatever was known of it before;
-- so is one whose tokens are from now on issued in the name of another origin.
update projects set typed_url = @typed_url, api_origin = @api_origin, issuer = @issuer, jwks_uri = @jwks_uri,
    publishable_key = @publishable_key, signing = @signing, oauth_enabled = @oauth_enabled,
    scopes_supported = @scopes_supported, registration_enabled = @registration_enabled, findings = @findings,
    probed_at = @now, updated_at = @now,
    verified_at = case when api_origin = @api_origin and (issuer = @issuer or not @split_issuer::boolean) then verified_at end,
    verified_by = case when api_origin = @api_origin and (issuer = @issuer or not @split_issuer::boolean) then verified_by end,
    ownership_checked_at = case when api_origin = @api_origin and (issuer = @issuer or not @split_issuer::boolean) then ownership_checked_at end,
    ownership_due_at = case when api_origin = @api_origin and (issuer = @issuer or not @split_issuer::boolean) then ownership_due_at end,
    ownership_misses = case when api_origin = @api_origin and (issuer = @issuer or not @split_issuer::boolean) then ownership_misses else 0 end,
    taken_over_at = case when api_origin = @api_origin and (issuer = @issuer or not @split_issuer::boolean) then taken_over_at end
where organization_id = @organization_id and id = @id
returning organization_id, id, slug, name, typed_url, api_origin, issuer, jwks_uri, publishable_key, signing,
    oauth_enabled, scopes_supported, verified_at, created_at, updated_at, ownership_token, verified_by,
    ownership_checked_at, ownership_misses, ownership_due_at, taken_over_at, catalog_token, catalog_relations,
    registration_enabled, findings, probed_at, logo_digest;

-- name: SetProjectSlug :execrows
update projects set slug = @slug, updated_at = @now where organization_id = @organization_id and id = @id;

-- name: SetProjectName :execrows
update projects set name = @name, updated_at = @now where organization_id = @organization_id and id = @id;

-- name: LockProject :one
-- Nothing else changes the project, or puts something under it, until the end.
select id from projects where organization_id = @organization_id and id = @id for update;

-- name: ProjectServedAt :one
-- The slug of another project of the organization that answers at URLs with
-- this name: its first path segment on the shared host, or its host label.
select p.slug from surface_urls u
join surfaces s on s.organization_id = u.organization_id and s.id = u.surface_id
join projects p on p.organization_id = s.organization_id and p.id = s.project_id
where u.organization_id = @organization_id and p.id <> @project_id
    and (u.host = '' and split_part(u.path, '/', 2) = @name::text or u.host = @name::text || '.*')
limit 1;

-- name: ClaimHostsOfProject :exec
-- What served is never given to another organization, also when it is gone.
insert into name_claims (kind, name, organization_id, claimed_at)
select 'host', d.host, d.organization_id, @now from domains d
where d.organization_id = @organization_id and d.project_id = @project_id and d.verified_at is not null
on conflict (kind, name) do nothing;

-- name: DeleteDomainsOfProject :exec
delete from domains where organization_id = @organization_id and project_id = @project_id;

-- name: DeleteSnapshotsOfProject :exec
delete from schema_snapshots where organization_id = @organization_id and project_id = @project_id;

-- name: DeleteProject :execrows
delete from projects where organization_id = @organization_id and id = @id;

-- name: GetProjectBySlug :one
select organization_id, id, slug, name, typed_url, api_origin, issuer, jwks_uri, publishable_key, signing,
    oauth_enabled, scopes_supported, verified_at, created_at, updated_at, ownership_token, verified_by,
    ownership_checked_at, ownership_misses, ownership_due_at, taken_over_at, catalog_token, catalog_relations,
    registration_enabled, findings, probed_at, logo_digest
from projects where organization_id = @organization_id and slug = @slug;

-- name: GetProject :one
select organization_id, id, slug, name, typed_url, api_origin, issuer, jwks_uri, publishable_key, signing,
    oauth_enabled, scopes_supported, verified_at, created_at, updated_at, ownership_token, verified_by,
    ownership_checked_at, ownership_misses, ownership_due_at, taken_over_at, catalog_token, catalog_relations,
    registration_enabled, findings, probed_at, logo_digest
from projects where organization_id = @organization_id and id = @id;

-- name: ListProjects :many
select organization_id, id, slug, name, typed_url, api_origin, issuer, jwks_uri, publishable_key, signing,
    oauth_enabled, scopes_supported, verified_at, created_at, updated_at, ownership_token, verified_by,
    ownership_checked_at, ownership_misses, ownership_due_at, taken_over_at, catalog_token, catalog_relations,
    registration_enabled, findings, probed_at, logo_digest
from projects where organization_id = @organization_id order by slug;
