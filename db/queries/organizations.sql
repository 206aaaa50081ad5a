-- Tables: organizations, builders. An organization is the
-- tenant; a builder may be a member of several. All of these run as
-- chumbo_system except GetOrganization.

-- name: ClaimInstanceFact :execrows
-- Writes a fact once; 0 rows when it is there already.
insert into instance_facts (name, value) values (@name, @value) on conflict (name) do nothing;

-- name: InsertOrganization :execrows
-- 0 rows when the slug is taken.
insert into organizations (id, slug, name, created_at) values (@id, @slug, @name, @now) on conflict (slug) do nothing;

-- name: InsertBuilder :exec
insert into builders (id, email, created_at) values (@id, @email, @now) on conflict (lower(email)) do nothing;

-- name: GetBuilderByEmail :one
select id, email, created_at from builders where lower(email) = lower(@email);

-- name: GetOrganization :one
select id, slug, name, created_at from organizations where id = @organization_id::uuid;
