-- Table: refresh_chains, one per exchanged code, and the codes themselves,
-- which are columns of sign_ins. All of these run as chumbo_app, but for those
-- that say otherwise.

-- name: OfferSignIn :one
-- What the question names, for the answer to be about nothing else. The first
-- asking counts.
update sign_ins set offered = coalesce(offered, @offered::text[])
where organization_id = @organization_id and project_id = @project_id and id = @id and finished_at is null and expires_at > @now
returning offered;

-- name: AllowSignIn :one
-- Once: no row for a second answer, and none when somebody else signed in
-- meanwhile.
update sign_ins set finished_at = @now, code_hash = @code_hash, code_until = @code_until
where organization_id = @organization_id and project_id = @project_id and surface_id = @surface_id and id = @id
    and upstream_session_id = @upstream_session_id and finished_at is null and expires_at > @now
returning offered;

-- name: NameGrantOfSignIn :exec
update sign_ins set grant_id = @grant_id
where organization_id = @organization_id and id = @id;

-- name: DenySignIn :execrows
update sign_ins set finished_at = @now
where organization_id = @organization_id and project_id = @project_id and id = @id and finished_at is null and expires_at > @now;

-- name: GetSignInOfCode :one
select id, client_id, redirect_uri, code_challenge, grant_id, code_until, code_used_at, chain_id
from sign_ins
where organization_id = @organization_id and surface_id = @surface_id and project_id = @project_id and code_hash = @code_hash;

-- name: SpendCode :execrows
-- Once: 0 rows for whoever comes second.
update sign_ins set code_used_at = @now, chain_id = @chain_id
where organization_id = @organization_id and id = @id and code_used_at is null;

-- name: GrantForCode :one
select id, issuer, subject, client_id, scopes, expires_at from grants
where organization_id = @organization_id and surface_id = @surface_id and project_id = @project_id and id = @id
    and kind = 'client' and revoked_at is null and expires_at > @now
for share;

-- name: InsertChain :exec
insert into refresh_chains (organization_id, id, grant_id, generation, rotated_at, created_at, idle_until)
values (@organization_id, @id, @grant_id, 1, @now, @now, @idle_until);

-- name: EndChainsBeyond :exec
-- The ones longest idle end when a grant has more than the bound.
update refresh_chains d set ended_at = @now
where d.organization_id = @organization_id and d.grant_id = @grant_id and d.id in (
    select c.id from refresh_chains c
    where c.organization_id = @organization_id and c.grant_id = @grant_id and c.ended_at is null
    order by c.rotated_at desc, c.id desc offset @bound::integer);

-- name: GetChain :one
-- With its grant and whether the session behind it stands.
select c.id, c.grant_id, c.generation, c.rotated_at, c.idle_until, c.ended_at,
    g.surface_id, g.project_id, g.kind, g.subject, g.client_id, g.scopes, g.upstream_session_id, g.expires_at, g.revoked_at, g.revoked_why
from refresh_chains c
join grants g on g.organization_id = c.organization_id and g.id = c.grant_id
where c.organization_id = @organization_id and c.id = @id;

-- name: RotateChain :execrows
-- 0 rows when somebody else rotated, or it ended.
update refresh_chains c set generation = c.generation + 1, rotated_at = @now, idle_until = @idle_until
where c.organization_id = @organization_id and c.id = @id and c.generation = @generation and c.ended_at is null
    and exists (select from grants g where g.organization_id = c.organization_id and g.id = c.grant_id and g.revoked_at is null);

-- name: EndChain :execrows
update refresh_chains set ended_at = @now
where organization_id = @organization_id and grant_id = @grant_id and id = @id and ended_at is null;

-- name: HasLiveChain :one
select exists (select from refresh_chains
    where organization_id = @organization_id and grant_id = @grant_id and ended_at is null and idle_until > @now);

-- name: DeleteOldChains :execrows
-- As chumbo_system, for the worker: those that ended, or that nobody used any
-- more, before.
delete from refresh_chains d where d.id in (
    select c.id from refresh_chains c where c.ended_at < @before or c.idle_until < @before limit @batch::integer);
