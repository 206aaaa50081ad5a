-- A customer database of two organizations.

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
-- Lists are read in these orders, whoever reads them.
create index customers_name on public.customers (name, id);
create index customers_updated on public.customers (updated_at, id);
create index customers_status on public.customers (status);
create extension if not exists pg_trgm with schema extensions;
create index customers_name_search on public.customers using gin (name extensions.gin_trgm_ops);
create index customers_email_search on public.customers using gin (email extensions.gin_trgm_ops);
create index customers_tags on public.customers using gin (tags);

create table public.notes (
  id bigint generated always as identity primary key,
  customer_id bigint not null references public.customers (id) on delete cascade,
  author_id uuid not null default auth.uid() references auth.users (id),
  body text not null check (length(body) between 1 and 4000),
  request_id uuid unique, -- tells a note that is sent twice from two notes
  created_at timestamptz not null default now()
);
comment on table public.notes is 'What people wrote down about a customer.';
create index notes_customer on public.notes (customer_id, created_at, id);
create index notes_created on public.notes (created_at, id);

-- Readable by everybody, signed in or not.
create table public.announcements (
  id bigint generated always as identity primary key,
  title text not null,
  published_at timestamptz not null default now()
);
create index announcements_published on public.announcements (published_at, id);

create view public.customer_names with (security_invoker = true) as
  select id, name, status from public.customers;

-- Nobody sees a row until a policy lets them.
alter table public.organizations enable row level security;
alter table public.memberships enable row level security;
alter table public.customers enable row level security;
alter table public.notes enable row level security;
alter table public.announcements enable row level security;
