package standin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// storageServer is the stand-in's Storage: rows of storage.objects under Row
// Level Security, run as the caller, and the contents kept beside. It sees paths
// with /storage/v1 taken off.
type storageServer struct {
	owner    *pgxpool.Pool // reads buckets, and public ones past their policies
	pool     *pgxpool.Pool // as authenticator
	keys     *keyring      // of access tokens
	links    *keyring      // of signed URLs, a secret of Storage's own
	now      func() time.Time
	contents *contents
}

func newStorageServer(owner, pool *pgxpool.Pool, keys *keyring, now func() time.Time) (*storageServer, error) {
	links, err := newKeyring(SigningHS256)
	if err != nil {
		return nil, err
	}
	return &storageServer{owner: owner, pool: pool, keys: keys, links: links, now: now, contents: newContents(owner)}, nil
}

// object is what a path below /object/ names.
type object struct{ bucket, name string }

func (s *storageServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := s.serve(w, r); err != nil {
		asStorageError(err).write(w)
	}
}

func (s *storageServer) serve(w http.ResponseWriter, r *http.Request) error {
	rest, ok := strings.CutPrefix(r.URL.EscapedPath(), "/object/")
	if !ok {
		return notInStorage(strings.TrimPrefix(r.URL.Path, "/"))
	}
	route, below, _ := strings.Cut(rest, "/")
	switch route {
	case "authenticated", "public", "sign", "info", "list", "list-v2":
	case "move", "copy", "upload":
		return notInStorage("object/" + route)
	default:
		route, below = "", rest
	}
	o, err := objectOf(below)
	if err != nil {
		return err
	}
	serve := s.handler(r.Method, route, o)
	if serve == nil {
		return noRoute(r)
	}
	return serve(w, r, o)
}

type storageHandler func(w http.ResponseWriter, r *http.Request, o object) error

// handler is who serves a route; nil for none.
func (s *storageServer) handler(method, route string, o object) storageHandler {
	whole := o.bucket != "" && o.name != ""
	reading := method == http.MethodGet || method == http.MethodHead
	switch {
	case route == "authenticated" && reading && whole:
		return s.serveAuthenticated
	case route == "public" && reading && whole:
		return s.servePublic
	case route == "sign" && reading && whole:
		return s.serveSigned
	case route == "sign" && method == http.MethodPost && whole:
		return s.sign
	case route == "sign" && method == http.MethodPost && o.bucket != "":
		return s.signMany
	case route == "info" && method == http.MethodGet && whole:
		return s.info
	case route == "list" && method == http.MethodPost && o.bucket != "" && o.name == "":
		return s.list
	case route == "list-v2" && method == http.MethodPost && o.bucket != "" && o.name == "":
		return s.listV2
	case route != "":
		return nil
	case reading && whole:
		return s.servePlain
	case (method == http.MethodPost || method == http.MethodPut) && whole:
		return s.upload
	case method == http.MethodDelete && o.bucket != "":
		return s.remove
	}
	return nil
}

// objectOf reads bucket and name, escaped, as a router does: split first.
func objectOf(escaped string) (object, error) {
	bucket, name, _ := strings.Cut(escaped, "/")
	b, err1 := url.PathUnescape(bucket)
	n, err2 := url.PathUnescape(name)
	if err1 != nil || err2 != nil {
		return object{}, schemaError("the path is not well encoded")
	}
	return object{b, n}, nil
}

// caller is as whom a request runs. What a gateway filled in for a missing
// token counts as one.
func (s *storageServer) caller(r *http.Request) (caller, error) {
	token, ok := bearer(r.Header.Get("Authorization"))
	if !ok {
		role := r.Header.Get(roleHeader)
		if role == "" {
			return caller{}, schemaError("headers must have required property 'authorization'")
		}
		return caller{role: role, claims: `{"role":"` + role + `"}`}, nil
	}
	if _, err := s.keys.verify(token, s.now()); err != nil {
		if strings.HasSuffix(err.Error(), "token is expired") {
			return caller{}, accessDenied("jwt expired")
		}
		return caller{}, accessDenied("invalid signature")
	}
	_, claims, err := peekToken(token)
	if err != nil {
		return caller{}, accessDenied("invalid signature")
	}
	role, _ := claims["role"].(string)
	if role == "" {
		role = "anon"
	}
	claims["role"] = role
	encoded, err := json.Marshal(claims)
	if err != nil {
		return caller{}, fmt.Errorf("encode claims: %w", err)
	}
	return caller{role: role, claims: string(encoded)}, nil
}

// as runs do in a transaction as the caller, with what Storage tells SQL.
func (s *storageServer) as(ctx context.Context, who caller, r *http.Request, operation string, do func(tx pgx.Tx) error) error {
	headers := map[string]string{}
	for name := range r.Header {
		if !slices.Contains([]string{"Cookie", roleHeader}, name) {
			headers[strings.ToLower(name)] = r.Header.Get(name)
		}
	}
	encoded, err := json.Marshal(headers)
	if err != nil {
		return fmt.Errorf("encode request headers: %w", err)
	}
	subject := subjectOf(who)
	return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `select set_config('role', $1, true), set_config('request.jwt.claims', $2, true),
			set_config('request.jwt.claim.role', $1, true), set_config('request.jwt.claim.sub', $3, true),
			set_config('request.headers', $4, true), set_config('request.method', $5, true),
			set_config('request.path', $6, true), set_config('storage.operation', $7, true)`,
			who.role, who.claims, subject, string(encoded), r.Method, r.URL.Path, operation)
		if err != nil {
			return fmt.Errorf("become %s: %w", who.role, err)
		}
		return do(tx)
	})
}

// subjectOf is the sub of the caller's claims, or empty.
func subjectOf(who caller) string {
	var claims struct{ Sub string }
	_ = json.Unmarshal([]byte(who.claims), &claims) // made by caller above
	return claims.Sub
}

// storedBucket is what limits an upload, and whether policies count for reads.
type storedBucket struct {
	id     string
	public bool
	limit  *int64
	types  []string
}

// bucket looks one up past its policies, as Storage does.
func (s *storageServer) bucket(ctx context.Context, id string) (storedBucket, error) {
	b := storedBucket{id: id}
	err := s.owner.QueryRow(ctx, "select coalesce(public, false), file_size_limit, allowed_mime_types from storage.buckets where id = $1", id).
		Scan(&b.public, &b.limit, &b.types)
	if errors.Is(err, pgx.ErrNoRows) {
		return b, errNoBucket
	}
	if err != nil {
		return b, fmt.Errorf("read bucket: %w", err)
	}
	return b, nil
}

func writeStorageJSON(w http.ResponseWriter, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode answer: %w", err)
	}
	w.Header().Set("Content-Type", jsonType)
	_, _ = w.Write(body)
	return nil
}

// jsTime is a time as JavaScript writes it.
func jsTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
