-- Table: approvals, calls that wait for a person on our page. All of these run
-- as chumbo_app, but for those that say otherwise.

-- name: UseApproval :one
-- Takes the answer to a call, once: approved, so that it runs, or declined.
-- A call that comes at the same time finds nothing.
update approvals as a set state = 'used'
from approvals b
where a.organization_id = @organization_id and a.caller = @caller and a.call = @call
    and a.state in ('approved', 'declined') and a.expires_at > @now
    and b.organization_id = a.organization_id and b.id = a.id
returning a.id, b.state as was;

-- name: LockCaller :exec
-- Until the transaction ends, so that two calls count each other.
select pg_advisory_xact_lock(@key::bigint);

-- name: CountPendingApprovals :one
-- Of one caller, those for the same call apart.
select count(*) from approvals
where organization_id = @organization_id and caller = @caller and state = 'pending' and expires_at > @now and call <> @call;

-- name: PutApproval :execrows
-- One that is over makes room; 0 rows when one is open.
insert into approvals as a (organization_id, id, surface_id, url_ref, issuer, subject, grant_id, caller, call, sealed, state, created_at, expires_at)
values (@organization_id, @id, @surface_id, @url_ref, @issuer, @subject, @grant_id, @caller, @call, @sealed, 'pending', @now, @expires_at)
on conflict (organization_id, caller, call) where state <> 'used' do update set
    id = excluded.id, surface_id = excluded.surface_id, url_ref = excluded.url_ref, grant_id = excluded.grant_id, sealed = excluded.sealed, state = 'pending',
    created_at = excluded.created_at, decided_at = null, expires_at = excluded.expires_at
where a.expires_at <= @now;

-- name: PendingApproval :one
select id, expires_at from approvals
where organization_id = @organization_id and caller = @caller and call = @call and state = 'pending' and expires_at > @now;

-- name: FindApproval :one
-- As chumbo_system: where an address belongs, before anybody is known.
select organization_id, surface_id, url_ref from approvals where id = @id;

-- name: GetApproval :one
-- For the very person it is meant for, while the client that called is allowed.
select a.sealed, a.state, a.expires_at, g.client_name
from approvals a
join grants g on g.organization_id = a.organization_id and g.id = a.grant_id and g.revoked_at is null
where a.organization_id = @organization_id and a.surface_id = @surface_id and a.id = @id and a.issuer = @issuer and a.subject = @subject;

-- name: DecideApproval :execrows
-- Once: 0 rows when it was answered, is over, is not this person's, or is of a
-- client that is not allowed any more.
update approvals a set state = @state, decided_at = @now, expires_at = @expires_at
where a.organization_id = @organization_id and a.surface_id = @surface_id and a.id = @id and a.issuer = @issuer and a.subject = @subject
    and a.state = 'pending' and a.expires_at > @now
    and exists (select from grants g where g.organization_id = a.organization_id and g.id = a.grant_id and g.revoked_at is null);

-- name: DeleteOldApprovals :execrows
-- As chumbo_system.
delete from approvals d where d.id in (
    select a.id from approvals a where a.expires_at < @before order by a.expires_at limit @batch::integer);
