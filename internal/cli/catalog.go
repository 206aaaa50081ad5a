package cli

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// importByCatalog imports by chumbo_catalog(), or writes the migration that
// makes that possible. The answer is empty where nothing was imported.
func (s *session) importByCatalog(ctx context.Context, w *workplace, f importFlags) (snapshotAnswer, error) {
	var answer snapshotAnswer
	name, err := w.repo.migrationWith(catalogFunction)
	if err != nil {
		return answer, err
	}
	if name == "" || len(f.relations) > 0 {
		return answer, s.writeCatalog(ctx, w, f)
	}
	err = w.client.do(ctx, http.MethodPost, w.project()+"/schema/import", struct{}{}, &answer)
	var p *problem
	if errors.As(err, &p) && (p.Status == http.StatusNotFound || p.Status == http.StatusUnprocessableEntity) {
		s.printer.step(step{ID: "schema", Status: "fail", Message: p.Error(), Fix: "apply " + name + ", then chumbo import --catalog"})
		return snapshotAnswer{}, errShown
	}
	return answer, err
}

const catalogFunction = "chumbo_catalog("

// writeCatalog asks the server for the function, which holds the digest of a
// new token of the server's, and writes it as a migration.
func (s *session) writeCatalog(ctx context.Context, w *workplace, f importFlags) error {
	relations, err := s.chooseRelations(ctx, w, f.relations)
	if err != nil {
		return err
	}
	name := s.migrationName("catalog")
	if !s.asks() && !f.yes {
		s.printer.step(step{
			ID: "catalog_migration", Status: "fail", Message: "nothing was changed: would write " + name,
			Fix: "chumbo import --catalog --relations " + strings.Join(relations, ",") + " --yes",
		})
		return errShown
	}
	sql, err := s.catalogSQL(ctx, w, f, relations)
	if err != nil {
		return err
	}
	if !f.yes {
		s.showPlan(name, sql)
	}
	ok, err := s.agree(ctx, f.yes, "Write it?")
	if err != nil {
		return err
	}
	if !ok {
		s.printer.step(step{ID: "catalog_migration", Status: "fail", Message: "nothing was written", Fix: "chumbo import --catalog"})
		return errShown
	}
	if err := w.repo.write(name, sql); err != nil {
		return err
	}
	s.printer.data = map[string]any{"migration": name, "relations": relations}
	s.printer.done("catalog_migration", "wrote %s, for %s", name, counted(len(relations), "relation"))
	s.printer.end("Read it.", applyCommand(w.apiOrigin(ctx)), "chumbo import --catalog")
	return nil
}

var tokenDigest = regexp.MustCompile(`'([0-9a-f]{64})'`)

// catalogSQL has the server make a new token, and writes the function that
// answers to it. Of the server's own SQL only the token's digest is taken: the
// function runs in the builder's database with its owner's rights.
func (s *session) catalogSQL(ctx context.Context, w *workplace, f importFlags, relations []string) (string, error) {
	var made struct {
		SQL string `json:"sql"`
	}
	err := w.client.do(ctx, http.MethodPost, w.project()+"/schema/catalog", map[string]any{"relations": relations}, &made)
	if err != nil {
		return "", err
	}
	digests := tokenDigest.FindAllStringSubmatch(made.SQL, -1)
	if len(digests) != 1 {
		return "", errors.New("the server's function chumbo_catalog is not one that this version knows: bring chumbo and the server to the same version")
	}
	opt := importOptions(f, w.repo)
	if len(opt.Schemas) == 0 {
		opt.Schemas = schemasOf(relations)
	}
	sql, err := surfaces.CatalogFunction(surfaces.CatalogOptions{
		TokenDigest: digests[0][1], Schemas: opt.Schemas, Relations: relations, MaxRows: opt.MaxRows,
	})
	if err != nil {
		return "", publicError(err)
	}
	return sql, nil
}

// schemasOf lists the schemas that names stand in, in the order of their first
// use.
func schemasOf(names []string) []string {
	var schemas []string
	for _, name := range names {
		if schema, _, found := strings.Cut(name, "."); found && !slices.Contains(schemas, schema) {
			schemas = append(schemas, schema)
		}
	}
	return schemas
}

// apiOrigin is where the linked project is; empty when that cannot be told.
func (w *workplace) apiOrigin(ctx context.Context) string {
	var answer projectAnswer
	if w.client.do(ctx, http.MethodGet, w.project(), nil, &answer) != nil {
		return ""
	}
	return answer.Project.APIOrigin
}

// chooseRelations takes those of the flag, or asks.
func (s *session) chooseRelations(ctx context.Context, w *workplace, given []string) ([]string, error) {
	if len(given) > 0 {
		return given, nil
	}
	if !s.asks() {
		return nil, usage("what may the function tell of? Pass --relations, such as --relations public.customers,public.notes")
	}
	var known struct {
		Snapshot *surfaces.Snapshot `json:"snapshot"`
	}
	err := w.client.do(ctx, http.MethodGet, w.project()+"/schema", nil, &known)
	if err != nil && !isStatus(err, http.StatusNotFound) {
		return nil, err
	}
	if known.Snapshot != nil {
		for _, r := range known.Snapshot.Relations {
			s.printer.line("      %s.%s", r.Schema, r.Name)
		}
	}
	answer, err := s.prompt(ctx, "Tables, views and functions to tell of (schema.name), with spaces between: ")
	if err != nil {
		return nil, err
	}
	names := strings.FieldsFunc(answer, func(r rune) bool { return r == ' ' || r == ',' })
	if len(names) == 0 {
		return nil, usage("nothing was named: nothing was written")
	}
	return names, refuseSecrets(field{"relations", answer})
}
