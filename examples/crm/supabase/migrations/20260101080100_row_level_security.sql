-- Each member sees their own organization's rows.

-- Not in an exposed schema: policies may call it, clients cannot.
create schema private;
grant usage on schema private to authenticated, service_role;
create function private.my_organizations() returns setof uuid
language sql stable security definer set search_path = '' as $$
  select organization_id from public.memberships where user_id = auth.uid()
$$;
revoke execute on function private.my_organizations() from public;
grant execute on function private.my_organizations() to authenticated, service_role;

create policy "members read" on public.organizations for select to authenticated
  using (id in (select private.my_organizations()));
create policy "own seat" on public.memberships for select to authenticated
  using (user_id = (select auth.uid()));
create policy "members" on public.customers for all to authenticated
  using (organization_id in (select private.my_organizations()))
  with check (organization_id in (select private.my_organizations()));
create policy "members" on public.notes for all to authenticated
  using (customer_id in (select id from public.customers))
  with check (customer_id in (select id from public.customers) and author_id = (select auth.uid()));
create policy "everybody reads" on public.announcements for select to anon, authenticated using (true);

grant select on public.organizations, public.memberships, public.customer_names to authenticated;
grant select, insert, update, delete on public.customers, public.notes to authenticated;
grant select on public.announcements to anon, authenticated;
grant all on all tables in schema public to service_role;
