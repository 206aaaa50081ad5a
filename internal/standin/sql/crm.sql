-- A customer database of two organizations; each member sees their own.
create table public.organizations (
  id uuid primary key,
  name text not null
);
comment on table public.organizations is 'A company that keeps its customers here.';

create table public.memberships (
  organization_id uuid not null references public.organizations (id),
  user_id uuid not null references auth.users (id),
  role text not null default 'member' check (role in ('owner', 'member')),
  primary key (organization_id, user_id)
);

create type public.customer_status as enum ('lead', 'active', 'archived');

create function public.my_organizations() returns setof uuid
language sql stable security definer set search_path = '' as $$
  select organization_id from public.memberships where user_id = auth.uid()
$$;

create table public.customers (
  id bigint generated always as identity primary key,
  organization_id uuid not null references public.organizations (id),
  name text not null,
  email text,
  status public.customer_status not null default 'lead',
  balance numeric(14, 2) not null default 0,
  tags text[] not null default '{}',
  profile jsonb,
  updated_at timestamptz not null default now(),
  unique (organization_id, email)
);
comment on table public.customers is 'Customers of an organization.';
comment on column public.customers.balance is 'What the customer owes, in euros.';
create index customers_name on public.customers (organization_id, name, id);
create index customers_updated on public.customers (organization_id, updated_at, id);

create table public.notes (
  id bigint generated always as identity primary key,
  customer_id bigint not null references public.customers (id) on delete cascade,
  author_id uuid not null default auth.uid() references auth.users (id),
  body text not null check (length(body) between 1 and 4000),
  created_at timestamptz not null default now()
);
comment on table public.notes is 'What people wrote down about a customer.';
create index notes_customer on public.notes (customer_id, created_at, id);

-- Readable by everybody, signed in or not.
create table public.announcements (
  id bigint generated always as identity primary key,
  title text not null,
  published_at timestamptz not null default now()
);

create view public.customer_names with (security_invoker = true) as
  select id, name, status from public.customers;

alter table public.organizations enable row level security;
alter table public.memberships enable row level security;
alter table public.customers enable row level security;
alter table public.notes enable row level security;
alter table public.announcements enable row level security;

create policy "members read" on public.organizations for select to authenticated
  using (id in (select public.my_organizations()));
create policy "own seat" on public.memberships for select to authenticated
  using (user_id = (select auth.uid()));
create policy "members" on public.customers for all to authenticated
  using (organization_id in (select public.my_organizations()))
  with check (organization_id in (select public.my_organizations()));
create policy "members" on public.notes for all to authenticated
  using (customer_id in (select id from public.customers))
  with check (customer_id in (select id from public.customers) and author_id = (select auth.uid()));
create policy "everybody reads" on public.announcements for select to anon, authenticated using (true);

grant select on public.organizations, public.memberships, public.customer_names to authenticated;
grant select, insert, update, delete on public.customers, public.notes to authenticated;
grant select on public.announcements to anon, authenticated;
grant all on all tables in schema public to service_role;

create function public.greet(name text) returns text language sql immutable as $$
  select 'Hello, ' || name || '!'
$$;
comment on function public.greet(text) is 'Says hello.';

create function public.customer_summary(since timestamptz default '-infinity', with_archived boolean default false)
returns table (status public.customer_status, customers bigint, balance numeric)
language sql stable as $$
  select c.status, count(*), sum(c.balance)
  from public.customers c
  where c.updated_at >= since and (with_archived or c.status <> 'archived')
  group by c.status
  order by c.status
$$;
comment on function public.customer_summary is 'Customers and what they owe, by status.';

create function public.archive_customer(id bigint) returns public.customers
language plpgsql as $$
declare
  result public.customers;
begin
  update public.customers c set status = 'archived', updated_at = now()
  where c.id = archive_customer.id
  returning * into result;
  if not found then
    raise exception 'There is no customer %.', archive_customer.id using errcode = 'P0001';
  end if;
  return result;
end
$$;
comment on function public.archive_customer is 'Archives a customer.';

create function public.touch_customer(id bigint) returns void language sql as $$
  update public.customers c set updated_at = now() where c.id = touch_customer.id
$$;

revoke execute on all functions in schema public from public;
grant execute on function public.greet(text) to anon, authenticated, service_role;
grant execute on function public.my_organizations(), public.customer_summary(timestamptz, boolean),
  public.archive_customer(bigint), public.touch_customer(bigint) to authenticated, service_role;

insert into public.organizations (id, name) values
  ('ac3e0000-0000-4000-8000-00000000000a', 'Acme'),
  ('910be000-0000-4000-8000-00000000000b', 'Globex');
insert into public.memberships (organization_id, user_id, role)
select o.id, u.id, 'owner'
from public.organizations o
join auth.users u on u.email = case o.name when 'Acme' then 'alice@example.test' else 'bob@example.test' end;

insert into public.customers (organization_id, name, email, status, balance, tags, profile, updated_at)
select o.id,
  o.name || ' ' || (array['Bakery', 'Books', 'Cycles', 'Dental', 'Engines', 'Flowers', 'Garden', 'Harbour', 'Ironworks', 'Joinery'])[1 + n % 10] || ' ' || n,
  'contact' || n || '@' || lower(o.name) || '.example.test',
  (array['lead', 'active', 'active', 'archived'])[1 + n % 4]::public.customer_status,
  round((n * 37.5 - 200)::numeric, 2),
  case when n % 3 = 0 then array['vip', 'north'] when n % 3 = 1 then array['south'] else '{}' end,
  case when n % 5 = 0 then null else jsonb_build_object('size', n, 'contact', jsonb_build_object('city', 'Lisbon')) end,
  timestamptz '2026-01-01 08:00:00+00' + make_interval(hours => n)
from (select * from public.organizations order by name) o, generate_series(1, 60) n
order by o.name, n;

insert into public.notes (customer_id, author_id, body, created_at)
select c.id, m.user_id, 'Note ' || k || ' about ' || c.name, c.updated_at + make_interval(mins => k)
from public.customers c
join public.memberships m using (organization_id)
cross join generate_series(1, 2) k
where c.id % 2 = 0
order by c.id, k;

insert into public.announcements (title) values ('Welcome'), ('Closed on Sunday');
