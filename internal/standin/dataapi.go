package standin

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// dataConfig is what the Data API needs.
type dataConfig struct {
	owner    *pgxpool.Pool // reads the catalogs: privileges must not hide anything
	dsn      string        // of role authenticator
	keys     *keyring
	now      func() time.Time
	schemas  []string // exposed; the first is the default
	maxRows  int
	noReload bool
}

// dataAPI is the stand-in's PostgREST. It sees paths with /rest/v1 taken off.
type dataAPI struct {
	cfg     dataConfig
	pool    *pgxpool.Pool // as authenticator
	catalog atomic.Pointer[catalog]
	hooks   hooks
}

func newDataAPI(ctx context.Context, cfg dataConfig) (*dataAPI, error) {
	config, err := pgxpool.ParseConfig(cfg.dsn)
	if err != nil {
		return nil, fmt.Errorf("parse connection url: %w", err)
	}
	config.MaxConns = 10
	// Values go untyped, and tests change tables under a running project.
	config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("open pool: %w", err)
	}
	d := &dataAPI{cfg: cfg, pool: pool}
	if err := d.reload(ctx); err != nil {
		pool.Close()
		return nil, err
	}
	return d, nil
}

func (d *dataAPI) close() { d.pool.Close() }

// reload reads the catalogs anew.
func (d *dataAPI) reload(ctx context.Context) error {
	c, err := loadCatalog(ctx, d.cfg.owner)
	if err != nil {
		return fmt.Errorf("load schema cache: %w", err)
	}
	d.catalog.Store(c)
	return nil
}

// followReloads listens for `notify pgrst, 'reload schema'` until ctx ends.
func (d *dataAPI) followReloads(ctx context.Context, dsn string) {
	if d.cfg.noReload {
		return
	}
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if _, err := conn.Exec(ctx, "listen pgrst"); err != nil {
		return
	}
	for {
		notice, err := conn.WaitForNotification(ctx)
		if err != nil {
			return
		}
		if notice.Payload == "" || notice.Payload == "reload schema" {
			_ = d.reload(ctx)
		}
	}
}

func (d *dataAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer, err := d.serve(r)
	if err != nil {
		asAPIError(err).write(w)
		return
	}
	answer.write(w, r.Method)
}

func (d *dataAPI) serve(r *http.Request) (*apiAnswer, error) {
	who, err := d.authenticate(r)
	if err != nil {
		return nil, err
	}
	name, isCall, err := target(r.URL.Path)
	if err != nil {
		return nil, err
	}
	schema, err := d.schema(r)
	if err != nil {
		return nil, err
	}
	req, err := parseRequest(r, isCall)
	if err != nil {
		return nil, err
	}
	req.who, req.schema, req.name, req.path = who, schema, name, r.URL.Path
	if req.method != http.MethodGet && req.method != http.MethodHead && d.hooks.isOld(req.path) {
		req.prefer.maxAffected = -1
	}
	answer, err := d.dispatch(r.Context(), req, isCall)
	if err != nil {
		return nil, err
	}
	if len(d.cfg.schemas) > 1 {
		answer.header.Set("Content-Profile", schema)
	}
	return answer, nil
}

func (d *dataAPI) dispatch(ctx context.Context, req *apiRequest, isCall bool) (*apiAnswer, error) {
	if isCall {
		switch req.method {
		case http.MethodGet, http.MethodHead, http.MethodPost:
			return d.call(ctx, req)
		}
		return nil, &apiError{status: 405, Code: "PGRST101", Message: "Cannot use the " + req.method + " method on RPC"}
	}
	switch req.method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPatch, http.MethodDelete:
	case http.MethodPut:
		return nil, notImplemented("PUT")
	default:
		return nil, &apiError{status: 405, Code: "PGRST117", Message: "Unsupported HTTP method: " + req.method}
	}
	rel, err := d.catalog.Load().relation(req.schema, req.name)
	if err != nil {
		return nil, err
	}
	switch req.method {
	case http.MethodPost:
		return d.insert(ctx, req, rel)
	case http.MethodPatch:
		return d.update(ctx, req, rel)
	case http.MethodDelete:
		return d.remove(ctx, req, rel)
	}
	return d.read(ctx, req, rel)
}

// target splits a path into the relation or function it names.
func target(path string) (name string, isCall bool, err error) {
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	switch {
	case len(parts) == 1 && parts[0] != "":
		return parts[0], false, nil
	case len(parts) == 2 && parts[0] == "rpc" && parts[1] != "":
		return parts[1], true, nil
	}
	return "", false, &apiError{status: 404, Code: "PGRST125", Message: "Invalid path specified in request URL"}
}

// schema is the one a request asks for by its profile header.
func (d *dataAPI) schema(r *http.Request) (string, error) {
	header := "Content-Profile"
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		header = "Accept-Profile"
	}
	asked := r.Header.Get(header)
	if asked == "" {
		return d.cfg.schemas[0], nil
	}
	if !slices.Contains(d.cfg.schemas, asked) {
		return "", &apiError{
			status: 406, Code: "PGRST106", Message: "Invalid schema: " + asked,
			Hint: text("Only the following schemas are exposed: " + strings.Join(d.cfg.schemas, ", ")),
		}
	}
	return asked, nil
}
