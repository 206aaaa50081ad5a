package standin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// job is one statement to run as a caller.
type job struct {
	sql      string
	args     []any
	readOnly bool
	settings []setting            // of the function called
	check    func(*outcome) error // an error rolls back
}

// outcome is the row that every statement returns.
type outcome struct {
	total   *int64
	page    int64
	body    *string
	status  *string // response.status, as SQL set it
	headers *string // response.headers

	inserted string // pgrst.inserted, after a write
}

// run runs a job in one transaction as the request's role, with the settings
// that the platform gives SQL to read.
func (d *dataAPI) run(ctx context.Context, q *apiRequest, j job) (*outcome, error) {
	out := &outcome{}
	options := pgx.TxOptions{AccessMode: pgx.ReadWrite}
	if j.readOnly {
		options.AccessMode = pgx.ReadOnly
	}
	if err := d.hooks.wait(ctx, BeforeStatement, q.path, j); err != nil {
		return nil, err
	}
	err := pgx.BeginTxFunc(ctx, d.pool, options, func(tx pgx.Tx) error {
		if err := d.impersonate(ctx, tx, q, j.settings); err != nil {
			return err
		}
		err := tx.QueryRow(ctx, j.sql, j.args...).Scan(&out.total, &out.page, &out.body, &out.status, &out.headers)
		if err != nil {
			return fmt.Errorf("run statement: %w", err)
		}
		if !j.readOnly {
			err := tx.QueryRow(ctx, "select coalesce(current_setting('pgrst.inserted', true), '')").Scan(&out.inserted)
			if err != nil {
				return fmt.Errorf("read inserted count: %w", err)
			}
		}
		if err := j.check(out); err != nil {
			return err
		}
		return d.hooks.wait(ctx, BeforeCommit, q.path, j)
	})
	if err == nil {
		err = d.hooks.wait(ctx, AfterCommit, q.path, j)
	}
	var fromPostgres *pgconn.PgError
	if errors.As(err, &fromPostgres) {
		return nil, postgresError(fromPostgres, q.who.role == "anon")
	}
	return out, err
}

// impersonate sets, for the transaction, the role and everything the request
// tells SQL: one statement, in the platform's order.
func (d *dataAPI) impersonate(ctx context.Context, tx pgx.Tx, q *apiRequest, functionSettings []setting) error {
	var path []string
	for _, schema := range append([]string{q.schema}, "public", "extensions") {
		path = append(path, quoted(schema))
	}
	headers := map[string]string{}
	for name := range q.header {
		if name != "Cookie" && name != roleHeader {
			headers[strings.ToLower(name)] = q.header.Get(name)
		}
	}
	cookies := map[string]string{}
	for _, cookie := range q.cookies {
		cookies[cookie.Name] = cookie.Value
	}
	encodedHeaders, err1 := json.Marshal(headers)
	encodedCookies, err2 := json.Marshal(cookies)
	if err := errors.Join(err1, err2); err != nil {
		return fmt.Errorf("encode request settings: %w", err)
	}
	settings := []setting{{"search_path", strings.Join(path, ", ")}}
	settings = append(settings, d.catalog.Load().settings[q.who.role]...)
	settings = append(settings,
		setting{"role", q.who.role},
		setting{"request.jwt.claims", q.who.claims},
		setting{"request.method", q.method},
		setting{"request.path", q.path},
		setting{"request.headers", string(encodedHeaders)},
		setting{"request.cookies", string(encodedCookies)},
	)
	settings = append(settings, functionSettings...)

	b := &statement{}
	calls := make([]string, len(settings))
	for i, s := range settings {
		calls[i] = "set_config(" + b.arg(s.name) + ", " + b.arg(s.value) + ", true)"
	}
	if _, err := tx.Exec(ctx, "select "+strings.Join(calls, ", "), b.args...); err != nil {
		return fmt.Errorf("become %s: %w", q.who.role, err)
	}
	return nil
}

// checkSingular refuses anything but one row when one object was asked for.
func (q *apiRequest) checkSingular(out *outcome) error {
	if !q.accept.singular || out.page == 1 {
		return nil
	}
	return &apiError{
		status: http.StatusNotAcceptable, Code: "PGRST116",
		Message: "Cannot coerce the result to a single JSON object",
		Details: "The result contains " + strconv.FormatInt(out.page, 10) + " rows",
	}
}

// checkAffected holds a PATCH or DELETE to one object, then to max-affected.
func (q *apiRequest) checkAffected(out *outcome) error {
	if err := q.checkSingular(out); err != nil {
		return err
	}
	if limit := q.prefer.limit(); limit >= 0 && out.page > int64(limit) {
		return &apiError{
			status: http.StatusBadRequest, Code: "PGRST124",
			Message: "Query result exceeds max-affected preference constraint",
			Details: "The query affects " + strconv.FormatInt(out.page, 10) + " rows",
		}
	}
	return nil
}
