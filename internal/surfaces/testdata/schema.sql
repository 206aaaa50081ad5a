-- A database with everything the importer and the compiler meet.
create schema billing;
grant usage on schema public, billing to anon, authenticated;

create type public.customer_status as enum ('lead', 'active', 'archived');
create type public.address as (street text, city text);
create domain public.email as text check (value ~ '@');
create domain public.work_email as public.email;

create table public.customers (
  id bigint generated always as identity primary key,
  organization_id uuid not null,
  name text not null,
  status public.customer_status not null default 'lead',
  balance numeric(12, 2) not null default 0,
  score double precision,
  visits integer not null default 0,
  vip boolean not null default false,
  contact public.work_email,
  home public.address,
  tags text[],
  numbers bigint[],
  settings jsonb,
  birthday date,
  secret text,
  label text generated always as (name || '!') stored,
  updated_at timestamptz not null default now(),
  unique (organization_id, name)
);
comment on table public.customers is 'People and companies that buy.';
comment on column public.customers.status is 'Where they are in the pipeline.';
alter table public.customers enable row level security;
create policy own on public.customers to authenticated using (true);
grant select (id, organization_id, name, status, balance, score, visits, vip, contact, home, tags, numbers, settings, birthday, label, updated_at)
  on public.customers to authenticated;
create index customers_updated on public.customers (updated_at desc, id desc);
create index customers_active on public.customers (vip) where status = 'active';
create index customers_lower on public.customers (lower(name));

grant insert, update, delete on public.customers to authenticated;

create table public.notes (
  id bigint generated always as identity primary key,
  customer_id bigint not null references public.customers (id) on delete cascade,
  author_id uuid not null,
  body text not null check (body <> ''),
  request_id uuid unique,
  created_at timestamptz not null default now()
);
comment on table public.notes is 'What people wrote down about a customer.';
alter table public.notes enable row level security;
create policy own on public.notes to authenticated using (true) with check (true);
grant select, insert, update, delete on public.notes to authenticated;
create index notes_customer on public.notes (customer_id, created_at, id);
create index notes_created on public.notes (created_at, id);

create table public.staff (id integer primary key, name text not null, manager_id integer references public.staff (id));
alter table public.staff enable row level security;
create policy own on public.staff to authenticated using (true);
grant select on public.staff to authenticated;
create index staff_manager on public.staff (manager_id, name, id);

create table public.enrollments (
  course text not null,
  customer_id bigint not null references public.customers (id),
  grade smallint,
  primary key (course, customer_id)
);
alter table public.enrollments enable row level security;
grant select on public.enrollments to authenticated;

create table public.announcements (id integer primary key, body text not null);
grant select on public.announcements to anon, authenticated;

create table public.logs (line text, at timestamp);
alter table public.logs enable row level security;
create policy own on public.logs using (true);
grant select on public.logs to authenticated;

create table public."user.events" (id uuid primary key, "Kind" text not null);
alter table public."user.events" enable row level security;
create policy own on public."user.events" using (true);
grant select on public."user.events" to authenticated;

create table billing.invoices (number text primary key, customer_id bigint, total money);
alter table billing.invoices enable row level security;
create policy own on billing.invoices using (true);
grant select on billing.invoices to authenticated;

create view public.customer_names with (security_invoker = true) as select id, name from public.customers;
create view public.every_customer as select id, name, secret from public.customers;
create materialized view public.totals as select status, count(*) as customers from public.customers group by status;
grant select on public.customer_names, public.every_customer, public.totals to authenticated;

create function public.greet(name text) returns text language sql immutable as $$ select 'Hello, ' || name $$;
comment on function public.greet(text) is 'Says hello.';
create function public.archive_customer(id bigint, reason text default 'none') returns public.customers language sql as $$
  update public.customers c set status = 'archived' where c.id = archive_customer.id returning c.* $$;
create function public.touch(id bigint) returns void language sql as $$ update public.customers c set updated_at = now() where c.id = touch.id $$;
create function public.summary(since timestamptz default '-infinity', states public.customer_status[] default '{}')
  returns table (status public.customer_status, customers bigint, balance numeric) language sql stable
  set statement_timeout = '2s' as $$ select null::public.customer_status, 1::bigint, 1::numeric $$;
create function public.recent_customers(days integer default 30, states public.customer_status[] default '{}', sort text default 'name')
  returns setof public.customers language sql stable as $$ select * from public.customers $$;
create function public.ids() returns setof integer language sql stable as $$ select 1 $$;
create function public.pair(a integer, out x integer, out y text) language sql immutable as $$ select 1, 'y' $$;
create function public.payload(body jsonb, home public.address default null) returns jsonb language sql stable as $$ select '{}'::jsonb $$;
create function public.anything() returns setof record language sql stable as $$ select 1, 2 $$;
create function public."do thing"(variadic words text[]) returns text language sql stable as $$ select 'x' $$;
create function public.twice(a integer) returns integer language sql stable as $$ select 1 $$;
create function public.twice(a text) returns integer language sql stable as $$ select 1 $$;
create function public.unnamed(integer) returns integer language sql stable as $$ select 1 $$;
create function public.as_owner() returns setof public.customers language sql stable security definer as $$ select * from public.customers $$;
create function public.private_count() returns integer language sql stable as $$ select 1 $$;
revoke execute on function public.private_count() from public;
create function billing.pay(number text) returns boolean language sql as $$ select true $$;
create function public.on_change() returns trigger language plpgsql as $$ begin return new; end $$;
create procedure public.tidy() language sql as $$ select 1 $$;

create table public.keys (hash text primary key, owner bigint not null);
alter table public.keys enable row level security;
create function public.check_key(key text) returns jsonb language sql stable security definer set search_path = '' as $$
  select jsonb_build_object('subject', k.owner, 'scopes', array['crm.read']) from public.keys k where k.hash = key $$;
create function public.my_scopes() returns text[] language sql stable as $$ select array['crm.read'] $$;
create function public.chumbo_context() returns jsonb language sql stable as $$ select '{}'::jsonb $$;
create function public.chumbo_authorize(checks jsonb) returns jsonb language sql stable as $$ select '[]'::jsonb $$;
create function public.purge_customer(id bigint) returns void language sql security definer set search_path = '' as $$
  delete from public.customers c where c.id = purge_customer.id $$;
create function public.refund(order_id bigint, amount numeric) returns void language sql as $$ select $$;

-- What lists search, embed and compare.
create type public.point_on_map as (lat double precision, lng double precision);
create type public.stop as (name text, spot public.point_on_map, reached date, steps bigint, fare numeric);
create type public.leg as (origin public.stop, destination public.stop);
create type public.route as (title text, legs public.leg[], longest public.leg);
create type public.odd_names as ("a b" text);

create table public.teams (
  id integer primary key,
  name text not null,
  parent_id integer references public.teams (id)
);
alter table public.teams enable row level security;
create policy own on public.teams to authenticated using (true);
grant select on public.teams to authenticated;

create table public.team_badges (
  team_id integer primary key references public.teams (id),
  code text
);
alter table public.team_badges enable row level security;
create policy own on public.team_badges to authenticated using (true);
grant select on public.team_badges to authenticated;

create table public.matches (
  id bigint primary key,
  home_team integer not null references public.teams (id),
  away_team integer not null references public.teams (id),
  played_on date
);
alter table public.matches enable row level security;
create policy own on public.matches to authenticated using (true);
grant select on public.matches to authenticated;
create index matches_home on public.matches (home_team);

create table public.articles (
  id bigint primary key,
  team_id integer references public.teams (id),
  title text not null,
  body text not null,
  words tsvector generated always as (to_tsvector('english', title || ' ' || body)) stored,
  topics text[] not null default '{}',
  votes bigint[],
  meta jsonb,
  journey public.route,
  odd public.odd_names,
  checked_at timestamptz(0)
);
alter table public.articles enable row level security;
create policy own on public.articles to authenticated using (true);
grant select on public.articles to authenticated;
create index articles_words on public.articles using gin (words);
create index articles_topics on public.articles using gin (topics);
create index articles_meta on public.articles using gin (meta jsonb_path_ops);
