package supabase

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/chumbo-dev/chumbo/internal/egress"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/seal"
)

// ManagementOrigin is the only place a Management API token is ever sent to.
const ManagementOrigin = "https://api.supabase.com"

// Management reaches Supabase's Management API, for projects at
// *.supabase.co. It keeps no token, follows no redirect and repeats nothing.
// The errors of every method: fault.Invalid for what is no project reference,
// fault.Forbidden when the token is refused or has no access to the project,
// fault.NotFound for a project that Supabase does not know, fault.RateLimited,
// fault.Unprocessable for an answer that is not understood, fault.Unavailable
// and fault.Timeout. None holds the token or the answer's body.
type Management struct {
	out    doer
	origin string
}

// NewManagement returns a Management that sends through e to ManagementOrigin.
func NewManagement(e *egress.Client) *Management {
	return &Management{out: e, origin: ManagementOrigin}
}

// NewManagementAt is NewManagement for another origin: tests only.
func NewManagementAt(e *egress.Client, origin string) *Management {
	return &Management{out: e, origin: origin}
}

// ProveManagement makes one read-only call to the project's database that only
// somebody with access to it may make. fault.Forbidden when it is refused.
func (m *Management) ProveManagement(ctx context.Context, ref string, token seal.Secret) error {
	rows, err := m.Query(ctx, ref, token, "select 1 as chumbo")
	if err != nil {
		return err
	}
	var got []map[string]int
	if json.Unmarshal(rows, &got) != nil || len(got) != 1 || got[0]["chumbo"] != 1 {
		return notUnderstood(errors.New("the query's row is another one"))
	}
	return nil
}

// Query runs one read-only statement and returns its rows as a JSON array.
func (m *Management) Query(ctx context.Context, ref string, token seal.Secret, sql string) ([]byte, error) {
	r, err := m.send(ctx, http.MethodPost, ref, "/database/query", token, map[string]any{"query": sql, "read_only": true})
	if err != nil {
		return nil, err
	}
	if !bytes.HasPrefix(bytes.TrimSpace(r.body), []byte("[")) || !json.Valid(r.body) {
		return nil, notUnderstood(errors.New("no list of rows"))
	}
	return r.body, nil
}

// ConfigureOAuth switches the project's OAuth server on, with dynamic
// registration and the consent page's path, all in one request: half of it
// leaves a server that fails at the consent step.
func (m *Management) ConfigureOAuth(ctx context.Context, ref string, token seal.Secret, authorizationPath string) error {
	if !strings.HasPrefix(authorizationPath, "/") || strings.HasPrefix(authorizationPath, "//") {
		return fault.New(fault.Invalid, "bad_path", "The authorization path is the path of your app's consent page, such as /oauth/consent.")
	}
	_, err := m.send(ctx, http.MethodPatch, ref, "/config/auth", token, map[string]any{
		"oauth_server_enabled":                    true,
		"oauth_server_allow_dynamic_registration": true,
		"oauth_server_authorization_path":         authorizationPath,
	})
	return err
}

var (
	projectRef      = regexp.MustCompile(`^[a-z]{20}$`)
	managementToken = regexp.MustCompile(`^[!-~]{1,1000}$`)
)

// send makes one request about a project. An answer is a success.
func (m *Management) send(ctx context.Context, method, ref, path string, token seal.Secret, body any) (reply, error) {
	if !projectRef.MatchString(ref) {
		return reply{}, fault.New(fault.Invalid, "bad_ref", "A project's reference is the 20 letters of its address, https://<reference>.supabase.co.")
	}
	if !managementToken.MatchString(token.Reveal()) {
		return reply{}, fault.New(fault.Forbidden, "management_token_refused", "This is no access token. Make one in Supabase's dashboard under Account, Access Tokens, and copy it whole.")
	}
	text, err := json.Marshal(body)
	if err != nil {
		return reply{}, fmt.Errorf("write management request: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, method, m.origin+"/v1/projects/"+ref+path, bytes.NewReader(text))
	if err != nil {
		return reply{}, fmt.Errorf("build management request: %w", err)
	}
	c := Client{out: m.out, agent: "chumbo/" + buildVersion()}
	c.common(req.Header)
	req.Header["Accept"] = []string{"application/json"}
	req.Header["Content-Type"] = []string{"application/json"}
	req.Header["Authorization"] = []string{"Bearer " + token.Reveal()}
	// A lane for each project: one builder's failing database is nobody else's.
	r, err := c.send(req, egress.Options{Lane: "management " + ref, MaxBytes: maxCatalog, Timeout: dataTimeout})
	if err != nil {
		return reply{}, err
	}
	if r.status < 200 || r.status >= 300 {
		return reply{}, managementError(r)
	}
	return r, nil
}

// managementError says what an answer means. Its body stays unread: it may
// repeat the statement.
func managementError(r reply) error {
	cause := fmt.Errorf("management api answered %d", r.status)
	switch {
	case r.status == http.StatusUnauthorized:
		return fault.Wrap(cause, fault.Forbidden, "management_token_refused", "Supabase refused the access token. Make a new one in Supabase's dashboard under Account, Access Tokens, and copy it whole.")
	case r.status == http.StatusForbidden:
		return fault.Wrap(cause, fault.Forbidden, "management_no_access", "The access token has no right to do this to the project. Use a token of somebody who may, or one with more rights.")
	case r.status == http.StatusNotFound:
		return fault.Wrap(cause, fault.NotFound, "management_no_project", "Supabase knows no project of this reference, or the access token may not see it.")
	case r.status == http.StatusTooManyRequests:
		wait := retryAfter(r.header)
		if wait == 0 {
			wait = time.Minute // the limit is by the minute
		}
		return fault.Wrap(cause, fault.RateLimited, "management_rate_limited", "Supabase's Management API takes no more requests of this token for now. Try again later.").WithRetryAfter(wait)
	case r.status >= 500:
		return fault.Wrap(cause, fault.Unavailable, "management_unavailable", "Supabase's Management API answers with an error (%d). Check that the project is running and not paused, and try again.", r.status).WithRetryAfter(retryAfter(r.header))
	}
	return notUnderstood(cause)
}

func notUnderstood(cause error) error {
	return fault.Wrap(cause, fault.Unprocessable, "management_not_understood", "Supabase's Management API answered something else than was expected. Try again, or take another way: the function, or the connection string.")
}
