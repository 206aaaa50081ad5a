-- A project's logo, as end users see it: always a PNG that we encoded.

-- +goose Up
create table project_logos (
    organization_id uuid not null,
    project_id      uuid not null,
    digest          bytea not null,             -- SHA-256 of png; its name in URLs
    png             bytea not null,
    created_at      timestamptz not null,
    primary key (organization_id, project_id),
    foreign key (organization_id, project_id) references projects (organization_id, id)
);
create index project_logos_digest on project_logos (digest);
alter table projects add column logo_digest bytea;             -- of project_logos, so that a lookup need not join

alter table project_logos enable row level security;
alter table project_logos force row level security;
create policy system_all on project_logos to chumbo_system using (true) with check (true);
create policy tenant on project_logos to chumbo_app using (organization_id = current_organization()) with check (organization_id = current_organization());
grant select, insert, update, delete on project_logos to chumbo_app;
grant select on project_logos to chumbo_system;

-- +goose Down
alter table projects drop column logo_digest;
drop table project_logos;
