-- The Directory's reads, as chumbo_system: a host and path say whose surface
-- they are, so there is no tenant to name. Each answers with one row, also
-- when nothing is there: host_known tells an unknown host from an unknown path.

-- name: LookupSurface :one
select (select exists (select from domains d where d.host = @host and d.verified_at is not null))::boolean as host_known,
    s.organization_id, s.id as surface_id, coalesce(s.slug, '') as surface_slug, coalesce(s.state, '') as state,
    coalesce(s.live_revision, 0)::integer as live_revision,
    p.id as project_id, coalesce(p.slug, '') as project_slug, coalesce(p.name, '') as project_name,
    coalesce(p.ownership_misses, 0)::integer as ownership_misses, coalesce(p.api_origin, '') as api_origin,
    coalesce(p.issuer, '') as issuer, coalesce(p.jwks_uri, '') as jwks_uri,
    coalesce(p.publishable_key, '') as publishable_key,
    coalesce(p.scopes_supported, '{}')::text[] as scopes_supported, p.verified_at,
    coalesce(encode(p.logo_digest, 'hex'), '')::text as logo,
    (select exists (select from projects o where o.api_origin = p.api_origin and o.verified_at is not null and o.id <> p.id))::boolean as proven_elsewhere,
    coalesce(r.number, 0)::integer as revision, coalesce(r.digest, ''::bytea) as digest,
    coalesce(r.title, '') as title, coalesce(r.access, 'null'::jsonb) as access,
    coalesce(a.url_ids, '{}')::uuid[] as url_ids, coalesce(a.url_hosts, '{}')::text[] as url_hosts,
    coalesce(a.url_paths, '{}')::text[] as url_paths, coalesce(a.url_roots, '{}')::boolean[] as url_roots
from (select 1) as one
left join surface_urls u on u.host = @host and u.path = @path
left join surfaces s on s.organization_id = u.organization_id and s.id = u.surface_id
left join projects p on p.organization_id = s.organization_id and p.id = s.project_id
left join lateral (
    -- The live revision; where its format is newer than we know, the last one before it that we do know.
    select v.number, v.digest, v.title, v.access from revisions v
    where v.organization_id = s.organization_id and v.surface_id = s.id
        and v.number <= s.live_revision and v.format = any(@formats::integer[])
    order by v.number desc limit 1) r on true
left join lateral (
    -- Every URL of the surface, the primary first; those on a custom domain while that is proven.
    select array_agg(l.id order by l.is_primary desc, l.created_at, l.id) as url_ids,
        array_agg(l.host order by l.is_primary desc, l.created_at, l.id) as url_hosts,
        array_agg(l.path order by l.is_primary desc, l.created_at, l.id) as url_paths,
        array_agg(l.is_root order by l.is_primary desc, l.created_at, l.id) as url_roots
    from surface_urls l
    where l.organization_id = s.organization_id and l.surface_id = s.id
        and (l.host = '' or l.host like '%.*' or exists (select from domains c
            where c.organization_id = l.organization_id and c.host = l.host and c.verified_at is not null))) a on true;

-- name: RootSurfacePath :one
-- The path of a host's root surface.
select u.path from surface_urls u where u.host = @host and u.is_root;

-- name: GetURLPlace :one
-- Where a URL is, by the id of its row.
select u.host, u.path from surface_urls u where u.id = @id;

-- name: GetCompiledRevision :one
select format, compiled from revisions
where organization_id = @organization_id and surface_id = @surface_id and number = @number;
