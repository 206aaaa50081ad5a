with recursive
  caller as materialized (
    select r.oid, r.rolname::pg_catalog.text as name,
      (select pg_catalog.split_part(c, '=', 2) from pg_catalog.unnest(r.rolconfig) c
        where pg_catalog.starts_with(c, 'statement_timeout=')) as timeout
    from pg_catalog.pg_roles r where r.rolname::pg_catalog.text = any (:roles)
  ),
  exposed as materialized (
    select n.oid, s.name, s.place
    from pg_catalog.unnest(:schemas) with ordinality s (name, place)
    left join pg_catalog.pg_namespace n on n.nspname::pg_catalog.text = s.name
  ),
  rel as materialized (
    select c.oid, s.name as schema, c.relname::pg_catalog.text as name, c.relkind, c.relrowsecurity, c.reloptions
    from pg_catalog.pg_class c join exposed s on s.oid = c.relnamespace
    where c.relkind in ('r', 'p', 'v', 'm', 'f') and not c.relispartition
      and (:listed)
  ),
  fn as materialized (
    select s.name as schema, c.proname::pg_catalog.text as name, c.*,
      coalesce(c.proallargtypes, c.proargtypes::pg_catalog.oid[]) as parameters, t.typrelid as row_of
    from pg_catalog.pg_proc c join exposed s on s.oid = c.pronamespace join pg_catalog.pg_type t on t.oid = c.prorettype
    where c.prokind = 'f' and t.typname not in ('trigger', 'event_trigger')
      and not exists (select from pg_catalog.pg_depend d
        where d.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass and d.objid = c.oid and d.deptype = 'e')
      and not (s.name = 'public' and c.proname in ('chumbo_catalog', 'chumbo_ownership'))
      and (:called)
  ),
  composite as materialized (
    select c.oid from pg_catalog.pg_class c where c.relkind = 'c'
  ),
  attribute as materialized (
    select a.attrelid, a.attnum, a.attname::pg_catalog.text as name, a.atttypid
    from pg_catalog.pg_attribute a
    where a.attnum > 0 and not a.attisdropped
      and a.attrelid in (select rel.oid from rel union select fn.row_of from fn union select k.oid from composite k)
  ),
  shape as materialized (
    select a.attrelid as oid,
      pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object('name', a.name, 'type', a.atttypid::pg_catalog.int8) order by a.attnum) as attributes
    from attribute a group by a.attrelid
  ),
  seed as materialized (
    select distinct x.oid from (
      select a.atttypid from attribute a where a.attrelid not in (select k.oid from composite k) or a.attrelid in (select fn.row_of from fn)
      union all select pg_catalog.unnest(fn.parameters) from fn
      union all select fn.prorettype from fn
    ) x (oid)
  ),
  part as materialized (
    select distinct t.oid, below.oid as part
    from pg_catalog.pg_type t
    cross join lateral (
      select t.typelem where t.typcategory = 'A' and t.typlen = -1
      union all
      select t.typbasetype where t.typtype = 'd'
    ) below (oid)
    union all
    select distinct t.oid, a.atttypid from composite k join pg_catalog.pg_type t on t.typrelid = k.oid join attribute a on a.attrelid = k.oid
  ),
  used (oid) as (
    select seed.oid from seed
    union
    select p.part from used u join part p on p.oid = u.oid
  ),
  described as materialized (select distinct used.oid from used)
select pg_catalog.jsonb_build_object(
  'format', 'chumbo.catalog/1',
  'postgres', pg_catalog.current_setting('server_version'),
  'max_rows', :max_rows,
  'trigrams', coalesce((select n.nspname::pg_catalog.text from pg_catalog.pg_extension e
    join pg_catalog.pg_namespace n on n.oid = e.extnamespace where e.extname = 'pg_trgm'), ''),
  'schemas', (select pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object(
      'name', s.name, 'exists', s.oid is not null,
      'usage', array(select r.name from caller r where pg_catalog.has_schema_privilege(r.oid, s.oid, 'USAGE'))
    ) order by s.place) from exposed s),
  'roles', (select pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object('name', r.name, 'timeout', coalesce(r.timeout, ''))) from caller r),
  'types', (select pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object(
      'id', t.oid::pg_catalog.int8, 'schema', n.nspname::pg_catalog.text, 'name', t.typname::pg_catalog.text, 'kind', t.typtype::pg_catalog.text,
      'element', case when t.typcategory = 'A' and t.typlen = -1 then t.typelem::pg_catalog.int8 else 0 end,
      'base', t.typbasetype::pg_catalog.int8,
      'labels', array(select e.enumlabel::pg_catalog.text from pg_catalog.pg_enum e where e.enumtypid = t.oid order by e.enumsortorder),
      'attributes', s.attributes
    )) from described u join pg_catalog.pg_type t on t.oid = u.oid join pg_catalog.pg_namespace n on n.oid = t.typnamespace
      left join (shape s join composite k on k.oid = s.oid) on s.oid = t.typrelid),
  'relations', (select pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object(
      'schema', x.schema, 'name', x.name, 'kind', x.relkind::pg_catalog.text, 'rls', x.relrowsecurity,
      'comment', coalesce(pg_catalog.left(pg_catalog.obj_description(x.oid, 'pg_class'), 1024), ''),
      'policies', (select pg_catalog.count(*) from pg_catalog.pg_policy p where p.polrelid = x.oid),
      'policy_roles', (select pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object('role', r.name, 'commands', array(
          select k.command from (values ('select', 'r'), ('insert', 'a'), ('update', 'w'), ('delete', 'd')) k (command, letter)
          where exists (select from pg_catalog.pg_policy p where p.polrelid = x.oid and p.polpermissive
            and r.oid = any (p.polroles) and p.polcmd::pg_catalog.text in ('*', k.letter))))) from caller r),
      'security_invoker', coalesce(x.reloptions && array['security_invoker=true', 'security_invoker=on', 'security_invoker=1', 'security_invoker=yes'], false),
      'delete', array(select r.name from caller r where pg_catalog.has_table_privilege(r.oid, x.oid, 'DELETE')),
      'public', array(select k.command from (values ('select'), ('insert'), ('update')) k (command)
          where pg_catalog.has_any_column_privilege('public', x.oid, k.command)
        union all select 'delete' where pg_catalog.has_table_privilege('public', x.oid, 'DELETE')),
      'columns', (select pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object(
          'name', a.attname::pg_catalog.text, 'type', a.atttypid::pg_catalog.int8, 'not_null', a.attnotnull,
          'default', case
            when a.attgenerated <> '' or d.oid is null then ''
            when pg_catalog.pg_get_expr(d.adbin, d.adrelid) ~ '^([(]?-?[0-9.]+[)]?|''([^'']|'''')*''|true|false|NULL)(::([]a-z_0-9 .,()[]|"([^"]|"")*")+)?$' then 'constant'
            else 'expression' end,
          'generated', a.attgenerated <> '', 'identity', a.attidentity::pg_catalog.text,
          'coarse', a.atttypid in ('pg_catalog.timestamp'::pg_catalog.regtype, 'pg_catalog.timestamptz'::pg_catalog.regtype) and a.atttypmod between 0 and 5,
          'comment', coalesce(pg_catalog.left(pg_catalog.col_description(a.attrelid, a.attnum), 1024), ''),
          'select', array(select r.name from caller r where pg_catalog.has_column_privilege(r.oid, a.attrelid, a.attnum, 'SELECT')),
          'insert', array(select r.name from caller r where pg_catalog.has_column_privilege(r.oid, a.attrelid, a.attnum, 'INSERT')),
          'update', array(select r.name from caller r where pg_catalog.has_column_privilege(r.oid, a.attrelid, a.attnum, 'UPDATE'))
        ) order by a.attnum)
        from pg_catalog.pg_attribute a left join pg_catalog.pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
        where a.attrelid = x.oid and a.attnum > 0 and not a.attisdropped),
      'constraints', (select pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object(
          'name', c.conname::pg_catalog.text, 'kind', c.contype::pg_catalog.text,
          'schema', coalesce(f.schema, ''), 'relation', coalesce(f.name, ''),
          'columns', array(select a.attname::pg_catalog.text from pg_catalog.unnest(c.conkey) with ordinality k (num, place)
            join pg_catalog.pg_attribute a on a.attrelid = c.conrelid and a.attnum = k.num order by k.place),
          'referenced', array(select a.attname::pg_catalog.text from pg_catalog.unnest(c.confkey) with ordinality k (num, place)
            join pg_catalog.pg_attribute a on a.attrelid = c.confrelid and a.attnum = k.num order by k.place)))
        from pg_catalog.pg_constraint c left join rel f on f.oid = c.confrelid
        where c.conrelid = x.oid and (c.contype = 'p' or c.contype = 'f' and f.oid is not null)),
      'indexes', (select pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object(
          'name', c.relname::pg_catalog.text, 'method', m.amname::pg_catalog.text,
          'unique', i.indisunique, 'primary', i.indisprimary, 'partial', i.indpred is not null,
          'keys', (select pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object(
              'column', coalesce(a.attname::pg_catalog.text, ''), 'option', i.indoption[k.place]::pg_catalog.int4,
              'class', case when o.opcdefault then '' else o.opcname::pg_catalog.text end) order by k.place)
            from pg_catalog.generate_series(0, i.indnkeyatts - 1) k (place)
            join pg_catalog.pg_opclass o on o.oid = i.indclass[k.place]
            left join pg_catalog.pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[k.place] and i.indkey[k.place] > 0)))
        from pg_catalog.pg_index i join pg_catalog.pg_class c on c.oid = i.indexrelid join pg_catalog.pg_am m on m.oid = c.relam
        where i.indrelid = x.oid and i.indisvalid and i.indislive)
    )) from rel x),
  'functions', (select pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object(
      'schema', f.schema, 'name', f.name, 'volatility', f.provolatile::pg_catalog.text, 'definer', f.prosecdef,
      'comment', coalesce(pg_catalog.left(pg_catalog.obj_description(f.oid, 'pg_proc'), 1024), ''),
      'set', f.proretset, 'returns', f.prorettype::pg_catalog.int8, 'defaults', f.pronargdefaults::pg_catalog.int4,
      'timeout', coalesce((select pg_catalog.split_part(c, '=', 2) from pg_catalog.unnest(f.proconfig) c
        where pg_catalog.starts_with(c, 'statement_timeout=')), ''),
      'execute', array(select r.name from caller r where pg_catalog.has_function_privilege(r.oid, f.oid, 'EXECUTE')),
      'parameters', (select pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object(
          'name', coalesce(f.proargnames[p.place], ''), 'type', p.type::pg_catalog.int8,
          'mode', coalesce(f.proargmodes[p.place]::pg_catalog.text, 'i')) order by p.place)
        from pg_catalog.unnest(f.parameters) with ordinality p (type, place)),
      'row', s.attributes
    )) from fn f left join shape s on s.oid = f.row_of),
  'buckets', (select pg_catalog.convert_from(pg_catalog.decode(pg_catalog.substring(pg_catalog.query_to_xml(
        'select pg_catalog.encode(pg_catalog.convert_to(coalesce(pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object(
          ''name'', s.b ->> ''id'', ''public'', coalesce((s.b ->> ''public'')::pg_catalog.bool, false),
          ''file_size_limit'', s.b -> ''file_size_limit'', ''mime_types'', s.b -> ''allowed_mime_types'')), ''[]'')::pg_catalog.text, ''UTF8''), ''hex'') as found
        from (select pg_catalog.to_jsonb(b) as b from storage.buckets b order by b.id limit 5001) s
        where coalesce(s.b ->> ''type'', ''STANDARD'') = ''STANDARD''',
        true, true, '')::pg_catalog.text, '<found>([0-9a-f]*)</found>'), 'hex'), 'UTF8')::pg_catalog.jsonb
    from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where n.nspname = 'storage' and c.relname = 'buckets' and c.relkind = 'r'
      and pg_catalog.has_schema_privilege(n.oid, 'USAGE') and pg_catalog.has_table_privilege(c.oid, 'SELECT')
      and not pg_catalog.row_security_active(c.oid))
) as catalog
