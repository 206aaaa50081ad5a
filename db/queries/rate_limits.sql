-- Table: rate_windows, what was leased of a rate limit in its current window. The
-- file is not named after it: Go leaves out files that end in _windows. All of
-- these run as chumbo_system.

-- name: LeaseRate :one
-- Leases up to a block, which is never more than the bound, in the window that
-- is named; or, where a server with a faster clock is ahead, in that one's. No
-- row: the window is full.
insert into rate_windows as w (key, window_start, used, leased)
values (@key, @window_start, @block, @block)
on conflict (key) do update set
    leased = case when w.window_start < excluded.window_start then excluded.leased else least(excluded.leased, sqlc.arg(bound)::integer - w.used) end,
    used = case when w.window_start < excluded.window_start then excluded.used else least(w.used + excluded.leased, sqlc.arg(bound)::integer) end,
    window_start = greatest(w.window_start, excluded.window_start)
where w.window_start < excluded.window_start or w.used < sqlc.arg(bound)::integer
returning w.leased, w.window_start;

-- name: DeleteRateWindows :execrows
-- Those that began before the one time or, by a wrong clock, after the other.
-- In batches, so that clean-up never holds a long lock. Worker only.
delete from rate_windows where key in (
    select r.key from rate_windows r where r.window_start < @before or r.window_start > @after
    order by r.window_start limit @batch);
