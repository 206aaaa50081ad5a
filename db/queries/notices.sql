-- Table: notices, what an organization must be told until it says it has read
-- it.

-- name: InsertNotice :exec
insert into notices (organization_id, id, kind, project_id, text, created_at)
values (@organization_id, @id, @kind, @project_id, @text, @now);

-- name: ListNotices :many
select id, kind, project_id, text, created_at from notices
where organization_id = @organization_id and dismissed_at is null
order by created_at desc, id desc limit 50;

-- name: DismissNotice :execrows
-- Read twice is read.
update notices set dismissed_at = coalesce(dismissed_at, @now::timestamptz) where organization_id = @organization_id and id = @id;
