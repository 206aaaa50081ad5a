-- Table: builders, the people who sign in. All of these run as chumbo_system.

-- name: InsertBuilder :exec
insert into builders (id, email, created_at) values (@id, @email, @now) on conflict (lower(email)) do nothing;

-- name: GetBuilderByEmail :one
select id, email, password_hash, created_at from builders where lower(email) = lower(@email);

-- name: LockBuilder :one
-- Until the transaction ends nobody else changes the password.
select email, password_hash from builders where id = @id for update;

-- name: SetBuilderPassword :exec
update builders set password_hash = @password_hash, password_changed_at = @now where id = @id;
