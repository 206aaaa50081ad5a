package surfaces

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

// defaultMaxRows is Supabase's own db-max-rows.
const defaultMaxRows = 1000

// ImportOptions says what to read. The zero value reads schema public.
type ImportOptions struct {
	Schemas []string // exposed schemas, in the Data API's order; default [public]
	MaxRows int      // the Data API's db-max-rows; 0: as the database says, else 1000
	Roles   []string // roles whose rights to read beside anon and authenticated
}

// ImportPostgres reads a snapshot from the catalogs of a database, over the
// builder's own connection. It reads no row of the builder's data and changes
// nothing: one read-only transaction, so that what it sees belongs together.
func ImportPostgres(ctx context.Context, conn *pgx.Conn, opt ImportOptions) (*Snapshot, error) {
	if len(opt.Schemas) == 0 {
		opt.Schemas = []string{"public"}
	}
	opt.Roles = slices.Compact(slices.Sorted(slices.Values(append([]string{"anon", "authenticated"}, opt.Roles...))))
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return nil, fmt.Errorf("begin import: %w", err)
	}
	defer tx.Rollback(ctx) //nolint:errcheck // read only: there is nothing to keep
	im := &importer{tx: tx, opt: opt, snap: &Snapshot{Format: SnapshotFormat}, enums: map[uint32]bool{}}
	for _, step := range []func(context.Context) error{
		im.settings, im.schemas, im.roles, im.types, im.relations, im.columns, im.constraints, im.indexes, im.functions, im.enumLabels, im.composites,
	} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	im.snap.Normalize()
	if err := im.snap.Validate(); err != nil {
		return nil, err
	}
	return im.snap, nil
}

// importer holds one import. OIDs stay inside.
type importer struct {
	tx    pgx.Tx
	opt   ImportOptions
	snap  *Snapshot
	byOID map[uint32]int // relation to its place in snap.Relations
	pgs   map[uint32]pgType
	enums map[uint32]bool // enums that something uses
}

// settings reads the version, and the cap where the database holds it.
func (im *importer) settings(ctx context.Context) error {
	var version string
	if err := im.tx.QueryRow(ctx, "select current_setting('server_version')").Scan(&version); err != nil {
		return fmt.Errorf("read server version: %w", err)
	}
	im.snap.Postgres, _, _ = strings.Cut(version, " ")
	im.snap.MaxRows = im.opt.MaxRows
	if im.snap.MaxRows > 0 {
		return nil
	}
	var setting *string
	err := im.tx.QueryRow(ctx, `
		select (select split_part(c, '=', 2)
		from pg_db_role_setting s join pg_roles r on r.oid = s.setrole, unnest(s.setconfig) c
		where r.rolname = 'authenticator' and c like 'pgrst.db\_max\_rows=%'
		  and s.setdatabase in (0, (select oid from pg_database where datname = current_database()))
		order by s.setdatabase desc limit 1)`).Scan(&setting)
	if err != nil {
		return fmt.Errorf("read max rows: %w", err)
	}
	im.snap.MaxRows = defaultMaxRows
	if setting != nil {
		if n, err := strconv.Atoi(*setting); err == nil && n > 0 {
			im.snap.MaxRows = n
		}
	}
	return nil
}

func (im *importer) schemas(ctx context.Context) error {
	found := map[string][]string{}
	rows, err := im.tx.Query(ctx, `
		select n.nspname::text, array(select r.rolname::text from pg_roles r
			where r.rolname = any($2::text[]) and has_schema_privilege(r.oid, n.oid, 'USAGE'))
		from pg_namespace n where n.nspname = any($1::text[])`, im.opt.Schemas, im.opt.Roles)
	if err != nil {
		return fmt.Errorf("read schemas: %w", err)
	}
	var name string
	var usage []string
	_, err = pgx.ForEachRow(rows, []any{&name, &usage}, func() error {
		found[name] = usage
		return nil
	})
	if err != nil {
		return fmt.Errorf("read schemas: %w", err)
	}
	for _, s := range im.opt.Schemas {
		usage, ok := found[s]
		if !ok {
			return fmt.Errorf("read schemas: there is no schema %q in this database", s)
		}
		im.snap.Schemas = append(im.snap.Schemas, SchemaInfo{Name: s, Usage: usage})
	}
	return nil
}

func (im *importer) roles(ctx context.Context) error {
	rows, err := im.tx.Query(ctx, `
		select rolname::text, coalesce(rolconfig, '{}') from pg_roles where rolname = any($1::text[])`, im.opt.Roles)
	if err != nil {
		return fmt.Errorf("read roles: %w", err)
	}
	var name string
	var config []string
	_, err = pgx.ForEachRow(rows, []any{&name, &config}, func() error {
		im.snap.Roles = append(im.snap.Roles, RoleInfo{Name: name, StatementTimeoutMS: statementTimeout(config)})
		return nil
	})
	if err != nil {
		return fmt.Errorf("read roles: %w", err)
	}
	return nil
}

var durationPattern = regexp.MustCompile(`^([0-9]+)\s*(ms|s|min|h|d)?$`)

// statementTimeout finds statement_timeout among settings, in milliseconds.
func statementTimeout(config []string) int {
	for _, c := range config {
		text, ok := strings.CutPrefix(c, "statement_timeout=")
		if !ok {
			continue
		}
		m := durationPattern.FindStringSubmatch(text)
		if m == nil {
			return 0
		}
		n, err := strconv.Atoi(m[1])
		if err != nil {
			return 0
		}
		unit := map[string]int{"": 1, "ms": 1, "s": 1000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}
		return n * unit[m[2]]
	}
	return 0
}

// pgType is a row of pg_type.
type pgType struct {
	schema, name string
	kind         string // b c d e p r m
	element      uint32 // of an array, else 0
	base         uint32 // of a domain, else 0
	relation     uint32 // of a composite, else 0
}

func (im *importer) types(ctx context.Context) error {
	im.pgs = map[uint32]pgType{}
	rows, err := im.tx.Query(ctx, `
		select t.oid, n.nspname::text, t.typname::text, t.typtype::text,
			case when t.typcategory = 'A' and t.typlen = -1 then t.typelem else 0 end::oid, t.typbasetype, t.typrelid
		from pg_type t join pg_namespace n on n.oid = t.typnamespace`)
	if err != nil {
		return fmt.Errorf("read types: %w", err)
	}
	var oid uint32
	var t pgType
	_, err = pgx.ForEachRow(rows, []any{&oid, &t.schema, &t.name, &t.kind, &t.element, &t.base, &t.relation}, func() error {
		im.pgs[oid] = t
		return nil
	})
	if err != nil {
		return fmt.Errorf("read types: %w", err)
	}
	return nil
}

// typeRef names a type, and remembers the enums it meets.
func (im *importer) typeRef(oid uint32) TypeRef {
	t := im.pgs[oid]
	if t.kind == "e" {
		im.enums[oid] = true
	}
	if t.element != 0 {
		ref := im.typeRef(t.element)
		ref.Array = true
		return ref
	}
	ref := TypeRef{Schema: t.schema, Name: t.name}
	if t.kind == "d" && t.base != 0 {
		base := im.typeRef(t.base)
		if base.Base != nil && !base.Array {
			base = *base.Base
		}
		ref.Base = &base
	}
	return ref
}

func (im *importer) enumLabels(ctx context.Context) error {
	oids := make([]uint32, 0, len(im.enums))
	for oid := range im.enums {
		oids = append(oids, oid)
	}
	rows, err := im.tx.Query(ctx, `
		select t.oid, array_agg(e.enumlabel::text order by e.enumsortorder)
		from pg_type t join pg_enum e on e.enumtypid = t.oid where t.oid = any($1::oid[]) group by t.oid`, oids)
	if err != nil {
		return fmt.Errorf("read enums: %w", err)
	}
	var oid uint32
	var labels []string
	_, err = pgx.ForEachRow(rows, []any{&oid, &labels}, func() error {
		t := im.pgs[oid]
		im.snap.Enums = append(im.snap.Enums, EnumType{Schema: t.schema, Name: t.name, Labels: labels})
		return nil
	})
	if err != nil {
		return fmt.Errorf("read enums: %w", err)
	}
	return nil
}

// composites reads free-standing composite types of the exposed schemas.
func (im *importer) composites(ctx context.Context) error {
	rows, err := im.tx.Query(ctx, `
		select c.reltype, array_agg(a.attname::text order by a.attnum), array_agg(a.atttypid order by a.attnum)
		from pg_class c join pg_namespace n on n.oid = c.relnamespace join pg_attribute a on a.attrelid = c.oid
		where c.relkind = 'c' and n.nspname = any($1::text[]) and a.attnum > 0 and not a.attisdropped group by c.reltype`, im.opt.Schemas)
	if err != nil {
		return fmt.Errorf("read composite types: %w", err)
	}
	var oid uint32
	var attributes []string
	var types []uint32
	_, err = pgx.ForEachRow(rows, []any{&oid, &attributes, &types}, func() error {
		t := im.pgs[oid]
		im.snap.Composites = append(im.snap.Composites, CompositeType{Schema: t.schema, Name: t.name, Attributes: im.attributes(attributes, types)})
		return nil
	})
	if err != nil {
		return fmt.Errorf("read composite types: %w", err)
	}
	return nil
}

func (im *importer) attributes(names []string, types []uint32) []Attribute {
	attributes := make([]Attribute, len(names))
	for i := range names {
		attributes[i] = Attribute{Name: names[i], Type: im.typeRef(types[i])}
	}
	return attributes
}
