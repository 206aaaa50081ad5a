-- Table: registrations, projects being registered. Kept for a day.

-- name: InsertRegistration :exec
insert into registrations (organization_id, id, builder_id, typed_url, created_at)
values (@organization_id, @id, @builder_id, @typed_url, @now);

-- name: GetRegistration :one
select id, typed_url, publishable_key, slug, name, findings, finished_at, project_id, created_at
from registrations where organization_id = @organization_id and id = @id and created_at > @since;

-- name: UpdateRegistration :execrows
-- 0 rows when it is gone, or the project is none of the organization's.
update registrations r set typed_url = @typed_url, publishable_key = @publishable_key, slug = @slug, name = @name, findings = @findings,
    finished_at = @finished_at, project_id = sqlc.narg(project_id)
where r.organization_id = @organization_id and r.id = @id and r.created_at > @since
    and (sqlc.narg(project_id)::uuid is null
        or exists (select from projects p where p.organization_id = @organization_id and p.id = sqlc.narg(project_id)));

-- name: ForgetProjectOfRegistrations :exec
update registrations set project_id = null where organization_id = @organization_id and project_id = @project_id;

-- name: DeleteOldRegistrations :execrows
-- As chumbo_system, of every organization.
delete from registrations where created_at <= @before;
