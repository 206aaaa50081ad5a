-- Table: oauth_clients, clients of one surface: registered ones (RFC 7591) and
-- those named by the URL of a metadata document.

-- name: GetOAuthClient :one
select client_id, kind, name, redirect_uris, auth_methods, secret_hash, jwks, jwks_uri, jwks_at, fetched_at, fresh_until, created_at, last_used_at
from oauth_clients
where organization_id = @organization_id and surface_id = @surface_id and client_id = @client_id;

-- name: InsertOAuthClient :exec
-- A confidential registration: always a client of its own.
insert into oauth_clients (organization_id, surface_id, client_id, kind, name, redirect_uris, auth_methods, secret_hash,
    metadata, jwks, jwks_uri, created_at, last_used_at)
values (@organization_id, @surface_id, @client_id, 'registered', @name, @redirect_uris, @auth_methods, @secret_hash,
    @metadata, @jwks, @jwks_uri, @now, @now);

-- name: InsertPublicOAuthClient :one
-- The same metadata again is the same client.
insert into oauth_clients as c (organization_id, surface_id, client_id, kind, name, redirect_uris, auth_methods,
    metadata, fingerprint, created_at, last_used_at)
values (@organization_id, @surface_id, @client_id, 'registered', @name, @redirect_uris, @auth_methods,
    @metadata, @fingerprint, @now, @now)
on conflict (organization_id, surface_id, fingerprint) where fingerprint is not null do update set last_used_at = excluded.last_used_at
returning c.client_id, c.created_at;

-- name: UpsertDocumentClient :exec
-- What a metadata document says now. A key set that was read elsewhere is
-- forgotten.
insert into oauth_clients as c (organization_id, surface_id, client_id, kind, name, redirect_uris, auth_methods,
    metadata, jwks, jwks_uri, fetched_at, fresh_until, created_at, last_used_at)
values (@organization_id, @surface_id, @client_id, 'document', @name, @redirect_uris, @auth_methods,
    @metadata, @jwks, @jwks_uri, @now, @fresh_until, @now, @now)
on conflict (organization_id, surface_id, client_id) do update set
    name = excluded.name, redirect_uris = excluded.redirect_uris, auth_methods = excluded.auth_methods, metadata = excluded.metadata,
    jwks = case when excluded.jwks_uri <> '' and excluded.jwks_uri = c.jwks_uri then c.jwks else excluded.jwks end,
    jwks_at = case when excluded.jwks_uri <> '' and excluded.jwks_uri = c.jwks_uri then c.jwks_at end,
    jwks_uri = excluded.jwks_uri, fetched_at = excluded.fetched_at, fresh_until = excluded.fresh_until
where c.kind = 'document';

-- name: PostponeDocument :exec
-- A document that could not be read now: what is known serves meanwhile.
update oauth_clients set fresh_until = @fresh_until
where organization_id = @organization_id and surface_id = @surface_id and client_id = @client_id and kind = 'document';

-- name: KeepClientKeys :exec
-- The key set read at jwks_uri, as long as that is still where it is.
update oauth_clients set jwks = @jwks, jwks_at = @now
where organization_id = @organization_id and surface_id = @surface_id and client_id = @client_id and jwks_uri = @jwks_uri;

-- name: TouchOAuthClient :exec
-- An authorization or a token; at most once a minute, and never in anybody's way.
update oauth_clients c set last_used_at = @now
where c.organization_id = @organization_id and c.surface_id = @surface_id and c.client_id = @client_id
    and c.last_used_at < @before::timestamptz;

-- name: CountOAuthClients :one
select count(*) from oauth_clients where organization_id = @organization_id and surface_id = @surface_id;

-- name: DeleteOldestOAuthClients :execrows
-- Makes room at a surface: the ones unused for longest, never one with a live
-- grant or a sign-in under way. Materialized: a subquery that locks may
-- be run again while the statement deletes, and then finds more.
with old as materialized (
    select c.client_id from oauth_clients c
    where c.organization_id = @organization_id and c.surface_id = @surface_id and c.last_used_at < @before
        and not exists (select 1 from grants g
            where g.organization_id = c.organization_id and g.surface_id = c.surface_id and g.client_id = c.client_id
                and g.revoked_at is null and g.expires_at > @now)
        and not exists (select 1 from sign_ins s
            where s.organization_id = c.organization_id and s.surface_id = c.surface_id and s.client_id = c.client_id
                and greatest(s.expires_at, s.code_until) > @now)
    order by c.last_used_at, c.client_id limit @room::integer for update skip locked
)
delete from oauth_clients d using old
where d.organization_id = @organization_id and d.surface_id = @surface_id and d.client_id = old.client_id;

-- name: DeleteUnusedOAuthClients :execrows
-- As chumbo_system: clients that nobody has used since before and that no live
-- grant names, some at a time.
delete from oauth_clients d
where d.last_used_at < @before and (d.organization_id, d.surface_id, d.client_id) in (
    select c.organization_id, c.surface_id, c.client_id from oauth_clients c
    where c.last_used_at < @before
        and not exists (select 1 from grants g
            where g.organization_id = c.organization_id and g.surface_id = c.surface_id and g.client_id = c.client_id
                and g.revoked_at is null and g.expires_at > @now)
        and not exists (select 1 from sign_ins s
            where s.organization_id = c.organization_id and s.surface_id = c.surface_id and s.client_id = c.client_id
                and greatest(s.expires_at, s.code_until) > @now)
    order by c.last_used_at limit @room::integer);
