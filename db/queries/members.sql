-- Table: members, a builder's seat in an organization.

-- name: InsertMember :exec
insert into members (organization_id, builder_id, role, created_at)
values (@organization_id, @builder_id, @role, @now);

-- name: ListMemberships :many
-- As chumbo_system: a builder's seats, whichever the organization.
select m.organization_id, m.role, o.slug, o.name
from members m
join organizations o on o.id = m.organization_id
where m.builder_id = @builder_id
order by lower(o.name), o.slug;

-- name: GetMembership :one
-- As chumbo_system: a device's approver, who may have left since.
select m.role, o.slug, o.name, b.email
from members m
join organizations o on o.id = m.organization_id
join builders b on b.id = m.builder_id
where m.organization_id = @organization_id and m.builder_id = @builder_id;
