-- Table: instance_facts, what is true of the whole instance.

-- name: InstanceFact :one
select value from instance_facts where name = @name;

-- name: InsertInstanceFact :exec
insert into instance_facts (name, value) values (@name, @value) on conflict (name) do nothing;
