-- The control plane's tables. Applied as chumbo_owner with search_path chumbo.
-- Every table has Row Level Security enabled and forced; docs/architecture.md
-- lists which of the two data roles may reach which table.

-- +goose Up

create function current_organization() returns uuid language sql stable
    return nullif(current_setting('chumbo.organization_id', true), '')::uuid;

-- Facts about this instance: the master key's check value, the setup state.
create table instance_facts (
    name  text primary key,
    value bytea not null
);

create table organizations (
    id         uuid primary key,
    slug       text not null unique,
    name       text not null,
    created_at timestamptz not null
);

-- People who sign in to Chumbo. Not a tenant's: one builder may be a member of
-- several organizations.
create table builders (
    id         uuid primary key,
    email      text not null,
    created_at timestamptz not null
);
create unique index builders_email on builders (lower(email));

create table members (
    organization_id uuid not null references organizations (id),
    builder_id      uuid not null references builders (id),
    role            text not null check (role in ('owner', 'admin', 'developer', 'viewer')),
    created_at      timestamptz not null,
    primary key (organization_id, builder_id)
);

create table api_tokens (
    organization_id uuid not null references organizations (id),
    id              uuid not null,
    builder_id      uuid not null,
    name            text not null,
    token_hash      bytea not null unique,      -- SHA-256 of the token; the token is shown once
    created_at      timestamptz not null,
    expires_at      timestamptz,
    last_used_at    timestamptz,
    revoked_at      timestamptz,
    primary key (organization_id, id),
    foreign key (organization_id, builder_id) references members (organization_id, builder_id)
);

-- Every name or host that ever served, and whose it is. Rows are never given
-- to another organization and never deleted.
create table name_claims (
    kind            text not null check (kind in ('project', 'host')),
    name            text not null,
    organization_id uuid not null references organizations (id),
    claimed_at      timestamptz not null,
    primary key (kind, name)
);

create table projects (
    organization_id uuid not null references organizations (id),
    id              uuid not null,
    slug            text not null unique,
    name            text not null,
    typed_url       text not null,              -- as the builder typed it; for display only
    api_origin      text not null,              -- derived from the issuer; the only origin that gets tokens
    issuer          text not null,              -- as the project claims it, byte for byte
    jwks_uri        text not null,
    publishable_key text not null,
    signing         text not null check (signing in ('asymmetric', 'hs256')),
    oauth_enabled   boolean not null,
    scopes_supported text[] not null,
    verified_at     timestamptz,
    created_at      timestamptz not null,
    updated_at      timestamptz not null,
    primary key (organization_id, id)
);
create unique index projects_verified_origin on projects (api_origin) where verified_at is not null;
create unique index projects_id on projects (id);

create table domains (
    organization_id uuid not null,
    id              uuid not null,
    project_id      uuid not null,
    host            text not null unique,
    verified_at     timestamptz,
    created_at      timestamptz not null,
    primary key (organization_id, id),
    foreign key (organization_id, project_id) references projects (organization_id, id)
);

create table schema_snapshots (
    organization_id uuid not null,
    project_id      uuid not null,
    digest          bytea not null,
    snapshot        jsonb not null,
    source          text not null check (source in ('postgres', 'catalog', 'management', 'file')),
    created_at      timestamptz not null,
    primary key (organization_id, project_id, digest),
    foreign key (organization_id, project_id) references projects (organization_id, id)
);
create index schema_snapshots_latest on schema_snapshots (organization_id, project_id, created_at desc);

create table surfaces (
    organization_id uuid not null,
    id              uuid not null,
    project_id      uuid not null,
    slug            text not null,
    state           text not null check (state in ('live', 'read_only', 'paused')),
    draft           text,                       -- the surface file last put, not yet published
    live_revision   integer,
    created_at      timestamptz not null,
    updated_at      timestamptz not null,
    primary key (organization_id, id),
    unique (organization_id, project_id, slug),
    foreign key (organization_id, project_id) references projects (organization_id, id)
);
create unique index surfaces_id on surfaces (id);

-- host is '' for the shared host, 'slug.*' for a label under
-- CHUMBO_SURFACE_DOMAIN, else a verified custom domain.
create table surface_urls (
    organization_id uuid not null,
    id              uuid not null,
    surface_id      uuid not null,
    host            text not null,
    path            text not null,
    is_primary      boolean not null,
    is_root         boolean not null,           -- the host's root surface
    created_at      timestamptz not null,
    primary key (organization_id, id),
    unique (host, path),
    foreign key (organization_id, surface_id) references surfaces (organization_id, id)
);
create index surface_urls_surface on surface_urls (organization_id, surface_id);
create unique index surface_urls_root on surface_urls (host) where is_root;
create unique index surface_urls_primary on surface_urls (organization_id, surface_id) where is_primary;

create table revisions (
    organization_id uuid not null,
    surface_id      uuid not null,
    number          integer not null check (number > 0),
    digest          bytea not null,
    file            text not null,              -- the surface file's text, the source of truth
    title           text not null,
    access          jsonb not null,             -- surfaces.Access
    format          integer not null,           -- format number of compiled
    compiled        bytea not null,             -- surfaces.Compiled as JSON
    schema_digest   bytea not null,
    created_by      uuid references builders (id),
    created_at      timestamptz not null,
    primary key (organization_id, surface_id, number),
    unique (organization_id, surface_id, digest),
    foreign key (organization_id, surface_id) references surfaces (organization_id, id)
);
alter table surfaces add constraint surfaces_live_revision
    foreign key (organization_id, id, live_revision) references revisions (organization_id, surface_id, number);

create table audit_events (
    organization_id uuid not null references organizations (id),
    id              uuid not null,
    at              timestamptz not null,
    actor           text not null,              -- bld_…, tok_… or 'system'
    action          text not null,
    target          text not null,
    outcome         text not null check (outcome in ('ok', 'refused')),
    detail          jsonb not null,
    primary key (organization_id, id)
);

-- One row per capability call. Never arguments, rows or tokens.
create table invocations (
    organization_id uuid not null,
    id              uuid not null,
    at              timestamptz not null,
    surface_id      uuid not null,
    revision        integer not null,
    method          text not null,              -- JSON-RPC method
    capability      text not null,
    mode            text not null,
    client_id       text not null,
    protocol        text not null,              -- MCP version
    outcome         text not null check (outcome in ('ok', 'tool_error', 'refused', 'error')),
    error_kind      text not null,
    duration_us     bigint not null,
    project_us      bigint not null,
    result_bytes    bigint not null,
    request_id      text not null,
    upstream_id     text not null,              -- sb-request-id
    primary key (organization_id, id)
);
create index invocations_at on invocations (at);
create index invocations_surface on invocations (organization_id, surface_id, at desc);

-- +goose StatementBegin
do $$
declare
    t text;
    own text[] := array['members', 'api_tokens', 'name_claims', 'projects', 'domains', 'schema_snapshots',
        'surfaces', 'surface_urls', 'revisions', 'audit_events', 'invocations'];
begin
    foreach t in array own || array['organizations', 'instance_facts', 'builders'] loop
        execute format('alter table %I enable row level security', t);
        execute format('alter table %I force row level security', t);
        execute format('create policy system_all on %I to chumbo_system using (true) with check (true)', t);
    end loop;
    foreach t in array own loop
        execute format('create policy tenant on %I to chumbo_app using (organization_id = current_organization()) with check (organization_id = current_organization())', t);
    end loop;
end $$;
-- +goose StatementEnd
create policy tenant on organizations to chumbo_app using (id = current_organization()) with check (id = current_organization());

-- What each role may do. chumbo_app: one organization's builders at work.
grant usage on schema chumbo to chumbo_app, chumbo_system;
grant select, update on organizations to chumbo_app;
grant select, insert, update on members, api_tokens, projects, domains, surfaces to chumbo_app;
grant select, insert on name_claims, schema_snapshots, revisions to chumbo_app;
grant select, insert, update, delete on surface_urls to chumbo_app;
grant insert on audit_events to chumbo_app;
grant select on invocations to chumbo_app;
-- chumbo_system: the Directory, token checks, first run, the worker.
grant select, insert on instance_facts, builders, organizations, members, audit_events to chumbo_system;
grant select, insert, update on api_tokens to chumbo_system;
grant select on projects, domains, surfaces, surface_urls, revisions, name_claims to chumbo_system;
grant select, insert, delete on invocations to chumbo_system;

-- +goose Down
drop table invocations, audit_events, surface_urls, schema_snapshots, domains, api_tokens, members, name_claims cascade;
drop table revisions, surfaces, projects, builders, organizations, instance_facts cascade;
drop function current_organization();
