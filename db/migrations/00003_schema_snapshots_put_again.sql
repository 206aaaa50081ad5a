-- A schema that was there before can be put again, and is the latest then.

-- +goose Up
grant update (created_at, source) on schema_snapshots to chumbo_app;

-- +goose Down
revoke update (created_at, source) on schema_snapshots from chumbo_app;
