-- Table: projects, its columns for chumbo_catalog.

-- name: SetCatalog :execrows
update projects set catalog_token = @catalog_token, catalog_relations = @catalog_relations::text[], updated_at = @now
where organization_id = @organization_id and id = @id;
