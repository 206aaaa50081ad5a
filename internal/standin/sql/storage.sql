-- What Storage keeps about files. The contents are elsewhere: with the running
-- stand-in, or in standin.contents for files that SQL brings along.
create schema if not exists storage;
create schema if not exists standin;
do $$
begin
  if to_regtype('storage.buckettype') is null then
    create type storage.buckettype as enum ('STANDARD', 'ANALYTICS', 'VECTOR');
  end if;
end
$$;
create table if not exists storage.buckets (
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
  type storage.buckettype not null default 'STANDARD'
);
create table if not exists storage.objects (
  id uuid primary key default gen_random_uuid(),
  bucket_id text references storage.buckets (id),
  name text,
  owner uuid,
  created_at timestamptz default now(),
  updated_at timestamptz default now(),
  last_accessed_at timestamptz default now(),
  metadata jsonb,
  path_tokens text[] generated always as (string_to_array(name, '/')) stored,
  version text,
  owner_id text,
  user_metadata jsonb,
  unique (bucket_id, name)
);
alter table storage.buckets enable row level security;
alter table storage.objects enable row level security;

create or replace function storage.foldername(name text) returns text[] language sql immutable as $$
  select (string_to_array(name, '/'))[:cardinality(string_to_array(name, '/')) - 1]
$$;
create or replace function storage.filename(name text) returns text language sql immutable as $$
  select (string_to_array(name, '/'))[cardinality(string_to_array(name, '/'))]
$$;
create or replace function storage.extension(name text) returns text language sql immutable as $$
  select reverse(split_part(reverse(storage.filename(name)), '.', 1))
$$;
grant usage on schema storage to anon, authenticated, service_role;
grant all on storage.buckets, storage.objects to anon, authenticated, service_role;
grant execute on all functions in schema storage to anon, authenticated, service_role;

-- No role of the project may look into this one.
create table if not exists standin.contents (version text primary key, content bytea not null);
create or replace function standin.put_file(bucket text, path text, owner uuid, mimetype text, content bytea, at timestamptz default now())
returns void language sql as $$
  with made as (
    insert into storage.objects (bucket_id, name, owner, owner_id, version, created_at, updated_at, last_accessed_at, metadata)
    values (bucket, path, owner, owner::text, gen_random_uuid()::text, at, at, at, jsonb_build_object(
      'eTag', '"' || md5(content) || '"', 'size', length(content), 'mimetype', mimetype, 'cacheControl', 'no-cache',
      'lastModified', to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'contentLength', length(content), 'httpStatusCode', 200))
    returning version
  )
  insert into standin.contents (version, content) select made.version, put_file.content from made
$$;
revoke all on function standin.put_file from public;
