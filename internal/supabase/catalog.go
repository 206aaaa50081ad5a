package supabase

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/chumbo-dev/chumbo/internal/egress"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/seal"
)

// maxCatalog is the most of a project's schema that is read, in bytes.
const maxCatalog = 8 << 20

// Catalog calls chumbo_catalog(token) with the publishable key and returns its
// JSON. Errors: fault.NotFound when there is no such function, fault.Forbidden
// when anon may not call it or it answers to another token, fault.TooLarge,
// else those of the Data API. The token is in the body only.
func (c *Client) Catalog(ctx context.Context, p Project, token seal.Secret) ([]byte, error) {
	arguments, err := json.Marshal(map[string]string{"token": token.Reveal()})
	if err != nil {
		return nil, fmt.Errorf("write catalog call: %w", err)
	}
	req, err := c.dataRequest(ctx, AsAnon(p), http.MethodPost, "rpc/chumbo_catalog", arguments)
	if err != nil {
		return nil, err
	}
	req.Header["Accept"] = []string{acceptRows}
	req.Header["Content-Type"] = []string{"application/json"}
	req.Header["Content-Profile"] = []string{"public"}
	r, err := c.send(req, egress.Options{Lane: lane(p), MaxBytes: maxCatalog, Timeout: dataTimeout})
	if err != nil {
		return nil, err
	}
	if r.status != http.StatusOK || !isJSON(r.header) || len(r.body) == 0 {
		return nil, catalogError(errorOf(r))
	}
	return r.body, nil
}

func catalogError(err error) error {
	var e *Error
	if !errors.As(err, &e) || e.Gateway {
		return err
	}
	switch {
	case e.Code == "PT403":
		return fault.Wrap(e, fault.Forbidden, "catalog_token", "The project's function chumbo_catalog() was made for another token. Run the SQL shown here, whole, and import again.")
	case e.Code == "42501":
		return fault.Wrap(e, fault.Forbidden, "catalog_not_callable", "The project has the function chumbo_catalog(), but the role anon may not call it. Run the SQL shown here again, whole: its last lines grant that.")
	case e.Code == "57014":
		return fault.Wrap(e, fault.Timeout, "catalog_timeout", "Describing the schema took longer than the project lets the role anon run. List fewer tables, or import with the connection string (chumbo import).")
	case e.Code == "PGRST106":
		return fault.Wrap(e, fault.NotFound, "catalog_schema", "The project's Data API does not expose the schema public, where chumbo_catalog() belongs. Expose it in the project's API settings, or import with the connection string (chumbo import).")
	case e.Code == "PGRST202" || e.Status == http.StatusNotFound:
		return fault.Wrap(e, fault.NotFound, "catalog_missing", "The project has no function public.chumbo_catalog() yet. Run the SQL that makes it in the SQL editor, or apply the migration, and try again; right after that the Data API may need some seconds to see it.")
	}
	return err
}
