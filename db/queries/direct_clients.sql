-- Table: direct_clients, OAuth clients whose tokens of a project were verified
-- at one of its surfaces. All of these run as chumbo_app.

-- name: TouchDirectClient :one
-- Of a client that is known; no row otherwise.
update direct_clients set last_used_at = greatest(last_used_at, @now)
where organization_id = @organization_id and project_id = @project_id and client_id = @client_id
returning surface_id;

-- name: CountDirectClients :one
-- Of a project, as far as matters.
select count(*) from (
    select 1 from direct_clients where organization_id = @organization_id and project_id = @project_id limit @most
) known;

-- name: NoteDirectClient :one
-- The first surface stays, whoever else comes at the same time; the row tells
-- which it is.
insert into direct_clients as c (organization_id, project_id, client_id, surface_id, first_seen_at, last_used_at)
values (@organization_id, @project_id, @client_id, @surface_id, @now, @now)
on conflict (organization_id, project_id, client_id) do update set last_used_at = greatest(c.last_used_at, excluded.last_used_at)
returning c.surface_id;

-- name: NameDirectClient :exec
update direct_clients set name = @name
where organization_id = @organization_id and project_id = @project_id and client_id = @client_id and name <> @name;

-- name: ListDirectClients :many
-- Of a project, last used first.
select c.client_id, c.surface_id, s.slug as surface_slug, c.name, c.first_seen_at, c.last_used_at
from direct_clients c
join surfaces s on s.organization_id = c.organization_id and s.id = c.surface_id
where c.organization_id = @organization_id and c.project_id = @project_id
order by c.last_used_at desc, c.client_id
limit @most;
