package standin

// oddSchema has what the Data API's tricky inputs need.
const oddSchema = `
create table public.things (
  id bigint primary key,
  name text,
  rank int,
  big bigint,
  amount numeric,
  ratio float8,
  at timestamptz,
  local timestamp,
  doc jsonb,
  tags text[],
  mood public.mood,
  raw bytea
);
create table public."Weird Table" (id int primary key, "a.b" text, "order" int, "Upper" text);
create table public.people (
  id int primary key,
  name text not null unique check (length(name) < 50),
  boss_id int constraint people_boss references public.people (id),
  home_id int constraint people_home references public.places (id),
  work_id int constraint people_work references public.places (id),
  made int generated always as (id * 2) stored
);
create table public.badges (
  code text primary key,
  person_id int not null unique constraint badges_person references public.people (id),
  next_code text unique constraint badges_next references public.badges (code)
);
create view public.distinct_names as select distinct name from public.people;
create table public.slots (id int primary key, label text not null default 'free', note text);
create table public.secrets (id int primary key, owner uuid, body text);
alter table public.secrets enable row level security;
create policy "insert" on public.secrets for insert to authenticated with check (owner = auth.uid());
create table public.forbidden (id int primary key);

insert into public.things (id, name, rank, big, amount, ratio, at, local, doc, tags, mood, raw) values
  (1, 'Beta, Inc', 10, 9007199254740993, 12345678901234567890.123456789, 'NaN', '2026-01-02 03:04:05.12+00', '2026-01-02 03:04:05', '{"a":{"b":"x"},"n":[10,20]}', '{x,"y z"}', 'happy', '\x00ff'),
  (2, '(x)', 20, 1, 1.10, 'Infinity', 'infinity', null, '{"a.b":1}', '{}', 'sad', null),
  (3, '"q"', null, 2, 'NaN', 1.5, null, null, 'null', null, null, null),
  (4, 'back\slash', 20, 3, 0, 0, null, null, null, '{x}', null, null),
  (5, '100%', null, 4, 0, 0, null, null, null, null, null, null),
  (6, '', 5, 5, 0, 0, null, null, null, null, null, null),
  (7, 'null', 20, 6, 0, 0, null, null, null, null, null, null),
  (8, 'Ümläut star*', 1, 7, 0, 0, null, null, null, null, null, null);
insert into public."Weird Table" values (1, 'x', 7, 'U'), (2, 'y', 8, 'V');
insert into public.places values (1, 'Porto'), (2, 'Faro');
insert into public.people (id, name, boss_id, home_id, work_id) values
  (1, 'Ada', null, 1, 2), (2, 'Ben', 1, 1, null), (3, 'Cleo', 1, null, 2);

insert into public.badges values ('A', 1, null);

create function public.add(a int, b int default 10) returns int language sql immutable as 'select a + b';
create function public.pick(a int) returns text language sql as $$ select 'int' $$;
create function public.pick(a text) returns text language sql as $$ select 'text' $$;
create function public.by_names(a int, b int) returns text language sql as $$ select 'ab' $$;
create function public.by_names(a int) returns text language sql as $$ select 'a' $$;
create function public.nothing(id int) returns void language sql as $$ update public.slots set note = 'touched' where slots.id = nothing.id $$;
create function public.write_slot(id int) returns int language sql as $$ insert into public.slots (id) values (id) returning slots.id $$;
create function public.claims_to_be_stable(id int) returns int language plpgsql stable as $$ begin insert into public.slots (id) values (id); return id; end $$;
create function public.no_person() returns public.people language sql stable as $$ select null::public.people $$;
create function public.all_people() returns setof public.people language sql stable as $$ select * from public.people order by id $$;
create function public.numbers() returns setof int language sql stable as $$ values (1), (2), (3) $$;
create function public.outs(a int, out twice int, out thrice int) language sql immutable as $$ select a * 2, a * 3 $$;
create function public.as_json() returns json language sql immutable as $$ select '{"z":1,"a":[true,null]}'::json $$;
create function public.nil() returns text language sql immutable as $$ select null::text $$;
create function public.whole(json) returns json language sql immutable as $$ select $1 $$;
create function public.shout(words text[]) returns text language sql immutable as $$ select upper(array_to_string(words, ' ')) $$;
create function public.complain(kind text) returns int language plpgsql as $$
begin
  case kind
    when 'plain' then raise exception 'No.' using detail = 'the detail', hint = 'the hint';
    when 'teapot' then raise sqlstate 'PT402' using message = 'Payment Required', detail = 'Quota', hint = 'Upgrade';
    when 'json' then raise sqlstate 'PGRST' using message = '{"code":"X1","message":"Mine","details":"d","hint":"h"}', detail = '{"status":418,"headers":{"X-Mine":"yes"}}';
    when 'badjson' then raise sqlstate 'PGRST' using message = 'no json', detail = '{}';
    when 'assert' then assert false, 'broken';
  end case;
  return 0;
end $$;
create function public.sleepy() returns void language sql volatile set statement_timeout = '50ms' as $$ select pg_sleep(5) $$;
create function public.shape_answer() returns text language sql volatile as $$
  select set_config('response.status', '299', true);
  select set_config('response.headers', '[{"X-Shaped":"yes"}]', true);
  select 'shaped'
$$;
create function public.whoami() returns json language sql stable as $$
  select json_build_object('role', current_user, 'uid', auth.uid(), 'claims_role', auth.role(), 'method', current_setting('request.method', true),
    'path', current_setting('request.path', true), 'agent', current_setting('request.headers', true)::json ->> 'user-agent',
    'cookie', current_setting('request.headers', true)::json ->> 'cookie', 'timeout', current_setting('statement_timeout'), 'search_path', current_setting('search_path'))
$$;
grant select, insert, update, delete on public.things, public."Weird Table", public.people, public.places, public.badges, public.slots, public.distinct_names to authenticated;
grant select on public.things to anon;
grant select, insert on public.secrets to authenticated;
`

// oddTypes come first: oddSchema refers to them.
const oddTypes = `
create type public.mood as enum ('sad', 'happy');
create table public.places (id int primary key, town text not null);
`
