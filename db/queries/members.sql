-- Table: members, a builder's seat in an organization.

-- name: InsertMember :exec
insert into members (organization_id, builder_id, role, created_at)
values (@organization_id, @builder_id, @role, @now);
