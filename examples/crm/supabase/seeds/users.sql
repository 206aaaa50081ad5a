-- Alice and Bob, for a local Supabase: both sign in with the password
-- "correct horse battery". Never run this anywhere else.
insert into auth.users (instance_id, id, aud, role, email, encrypted_password, email_confirmed_at,
  raw_app_meta_data, raw_user_meta_data, created_at, updated_at,
  confirmation_token, recovery_token, email_change, email_change_token_new)
select '00000000-0000-0000-0000-000000000000', u.id::uuid, 'authenticated', 'authenticated', u.email,
  extensions.crypt('correct horse battery', extensions.gen_salt('bf')), now(),
  '{"provider": "email", "providers": ["email"]}', '{}', now(), now(), '', '', '', ''
from (values
  ('a11ce000-0000-4000-8000-000000000001', 'alice@example.test'),
  ('b0b00000-0000-4000-8000-000000000002', 'bob@example.test')
) as u (id, email)
on conflict (id) do nothing;

insert into auth.identities (id, user_id, provider, provider_id, identity_data, created_at, updated_at)
select gen_random_uuid(), u.id, 'email', u.id::text,
  jsonb_build_object('sub', u.id::text, 'email', u.email, 'email_verified', true), now(), now()
from auth.users u
where u.email in ('alice@example.test', 'bob@example.test')
on conflict do nothing;
