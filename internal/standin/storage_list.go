package standin

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// listed is an entry of a list. Everything but the name is null in a folder.
type listed struct {
	Name     string          `json:"name"`
	ID       *string         `json:"id"`
	Updated  *string         `json:"updated_at"`
	Created  *string         `json:"created_at"`
	Accessed *string         `json:"last_accessed_at"`
	Metadata json.RawMessage `json:"metadata"`
}

type sortBy struct {
	Column string `json:"column"`
	Order  string `json:"order"`
}

var sortColumns = []string{"name", "updated_at", "created_at", "last_accessed_at"}

// list answers one folder as the caller sees it: folders first, then files. The
// folder and what is searched for are one pattern, as in Storage: no case is
// told apart, and _ and % stand for other characters.
func (s *storageServer) list(w http.ResponseWriter, r *http.Request, o object) error {
	who, err := s.caller(r)
	if err != nil {
		return err
	}
	input := struct {
		Prefix *string `json:"prefix"`
		Limit  *int    `json:"limit"`
		Offset int     `json:"offset"`
		Search string  `json:"search"`
		Sort   sortBy  `json:"sortBy"`
	}{}
	if err := readStorageJSON(r, &input); err != nil {
		return err
	}
	limit := 100
	switch {
	case input.Prefix == nil:
		return schemaError("body must have required property 'prefix'")
	case input.Limit != nil && *input.Limit < 1:
		return schemaError("body/limit must be >= 1")
	case input.Offset < 0:
		return schemaError("body/offset must be >= 0")
	case input.Limit != nil:
		limit = *input.Limit
	}
	column, order, err := input.Sort.read()
	if err != nil {
		return err
	}
	prefix := *input.Prefix
	if prefix != "" && !strings.HasSuffix(prefix, "/") {
		prefix += "/"
	}
	entries := []listed{}
	err = s.as(r.Context(), who, r, "storage.object.list", func(tx pgx.Tx) error {
		entries, err = entriesOf(r.Context(), tx, `with hit as (
				select o.*, path_tokens[$1] as entry, cardinality(path_tokens) > $1 as deeper
				from storage.objects o where bucket_id = $2 and name ilike $3 || '%'
			), found as (
				select distinct 0 as kind, entry, null::uuid as id, null::timestamptz as updated_at, null::timestamptz as created_at,
					null::timestamptz as last_accessed_at, null::jsonb as metadata, entry as name from hit where deeper
				union all
				select 1, entry, id, updated_at, created_at, last_accessed_at, metadata, name from hit where not deeper
			)
			select entry, id::text, updated_at, created_at, last_accessed_at, coalesce(metadata, 'null') from found
			order by kind, `+column+" "+order+`, name limit $4 offset $5`,
			strings.Count(prefix, "/")+1, o.bucket, prefix+input.Search, limit, input.Offset)
		return err
	})
	if err != nil {
		return err
	}
	return writeStorageJSON(w, entries)
}

func (s sortBy) read() (column, order string, err error) {
	column, order = "name", "asc"
	if s.Column != "" {
		column = s.Column
	}
	if s.Order != "" {
		order = s.Order
	}
	if !slices.Contains(sortColumns, column) || order != "asc" && order != "desc" {
		return "", "", schemaError("body/sortBy must be equal to one of the allowed values")
	}
	return column, order, nil
}

func entriesOf(ctx context.Context, tx pgx.Tx, sql string, args ...any) ([]listed, error) {
	rows, err := tx.Query(ctx, sql, args...)
	if err != nil {
		return nil, fmt.Errorf("list files: %w", err)
	}
	entries := []listed{}
	for rows.Next() {
		var e listed
		var updated, created, accessed *time.Time
		var metadata []byte
		if err := rows.Scan(&e.Name, &e.ID, &updated, &created, &accessed, &metadata); err != nil {
			rows.Close()
			return nil, fmt.Errorf("read list: %w", err)
		}
		e.Updated, e.Created, e.Accessed, e.Metadata = jsTimeOf(updated), jsTimeOf(created), jsTimeOf(accessed), metadata
		entries = append(entries, e)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read list: %w", err)
	}
	return entries, nil
}

func jsTimeOf(t *time.Time) *string {
	if t == nil {
		return nil
	}
	return text(jsTime(*t))
}

// listV2 answers whole names below a prefix, a page at a time, by name.
func (s *storageServer) listV2(w http.ResponseWriter, r *http.Request, o object) error {
	who, err := s.caller(r)
	if err != nil {
		return err
	}
	input := struct {
		Prefix    string  `json:"prefix"`
		Limit     *int    `json:"limit"`
		Cursor    string  `json:"cursor"`
		Delimiter bool    `json:"with_delimiter"`
		Sort      *sortBy `json:"sortBy"`
	}{}
	if err := readStorageJSON(r, &input); err != nil {
		return err
	}
	limit := 1000
	if input.Limit != nil {
		limit = *input.Limit
	}
	after, err := base64.RawURLEncoding.DecodeString(input.Cursor)
	switch {
	case limit < 1 || limit > 1000:
		return schemaError("body/limit must be >= 1 and <= 1000")
	case err != nil:
		return schemaError("body/cursor is not one of ours")
	case input.Sort != nil && *input.Sort != sortBy{"name", "asc"}:
		return notInStorage("list-v2 by anything but the name")
	}
	var entries []listed
	err = s.as(r.Context(), who, r, "storage.object.list_v2", func(tx pgx.Tx) error {
		entries, err = entriesOf(r.Context(), tx, `with hit as (
				select o.*, position('/' in substr(name, length($2) + 1)) as cut
				from storage.objects o where bucket_id = $1 and starts_with(name, $2)
			), found as (
				select distinct left(name, length($2) + cut) as entry, null::uuid as id, null::timestamptz as updated_at,
					null::timestamptz as created_at, null::timestamptz as last_accessed_at, null::jsonb as metadata from hit where $3 and cut > 0
				union all
				select name, id, updated_at, created_at, last_accessed_at, metadata from hit where not $3 or cut = 0
			)
			select entry, id::text, updated_at, created_at, last_accessed_at, coalesce(metadata, 'null') from found
			where entry collate "C" > $4 order by entry collate "C" limit $5`,
			o.bucket, input.Prefix, input.Delimiter, string(after), limit+1)
		return err
	})
	if err != nil {
		return err
	}
	answer := map[string]any{"hasNext": len(entries) > limit}
	if len(entries) > limit {
		entries = entries[:limit]
		answer["nextCursor"] = base64.RawURLEncoding.EncodeToString([]byte(entries[limit-1].Name))
	}
	folders, objects := []map[string]string{}, []listed{}
	for _, e := range entries {
		if e.ID == nil {
			folders = append(folders, map[string]string{"name": e.Name})
		} else {
			objects = append(objects, e)
		}
	}
	answer["folders"], answer["objects"] = folders, objects
	return writeStorageJSON(w, answer)
}
