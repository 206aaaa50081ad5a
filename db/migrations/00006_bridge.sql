-- The bridge: Chumbo as the authorization server of a surface. Signing keys,
-- clients, sign-ins under way, grants, sessions at the project, and the story
-- of every attempt to connect.

-- +goose Up

-- Keys that sign access tokens (ES256), of the whole instance.
create table signing_keys (
    kid          text primary key,              -- RFC 7638 thumbprint
    private_key  bytea not null,                -- sealed PKCS #8
    public_jwk   jsonb not null,
    created_at   timestamptz not null,          -- published from here on
    signs_from   timestamptz not null,
    signs_until  timestamptz not null,
    gone_at      timestamptz not null           -- no longer published
);

-- How end users of a project sign in through us.
create table sign_in_settings (
    organization_id  uuid not null,
    project_id       uuid not null,
    method           text not null default 'auto' check (method in ('auto', 'oauth', 'hosted')),
    client_id        text not null default '',  -- our confidential client of the project
    client_secret    bytea,                     -- sealed
    client_source    text not null default '' check (client_source in ('', 'registered', 'pasted')),
    client_redirect  text not null default '',  -- the redirect URI it was registered with
    captcha_provider text not null default '' check (captcha_provider in ('', 'turnstile', 'hcaptcha')),
    captcha_site_key text not null default '',
    captcha_needed   boolean not null default false, -- learnt from the project
    registering_until timestamptz,              -- somebody registers our client; theirs until then
    updated_at       timestamptz not null,
    primary key (organization_id, project_id),
    foreign key (organization_id, project_id) references projects (organization_id, id) on delete cascade
);

-- RFC 7591 registrations and client ID metadata documents, per surface.
create table oauth_clients (
    organization_id uuid not null,
    surface_id      uuid not null,
    client_id       text not null,
    kind            text not null check (kind in ('registered', 'document')),
    name            text not null,              -- as given: unverified
    redirect_uris   text[] not null,
    auth_methods    text[] not null,            -- accepted at the token endpoint
    secret_hash     bytea,                      -- SHA-256; null for a public client
    metadata        jsonb not null,             -- as stored and echoed
    fingerprint     bytea,                      -- of a public registration's metadata, for repeated ones
    jwks            jsonb,                      -- of private_key_jwt, as last read
    jwks_uri        text not null default '',
    jwks_at         timestamptz,
    fetched_at      timestamptz,                -- a document's
    fresh_until     timestamptz,
    created_at      timestamptz not null,
    last_used_at    timestamptz not null,       -- an authorization or a token
    primary key (organization_id, surface_id, client_id),
    foreign key (organization_id, surface_id) references surfaces (organization_id, id) on delete cascade
);
create unique index oauth_clients_fingerprint on oauth_clients (organization_id, surface_id, fingerprint) where fingerprint is not null;
create index oauth_clients_unused on oauth_clients (last_used_at);

-- One sign-in at the project. The tokens never leave us.
create table upstream_sessions (
    organization_id uuid not null,
    id              uuid not null,
    project_id      uuid not null,
    issuer          text not null,
    api_origin      text not null default '',   -- of the project then: its tokens go there and nowhere else
    subject         text not null,
    email           text not null,              -- shown to its owner only; may be empty
    role            text not null default 'authenticated', -- of its newest token; each surface says which it admits
    anonymous       boolean not null default false, -- likewise
    kind            text not null check (kind in ('oauth', 'session')), -- which endpoint refreshes it
    client_id       text not null default '',   -- ours, for oauth
    version         integer not null default 1, -- of the tokens
    access_token    bytea not null,             -- sealed
    refresh_token   bytea not null,             -- sealed
    access_until    timestamptz not null,
    refresh_until   timestamptz,                -- somebody refreshes; theirs until then
    refresh_by      uuid,
    created_at      timestamptz not null,
    refreshed_at    timestamptz not null,
    ended_at        timestamptz,
    ended_why       text not null default '',   -- signed_out, session_ended, client_gone, subject_changed, project_moved, unused
    primary key (organization_id, id),
    foreign key (organization_id, project_id) references projects (organization_id, id) on delete cascade
);
create index upstream_sessions_person on upstream_sessions (organization_id, project_id, issuer, subject) where ended_at is null;

-- A browser that signed in through us, for one project only.
create table end_user_sessions (
    organization_id     uuid not null,
    id                  uuid not null,
    project_id          uuid not null,
    upstream_session_id uuid not null,
    token_hash          bytea not null unique,  -- SHA-256 of the cookie
    created_at          timestamptz not null,
    expires_at          timestamptz not null,
    ended_at            timestamptz,
    primary key (organization_id, id),
    foreign key (organization_id, project_id) references projects (organization_id, id) on delete cascade,
    foreign key (organization_id, upstream_session_id) references upstream_sessions (organization_id, id) on delete cascade
);

-- A browser on its way: from /connect/authorize to the client's redirect, or
-- to Connected apps (then there is no client).
create table sign_ins (
    organization_id     uuid not null,
    id                  uuid not null,
    surface_id          uuid not null,
    project_id          uuid not null,
    url_ref             text not null,          -- tenants.Resource.Ref: which issuer
    purpose             text not null check (purpose in ('authorize', 'apps')),
    client_id           text not null default '',
    redirect_uri        text not null default '',
    state               text not null default '',
    state_given         boolean not null default false,
    code_challenge      text not null default '',
    scopes              text[] not null default '{}', -- asked for, known ones only
    ask                 boolean not null default false, -- prompt=consent: never skip
    cookie_hash         bytea not null,         -- SHA-256 of the transaction cookie
    upstream_state      bytea,                  -- SHA-256 of what the callback must carry
    upstream_flow       bytea,                  -- sealed: the way that was begun, its PKCE verifier, our client
    email               text not null default '', -- a code is on its way to
    pending             bytea,                  -- sealed: a session that still needs its second factor
    ticket_key          bytea,                  -- SHA-256; email and pending are of the browser on the project's own host that holds it
    hand_over           bytea,                  -- SHA-256 of the way back from the project's own host
    hand_over_until     timestamptz,
    hand_over_session_id uuid,                  -- who comes back with it
    upstream_session_id uuid,                   -- signed in
    offered             text[],                 -- effects of the writing tools that the question named; null until it was asked
    grant_id            uuid,                   -- allowed
    code_hash           bytea unique,           -- SHA-256
    code_until          timestamptz,
    code_used_at        timestamptz,
    chain_id            uuid,                   -- what the code gave
    created_at          timestamptz not null,
    expires_at          timestamptz not null,
    finished_at         timestamptz,            -- allowed, denied or given up
    primary key (organization_id, id),
    foreign key (organization_id, surface_id) references surfaces (organization_id, id) on delete cascade
);
create unique index sign_ins_upstream_state on sign_ins (upstream_state) where upstream_state is not null;
create index sign_ins_expires on sign_ins (expires_at);
create unique index sign_ins_id on sign_ins (id);

-- What one caller allowed one client at one surface. Rows are never deleted
-- with their surface standing: a revoked one is a tombstone.
create table grants (
    organization_id     uuid not null,
    id                  uuid not null,
    surface_id          uuid not null,
    project_id          uuid not null,
    kind                text not null check (kind in ('client', 'personal')),
    issuer              text not null,          -- the project's
    subject             text not null,
    client_id           text not null,          -- of a personal token: the grant's own id
    client_name         text not null,
    asked               text[] not null,        -- scopes asked for when it was approved
    scopes              text[] not null,        -- scopes given
    read_only           boolean not null,
    writes              text[] not null,        -- effects of the writing tools there were (surfaces.Tool.Effect)
    approved_redirects  text[] not null default '{}',
    upstream_session_id uuid not null,
    token_hash          bytea unique,           -- SHA-256 of a personal token
    token_hint          text not null default '', -- its last four characters
    created_at          timestamptz not null,
    approved_at         timestamptz not null,   -- last
    expires_at          timestamptz not null,   -- absolute
    last_used_at        timestamptz,
    first_call_at       timestamptz,
    revoked_at          timestamptz,
    revoked_why         text not null default '', -- by_user, by_builder, code_replayed, token_reused, upstream_ended, replaced, expired
    primary key (organization_id, id),
    foreign key (organization_id, surface_id) references surfaces (organization_id, id) on delete cascade,
    foreign key (organization_id, upstream_session_id) references upstream_sessions (organization_id, id) on delete cascade
);
create unique index grants_live on grants (organization_id, surface_id, kind, issuer, subject, client_id) where revoked_at is null;
create index grants_person on grants (organization_id, project_id, issuer, subject);
create index grants_upstream on grants (organization_id, upstream_session_id) where revoked_at is null;
create unique index grants_id on grants (id);

-- One chain of refresh tokens per exchanged code: two computers of one person
-- share a grant and never a chain.
create table refresh_chains (
    organization_id uuid not null,
    id              uuid not null,
    grant_id        uuid not null,
    generation      integer not null,           -- of the newest token
    rotated_at      timestamptz not null,
    created_at      timestamptz not null,
    idle_until      timestamptz not null,
    ended_at        timestamptz,
    primary key (organization_id, id),
    foreign key (organization_id, grant_id) references grants (organization_id, id) on delete cascade
);
create index refresh_chains_grant on refresh_chains (organization_id, grant_id);
create unique index refresh_chains_id on refresh_chains (id);

-- What may be used once only: assertions of clients (RFC 7523).
create table used_states (
    organization_id uuid not null,
    jti             bytea not null,             -- SHA-256 of surface, client and jti
    expires_at      timestamptz not null,
    primary key (organization_id, jti)
);
create index used_states_expires on used_states (expires_at);

-- How often something was tried in a window of time, on every replica together.
create table bridge_limits (
    key          bytea primary key,             -- keyed hash: no address, no email
    window_start timestamptz not null,
    used         integer not null
);
create index bridge_limits_window on bridge_limits (window_start);

-- The story of attempts to connect.
create table connection_steps (
    organization_id uuid not null,
    id              uuid not null,
    at              timestamptz not null,
    surface_id      uuid not null,
    step            text not null,              -- challenge, metadata, registration, authorize, sign_in, consent, token, first_call, refresh, ended
    outcome         text not null check (outcome in ('ok', 'failed')),
    code            text not null,              -- of what failed
    address         bytea not null,             -- keyed hash; joins steps, says nothing
    client_id       text not null,
    client_name     text not null,
    client_version  text not null,
    agent           text not null,              -- User-Agent, cut
    sign_in_id      uuid,
    grant_id        uuid,
    request_id      text not null,
    primary key (organization_id, id)
);
create index connection_steps_surface on connection_steps (organization_id, surface_id, at desc);
create index connection_steps_at on connection_steps (at);

-- Pages name the issuer that a browser came to by the row of its URL.
create unique index surface_urls_id on surface_urls (id);

-- +goose StatementBegin
do $$
declare
    t text;
    own text[] := array['sign_in_settings', 'oauth_clients', 'upstream_sessions', 'end_user_sessions', 'sign_ins',
        'grants', 'refresh_chains', 'used_states', 'connection_steps'];
begin
    foreach t in array own || array['signing_keys', 'bridge_limits'] loop
        execute format('alter table %I enable row level security', t);
        execute format('alter table %I force row level security', t);
        execute format('create policy system_all on %I to chumbo_system using (true) with check (true)', t);
    end loop;
    foreach t in array own loop
        execute format('create policy tenant on %I to chumbo_app using (organization_id = current_organization()) with check (organization_id = current_organization())', t);
    end loop;
end $$;
-- +goose StatementEnd

-- chumbo_app: everything of one surface's callers happens in its organization.
-- What is over is deleted by the worker; a grant is never deleted but with its surface.
grant select, insert, update on sign_in_settings, upstream_sessions, end_user_sessions, sign_ins, grants, refresh_chains to chumbo_app;
grant select, insert, update, delete on oauth_clients to chumbo_app;
grant select, insert on used_states to chumbo_app;
grant select on connection_steps to chumbo_app;
-- chumbo_system: finding whose a token, a state or a sign-in is; clean-up by the worker; batches of steps.
grant select, insert, update, delete on signing_keys, bridge_limits to chumbo_system;
grant select, delete on oauth_clients, upstream_sessions, end_user_sessions, sign_ins, refresh_chains, used_states to chumbo_system;
grant select on grants to chumbo_system;
grant update on upstream_sessions to chumbo_system;
grant select, insert, delete on connection_steps to chumbo_system;

-- A grant that is taken away or narrowed, and a session that ended, are told
-- to every server at once. What happens on every call never notifies.
-- +goose StatementBegin
create function notify_grant() returns trigger language plpgsql as $$
begin
    perform pg_notify('chumbo_directory', 'grant:' || new.id::text);
    return null;
end $$;
-- +goose StatementEnd
create trigger grants_notify after update of revoked_at, scopes, read_only, writes, expires_at, upstream_session_id on grants
    for each row execute function notify_grant();
-- +goose StatementBegin
create function notify_chain() returns trigger language plpgsql as $$
begin
    perform pg_notify('chumbo_directory', 'grant:' || new.grant_id::text);
    return null;
end $$;
-- +goose StatementEnd
create trigger refresh_chains_notify after update of ended_at on refresh_chains
    for each row when (new.ended_at is not null) execute function notify_chain();
-- +goose StatementBegin
create function notify_upstream() returns trigger language plpgsql as $$
begin
    perform pg_notify('chumbo_directory', 'upstream:' || new.id::text);
    return null;
end $$;
-- +goose StatementEnd
create trigger upstream_sessions_notify after update of ended_at, role, anonymous on upstream_sessions
    for each row when (new.ended_at is not null or new.role <> old.role or new.anonymous <> old.anonymous) execute function notify_upstream();

-- What a surface's URLs are depends on which domains of its project are proven.
-- +goose StatementBegin
create function notify_domain() returns trigger language plpgsql as $$
begin
    perform pg_notify('chumbo_directory', 'project:' || coalesce(new.project_id, old.project_id)::text);
    return null;
end $$;
-- +goose StatementEnd
create trigger domains_notify after insert or update or delete on domains
    for each row execute function notify_domain();

-- +goose Down
drop trigger domains_notify on domains;
drop function notify_domain();
drop table connection_steps, bridge_limits, used_states, refresh_chains, grants, sign_ins, end_user_sessions, upstream_sessions,
    oauth_clients, sign_in_settings, signing_keys;
drop index surface_urls_id;
drop function notify_grant(), notify_chain(), notify_upstream();
