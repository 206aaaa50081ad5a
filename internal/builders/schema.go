package builders

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// Limits of a generated catalog function.
const (
	maxRelations    = 500
	maxRelationName = 200 // bytes; Postgres cuts a name at 63
)

// PutSchema makes a snapshot the project's latest.
func (s *Service) PutSchema(ctx context.Context, p tenants.Principal, project string, snap *surfaces.Snapshot, source surfaces.Source) (surfaces.StoredSnapshot, error) {
	if err := s.write(ctx, p, "schema.import", project); err != nil {
		return surfaces.StoredSnapshot{}, err
	}
	of, err := s.Tenants.Project(ctx, p, project)
	if err != nil {
		return surfaces.StoredSnapshot{}, err
	}
	return s.Surfaces.PutSnapshot(ctx, p.Actor(), of.ID, snap, source)
}

// Schema is the project's latest snapshot, or fault.NotFound.
func (s *Service) Schema(ctx context.Context, p tenants.Principal, project string) (surfaces.StoredSnapshot, error) {
	of, err := s.Tenants.Project(ctx, p, project)
	if err != nil {
		return surfaces.StoredSnapshot{}, err
	}
	return s.Surfaces.LatestSnapshot(ctx, p.Organization.ID, of.ID)
}

// CatalogFunction issues a new catalog token and returns the SQL of
// chumbo_catalog for these relations (schema.name). The function of an earlier
// token is not asked any more: the new SQL has to be run before the next
// import.
func (s *Service) CatalogFunction(ctx context.Context, p tenants.Principal, project string, relations []string) (string, error) {
	if err := s.write(ctx, p, "schema.catalog", project); err != nil {
		return "", err
	}
	of, err := s.Tenants.Project(ctx, p, project)
	if err != nil {
		return "", err
	}
	token := tenants.NewCatalogToken()
	sql, err := s.catalogFunction(ctx, of, token, relations)
	if err != nil {
		return "", s.Tenants.Refused(ctx, p, "schema.catalog", err, project)
	}
	_, err = s.Tenants.SetCatalog(ctx, p, project, token, relations)
	return sql, err
}

func (s *Service) catalogFunction(ctx context.Context, of tenants.Project, token seal.Secret, relations []string) (string, error) {
	if err := checkRelations(relations); err != nil {
		return "", err
	}
	known, err := s.known(ctx, of)
	if err != nil {
		return "", err
	}
	if len(known.Schemas) == 0 {
		known.Schemas = schemasOf(relations)
	}
	digest := sha256.Sum256([]byte(token.Reveal()))
	return surfaces.CatalogFunction(surfaces.CatalogOptions{
		TokenDigest: hex.EncodeToString(digest[:]), Schemas: known.Schemas, Relations: relations, MaxRows: known.MaxRows,
	})
}

// checkRelations refuses what cannot be names; whether there are such things
// the database says.
func checkRelations(relations []string) error {
	if len(relations) == 0 || len(relations) > maxRelations {
		return fault.New(fault.Invalid, "relations", "Name 1 to %d tables, views or functions that the function may describe, as schema.name, such as public.customers.", maxRelations)
	}
	for i, relation := range relations {
		if err := tenants.RefuseSecret("relations", relation); err != nil {
			return err
		}
		if strings.TrimSpace(relation) == "" || len(relation) > maxRelationName || strings.ContainsRune(relation, 0) || !utf8.ValidString(relation) {
			return fault.New(fault.Invalid, "relations", "A relation is named as schema.name, such as public.customers.").
				WithIssues(fault.Issue{Path: fmt.Sprintf("relations[%d]", i), Message: "want schema.name"})
		}
	}
	return nil
}

// schemasOf lists the schemas of relations in the order of their first use.
func schemasOf(relations []string) []string {
	var list []string
	for _, relation := range relations {
		if schema, _, found := strings.Cut(relation, "."); found && !slices.Contains(list, schema) {
			list = append(list, schema)
		}
	}
	return list
}

// known is what an earlier import said of the Data API: what is in no catalog
// would be lost without it.
func (s *Service) known(ctx context.Context, of tenants.Project) (surfaces.ImportOptions, error) {
	stored, err := s.Surfaces.LatestSnapshot(ctx, of.Organization, of.ID)
	if fault.Is(err, fault.NotFound) {
		return surfaces.ImportOptions{}, nil
	}
	if err != nil {
		return surfaces.ImportOptions{}, err
	}
	known := surfaces.ImportOptions{MaxRows: stored.Snapshot.MaxRows}
	for _, schema := range stored.Snapshot.Schemas {
		known.Schemas = append(known.Schemas, schema.Name)
	}
	for _, role := range stored.Snapshot.Roles {
		known.Roles = append(known.Roles, role.Name)
	}
	return known, nil
}

// ImportCatalog imports the schema by chumbo_catalog.
func (s *Service) ImportCatalog(ctx context.Context, p tenants.Principal, project string) (surfaces.StoredSnapshot, error) {
	of, token, err := s.Tenants.CatalogToken(ctx, p, project)
	if err != nil {
		return surfaces.StoredSnapshot{}, err
	}
	raw, err := s.Supabase.Catalog(ctx, supabase.Project{ID: of.ID, APIOrigin: of.APIOrigin, PublishableKey: of.PublishableKey}, token)
	if err != nil {
		return surfaces.StoredSnapshot{}, s.Tenants.Refused(ctx, p, "schema.import", unread(err), project)
	}
	return s.keep(ctx, p, of, raw, surfaces.SourceCatalog)
}

// ImportManagement imports the schema by the Management API, for projects at
// *.supabase.co. The token is kept nowhere.
func (s *Service) ImportManagement(ctx context.Context, p tenants.Principal, project string, token seal.Secret) (surfaces.StoredSnapshot, error) {
	if err := s.write(ctx, p, "schema.import", project); err != nil {
		return surfaces.StoredSnapshot{}, err
	}
	of, err := s.Tenants.Project(ctx, p, project)
	if err != nil {
		return surfaces.StoredSnapshot{}, err
	}
	raw, err := s.catalogByManagement(ctx, of, token)
	if err != nil {
		return surfaces.StoredSnapshot{}, s.Tenants.Refused(ctx, p, "schema.import", unread(err), project)
	}
	return s.keep(ctx, p, of, raw, surfaces.SourceManagement)
}

func (s *Service) catalogByManagement(ctx context.Context, of tenants.Project, token seal.Secret) ([]byte, error) {
	ref, hosted := supabase.Hosted(of.APIOrigin + "/auth/v1")
	if !hosted {
		return nil, fault.New(fault.Unprocessable, "not_hosted", "Only projects at *.supabase.co can be read with an access token. Import this one with the connection string (chumbo import), or by the function chumbo_catalog.")
	}
	token, err := tenants.AccessToken(token)
	if err != nil {
		return nil, err
	}
	known, err := s.known(ctx, of)
	if err != nil {
		return nil, err
	}
	sql, err := surfaces.CatalogQuery(known)
	if err != nil {
		return nil, err
	}
	rows, err := s.Management.Query(ctx, ref, token, sql)
	if err != nil {
		return nil, err
	}
	return onlyValue(rows)
}

// onlyValue takes the one column of the one row that the statement returns.
func onlyValue(rows []byte) ([]byte, error) {
	var list []map[string]json.RawMessage
	if err := json.Unmarshal(rows, &list); err != nil || len(list) != 1 || len(list[0]) != 1 {
		return nil, fault.New(fault.Unprocessable, "catalog_unread", "Supabase's Management API answered something else than the schema. Try again; or import with the connection string (chumbo import).")
	}
	for _, value := range list[0] {
		return value, nil
	}
	return nil, nil
}

// keep stores what a project said of its own schema.
func (s *Service) keep(ctx context.Context, p tenants.Principal, of tenants.Project, raw []byte, source surfaces.Source) (surfaces.StoredSnapshot, error) {
	snap, err := surfaces.ReadCatalog(raw)
	if err != nil {
		return surfaces.StoredSnapshot{}, s.Tenants.Refused(ctx, p, "schema.import", unread(err), of.Slug)
	}
	return s.Surfaces.PutSnapshot(ctx, p.Actor(), of.ID, snap, source)
}

// unread gives what a project or its platform refused one public kind: its
// "not found" or "forbidden" is not what this server says of the request.
func unread(err error) error {
	var f *fault.Error
	var answer *supabase.Error
	switch {
	case errors.As(err, &f) && (f.Kind == fault.NotFound || f.Kind == fault.Forbidden || f.Kind == fault.Unauthenticated):
		return fault.Wrap(err, fault.Unprocessable, f.Code, "%s", f.Message).WithIssues(f.Issues...)
	case f == nil && errors.As(err, &answer):
		return fault.Wrap(err, fault.Unprocessable, "schema_unread", "The project answered %d instead of its schema. Check that it is running, and try again.", answer.Status)
	}
	return err
}

// Offerable lists the tables and views of the project's latest snapshot that a
// surface can offer.
func (s *Service) Offerable(ctx context.Context, p tenants.Principal, project string) ([]string, error) {
	stored, err := s.Schema(ctx, p, project)
	if err != nil {
		return nil, err
	}
	return surfaces.Offerable(stored.Snapshot), nil
}

// Starter writes a surface file over the named tables of the project's latest
// snapshot; without a title, the project's name is the title.
func (s *Service) Starter(ctx context.Context, p tenants.Principal, project, title string, tables []string) ([]byte, error) {
	if err := refuseSecrets("title", title, "tables", strings.Join(tables, ",")); err != nil {
		return nil, err
	}
	of, err := s.Tenants.Project(ctx, p, project)
	if err != nil {
		return nil, err
	}
	stored, err := s.Surfaces.LatestSnapshot(ctx, p.Organization.ID, of.ID)
	if err != nil {
		return nil, err
	}
	if title = strings.TrimSpace(title); title == "" {
		title = of.Name
	}
	file, err := surfaces.Starter(stored.Snapshot, title, tables)
	if err != nil {
		return nil, fmt.Errorf("write starter: %w", err)
	}
	return file, nil
}

// Posture is the posture of a project's latest snapshot.
func (s *Service) Posture(ctx context.Context, p tenants.Principal, project string) ([]surfaces.Finding, error) {
	of, err := s.Tenants.Project(ctx, p, project)
	if err != nil {
		return nil, err
	}
	return s.Surfaces.Posture(ctx, p.Organization.ID, of.ID)
}
