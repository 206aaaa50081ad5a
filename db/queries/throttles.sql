-- Table: throttles, counts of tries by a keyed hash. All of these run as
-- chumbo_system.

-- name: CountTry :execrows
-- Counts one try; 0 rows when the key is blocked. The try that reaches the
-- bound still goes, and blocks those after it.
insert into throttles as t (key, failures, window_start, blocked_until)
values (@key, 1, @now, null)
on conflict (key) do update set
    failures = case when t.blocked_until is not null or t.window_start <= @window_floor then 1 else t.failures + 1 end,
    window_start = case when t.blocked_until is not null or t.window_start <= @window_floor then @now else t.window_start end,
    blocked_until = case when t.blocked_until is null and t.window_start > @window_floor and t.failures + 1 >= @bound::integer
        then @block_until::timestamptz end
where t.blocked_until is null or t.blocked_until <= @now;

-- name: BlockedUntil :one
select blocked_until from throttles where key = @key;

-- name: UncountTry :exec
-- A try that was right after all.
update throttles set failures = greatest(failures - 1, 0), blocked_until = null where key = @key;

-- name: ForgetTries :exec
delete from throttles where key = @key;

-- name: DeleteStaleThrottles :exec
-- A few at a time, and never in the way of somebody else.
delete from throttles where key in (
    select t.key from throttles t where t.window_start < @before limit 100 for update skip locked);

-- name: TouchThrottle :exec
-- Writes and changes nothing.
update throttles set failures = failures where key = @key;
