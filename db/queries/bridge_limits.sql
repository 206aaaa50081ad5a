-- Table: bridge_limits, how often something was tried in a window of time. All
-- of these run as chumbo_system.

-- name: CountLimited :execrows
-- Counts one; 0 rows when the window is full.
insert into bridge_limits as l (key, window_start, used)
values (@key, @now, 1)
on conflict (key) do update set
    used = case when l.window_start <= @window_floor then 1 else l.used + 1 end,
    window_start = case when l.window_start <= @window_floor then @now else l.window_start end
where l.window_start <= @window_floor or l.used < @bound::integer;

-- name: LimitStarted :one
select window_start from bridge_limits where key = @key;

-- name: ForgetLimit :exec
delete from bridge_limits where key = @key;
