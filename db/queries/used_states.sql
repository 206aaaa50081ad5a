-- Table: used_states, what may be used once only: assertions of clients, and the
-- states of calls that wait for an answer.

-- name: UseState :execrows
-- 0 rows when it was used before.
insert into used_states (organization_id, jti, expires_at) values (@organization_id, @jti, @expires_at)
on conflict (organization_id, jti) do nothing;

-- name: DeleteExpiredStates :execrows
-- As chumbo_system.
delete from used_states where (organization_id, jti) in (
    select u.organization_id, u.jti from used_states u where u.expires_at < @now limit @room::integer);
