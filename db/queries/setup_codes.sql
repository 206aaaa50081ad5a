-- Table: setup_codes, one row while the instance has no owner. All of these
-- run as chumbo_system.

-- name: PutSetupCode :exec
-- The same code again keeps its count of wrong tries.
insert into setup_codes as s (code_hash, created_at) values (@code_hash, @now)
on conflict (one) do update set
    tries = case when s.code_hash = excluded.code_hash then s.tries else 0 end,
    code_hash = excluded.code_hash, created_at = excluded.created_at;

-- name: LockSetupCode :one
select code_hash, tries from setup_codes for update;

-- name: CountSetupTry :exec
update setup_codes set tries = tries + 1;

-- name: DeleteSetupCode :exec
delete from setup_codes;
