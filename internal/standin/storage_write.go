package standin

import (
	"bytes"
	"crypto/md5" //nolint:gosec // an ETag, as object stores make them
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"regexp"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// defaultFileLimit is the size limit of a bucket that has none of its own.
const defaultFileLimit = 50 << 20

var validKey = regexp.MustCompile(`^[A-Za-z0-9_/!\-.*'() &$@=;:+,?]+$`)

// incoming is a file to be stored.
type incoming struct {
	content  []byte
	mime     string
	cache    string
	metadata json.RawMessage
}

// upload makes a file, or replaces one: PUT, or POST with x-upsert. Replacing
// needs the policies for inserting, selecting and updating.
func (s *storageServer) upload(w http.ResponseWriter, r *http.Request, o object) error {
	who, err := s.caller(r)
	if err != nil {
		return err
	}
	if !validKey.MatchString(o.name) {
		return invalidKey(o.name)
	}
	b, err := s.bucket(r.Context(), o.bucket)
	if err != nil {
		return err
	}
	in, err := b.read(r)
	if err != nil {
		return err
	}
	version, sum := uuid.NewString(), md5.Sum(in.content) //nolint:gosec // as above
	metadata, err := metadataOf(int64(len(in.content)), `"`+hex.EncodeToString(sum[:])+`"`, in.mime, in.cache, s.now())
	if err != nil {
		return err
	}
	sql := `insert into storage.objects (bucket_id, name, owner, owner_id, version, metadata, user_metadata)
		values ($1, $2, nullif($3, '')::uuid, nullif($3, ''), $4, $5, nullif($6, '')::jsonb)`
	if r.Method == http.MethodPut || r.Header.Get("X-Upsert") == "true" {
		sql += ` on conflict (bucket_id, name) do update set version = excluded.version, metadata = excluded.metadata,
			user_metadata = excluded.user_metadata, owner = excluded.owner, owner_id = excluded.owner_id, updated_at = now()`
	}
	before, err := findFile(r.Context(), s.owner, o)
	if err != nil && !errors.Is(err, errNoObject) {
		return err
	}
	s.contents.put(version, func() io.Reader { return bytes.NewReader(in.content) })
	err = s.as(r.Context(), who, r, "storage.object.upload", func(tx pgx.Tx) error {
		_, err := tx.Exec(r.Context(), sql, o.bucket, o.name, subjectOf(who), version, metadata, string(in.metadata))
		return err //nolint:wrapcheck // asStorageError reads it
	})
	if err != nil {
		s.contents.drop(version)
		return err
	}
	s.contents.drop(before.version)
	f, err := findFile(r.Context(), s.owner, o)
	if err != nil {
		return err
	}
	return writeStorageJSON(w, map[string]string{"Id": f.id, "Key": o.bucket + "/" + o.name})
}

// read reads the file of a request within the bucket's limits.
func (b storedBucket) read(r *http.Request) (incoming, error) {
	in := incoming{mime: r.Header.Get("Content-Type"), cache: r.Header.Get("Cache-Control")}
	var err error
	if strings.HasPrefix(in.mime, "multipart/form-data") {
		err = in.readForm(r, b.sizeLimit())
	} else {
		in.content, err = readUpTo(r.Body, b.sizeLimit())
		if header := r.Header.Get("X-Metadata"); err == nil && header != "" {
			err = in.setMetadata(base64.StdEncoding.DecodeString(header))
		}
	}
	if err != nil {
		return in, err
	}
	if in.mime == "" {
		in.mime = "application/octet-stream"
	}
	if in.cache == "" {
		in.cache = "no-cache"
	}
	if !b.accepts(in.mime) {
		return in, invalidType(in.mime)
	}
	return in, nil
}

func (b storedBucket) sizeLimit() int64 {
	if b.limit != nil && *b.limit > 0 {
		return min(*b.limit, defaultFileLimit)
	}
	return defaultFileLimit
}

func (b storedBucket) accepts(mime string) bool {
	if len(b.types) == 0 {
		return true
	}
	mime, _, _ = strings.Cut(strings.ToLower(mime), ";")
	for _, accepted := range b.types {
		kind, all := strings.CutSuffix(strings.ToLower(accepted), "/*")
		if all && strings.HasPrefix(mime, kind+"/") || strings.EqualFold(accepted, strings.TrimSpace(mime)) {
			return true
		}
	}
	return false
}

// readForm takes the one file of a form, and the fields beside it.
func (in *incoming) readForm(r *http.Request, limit int64) error {
	form, err := r.MultipartReader()
	if err != nil {
		return schemaError("body is not a form")
	}
	for {
		part, err := form.NextPart()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return schemaError("body is not a form")
		}
		if err := in.readPart(part, limit); err != nil {
			return err
		}
	}
}

func (in *incoming) readPart(part *multipart.Part, limit int64) error {
	content, err := readUpTo(part, limit)
	if err != nil {
		return err
	}
	switch {
	case part.FileName() != "" || part.FormName() == "":
		in.content, in.mime = content, part.Header.Get("Content-Type")
	case part.FormName() == "cacheControl":
		in.cache = "max-age=" + string(content)
	case part.FormName() == "metadata":
		return in.setMetadata(content, nil)
	}
	return nil
}

func (in *incoming) setMetadata(raw []byte, err error) error {
	if err != nil || !json.Valid(raw) {
		return schemaError("metadata is not JSON")
	}
	in.metadata = raw
	return nil
}

func readUpTo(r io.Reader, limit int64) ([]byte, error) {
	content, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, fmt.Errorf("read body: %w", err)
	}
	if int64(len(content)) > limit {
		return nil, errTooLarge
	}
	return content, nil
}

// remove deletes one file, or several by their exact names. What the caller may
// not delete stays without a word, unless it was the only one.
func (s *storageServer) remove(w http.ResponseWriter, r *http.Request, o object) error {
	who, err := s.caller(r)
	if err != nil {
		return err
	}
	names := []string{o.name}
	if o.name == "" {
		var input struct {
			Prefixes []string `json:"prefixes"`
		}
		if err := readStorageJSON(r, &input); err != nil {
			return err
		}
		if names = input.Prefixes; len(names) == 0 || len(names) > 1000 {
			return schemaError("body/prefixes must NOT have fewer than 1 items")
		}
	}
	type removed struct {
		ID       string `json:"id"`
		Name     string `json:"name"`
		BucketID string `json:"bucket_id"`
		version  string
	}
	gone := []removed{}
	err = s.as(r.Context(), who, r, "storage.object.delete", func(tx pgx.Tx) error {
		rows, err := tx.Query(r.Context(), `delete from storage.objects where bucket_id = $1 and name = any($2)
			returning id::text, name, bucket_id, coalesce(version, '')`, o.bucket, names)
		if err != nil {
			return fmt.Errorf("delete files: %w", err)
		}
		gone, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (f removed, err error) {
			err = row.Scan(&f.ID, &f.Name, &f.BucketID, &f.version)
			return f, err //nolint:wrapcheck // CollectRows' own
		})
		return err //nolint:wrapcheck // asStorageError reads it
	})
	if err != nil {
		return err
	}
	for _, f := range gone {
		s.contents.drop(f.version)
	}
	if o.name == "" {
		return writeStorageJSON(w, gone)
	}
	if len(gone) == 0 {
		return errNoObject
	}
	return writeStorageJSON(w, map[string]string{"message": "Successfully deleted"})
}
