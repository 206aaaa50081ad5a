-- Table: invocations, one row per capability call. COPY does not work under
-- Row Level Security, so a batch is one INSERT over arrays.

-- name: InsertInvocations :exec
insert into invocations (organization_id, id, at, surface_id, revision, method, capability, mode, client_id, protocol,
    outcome, error_kind, duration_us, project_us, result_bytes, request_id, upstream_id, actor)
select unnest(@organization_id::uuid[]), unnest(@id::uuid[]), unnest(@at::timestamptz[]), unnest(@surface_id::uuid[]),
    unnest(@revision::integer[]), unnest(@method::text[]), unnest(@capability::text[]), unnest(@mode::text[]),
    unnest(@client_id::text[]), unnest(@protocol::text[]), unnest(@outcome::text[]), unnest(@error_kind::text[]),
    unnest(@duration_us::bigint[]), unnest(@project_us::bigint[]), unnest(@result_bytes::bigint[]),
    unnest(@request_id::text[]), unnest(@upstream_id::text[]), unnest(@actor::text[]);

-- name: DeleteInvocationsBefore :execrows
-- In batches, so that retention never holds a long lock. Worker only.
delete from invocations
where (organization_id, id) in (
    select i.organization_id, i.id from invocations i where i.at < @before order by i.at limit @batch);

-- name: SumInvocations :one
-- Of one surface since a moment: what was called, how it ended, how long it
-- took. A client counts when it only listed, too.
select count(*) filter (where capability <> '')::bigint as calls,
    count(*) filter (where capability <> '' and outcome in ('error', 'tool_error'))::bigint as errors,
    count(*) filter (where capability <> '' and outcome = 'refused')::bigint as refused,
    count(distinct client_id) filter (where client_id <> '')::bigint as clients,
    coalesce(percentile_disc(0.5) within group (order by duration_us) filter (where capability <> ''), 0)::bigint as p50_us,
    coalesce(percentile_disc(0.95) within group (order by duration_us) filter (where capability <> ''), 0)::bigint as p95_us,
    coalesce(max(at), 'epoch')::timestamptz as last_at
from invocations
where organization_id = @organization_id and surface_id = @surface_id and at >= @since;
