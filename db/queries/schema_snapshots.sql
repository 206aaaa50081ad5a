-- Table: schema_snapshots, what is known of a project's database, by digest.
-- The latest is the one put last.

-- name: HasProject :one
select exists (select from projects p where p.organization_id = @organization_id and p.id = @project_id);

-- name: PutSchemaSnapshot :exec
insert into schema_snapshots (organization_id, project_id, digest, snapshot, source, created_at)
values (@organization_id, @project_id, @digest, @snapshot, @source, @now)
on conflict (organization_id, project_id, digest) do update set created_at = excluded.created_at, source = excluded.source;

-- name: GetLatestSchemaSnapshot :one
select digest, snapshot, source, created_at from schema_snapshots
where organization_id = @organization_id and project_id = @project_id
order by created_at desc, digest limit 1;

-- name: GetSchemaSnapshot :one
select digest, snapshot, source, created_at from schema_snapshots
where organization_id = @organization_id and project_id = @project_id and digest = @digest;
