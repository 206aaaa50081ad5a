-- Storage's buckets, as its own migrations make them, with what files need of
-- them. The stand-in brings its own.
create schema storage;
create table storage.buckets (
  id text primary key,
  name text not null unique,
  owner uuid,
  created_at timestamptz default now(),
  updated_at timestamptz default now(),
  public boolean default false,
  avif_autodetection boolean default false,
  file_size_limit bigint,
  allowed_mime_types text[],
  owner_id text,
  type text not null default 'STANDARD'
);
grant usage on schema storage to authenticated;
grant select on storage.buckets to authenticated;
insert into storage.buckets (id, name, public, file_size_limit, allowed_mime_types, type) values
  ('documents', 'documents', false, null, null, 'STANDARD'),
  ('avatars', 'avatars', true, 1048576, '{image/png,image/*}', 'STANDARD'),
  ('a <b>&"odd"''
bucket', 'odd', null, 0, '{}', 'STANDARD'),
  ('lake', 'lake', false, null, null, 'ANALYTICS');
