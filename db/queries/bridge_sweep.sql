-- What the worker cleans up after sign-ins, some at a time. All of these run
-- as chumbo_system.

-- name: DeleteOldSignIns :execrows
-- A used code is remembered as long as its sign-in is.
delete from sign_ins d where d.id in (
    select i.id from sign_ins i where i.expires_at < @before order by i.expires_at limit @batch::integer);

-- name: DeleteOldVisits :execrows
delete from end_user_sessions d where d.id in (
    select v.id from end_user_sessions v where v.expires_at < @before or v.ended_at < @before limit @batch::integer);

-- name: DeleteOldLimits :execrows
delete from bridge_limits d where d.key in (
    select l.key from bridge_limits l where l.window_start < @before limit @batch::integer for update skip locked);
