-- What the app offers beyond its tables.

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

create function public.my_seat() returns jsonb language sql stable as $$
  select jsonb_build_object('organization_id', m.organization_id, 'role', m.role)
  from public.memberships m where m.user_id = auth.uid()
  order by m.organization_id limit 1
$$;
comment on function public.my_seat is 'The organization that new rows belong to.';

revoke execute on all functions in schema public from public;
grant execute on function public.greet(text) to anon, authenticated, service_role;
grant execute on function public.customer_summary(timestamptz, boolean),
  public.archive_customer(bigint), public.touch_customer(bigint), public.my_seat() to authenticated, service_role;
