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
-- 0 rows when the organization has a project of that slug already.
insert into projects (organization_id, id, slug, name, typed_url, api_origin, issuer, jwks_uri, publishable_key,
    signing, oauth_enabled, scopes_supported, created_at, updated_at)
values (@organization_id, @id, @slug, @name, @typed_url, @api_origin, @issuer, @jwks_uri, @publishable_key,
    @signing, @oauth_enabled, @scopes_supported, @now, @now)
on conflict (slug) do nothing;

-- name: UpdateProjectFacts :one
update projects set typed_url = @typed_url, api_origin = @api_origin, issuer = @issuer, jwks_uri = @jwks_uri,
    publishable_key = @publishable_key, signing = @signing, oauth_enabled = @oauth_enabled,
    scopes_supported = @scopes_supported, updated_at = @now,
    verified_at = case when api_origin = @api_origin then verified_at end
where organization_id = @organization_id and id = @id
returning organization_id, id, slug, name, typed_url, api_origin, issuer, jwks_uri, publishable_key, signing,
    oauth_enabled, scopes_supported, verified_at, created_at, updated_at, ownership_token, verified_by,
    ownership_checked_at, ownership_misses, taken_over_at, catalog_token, catalog_relations,
    registration_enabled, findings, probed_at;

-- name: GetProjectBySlug :one
select organization_id, id, slug, name, typed_url, api_origin, issuer, jwks_uri, publishable_key, signing,
    oauth_enabled, scopes_supported, verified_at, created_at, updated_at, ownership_token, verified_by,
    ownership_checked_at, ownership_misses, taken_over_at, catalog_token, catalog_relations,
    registration_enabled, findings, probed_at
from projects where organization_id = @organization_id and slug = @slug;

-- name: GetProject :one
select organization_id, id, slug, name, typed_url, api_origin, issuer, jwks_uri, publishable_key, signing,
    oauth_enabled, scopes_supported, verified_at, created_at, updated_at, ownership_token, verified_by,
    ownership_checked_at, ownership_misses, taken_over_at, catalog_token, catalog_relations,
    registration_enabled, findings, probed_at
from projects where organization_id = @organization_id and id = @id;

-- name: ListProjects :many
select organization_id, id, slug, name, typed_url, api_origin, issuer, jwks_uri, publishable_key, signing,
    oauth_enabled, scopes_supported, verified_at, created_at, updated_at, ownership_token, verified_by,
    ownership_checked_at, ownership_misses, taken_over_at, catalog_token, catalog_relations,
    registration_enabled, findings, probed_at
from projects where organization_id = @organization_id order by slug;
