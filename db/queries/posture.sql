-- Tables: surfaces, revisions, as posture looks at them.

-- name: ListLiveCompiled :many
-- What every surface of a project serves.
select r.surface_id, r.format, r.compiled
from surfaces s
join revisions r on r.organization_id = s.organization_id and r.surface_id = s.id and r.number = s.live_revision
where s.organization_id = @organization_id and s.project_id = @project_id
order by r.surface_id;
