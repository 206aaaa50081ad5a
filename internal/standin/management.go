package standin

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
)

// Management is a stand-in of Supabase's Management API in front of one
// project: the query endpoint and the OAuth part of Auth's configuration. It
// knows one token and one project reference.
type Management struct {
	project *Project
	server  *http.Server
	url     string
	ref     string
	token   string
	busy    atomic.Bool
	powers  atomic.Bool
	path    atomic.Pointer[string]
}

// StartManagement puts a Management API in front of the project. Close it
// before the project.
func StartManagement(p *Project) (*Management, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	m := &Management{project: p, url: "http://" + listener.Addr().String(), ref: newRef(), token: newAccessToken()}
	m.powers.Store(true)
	routes := http.NewServeMux()
	routes.HandleFunc("POST /v1/projects/{ref}/database/query", m.query)
	routes.HandleFunc("PATCH /v1/projects/{ref}/config/auth", m.configure)
	m.server = &http.Server{Handler: m.admit(routes), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = m.server.Serve(listener) }()
	return m, nil
}

// newRef is 20 lower-case letters.
func newRef() string {
	b := make([]byte, 20)
	_, _ = rand.Read(b) // never fails
	for i := range b {
		b[i] = 'a' + b[i]%26
	}
	return string(b)
}

// newAccessToken has the platform's form: sbp_ and 40 hexadecimal digits.
func newAccessToken() string {
	b := make([]byte, 20)
	_, _ = rand.Read(b) // never fails
	return "sbp_" + hex.EncodeToString(b)
}

// URL is the API's origin, http://127.0.0.1:port.
func (m *Management) URL() string { return m.url }

// Ref is the project's reference.
func (m *Management) Ref() string { return m.ref }

// Token is the one access token that is accepted.
func (m *Management) Token() string { return m.token }

// SetBusy makes the API answer 429, or no more.
func (m *Management) SetBusy(on bool) { m.busy.Store(on) }

// SetPowers gives the token its rights on the project, or takes them away.
func (m *Management) SetPowers(on bool) { m.powers.Store(on) }

// AuthorizationPath is the consent page's path as it was last set here; empty
// before. The project itself keeps the path that it was started with.
func (m *Management) AuthorizationPath() string {
	if path := m.path.Load(); path != nil {
		return *path
	}
	return ""
}

// Close stops the API.
func (m *Management) Close() error { return m.server.Close() }

func (m *Management) admit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rest, ok := strings.CutPrefix(r.URL.Path, "/v1/projects/")
		ref, _, _ := strings.Cut(rest, "/")
		switch {
		case m.busy.Load():
			w.Header().Set("Retry-After", "60")
			writeManagement(w, http.StatusTooManyRequests, map[string]string{"message": "ThrottlerException: Too Many Requests"})
		case r.Header.Get("Authorization") != "Bearer "+m.token:
			writeManagement(w, http.StatusUnauthorized, map[string]string{"message": "Unauthorized"})
		case !ok || ref != m.ref:
			writeManagement(w, http.StatusNotFound, map[string]string{"message": "Project not found"})
		case !m.powers.Load():
			writeManagement(w, http.StatusForbidden, map[string]string{"message": "Forbidden resource"})
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// query runs one statement. Values pass through the JSON of a scripting
// language, as on the platform: numbers are doubles.
func (m *Management) query(w http.ResponseWriter, r *http.Request) {
	var ask struct {
		Query    string `json:"query"`
		ReadOnly bool   `json:"read_only"`
	}
	if json.NewDecoder(io.LimitReader(r.Body, 1<<20)).Decode(&ask) != nil || ask.Query == "" {
		writeManagement(w, http.StatusBadRequest, map[string]string{"message": "query should not be empty"})
		return
	}
	rows, err := m.rows(r.Context(), ask.Query, ask.ReadOnly)
	if err != nil {
		writeManagement(w, http.StatusBadRequest, map[string]string{"message": "Failed to run sql query: " + err.Error()})
		return
	}
	writeManagement(w, http.StatusCreated, rows)
}

func (m *Management) rows(ctx context.Context, sql string, readOnly bool) ([]map[string]any, error) {
	options := pgx.TxOptions{}
	if readOnly {
		options.AccessMode = pgx.ReadOnly
	}
	tx, err := m.project.owner.BeginTx(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("begin query: %w", err)
	}
	defer tx.Rollback(ctx) //nolint:errcheck // after a commit there is nothing to roll back
	found, err := tx.Query(ctx, sql, pgx.QueryExecModeExec)
	if err != nil {
		return nil, fmt.Errorf("run query: %w", err)
	}
	rows, err := pgx.CollectRows(found, pgx.RowToMap)
	if err != nil {
		return nil, fmt.Errorf("read rows: %w", err)
	}
	if rows == nil {
		rows = []map[string]any{}
	}
	return rows, tx.Commit(ctx)
}

// configure takes the OAuth server's switches, all three or none.
func (m *Management) configure(w http.ResponseWriter, r *http.Request) {
	var change struct {
		Enabled      *bool   `json:"oauth_server_enabled"`
		Registration *bool   `json:"oauth_server_allow_dynamic_registration"`
		Path         *string `json:"oauth_server_authorization_path"`
	}
	decoder := json.NewDecoder(io.LimitReader(r.Body, 1<<20))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&change); err != nil || change.Enabled == nil || change.Registration == nil || change.Path == nil {
		writeManagement(w, http.StatusBadRequest, map[string]string{"message": "this stand-in knows the OAuth server's three settings only"})
		return
	}
	m.project.SetOAuth(*change.Enabled)
	m.project.SetRegistration(*change.Registration)
	m.path.Store(change.Path)
	writeManagement(w, http.StatusOK, change)
}

func writeManagement(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}
