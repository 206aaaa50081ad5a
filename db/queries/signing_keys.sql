-- Table: signing_keys, the keys that sign access tokens. All of these run as
-- chumbo_system.

-- name: ListSigningKeys :many
-- Everything that is still published, the one that signs last at the end.
select kid, private_key, public_jwk, created_at, signs_from, signs_until, gone_at
from signing_keys
where gone_at > @now
order by signs_from, kid;

-- name: InsertSigningKey :exec
insert into signing_keys (kid, private_key, public_jwk, created_at, signs_from, signs_until, gone_at)
values (@kid, @private_key, @public_jwk, @created_at, @signs_from, @signs_until, @gone_at);

-- name: DeleteGoneSigningKeys :execrows
delete from signing_keys where gone_at <= @now;
