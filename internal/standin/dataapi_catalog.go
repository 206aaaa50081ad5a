package standin

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// catalog is the Data API's schema cache.
type catalog struct {
	relations map[qualified]*relation
	functions map[qualified][]*function
	settings  map[string][]setting // by role
}

type qualified struct{ schema, name string }

type relation struct {
	qualified
	columns []column
	primary []string // primary key, in order
	keys    [][]string
	foreign []foreignKey
	isView  bool
}

type column struct {
	name     string
	kind     string // as a cast names it, for record definitions
	fallback string // default expression, empty for none
	isJSON   bool
	isVector bool // tsvector
}

// foreignKey is one foreign key of the relation that holds it.
type foreignKey struct {
	name     string
	from     []string // columns here
	target   qualified
	to       []string // columns there
	oneToOne bool     // the columns here are unique
}

type function struct {
	qualified
	arguments []argument
	variadic  bool
	set       bool // returns a set
	composite bool // returns rows with columns
	void      bool
	rowType   *qualified // the relation whose rows it returns, if any
	volatile  bool
	settings  []setting
}

type argument struct {
	name     string
	kind     string
	optional bool
}

type setting struct{ name, value string }

func (r *relation) column(name string) *column {
	for i := range r.columns {
		if r.columns[i].name == name {
			return &r.columns[i]
		}
	}
	return nil
}

// unique tells whether no two rows have the same values in these columns.
func (r *relation) unique(columns []string) bool {
	for _, key := range r.keys {
		if len(key) == len(columns) && !slices.ContainsFunc(key, func(c string) bool { return !slices.Contains(columns, c) }) {
			return true
		}
	}
	return false
}

// relation finds a table or view, or says that the cache does not know it.
func (c *catalog) relation(schema, name string) (*relation, error) {
	if rel := c.relations[qualified{schema, name}]; rel != nil {
		return rel, nil
	}
	err := &apiError{
		status: 404, Code: "PGRST205",
		Message: "Could not find the table '" + schema + "." + name + "' in the schema cache",
	}
	best := 0.0
	for key := range c.relations {
		if key.schema != schema {
			continue
		}
		if s := similarity(name, key.name); s >= 0.75 && s > best {
			best, err.Hint = s, text("Perhaps you meant the table '"+schema+"."+key.name+"'")
		}
	}
	return nil, err
}

func loadCatalog(ctx context.Context, pool *pgxpool.Pool) (*catalog, error) {
	c := &catalog{relations: map[qualified]*relation{}, functions: map[qualified][]*function{}, settings: map[string][]setting{}}
	loads := []func(context.Context, *pgxpool.Pool) error{c.loadColumns, c.loadConstraints, c.loadFunctions, c.loadSettings}
	for _, load := range loads {
		if err := load(ctx, pool); err != nil {
			return nil, err
		}
	}
	return c, nil
}

const systemSchemas = `('pg_catalog', 'information_schema', 'pg_toast')`

func (c *catalog) loadColumns(ctx context.Context, pool *pgxpool.Pool) error {
	rows, err := pool.Query(ctx, `
		select n.nspname, r.relname, r.relkind in ('v', 'm'), a.attname,
		       format_type(a.atttypid, a.atttypmod), coalesce(pg_get_expr(d.adbin, d.adrelid), ''),
		       a.atttypid in ('json'::regtype, 'jsonb'::regtype), a.atttypid = 'tsvector'::regtype
		from pg_class r
		join pg_namespace n on n.oid = r.relnamespace
		join pg_attribute a on a.attrelid = r.oid and a.attnum > 0 and not a.attisdropped
		left join pg_attrdef d on d.adrelid = r.oid and d.adnum = a.attnum and a.attgenerated = ''
		where r.relkind in ('r', 'v', 'm', 'f', 'p') and not r.relispartition
		  and n.nspname not in `+systemSchemas+`
		order by r.oid, a.attnum`)
	if err != nil {
		return fmt.Errorf("read columns: %w", err)
	}
	var key qualified
	var isView bool
	var col column
	_, err = pgx.ForEachRow(rows, []any{&key.schema, &key.name, &isView, &col.name, &col.kind, &col.fallback, &col.isJSON, &col.isVector}, func() error {
		rel := c.relations[key]
		if rel == nil {
			rel = &relation{qualified: key, isView: isView}
			c.relations[key] = rel
		}
		rel.columns = append(rel.columns, col)
		return nil
	})
	if err != nil {
		return fmt.Errorf("read columns: %w", err)
	}
	return nil
}

func (c *catalog) loadConstraints(ctx context.Context, pool *pgxpool.Pool) error {
	rows, err := pool.Query(ctx, `
		select n.nspname, r.relname, k.conname, k.contype::text,
		       (select array_agg(a.attname::text order by o) from unnest(k.conkey) with ordinality u(num, o)
		        join pg_attribute a on a.attrelid = k.conrelid and a.attnum = u.num),
		       coalesce(fn.nspname, ''), coalesce(f.relname, ''),
		       coalesce((select array_agg(a.attname::text order by o) from unnest(k.confkey) with ordinality u(num, o)
		        join pg_attribute a on a.attrelid = k.confrelid and a.attnum = u.num), '{}')
		from pg_constraint k
		join pg_class r on r.oid = k.conrelid
		join pg_namespace n on n.oid = r.relnamespace
		left join pg_class f on f.oid = k.confrelid
		left join pg_namespace fn on fn.oid = f.relnamespace
		where k.contype in ('p', 'u', 'f') and k.conparentid = 0 and n.nspname not in `+systemSchemas+`
		order by k.contype = 'f', k.conname`)
	if err != nil {
		return fmt.Errorf("read constraints: %w", err)
	}
	var key, target qualified
	var name, kind string
	var from, to []string
	_, err = pgx.ForEachRow(rows, []any{&key.schema, &key.name, &name, &kind, &from, &target.schema, &target.name, &to}, func() error {
		rel := c.relations[key]
		if rel == nil {
			return nil
		}
		switch kind {
		case "p":
			rel.primary = from
			rel.keys = append(rel.keys, from)
		case "u":
			rel.keys = append(rel.keys, from)
		case "f":
			rel.foreign = append(rel.foreign, foreignKey{name: name, from: from, target: target, to: to, oneToOne: rel.unique(from)})
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("read constraints: %w", err)
	}
	return nil
}

func (c *catalog) loadFunctions(ctx context.Context, pool *pgxpool.Pool) error {
	rows, err := pool.Query(ctx, `
		select n.nspname, p.proname, coalesce(p.proargnames, '{}'), coalesce(p.proargmodes::text[], '{}'),
		       (select coalesce(array_agg(format_type(t, null) order by o), '{}') from unnest(coalesce(p.proallargtypes, p.proargtypes::oid[])) with ordinality u(t, o)),
		       p.pronargs, p.pronargdefaults, p.provariadic <> 0, p.proretset,
		       t.typtype = 'c' or coalesce(p.proargmodes::text[] && array['o', 'b', 't'], false),
		       p.prorettype = 'void'::regtype, p.provolatile = 'v', coalesce(p.proconfig, '{}'),
		       coalesce(rn.nspname, ''), coalesce(rr.relname, '')
		from pg_proc p
		join pg_namespace n on n.oid = p.pronamespace
		join pg_type t on t.oid = p.prorettype
		left join pg_class rr on rr.oid = t.typrelid and rr.relkind in ('r', 'v', 'm', 'f', 'p')
		left join pg_namespace rn on rn.oid = rr.relnamespace
		where p.prokind = 'f' and p.prorettype not in ('trigger'::regtype, 'event_trigger'::regtype)
		  and n.nspname not in `+systemSchemas+`
		order by p.oid`)
	if err != nil {
		return fmt.Errorf("read functions: %w", err)
	}
	for rows.Next() {
		f, err := scanFunction(rows)
		if err != nil {
			return fmt.Errorf("read function: %w", err)
		}
		if f != nil {
			c.functions[f.qualified] = append(c.functions[f.qualified], f)
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read functions: %w", err)
	}
	return nil
}

// scanFunction reads one function; nil for one that the API cannot call
// because an argument has no name.
func scanFunction(rows pgx.Rows) (*function, error) {
	f := &function{}
	var names, modes, kinds, config []string
	var inputs, defaults int
	var row qualified
	err := rows.Scan(&f.schema, &f.name, &names, &modes, &kinds, &inputs, &defaults, &f.variadic, &f.set,
		&f.composite, &f.void, &f.volatile, &config, &row.schema, &row.name)
	if err != nil {
		return nil, err
	}
	if row.name != "" {
		f.rowType = &row
	}
	for _, entry := range config {
		name, value, _ := strings.Cut(entry, "=")
		f.settings = append(f.settings, setting{name, value})
	}
	for i, kind := range kinds {
		if i < len(modes) && (modes[i] == "o" || modes[i] == "t") {
			continue
		}
		arg := argument{kind: kind, optional: len(f.arguments) >= inputs-defaults}
		if i < len(names) {
			arg.name = names[i]
		}
		f.arguments = append(f.arguments, arg)
	}
	if len(f.arguments) > 1 || (len(f.arguments) == 1 && !isJSONType(f.arguments[0].kind)) {
		for _, arg := range f.arguments {
			if arg.name == "" {
				return nil, nil
			}
		}
	}
	return f, nil
}

func isJSONType(kind string) bool { return kind == "json" || kind == "jsonb" }

// loadSettings reads what `alter role … set` says, for this database first.
func (c *catalog) loadSettings(ctx context.Context, pool *pgxpool.Pool) error {
	rows, err := pool.Query(ctx, `
		select r.rolname, s.setting
		from pg_db_role_setting d
		join pg_roles r on r.oid = d.setrole
		cross join unnest(d.setconfig) s(setting)
		where d.setdatabase in (0, (select oid from pg_database where datname = current_database()))
		order by r.rolname, d.setdatabase`)
	if err != nil {
		return fmt.Errorf("read role settings: %w", err)
	}
	var role, entry string
	_, err = pgx.ForEachRow(rows, []any{&role, &entry}, func() error {
		name, value, _ := strings.Cut(entry, "=")
		c.settings[role] = append(c.settings[role], setting{name, value})
		return nil
	})
	if err != nil {
		return fmt.Errorf("read role settings: %w", err)
	}
	return nil
}

// similarity is 1 for equal names and 0 for names with nothing in common: one
// minus the share of letters to change.
func similarity(a, b string) float64 {
	x, y := []rune(strings.ToLower(a)), []rune(strings.ToLower(b))
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := range x {
		diagonal := row[0]
		row[0] = i + 1
		for j := range y {
			cost := diagonal
			if x[i] != y[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	longest := max(len(x), len(y))
	if longest == 0 {
		return 1
	}
	return 1 - float64(row[len(y)])/float64(longest)
}
