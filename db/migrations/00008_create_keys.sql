-- +goose Up

-- What makes a create that is repeated within ten minutes the same one.
create table create_keys (
    digest     bytea primary key,          -- keyed hash: no caller, no arguments
    key        uuid not null,              -- what its unique column gets
    expires_at timestamptz not null
);
create index create_keys_expires on create_keys (expires_at);

alter table create_keys enable row level security;
alter table create_keys force row level security;
create policy system_all on create_keys to chumbo_system using (true) with check (true);
grant select, insert, update, delete on create_keys to chumbo_system;

-- +goose Down
drop table create_keys;
