package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

const connectTimeout = 15 * time.Second

type importFlags struct {
	dbURL      string
	schemas    []string
	maxRows    int
	catalog    bool
	relations  []string
	management bool
	yes        bool
}

func importCommand(s *session) *cobra.Command {
	var f importFlags
	c := &cobra.Command{
		Use:   "import",
		Short: "Read the database's tables and functions, so that surface files can name them",
		Long: `Read the catalogs of the project's database and give the server a snapshot of its
tables, views and functions. No row is read. There are three ways.

By connection string, used on this machine only and sent nowhere. It comes from
--db-url, SUPABASE_DB_URL, or the local database of supabase/config.toml. Prefer
the variable: a flag is visible to other users of this machine.

With --catalog, by a function chumbo_catalog() that a migration puts into the
database. It tells the server, and nobody else, about the tables, views and
functions that --relations names. Apply the migration and run the same again.

With --management, by Supabase's Management API. The access token comes from
SUPABASE_ACCESS_TOKEN; the server uses it once and keeps it nowhere.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return s.importSchema(cmd.Context(), f) },
	}
	c.Flags().StringVar(&f.dbURL, "db-url", "", "connection string of the project's database")
	c.Flags().StringSliceVar(&f.schemas, "schema", nil, "exposed schema, in the Data API's order; may be repeated (default: of config.toml, else public)")
	c.Flags().IntVar(&f.maxRows, "max-rows", 0, "the Data API's max rows setting (default: of config.toml, else 1000)")
	c.Flags().BoolVar(&f.catalog, "catalog", false, "import by a function in the database")
	c.Flags().StringSliceVar(&f.relations, "relations", nil, "with --catalog: what the function tells of, such as public.customers,public.notes")
	c.Flags().BoolVar(&f.management, "management", false, "import by Supabase's Management API")
	c.Flags().BoolVar(&f.yes, "yes", false, "with --catalog: write the migration without asking")
	return c
}

func (s *session) importSchema(ctx context.Context, f importFlags) error {
	switch {
	case len(f.relations) > 0 && !f.catalog:
		return usage("--relations goes with --catalog")
	case f.catalog && f.management, f.dbURL != "" && (f.catalog || f.management):
		return usage("choose one way to import: --db-url, --catalog or --management")
	}
	w, err := s.linked()
	if err != nil {
		return err
	}
	var answer snapshotAnswer
	switch {
	case f.catalog:
		answer, err = s.importByCatalog(ctx, w, f)
	case f.management:
		answer, err = s.importByManagement(ctx, w)
	default:
		answer, err = s.importByConnection(ctx, w, f)
	}
	if err != nil || answer.Digest == "" { // a migration was written, or not
		return err
	}
	data := map[string]any{"digest": answer.Digest, "relations": answer.Relations, "functions": answer.Functions}
	s.printer.data = data
	s.printer.done("schema", "imported %s and %s", counted(answer.Relations, "relation"), counted(answer.Functions, "function"))
	moved, err := s.showDrifts(ctx, w)
	if err != nil {
		return err
	}
	data["drift"] = moved
	if files, err := w.repo.surfaceFiles(""); err == nil && len(files) > 0 {
		s.printer.end("", "chumbo push")
		return nil
	}
	s.printer.end("", "chumbo init", "chumbo push")
	return nil
}

func (s *session) importByConnection(ctx context.Context, w *workplace, f importFlags) (snapshotAnswer, error) {
	var answer snapshotAnswer
	dsn, err := s.databaseURL(f, w.repo)
	if err != nil {
		return answer, err
	}
	snapshot, err := readCatalogs(ctx, dsn, importOptions(f, w.repo))
	if err != nil && f.dbURL == "" && s.env.Getenv("SUPABASE_DB_URL") == "" {
		err = fmt.Errorf("%w\nThat is the local database of %s: start it with supabase start, or set SUPABASE_DB_URL to the one you mean", err, configPath)
	}
	if err != nil {
		return answer, err
	}
	text, err := json.Marshal(snapshot)
	if err != nil {
		return answer, fmt.Errorf("write snapshot: %w", err)
	}
	// Somebody may have put a key into a comment.
	if err := refuseSecrets(field{"schema", string(text)}); err != nil {
		return answer, err
	}
	err = w.client.do(ctx, http.MethodPut, w.project()+"/schema?source=postgres", json.RawMessage(text), &answer)
	return answer, err
}

func (s *session) importByManagement(ctx context.Context, w *workplace) (snapshotAnswer, error) {
	var answer snapshotAnswer
	token, err := s.accessToken()
	if err != nil {
		return answer, err
	}
	body := map[string]string{"access_token": token.Reveal()}
	err = w.client.do(ctx, http.MethodPost, w.project()+"/schema/import/management", body, &answer)
	return answer, err
}

func (s *session) databaseURL(f importFlags, repo *repository) (string, error) {
	if f.dbURL != "" {
		return f.dbURL, nil
	}
	if dsn := s.env.Getenv("SUPABASE_DB_URL"); dsn != "" {
		return dsn, nil
	}
	if repo.config == nil {
		return "", usage("no database: set SUPABASE_DB_URL to the project's connection string (Supabase's dashboard, Connect)")
	}
	return fmt.Sprintf("postgresql://postgres:postgres@127.0.0.1:%d/postgres", repo.config.DB.Port), nil
}

// importOptions reads the same settings the local Data API is started with.
// graphql_public is Supabase's own and holds nothing to offer.
func importOptions(f importFlags, repo *repository) surfaces.ImportOptions {
	opt := surfaces.ImportOptions{Schemas: f.schemas, MaxRows: f.maxRows}
	if repo.config == nil {
		return opt
	}
	if len(opt.Schemas) == 0 {
		opt.Schemas = slices.DeleteFunc(slices.Clone(repo.config.API.Schemas), func(name string) bool { return name == "graphql_public" })
	}
	if opt.MaxRows == 0 {
		opt.MaxRows = repo.config.API.MaxRows
	}
	return opt
}

// readCatalogs connects and reads. What pgx says of a connection names host,
// user and database, never the password.
func readCatalogs(ctx context.Context, dsn string, opt surfaces.ImportOptions) (*surfaces.Snapshot, error) {
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, usage("the connection string is not valid: write it as postgresql://user:password@host:5432/postgres, with special characters of the password percent-encoded")
	}
	config.ConnectTimeout = connectTimeout
	config.RuntimeParams["application_name"] = "chumbo-import"
	config.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe // no named statements: the string may be a pooler's
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("connect to the database: %w", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	snapshot, err := surfaces.ImportPostgres(ctx, conn, opt)
	if err != nil {
		return nil, fmt.Errorf("read the database's catalogs: %w", err)
	}
	return snapshot, nil
}
