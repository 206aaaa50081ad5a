package surfaces

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
)

// proc is a row of pg_proc.
type proc struct {
	schema, name, comment string
	volatility            string
	definer, set          bool
	returns               uint32
	inputs                []uint32 // types of the inputs
	all                   []uint32 // types of all parameters; empty when all are inputs
	modes                 []string
	names                 []string
	defaults              int
	execute, config       []string
}

var volatilities = map[string]string{"i": VolatilityImmutable, "s": VolatilityStable, "v": VolatilityVolatile}

// functions reads what the Data API would expose: no procedures, aggregates,
// trigger functions, and none that belong to an extension.
func (im *importer) functions(ctx context.Context) error {
	rows, err := im.tx.Query(ctx, `
		select n.nspname::text, p.proname::text, coalesce(obj_description(p.oid, 'pg_proc'), ''), p.provolatile::text, p.prosecdef, p.proretset, p.prorettype,
			p.proargtypes::oid[], coalesce(p.proallargtypes, '{}'), coalesce(p.proargmodes::text[], '{}'), coalesce(p.proargnames, '{}'),
			p.pronargdefaults::int,
			array(select r.rolname::text from pg_roles r where r.rolname = any($2::text[]) and has_function_privilege(r.oid, p.oid, 'EXECUTE')),
			coalesce(p.proconfig, '{}')
		from pg_proc p join pg_namespace n on n.oid = p.pronamespace join pg_type t on t.oid = p.prorettype
		where n.nspname = any($1::text[]) and p.prokind = 'f' and t.typname not in ('trigger', 'event_trigger')
		  and not exists (select 1 from pg_depend d where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e')`,
		im.opt.Schemas, im.opt.Roles)
	if err != nil {
		return fmt.Errorf("read functions: %w", err)
	}
	var p proc
	var procs []proc
	fields := []any{&p.schema, &p.name, &p.comment, &p.volatility, &p.definer, &p.set, &p.returns, &p.inputs, &p.all, &p.modes, &p.names, &p.defaults, &p.execute, &p.config}
	_, err = pgx.ForEachRow(rows, fields, func() error {
		procs = append(procs, p)
		return nil
	})
	if err != nil {
		return fmt.Errorf("read functions: %w", err)
	}
	rowTypes, err := im.rowTypes(ctx, procs)
	if err != nil {
		return err
	}
	for _, p := range procs {
		im.snap.Functions = append(im.snap.Functions, im.function(p, rowTypes))
	}
	return nil
}

// rowTypes reads the columns of the composite types that functions return.
func (im *importer) rowTypes(ctx context.Context, procs []proc) (map[uint32][]Attribute, error) {
	var relations []uint32
	for _, p := range procs {
		if r := im.pgs[p.returns].relation; r != 0 {
			relations = append(relations, r)
		}
	}
	rows, err := im.tx.Query(ctx, `
		select a.attrelid, array_agg(a.attname::text order by a.attnum), array_agg(a.atttypid order by a.attnum)
		from pg_attribute a where a.attrelid = any($1::oid[]) and a.attnum > 0 and not a.attisdropped group by a.attrelid`, relations)
	if err != nil {
		return nil, fmt.Errorf("read row types: %w", err)
	}
	found := map[uint32][]Attribute{}
	var relation uint32
	var names []string
	var types []uint32
	_, err = pgx.ForEachRow(rows, []any{&relation, &names, &types}, func() error {
		found[relation] = im.attributes(names, types)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read row types: %w", err)
	}
	return found, nil
}

func (im *importer) function(p proc, rowTypes map[uint32][]Attribute) FunctionSchema {
	f := FunctionSchema{
		Schema: p.schema, Name: p.name, Comment: p.comment, Volatility: volatilities[p.volatility],
		SecurityDefiner: p.definer, Execute: p.execute, StatementTimeoutMS: statementTimeout(p.config),
	}
	f.Returns = FunctionReturns{Type: im.typeRef(p.returns), Set: p.set}
	t := im.pgs[p.returns]
	f.Returns.Void = t.schema == catalogSchema && t.name == "void"
	f.Returns.Row = t.kind == "c" || (t.schema == catalogSchema && t.name == "record")
	if len(p.all) == 0 {
		p.all, p.modes = p.inputs, nil
	}
	for i, oid := range p.all {
		mode, name := "i", ""
		if i < len(p.modes) {
			mode = p.modes[i]
		}
		if i < len(p.names) {
			name = p.names[i]
		}
		if slices.Contains([]string{"i", "b", "v"}, mode) {
			f.Arguments = append(f.Arguments, FunctionArgument{Name: name, Type: im.typeRef(oid), Variadic: mode == "v"})
		}
		if slices.Contains([]string{"o", "b", "t"}, mode) {
			f.Returns.Row = true
			f.Returns.Columns = append(f.Returns.Columns, Attribute{Name: name, Type: im.typeRef(oid)})
		}
	}
	for i := range f.Arguments {
		f.Arguments[i].HasDefault = i >= len(f.Arguments)-p.defaults
	}
	if t.relation != 0 {
		f.Returns.Columns = rowTypes[t.relation]
	}
	return f
}
