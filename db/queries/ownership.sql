-- Table: projects, as chumbo_system. A proof takes an API origin over from
-- whoever else has a project there, so these look across organizations.

-- name: LockOrigin :exec
-- One proof of an origin, or of an issuer, at a time: the last one wins.
select pg_advisory_xact_lock(hashtextextended(@api_origin::text, 0));

-- name: LockProjectsOfOrigin :many
-- Beside those of the origin, those elsewhere that other organizations have
-- proven and whose tokens are issued in the same name.
select organization_id, id, slug, api_origin, issuer, ownership_token, verified_at, taken_over_at
from projects where api_origin = @api_origin
    or issuer = @issuer and organization_id <> @organization_id and verified_at is not null
order by id for update;

-- name: SetProof :one
-- due_at is null for a proof that cannot be repeated.
update projects set verified_at = @now, verified_by = @method::text, ownership_checked_at = @now, ownership_misses = 0,
    ownership_due_at = sqlc.narg(due_at), taken_over_at = null, updated_at = @now
where organization_id = @organization_id and id = @id
returning organization_id, id, slug, name, typed_url, api_origin, issuer, jwks_uri, publishable_key, signing,
    oauth_enabled, scopes_supported, verified_at, created_at, updated_at, ownership_token, verified_by,
    ownership_checked_at, ownership_misses, ownership_due_at, taken_over_at, catalog_token, catalog_relations,
    registration_enabled, findings, probed_at, logo_digest;

-- name: TakeProof :exec
-- Somebody else proved the origin.
update projects set verified_at = null, verified_by = null, ownership_checked_at = null, ownership_misses = 0,
    ownership_due_at = null, taken_over_at = @now, updated_at = @now
where organization_id = @organization_id and id = @id;

-- name: PauseSurfacesOfProject :execrows
update surfaces set state = 'paused', updated_at = @now
where organization_id = @organization_id and project_id = @project_id and state <> 'paused';

-- name: ClaimDueProofs :many
-- Proofs to repeat now. Whoever claims them has until lease; then they are due
-- again.
update projects set ownership_due_at = @lease::timestamptz
where (organization_id, id) in (select p.organization_id, p.id from projects p
    where p.ownership_due_at <= @now and p.verified_at is not null and p.verified_by = 'function'
    order by p.ownership_due_at, p.id limit @batch for update skip locked)
returning organization_id, id, slug, api_origin, publishable_key, ownership_token, verified_at;

-- name: NoteProofSeen :execrows
-- 0 rows when the project was proven anew, moved or deleted meanwhile.
update projects set ownership_checked_at = @now, ownership_misses = 0, ownership_due_at = @due_at
where organization_id = @organization_id and id = @id and api_origin = @api_origin
    and verified_by = 'function' and verified_at = @proven_at;

-- name: NoteProofMissed :one
-- No row when the project was proven anew, moved or deleted meanwhile.
update projects set ownership_checked_at = @now, ownership_misses = ownership_misses + 1, ownership_due_at = @due_at
where organization_id = @organization_id and id = @id and api_origin = @api_origin
    and verified_by = 'function' and verified_at = @proven_at
returning ownership_misses;
