-- Table: connection_steps, the story of attempts to connect. A batch is one
-- INSERT over arrays, like that of invocations; a nil UUID stands for none.

-- name: InsertConnectionSteps :exec
insert into connection_steps (organization_id, id, at, surface_id, step, outcome, code, address, client_id, client_name,
    client_version, agent, sign_in_id, grant_id, request_id)
select unnest(@organization_id::uuid[]), unnest(@id::uuid[]), unnest(@at::timestamptz[]), unnest(@surface_id::uuid[]),
    unnest(@step::text[]), unnest(@outcome::text[]), unnest(@code::text[]), unnest(@address::bytea[]), unnest(@client_id::text[]),
    unnest(@client_name::text[]), unnest(@client_version::text[]), unnest(@agent::text[]),
    nullif(unnest(@sign_in_id::uuid[]), '00000000-0000-0000-0000-000000000000'),
    nullif(unnest(@grant_id::uuid[]), '00000000-0000-0000-0000-000000000000'), unnest(@request_id::text[]);

-- name: DeleteConnectionStepsBefore :execrows
-- In batches, so that retention never holds a long lock. Worker only.
delete from connection_steps
where (organization_id, id) in (
    select c.organization_id, c.id from connection_steps c where c.at < @before order by c.at limit @batch);

-- name: ListConnectionSteps :many
-- Of one surface within a span of time, the newest first.
select id, at, step, outcome, code, address, client_id, client_name, client_version, agent, sign_in_id, grant_id, request_id
from connection_steps
where organization_id = @organization_id and surface_id = @surface_id and at >= @since and at < @until
order by at desc, id desc limit @most;
