package standin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// storedFile is a row of storage.objects.
type storedFile struct {
	id, version      string
	created, updated time.Time
	metadata         fileMetadata
	own              json.RawMessage // what its owner wrote beside
}

// fileMetadata is the metadata column, as far as answers need it.
type fileMetadata struct {
	ETag         string `json:"eTag"`
	Size         int64  `json:"size"`
	MIMEType     string `json:"mimetype"`
	CacheControl string `json:"cacheControl"`
	LastModified string `json:"lastModified"`
	Length       int64  `json:"contentLength"`
	Status       int    `json:"httpStatusCode"`
}

// metadataOf is the metadata column of a file that is stored now.
func metadataOf(size int64, etag, mime, cache string, at time.Time) (string, error) {
	b, err := json.Marshal(fileMetadata{ETag: etag, Size: size, MIMEType: mime, CacheControl: cache, LastModified: jsTime(at), Length: size, Status: http.StatusOK})
	if err != nil {
		return "", fmt.Errorf("encode metadata: %w", err)
	}
	return string(b), nil
}

// querier is a pool or a transaction.
type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

func findFile(ctx context.Context, q querier, o object) (f storedFile, err error) {
	var metadata, own []byte
	err = q.QueryRow(ctx, `select id::text, coalesce(version, ''), created_at, updated_at, coalesce(metadata, '{}'), coalesce(user_metadata, 'null')
		from storage.objects where bucket_id = $1 and name = $2`, o.bucket, o.name).
		Scan(&f.id, &f.version, &f.created, &f.updated, &metadata, &own)
	if errors.Is(err, pgx.ErrNoRows) {
		return f, errNoObject
	}
	if err != nil {
		return f, fmt.Errorf("find file: %w", err)
	}
	f.own = own
	if err := json.Unmarshal(metadata, &f.metadata); err != nil {
		return f, fmt.Errorf("read metadata: %w", err)
	}
	return f, nil
}

// readable is the file as the caller may read it: in a public bucket everybody,
// else by policy.
func (s *storageServer) readable(r *http.Request, who caller, o object, operation string) (f storedFile, err error) {
	b, err := s.bucket(r.Context(), o.bucket)
	if err != nil {
		return f, err
	}
	if b.public {
		return findFile(r.Context(), s.owner, o)
	}
	return s.visible(r, who, o, operation)
}

// visible is the file by policy, whatever the bucket.
func (s *storageServer) visible(r *http.Request, who caller, o object, operation string) (f storedFile, err error) {
	err = s.as(r.Context(), who, r, operation, func(tx pgx.Tx) error {
		f, err = findFile(r.Context(), tx, o)
		return err
	})
	return f, err
}

func (s *storageServer) serveAuthenticated(w http.ResponseWriter, r *http.Request, o object) error {
	who, err := s.caller(r)
	if err != nil {
		return err
	}
	f, err := s.readable(r, who, o, "storage.object.get_authenticated")
	if err != nil {
		return err
	}
	return s.send(w, r, o, f)
}

// servePlain forgives a missing or bad token, which then reads public buckets
// only.
func (s *storageServer) servePlain(w http.ResponseWriter, r *http.Request, o object) error {
	who, err := s.caller(r)
	if err != nil {
		return s.servePublic(w, r, o)
	}
	f, err := s.readable(r, who, o, "storage.object.get_authenticated")
	if err != nil {
		return err
	}
	return s.send(w, r, o, f)
}

func (s *storageServer) servePublic(w http.ResponseWriter, r *http.Request, o object) error {
	b, err := s.bucket(r.Context(), o.bucket)
	if err != nil {
		return err
	}
	if !b.public {
		return errNoBucket // Storage looks for a public bucket of that name
	}
	f, err := findFile(r.Context(), s.owner, o)
	if err != nil {
		return err
	}
	return s.send(w, r, o, f)
}

// serveSigned serves whoever has the link, past every policy.
func (s *storageServer) serveSigned(w http.ResponseWriter, r *http.Request, o object) error {
	token := r.URL.Query().Get("token")
	if token == "" {
		return schemaError("querystring must have required property 'token'")
	}
	claims, err := s.links.verify(token, s.now())
	if err != nil {
		if strings.HasSuffix(err.Error(), "token is expired") {
			return invalidLink("InvalidJWT", `"exp" claim timestamp check failed`)
		}
		return invalidLink("InvalidJWT", "signature verification failed")
	}
	if claims["url"] != o.bucket+"/"+o.name {
		return invalidLink("InvalidSignature", "The url do not match the signature")
	}
	f, err := findFile(r.Context(), s.owner, o)
	if err != nil {
		return err
	}
	return s.send(w, r, o, f)
}

// send answers with a file's content. Ranges are not known, which HTTP allows:
// the whole is sent.
func (s *storageServer) send(w http.ResponseWriter, r *http.Request, o object, f storedFile) error {
	content, err := s.contents.reader(r.Context(), f.version)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Etag", f.metadata.ETag)
	h.Set("Last-Modified", f.updated.UTC().Format(http.TimeFormat))
	h.Set("Cache-Control", f.metadata.CacheControl)
	h.Set("X-Robots-Tag", "none")
	if match := r.Header.Get("If-None-Match"); match != "" && match == f.metadata.ETag {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	h.Set("Content-Type", f.metadata.MIMEType)
	h.Set("Content-Length", strconv.FormatInt(f.metadata.Size, 10))
	if q := r.URL.Query(); q.Has("download") {
		h.Set("Content-Disposition", disposition(q.Get("download"), o))
	}
	if r.Method == http.MethodHead {
		return nil
	}
	_, _ = io.CopyN(w, content, f.metadata.Size) // the reader may have gone
	return nil
}

func disposition(name string, o object) string {
	if name == "" {
		name = o.name[strings.LastIndexByte(o.name, '/')+1:]
	}
	return "attachment; filename*=UTF-8''" + url.PathEscape(name)
}

func (s *storageServer) info(w http.ResponseWriter, r *http.Request, o object) error {
	who, err := s.caller(r)
	if err != nil {
		return err
	}
	f, err := s.readable(r, who, o, "storage.object.info")
	if err != nil {
		return err
	}
	return writeStorageJSON(w, map[string]any{
		"id": f.id, "name": o.name, "version": f.version, "bucket_id": o.bucket, "size": f.metadata.Size,
		"content_type": f.metadata.MIMEType, "cache_control": f.metadata.CacheControl, "etag": f.metadata.ETag,
		"metadata": f.own, "last_modified": jsTime(f.updated), "created_at": jsTime(f.created),
	})
}
