package surfaces

import (
	"context"
	"fmt"
	"regexp"

	"github.com/jackc/pgx/v5"
)

var relationKinds = map[string]string{"r": KindTable, "p": KindTable, "v": KindView, "m": KindMaterializedView, "f": KindForeignTable}

func (im *importer) relations(ctx context.Context) error {
	im.byOID = map[uint32]int{}
	rows, err := im.tx.Query(ctx, `
		select c.oid, n.nspname::text, c.relname::text, c.relkind::text, coalesce(obj_description(c.oid, 'pg_class'), ''), c.relrowsecurity,
			(select count(*) from pg_policy p where p.polrelid = c.oid)::int,
			coalesce(c.reloptions && array['security_invoker=true', 'security_invoker=on', 'security_invoker=1', 'security_invoker=yes'], false)
		from pg_class c join pg_namespace n on n.oid = c.relnamespace
		where n.nspname = any($1::text[]) and c.relkind in ('r', 'p', 'v', 'm', 'f') and not c.relispartition`, im.opt.Schemas)
	if err != nil {
		return fmt.Errorf("read relations: %w", err)
	}
	var oid uint32
	var kind string
	var r RelationSchema
	_, err = pgx.ForEachRow(rows, []any{&oid, &r.Schema, &r.Name, &kind, &r.Comment, &r.RLS, &r.Policies, &r.SecurityInvoker}, func() error {
		r.Kind = relationKinds[kind]
		im.byOID[oid] = len(im.snap.Relations)
		im.snap.Relations = append(im.snap.Relations, r)
		return nil
	})
	if err != nil {
		return fmt.Errorf("read relations: %w", err)
	}
	return nil
}

// oids are the relations read.
func (im *importer) oids() []uint32 {
	oids := make([]uint32, 0, len(im.byOID))
	for oid := range im.byOID {
		oids = append(oids, oid)
	}
	return oids
}

func (im *importer) relation(oid uint32) *RelationSchema { return &im.snap.Relations[im.byOID[oid]] }

// constantDefault matches a default that is a literal.
var constantDefault = regexp.MustCompile(`^(\(?-?[0-9.]+\)?|'([^']|'')*'|true|false|NULL)(::[a-zA-Z_0-9 "\[\].()]+)?$`)

func (im *importer) columns(ctx context.Context) error {
	rows, err := im.tx.Query(ctx, `
		select a.attrelid, a.attname::text, a.atttypid, a.attnotnull, coalesce(pg_get_expr(d.adbin, d.adrelid), ''),
			a.attgenerated <> '', a.attidentity::text, coalesce(col_description(a.attrelid, a.attnum), ''),
			array(select r.rolname::text from pg_roles r where r.rolname = any($2::text[]) and has_column_privilege(r.oid, a.attrelid, a.attnum, 'SELECT')),
			array(select r.rolname::text from pg_roles r where r.rolname = any($2::text[]) and has_column_privilege(r.oid, a.attrelid, a.attnum, 'INSERT')),
			array(select r.rolname::text from pg_roles r where r.rolname = any($2::text[]) and has_column_privilege(r.oid, a.attrelid, a.attnum, 'UPDATE'))
		from pg_attribute a left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
		where a.attrelid = any($1::oid[]) and a.attnum > 0 and not a.attisdropped
		order by a.attrelid, a.attnum`, im.oids(), im.opt.Roles)
	if err != nil {
		return fmt.Errorf("read columns: %w", err)
	}
	var relation, typ uint32
	var identity, expression string
	var c ColumnSchema
	fields := []any{&relation, &c.Name, &typ, &c.NotNull, &expression, &c.Generated, &identity, &c.Comment, &c.Select, &c.Insert, &c.Update}
	_, err = pgx.ForEachRow(rows, fields, func() error {
		c.Type = im.typeRef(typ)
		c.Default = defaultKind(expression, c.Generated)
		c.Identity = map[string]string{"a": "always", "d": "by_default"}[identity]
		r := im.relation(relation)
		r.Columns = append(r.Columns, c)
		return nil
	})
	if err != nil {
		return fmt.Errorf("read columns: %w", err)
	}
	return nil
}

func defaultKind(expression string, generated bool) string {
	switch {
	case expression == "" || generated:
		return ""
	case constantDefault.MatchString(expression):
		return "constant"
	}
	return "expression"
}

// constraints reads primary and foreign keys.
func (im *importer) constraints(ctx context.Context) error {
	rows, err := im.tx.Query(ctx, `
		select c.conrelid, c.conname::text, c.contype::text, coalesce(fn.nspname::text, ''), coalesce(f.relname::text, ''),
			array(select a.attname::text from unnest(c.conkey) with ordinality k(num, pos)
				join pg_attribute a on a.attrelid = c.conrelid and a.attnum = k.num order by k.pos),
			array(select a.attname::text from unnest(c.confkey) with ordinality k(num, pos)
				join pg_attribute a on a.attrelid = c.confrelid and a.attnum = k.num order by k.pos)
		from pg_constraint c left join pg_class f on f.oid = c.confrelid left join pg_namespace fn on fn.oid = f.relnamespace
		where c.conrelid = any($1::oid[]) and c.contype in ('p', 'f')`, im.oids())
	if err != nil {
		return fmt.Errorf("read constraints: %w", err)
	}
	var relation uint32
	var kind string
	var k ForeignKey
	_, err = pgx.ForEachRow(rows, []any{&relation, &k.Name, &kind, &k.ReferencedSchema, &k.ReferencedName, &k.Columns, &k.ReferencedColumns}, func() error {
		r := im.relation(relation)
		if kind == "p" {
			r.PrimaryKey = k.Columns
			return nil
		}
		r.ForeignKeys = append(r.ForeignKeys, k)
		return nil
	})
	if err != nil {
		return fmt.Errorf("read constraints: %w", err)
	}
	return nil
}

// indexes reads valid indexes, and the unique keys among them.
func (im *importer) indexes(ctx context.Context) error {
	rows, err := im.tx.Query(ctx, `
		select i.indrelid, c.relname::text, m.amname::text, i.indisunique, i.indisprimary, i.indpred is not null,
			array(select coalesce(a.attname::text, '') from generate_series(0, i.indnkeyatts - 1) k
				left join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[k] and i.indkey[k] > 0 order by k),
			array(select i.indoption[k]::int from generate_series(0, i.indnkeyatts - 1) k order by k),
			array(select case when o.opcdefault then '' else o.opcname::text end from generate_series(0, i.indnkeyatts - 1) k
				join pg_opclass o on o.oid = i.indclass[k] order by k)
		from pg_index i join pg_class c on c.oid = i.indexrelid join pg_am m on m.oid = c.relam
		where i.indrelid = any($1::oid[]) and i.indisvalid and i.indislive`, im.oids())
	if err != nil {
		return fmt.Errorf("read indexes: %w", err)
	}
	var relation uint32
	var x IndexSchema
	var primary bool
	var columns, classes []string
	var options []int32
	_, err = pgx.ForEachRow(rows, []any{&relation, &x.Name, &x.Method, &x.Unique, &primary, &x.Partial, &columns, &options, &classes}, func() error {
		x.Keys = nil
		for i, column := range columns {
			const desc, nullsFirst = 1, 2 // bits of indoption
			x.Keys = append(x.Keys, IndexTerm{Column: column, Desc: options[i]&desc != 0, NullsFirst: options[i]&nullsFirst != 0, OpClass: classes[i]})
		}
		r := im.relation(relation)
		r.Indexes = append(r.Indexes, x)
		if x.Unique && !primary && !x.Partial && !hasExpression(x) {
			r.Unique = append(r.Unique, UniqueKey{Name: x.Name, Columns: columns})
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("read indexes: %w", err)
	}
	return nil
}

func hasExpression(x IndexSchema) bool {
	for _, k := range x.Keys {
		if k.Column == "" {
			return true
		}
	}
	return false
}
