package surfaces

// CatalogOptions say what a generated chumbo_catalog function returns.
type CatalogOptions struct {
	TokenDigest string   // hex SHA-256 of the token that the caller must give
	Schemas     []string // exposed schemas, in the Data API's order; default [public]
	Relations   []string // schema.name of tables, views and functions to describe: nothing else is returned
	MaxRows     int
}

// CatalogFunction is the SQL that puts chumbo_catalog(token text) into a
// database: security definer, answering only to the token whose digest it
// holds, and only about the listed objects.
func CatalogFunction(opt CatalogOptions) (string, error) { panic("not built") }

// CatalogQuery is one read-only statement that returns the whole catalog as
// one jsonb value, for the Management API's query endpoint.
func CatalogQuery(opt ImportOptions) (string, error) { panic("not built") }

// ReadCatalog turns what CatalogFunction's function or CatalogQuery returned
// into a snapshot: the same as ImportPostgres makes of the same database and
// objects.
func ReadCatalog(raw []byte) (*Snapshot, error) { panic("not built") }
