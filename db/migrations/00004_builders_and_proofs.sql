-- Builders who sign in, proofs of ownership, revisions with their story.

-- +goose Up

-- Who signs in. A builder without a password cannot sign in by one.
alter table builders add column name text not null default '';
alter table builders add column password_hash text;            -- argon2id, PHC string
alter table builders add column password_changed_at timestamptz;

-- The setup code of an instance without an owner: one row at most.
create table setup_codes (
    one        boolean primary key default true check (one),
    code_hash  bytea not null,                  -- SHA-256
    tries      integer not null default 0,      -- wrong ones so far; the code is void at 10
    created_at timestamptz not null
);

-- A browser's session. The cookie's value changes (token_hash); the value
-- before it is good for a short while, for requests already under way.
create table builder_sessions (
    id              uuid primary key,
    builder_id      uuid not null references builders (id),
    organization_id uuid,                       -- the one being worked in; null until there is one
    token_hash      bytea not null unique,      -- SHA-256
    previous_hash   bytea,
    previous_until  timestamptz,
    address         text not null,
    agent           text not null,              -- the browser's name, cut
    created_at      timestamptz not null,
    rotated_at      timestamptz not null,
    seen_at         timestamptz not null,
    expires_at      timestamptz not null,       -- absolute
    ended_at        timestamptz
);
create index builder_sessions_builder on builder_sessions (builder_id);
create unique index builder_sessions_previous on builder_sessions (previous_hash) where previous_hash is not null;

-- Failed tries of sign-in, setup and device codes, by what was tried and by
-- address. The key is a keyed hash: neither emails nor addresses are kept.
create table throttles (
    key           bytea primary key,
    failures      integer not null,
    window_start  timestamptz not null,
    blocked_until timestamptz
);
create index throttles_window on throttles (window_start);

-- RFC 8628: a command line that waits for a signed-in builder.
create table device_authorizations (
    id              uuid primary key,
    device_hash     bytea not null unique,      -- SHA-256 of the device code
    user_code_hash  bytea not null unique,      -- SHA-256 of the user code, upper case, no hyphen
    client_name     text not null,              -- the machine's name, as it says
    scope           text not null check (scope in ('read', 'write', 'admin')),
    address         text not null,
    created_at      timestamptz not null,
    expires_at      timestamptz not null,
    polled_at       timestamptz,
    interval_s      integer not null default 5,
    organization_id uuid,                       -- set when decided
    builder_id      uuid,
    decision        text check (decision in ('approved', 'denied')),
    consumed_at     timestamptz
);

alter table api_tokens add column scope text not null default 'admin' check (scope in ('read', 'write', 'admin'));

alter table audit_events add column address text not null default '';
create index audit_events_at on audit_events (organization_id, at desc);

-- The proof of ownership. The token is no secret: whoever may call the
-- project's functions can read it there. What counts is where it stands.
alter table projects add column ownership_token text not null
    default encode(sha256(convert_to(gen_random_uuid()::text || gen_random_uuid()::text || gen_random_uuid()::text, 'utf8')), 'hex');
alter table projects add column verified_by text check (verified_by in ('function', 'secret_key', 'management'));
alter table projects add column ownership_checked_at timestamptz;
alter table projects add column ownership_misses integer not null default 0;
alter table projects add column ownership_due_at timestamptz;   -- when the proof is to be repeated; null for one that cannot be
alter table projects add column taken_over_at timestamptz;
alter table projects add column catalog_token bytea;           -- sealed; null until the function is generated
alter table projects add column catalog_relations text[] not null default '{}';
alter table projects add column registration_enabled boolean not null default true; -- dynamic client registration
alter table projects add column findings jsonb not null default '[]'; -- of the last probe: doctor.Finding
alter table projects add column probed_at timestamptz;
create index projects_ownership_due on projects (ownership_due_at) where ownership_due_at is not null;
create index projects_api_origin on projects (api_origin);
create index projects_issuer on projects (issuer);

-- A project being registered: what was typed, and what the probe found.
create table registrations (
    organization_id uuid not null references organizations (id),
    id              uuid not null,
    builder_id      uuid not null,
    typed_url       text not null,
    publishable_key text not null default '',
    slug            text not null default '',
    name            text not null default '',
    findings        jsonb not null default '[]',
    finished_at     timestamptz,                -- of the probe
    project_id      uuid,                       -- once registered
    created_at      timestamptz not null,
    primary key (organization_id, id)
);

-- What an organization must be told, until it says it has read it.
create table notices (
    organization_id uuid not null references organizations (id),
    id              uuid not null,
    kind            text not null,              -- ownership.taken_over, ownership.missed, …
    project_id      uuid,                       -- not a reference: the notice outlives the project
    text            text not null,
    created_at      timestamptz not null,
    dismissed_at    timestamptz,
    primary key (organization_id, id)
);

alter table revisions add column summary text not null default '';
alter table revisions add column change_class text not null default 'first' check (change_class in ('first', 'safe', 'behaviour', 'breaks'));
alter table revisions add column overrides jsonb not null default '[]'; -- [{finding, reason, by}]
alter table surfaces add column pinned_at timestamptz;         -- the live revision is held
alter table surfaces add column pinned_by uuid;
alter table surfaces add column live_at timestamptz;           -- when what is live was made live, and by whom
alter table surfaces add column live_by uuid;
alter table surfaces add column draft_by uuid;
alter table surfaces add column draft_at timestamptz;

-- +goose StatementBegin
do $$
declare
    t text;
begin
    foreach t in array array['setup_codes', 'builder_sessions', 'throttles', 'device_authorizations', 'registrations', 'notices'] loop
        execute format('alter table %I enable row level security', t);
        execute format('alter table %I force row level security', t);
        execute format('create policy system_all on %I to chumbo_system using (true) with check (true)', t);
    end loop;
    foreach t in array array['registrations', 'notices'] loop
        execute format('create policy tenant on %I to chumbo_app using (organization_id = current_organization()) with check (organization_id = current_organization())', t);
    end loop;
end $$;
-- +goose StatementEnd

grant select, insert, update, delete on setup_codes, builder_sessions, throttles, device_authorizations to chumbo_system;
grant update on builders to chumbo_system;
grant select, insert, update, delete on registrations to chumbo_app;
grant select, insert, update on notices to chumbo_app;
grant insert on notices to chumbo_system;
grant select (created_at), delete on registrations to chumbo_system;
-- A proof takes an origin over from other organizations: their rows are
-- unverified and their surfaces paused.
grant update (verified_at, verified_by, ownership_checked_at, ownership_misses, ownership_due_at, taken_over_at, updated_at) on projects to chumbo_system;
grant update (state, updated_at) on surfaces to chumbo_system;
-- Deleting a project or surface: names stay claimed.
grant delete on projects, surfaces, revisions, schema_snapshots, domains to chumbo_app;

-- +goose Down
revoke delete on projects, surfaces, revisions, schema_snapshots, domains from chumbo_app;
revoke update (state, updated_at) on surfaces from chumbo_system;
revoke update (verified_at, verified_by, ownership_checked_at, ownership_misses, ownership_due_at, taken_over_at, updated_at) on projects from chumbo_system;
revoke update on builders from chumbo_system;
alter table surfaces drop column draft_at, drop column draft_by, drop column live_by, drop column live_at, drop column pinned_by, drop column pinned_at;
alter table revisions drop column overrides, drop column change_class, drop column summary;
drop table notices, registrations;
drop index projects_issuer;
drop index projects_api_origin;
alter table projects drop column probed_at, drop column ownership_due_at, drop column findings, drop column registration_enabled, drop column catalog_relations, drop column catalog_token,
    drop column taken_over_at, drop column ownership_misses, drop column ownership_checked_at, drop column verified_by, drop column ownership_token;
drop index audit_events_at;
alter table audit_events drop column address;
alter table api_tokens drop column scope;
drop table device_authorizations, throttles, builder_sessions, setup_codes;
alter table builders drop column password_changed_at, drop column password_hash, drop column name;
