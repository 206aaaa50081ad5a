-- The other doors: keys made here, OAuth clients of projects, the credential
-- we introspect tokens with, and the windows of rate limits.

-- +goose Up

-- Keys that an application calls a surface with (chk_…). They stand for the
-- application, never for one of its users.
create table api_keys (
    organization_id uuid not null,
    id              uuid not null,
    surface_id      uuid not null,
    name            text not null,
    key_hash        bytea not null unique,      -- SHA-256 of the whole key
    hint            text not null,              -- its last four characters
    scopes          text[] not null,
    created_by      uuid not null,              -- the builder
    created_at      timestamptz not null,
    expires_at      timestamptz,                -- null: does not expire
    last_used_at    timestamptz,
    revoked_at      timestamptz,
    primary key (organization_id, id),
    foreign key (organization_id, surface_id) references surfaces (organization_id, id) on delete cascade
);
create index api_keys_surface on api_keys (organization_id, surface_id, created_at desc);

-- OAuth clients whose tokens of a project were verified at one of its surfaces
-- (authorization: direct). With access.isolation: client a client counts at the
-- first surface only.
create table direct_clients (
    organization_id uuid not null,
    project_id      uuid not null,
    client_id       text not null,
    surface_id      uuid not null,              -- the first it was seen at
    name            text not null default '',   -- as the client says of itself: unverified
    first_seen_at   timestamptz not null,
    last_used_at    timestamptz not null,
    primary key (organization_id, project_id, client_id),
    foreign key (organization_id, project_id) references projects (organization_id, id) on delete cascade,
    foreign key (organization_id, surface_id) references surfaces (organization_id, id) on delete cascade
);
create index direct_clients_surface on direct_clients (organization_id, surface_id);

-- The secret of the client that a surface introspects opaque tokens as
-- (RFC 7662); its id stands in the surface file.
create table introspection_secrets (
    organization_id uuid not null,
    surface_id      uuid not null,
    secret          bytea not null,             -- sealed
    updated_by      uuid not null,              -- the builder
    updated_at      timestamptz not null,
    issuer          text not null default '',   -- whom it is for, and nobody else is told it; empty: whoever is asked first
    primary key (organization_id, surface_id),
    foreign key (organization_id, surface_id) references surfaces (organization_id, id) on delete cascade
);

-- What was leased of a rate limit in its current window, by all servers.
create table rate_windows (
    key          bytea primary key,             -- keyed hash: no address
    window_start timestamptz not null,
    used         integer not null,              -- leased in this window
    leased       integer not null               -- by the newest lease
);
create index rate_windows_start on rate_windows (window_start);

-- Who acted for the subject (RFC 8693 act), where a token says so.
alter table invocations add column actor text not null default '';

-- +goose StatementBegin
do $$
declare
    t text;
    own text[] := array['api_keys', 'direct_clients', 'introspection_secrets'];
begin
    foreach t in array own || array['rate_windows'] loop
        execute format('alter table %I enable row level security', t);
        execute format('alter table %I force row level security', t);
        execute format('create policy system_all on %I to chumbo_system using (true) with check (true)', t);
    end loop;
    foreach t in array own loop
        execute format('create policy tenant on %I to chumbo_app using (organization_id = current_organization()) with check (organization_id = current_organization())', t);
    end loop;
end $$;
-- +goose StatementEnd

-- A key is never deleted but with its surface: a revoked one stays to be seen.
grant select, insert, update on api_keys, direct_clients to chumbo_app;
grant select, insert, update, delete on introspection_secrets to chumbo_app;
grant select, insert, update, delete on rate_windows to chumbo_system;

-- What takes access away is told to every server at once; uses never are.
-- +goose StatementBegin
create function notify_api_key() returns trigger language plpgsql as $$
begin
    perform pg_notify('chumbo_directory', 'key:' || coalesce(new.id, old.id)::text);
    return null;
end $$;
-- +goose StatementEnd
create trigger api_keys_notify after update of revoked_at, expires_at, scopes or delete on api_keys
    for each row execute function notify_api_key();
-- +goose StatementBegin
create function notify_direct_client() returns trigger language plpgsql as $$
begin
    perform pg_notify('chumbo_directory', 'client:' || coalesce(new.project_id, old.project_id)::text);
    return null;
end $$;
-- +goose StatementEnd
create trigger direct_clients_notify after update of surface_id or delete on direct_clients
    for each row execute function notify_direct_client();
-- +goose StatementBegin
create function notify_introspection() returns trigger language plpgsql as $$
begin
    perform pg_notify('chumbo_directory', 'introspection:' || coalesce(new.surface_id, old.surface_id)::text);
    return null;
end $$;
-- +goose StatementEnd
create trigger introspection_secrets_notify after insert or update or delete on introspection_secrets
    for each row execute function notify_introspection();

-- +goose Down
alter table invocations drop column actor;
drop table rate_windows, introspection_secrets, direct_clients, api_keys;
drop function notify_api_key(), notify_direct_client(), notify_introspection();
