-- +goose Up

-- Calls that wait for a person on our page, because their client cannot ask
-- one. At most one is open for one call of one caller.
create table approvals (
    organization_id uuid not null,
    id              text not null,         -- 160 random bits
    surface_id      uuid not null,
    url_ref         text not null,         -- tenants.Resource.Ref: by which URL the call came
    issuer          text not null,         -- whom the page is for
    subject         text not null,
    grant_id        uuid not null,         -- of the client that called
    caller          bytea not null,        -- keyed hash of the whole caller
    call            bytea not null,        -- keyed hash of capability, arguments and revision
    sealed          bytea not null,        -- what the page shows
    state           text not null check (state in ('pending', 'approved', 'declined', 'used')),
    created_at      timestamptz not null,
    decided_at      timestamptz,
    expires_at      timestamptz not null,  -- of the question, then of its answer
    primary key (organization_id, id),
    foreign key (organization_id, surface_id) references surfaces (organization_id, id) on delete cascade
);
create unique index approvals_id on approvals (id);
create unique index approvals_open on approvals (organization_id, caller, call) where state <> 'used';
create index approvals_expires on approvals (expires_at);

alter table approvals enable row level security;
alter table approvals force row level security;
create policy system_all on approvals to chumbo_system using (true) with check (true);
create policy tenant on approvals to chumbo_app using (organization_id = current_organization()) with check (organization_id = current_organization());
-- chumbo_app: calls and pages. chumbo_system: finding whose an address is; clean-up by the worker.
grant select, insert, update on approvals to chumbo_app;
grant select, delete on approvals to chumbo_system;

-- +goose Down
drop table approvals;
