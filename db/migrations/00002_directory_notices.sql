-- Whatever changes what a URL serves tells every Directory, from a trigger, so
-- that no writer can forget to. A payload names the thing that changed and is
-- small: 'surface:<uuid>', 'project:<uuid>', 'url:<host>|<path>',
-- 'host:<host>'; '*' stands for everything.

-- +goose Up

-- +goose StatementBegin
create function notify_directory() returns trigger language plpgsql as $$
declare
    row_data jsonb;
begin
    foreach row_data in array array[to_jsonb(old), to_jsonb(new)] loop
        continue when row_data is null or row_data = 'null'::jsonb;
        case tg_table_name
            when 'projects' then
                perform pg_notify('chumbo_directory', 'project:' || (row_data ->> 'id'));
            when 'surfaces' then
                perform pg_notify('chumbo_directory', 'surface:' || (row_data ->> 'id'));
            when 'surface_urls' then
                perform pg_notify('chumbo_directory', 'url:' || (row_data ->> 'host') || '|' || (row_data ->> 'path'));
                perform pg_notify('chumbo_directory', 'surface:' || (row_data ->> 'surface_id'));
                if (row_data ->> 'is_root')::boolean then -- "/" of that host answers otherwise now
                    perform pg_notify('chumbo_directory', 'host:' || (row_data ->> 'host'));
                end if;
            when 'domains' then
                perform pg_notify('chumbo_directory', 'host:' || (row_data ->> 'host'));
            else
                perform pg_notify('chumbo_directory', '*');
        end case;
    end loop;
    return null;
end;
$$;
-- +goose StatementEnd

create trigger notify_directory after insert or update or delete on projects
    for each row execute function notify_directory();
create trigger notify_directory after insert or update or delete on surfaces
    for each row execute function notify_directory();
create trigger notify_directory after insert or update or delete on surface_urls
    for each row execute function notify_directory();
create trigger notify_directory after insert or update or delete on domains
    for each row execute function notify_directory();

-- +goose Down
drop trigger notify_directory on domains;
drop trigger notify_directory on surface_urls;
drop trigger notify_directory on surfaces;
drop trigger notify_directory on projects;
drop function notify_directory();
