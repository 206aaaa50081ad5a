-- Table: organizations, the tenant. All of these run as chumbo_system except
-- GetOrganization.

-- name: ClaimInstanceFact :execrows
-- Writes a fact once; 0 rows when it is there already.
insert into instance_facts (name, value) values (@name, @value) on conflict (name) do nothing;

-- name: InsertOrganization :execrows
-- 0 rows when the slug is taken.
insert into organizations (id, slug, name, created_at) values (@id, @slug, @name, @now) on conflict (slug) do nothing;

-- name: GetOrganization :one
select id, slug, name, created_at from organizations where id = @organization_id::uuid;
