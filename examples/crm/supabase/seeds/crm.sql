-- Two organizations with sixty customers each. Alice owns Acme, Bob Globex.
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
