-- Table: project_logos, one a project.

-- name: PutProjectLogo :exec
insert into project_logos (organization_id, project_id, digest, png, created_at)
values (@organization_id, @project_id, @digest, @png, @now)
on conflict (organization_id, project_id) do update set digest = excluded.digest, png = excluded.png, created_at = excluded.created_at;

-- name: DeleteProjectLogo :exec
delete from project_logos where organization_id = @organization_id and project_id = @project_id;

-- name: SetProjectLogoDigest :exec
update projects set logo_digest = sqlc.narg('digest')::bytea, updated_at = @now where organization_id = @organization_id and id = @id;

-- name: ProjectLogoByDigest :one
-- As chumbo_system: the digest is in public pages, and names the same picture
-- whosever it is.
select png from project_logos where digest = @digest limit 1;
