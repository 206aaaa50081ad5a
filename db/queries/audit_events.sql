-- Table: audit_events. chumbo_app may only insert.

-- name: InsertAuditEvent :exec
insert into audit_events (organization_id, id, at, actor, address, action, target, outcome, detail)
values (@organization_id, @id, @now, @actor, @address, @action, @target, @outcome, @detail);
