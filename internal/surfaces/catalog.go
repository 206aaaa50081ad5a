package surfaces

import (
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/chumbo-dev/chumbo/internal/fault"
)

// catalogSQL is the one statement that every import runs. It names everything
// whole, so that no object of the database can stand in the way, and says
// nothing of rows, of defaults' text or of settings beyond the two it needs: but
// for Storage's buckets, whose names and limits are rows. Their table may be
// missing, so a statement inside reads it, which comes back as XML.
// Its steps are cut so that Postgres estimates them small: above a cost of
// 100,000 it would compile the statement, which takes longer than anon may run.
//
//go:embed catalog.sql
var catalogSQL string

// CatalogOptions say what a generated chumbo_catalog function returns.
type CatalogOptions struct {
	TokenDigest string   // hex SHA-256 of the token that the caller must give
	Schemas     []string // exposed schemas, in the Data API's order; default [public]
	Relations   []string // schema.name of tables, views and functions to describe: nothing else is returned
	MaxRows     int      // the Data API's db-max-rows; 0: as the database says, else 1000
	Roles       []string // roles whose rights to read beside anon and authenticated
}

var hexDigest = regexp.MustCompile(`^[0-9a-f]{64}$`)

// CatalogFunction is the SQL that puts chumbo_catalog(token text) into a
// database: security definer, answering only to the token whose digest it
// holds, and only about the listed objects, the types they use, foreign keys
// between them, and Storage's buckets. A name without one of the schemas before it stands in the
// first of them. Another token is refused with a text that says nothing of the
// schema. Errors are fault.Invalid.
func CatalogFunction(opt CatalogOptions) (string, error) {
	if !hexDigest.MatchString(opt.TokenDigest) {
		return "", fmt.Errorf("write catalog function: the token's digest is not SHA-256 in hex")
	}
	if len(opt.Relations) == 0 {
		return "", fault.New(fault.Invalid, "no_relations", "Name at least one table, view or function for chumbo_catalog to describe.")
	}
	schemas := exposedSchemas(opt.Schemas)
	listed := make([]string, len(opt.Relations))
	for i, name := range opt.Relations {
		listed[i] = inSchema(schemas, name)
	}
	slices.Sort(listed)
	query, err := catalogQuery(ImportOptions{Schemas: schemas, MaxRows: opt.MaxRows, Roles: opt.Roles}, slices.Compact(listed))
	if err != nil {
		return "", err
	}
	return fmt.Sprintf(`-- Lets Chumbo read the schema of what is listed below and the names and limits
-- of Storage's buckets, and nothing else.
-- It answers only to Chumbo's token, of which it holds a digest. Take it away
-- again with: drop function public.chumbo_catalog(text);
create or replace function public.chumbo_catalog(token text) returns jsonb
language plpgsql stable security definer set search_path = '' set jit = off
as %s;
revoke execute on function public.chumbo_catalog(text) from public, authenticated;
grant execute on function public.chumbo_catalog(text) to anon;
notify pgrst, 'reload schema';
`, dollarQuoted(fmt.Sprintf(`
begin
  if pg_catalog.sha256(pg_catalog.convert_to(coalesce(token, ''), 'UTF8')) operator(pg_catalog.<>) pg_catalog.decode('%s', 'hex') then
    raise exception using errcode = 'PT403', message = 'This token is not the one that chumbo_catalog answers to.';
  end if;
  return (
%s  );
end
`, opt.TokenDigest, query))), nil
}

// inSchema completes a name by the first schema, unless it names one.
func inSchema(schemas []string, name string) string {
	for _, s := range schemas {
		if strings.HasPrefix(name, s+".") {
			return name
		}
	}
	return schemas[0] + "." + name
}

// CatalogQuery is one read-only statement that returns the whole catalog as
// one jsonb value, for the Management API's query endpoint. Errors are
// fault.Invalid.
func CatalogQuery(opt ImportOptions) (string, error) { return catalogQuery(opt, nil) }

// catalogQuery is the statement for everything in the schemas, or for what is
// listed (schema.name).
func catalogQuery(opt ImportOptions, listed []string) (string, error) {
	schemas, err := textArray(exposedSchemas(opt.Schemas))
	if err != nil {
		return "", err
	}
	roles, err := textArray(append([]string{"anon", "authenticated"}, opt.Roles...))
	if err != nil {
		return "", err
	}
	relations, functions := "true", "true"
	if listed != nil {
		names, err := textArray(listed)
		if err != nil {
			return "", err
		}
		relations = "s.name || '.' || c.relname::pg_catalog.text = any (" + names + ")"
		functions = "s.name || '.' || c.proname::pg_catalog.text = any (" + names + ")"
	}
	maxRows := maxRowsSetting
	if opt.MaxRows > 0 {
		maxRows = "'" + strconv.Itoa(opt.MaxRows) + "'"
	}
	// One pass: what stands in a name is not looked at again.
	return strings.NewReplacer(":schemas", schemas, ":roles", roles, ":listed", relations, ":called", functions, ":max_rows", maxRows).Replace(catalogSQL), nil
}

// maxRowsSetting reads db-max-rows where the database holds it.
const maxRowsSetting = `coalesce((select pg_catalog.split_part(c, '=', 2)
    from pg_catalog.pg_db_role_setting s join pg_catalog.pg_roles r on r.oid = s.setrole, pg_catalog.unnest(s.setconfig) c
    where r.rolname = 'authenticator' and pg_catalog.starts_with(c, 'pgrst.db_max_rows=')
      and s.setdatabase in (0, (select d.oid from pg_catalog.pg_database d where d.datname = pg_catalog.current_database()))
    order by s.setdatabase desc limit 1), '')`

// exposedSchemas are the schemas to read, each once, in their order.
func exposedSchemas(given []string) []string {
	var schemas []string
	for _, s := range given {
		if !slices.Contains(schemas, s) {
			schemas = append(schemas, s)
		}
	}
	if len(schemas) == 0 {
		return []string{"public"}
	}
	return schemas
}
