-- Table: create_keys, what makes repeated creates the same one. Runs as
-- chumbo_system.

-- name: CreateKey :one
-- The key of a digest: the one there is, or the one given where there is none or
-- its time is over. Each call clears a few others whose time is over, so that
-- nothing else has to.
with swept as (
    delete from create_keys where digest in (
        select c.digest from create_keys c
        where c.expires_at <= sqlc.arg(now)::timestamptz and c.digest <> @digest
        order by c.expires_at limit 16 for update skip locked)
)
insert into create_keys as k (digest, key, expires_at)
values (@digest, @key, @expires_at)
on conflict (digest) do update set
    key = case when k.expires_at <= sqlc.arg(now)::timestamptz then excluded.key else k.key end,
    expires_at = case when k.expires_at <= sqlc.arg(now)::timestamptz then excluded.expires_at else k.expires_at end
returning k.key;
