package mcp

import (
	"context"
	"encoding/base64"
	"strconv"
	"strings"
	"time"

	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// The structured content of a list of files is that of a list of rows:
//
//	{"items":[{"name":…,"folder":bool,"size":bytes,"type":media type,"updated_at":time}…],"has_more":bool,"next_cursor":…,"next_call":…}
//
// size, type and updated_at are left out where Storage does not say them, so for
// folders. Storage pages by number only: a file that appears or goes between two
// pages moves those behind it.

// maxOffset is where paging through one folder ends.
const maxOffset = 1_000_000

// files lists one folder, one entry more than asked to see whether there are
// others.
func (t *toolCall) files(ctx context.Context, plan *surfaces.FilesPlan) (*page, error) {
	folder, err := t.listedFolder(plan.Place)
	if err != nil {
		return nil, err
	}
	limit, err := chooseLimit(&surfaces.ListPlan{DefaultLimit: plan.DefaultLimit, MaxLimit: plan.MaxLimit}, t.arguments)
	if err != nil {
		return nil, err
	}
	search := ""
	if said := t.arguments.get("search"); said != nil {
		search = stringOf(said)
	}
	l := &fileListing{call: t, plan: plan, scope: seal.AD("files cursor 1", t.call.endpoint.Surface.String(), t.tool.Name, plan.Place.Bucket, folder, search)}
	if cursor := t.arguments.get("cursor"); cursor != nil && !isNull(cursor) {
		if l.offset, err = t.runner.openOffset(l.scope, stringOf(cursor)); err != nil {
			return nil, err
		}
	}
	entries, err := attempt(ctx, &t.asker, func(s supabase.Session) ([]supabase.File, error) {
		files, trip, err := t.runner.services.ListFiles(ctx, s, supabase.ListFiles{
			Bucket: plan.Place.Bucket, Folder: folder, Search: search, Limit: limit + 1, Offset: l.offset,
		})
		t.noted(trip.Took, trip.Upstream)
		return files, err
	}, t.tokenOver)
	if err != nil {
		return nil, t.storageFailed(ctx, err, fileList)
	}
	l.entries, l.further = entries[:min(limit, len(entries))], len(entries) > limit
	return l.page()
}

// listedFolder is the folder that the caller asks for, in the bucket.
func (t *toolCall) listedFolder(place surfaces.FilePlace) (string, error) {
	said := ""
	if folder := t.arguments.get("folder"); folder != nil {
		said = strings.TrimSuffix(stringOf(folder), "/")
	}
	if said == "" {
		return t.folder(place)
	}
	return t.below(place, "folder", said)
}

// A cursor of files is the number of entries before it, sealed, and bound like
// that of rows (see newCursorScope).
const cursorByOffset = 'f'

func (r *toolRunner) sealOffset(scope []byte, offset int) string {
	if offset > maxOffset {
		return ""
	}
	plain := strconv.AppendInt([]byte{cursorByOffset}, int64(offset), 10)
	return base64.RawURLEncoding.EncodeToString(r.cursors.Seal(plain, scope))
}

func (r *toolRunner) openOffset(scope []byte, cursor string) (int, error) {
	if len(cursor) > surfaces.MaxCursor {
		return 0, errCursor
	}
	sealed, err := base64.RawURLEncoding.DecodeString(strings.TrimSpace(cursor))
	if err != nil {
		return 0, errCursor
	}
	plain, err := r.cursors.Open(sealed, scope)
	if err != nil || len(plain) < 2 || plain[0] != cursorByOffset {
		return 0, errCursor
	}
	n, err := strconv.Atoi(string(plain[1:]))
	if err != nil || n < 0 || n > maxOffset {
		return 0, errCursor
	}
	return n, nil
}

// fileListing renders pages of one answer.
type fileListing struct {
	call    *toolCall
	plan    *surfaces.FilesPlan
	scope   []byte
	offset  int
	entries []supabase.File
	further bool // Storage has entries behind them
}

// page is the largest page that the budget holds: all entries, or those up to
// where it is full.
func (l *fileListing) page() (*page, error) {
	for _, withCall := range []bool{true, false} {
		for n := len(l.entries); n > 0 || len(l.entries) == 0; n = n * 7 / 8 {
			p, err := l.call.within(l.render(n, withCall))
			if p != nil || err != nil {
				return p, err
			}
			if n == 0 {
				break
			}
		}
	}
	return nil, &toolError{kind: kindRowTooLarge, detail: "This tool's limit of " + strconv.Itoa(l.call.budget()) + " bytes does not hold the next entry. The app's owner must raise its budget."}
}

// render makes the page of the first n entries.
func (l *fileListing) render(n int, withCall bool) (*page, error) {
	more := n < len(l.entries) || l.further
	cursor := ""
	if more {
		cursor = l.call.runner.sealOffset(l.scope, l.offset+n)
	}
	return l.call.finish(l.structure(n, more, cursor, withCall), func(dst []byte) []byte {
		if n == 0 {
			return dst
		}
		dst = append(dst, "name\tfolder\tsize\ttype\tupdated_at\n"...)
		for _, f := range l.entries[:n] {
			dst = appendFileRow(dst, f)
		}
		return dst
	}, l.footer(n, more, cursor))
}

func appendFileRow(dst []byte, f supabase.File) []byte {
	dst = appendCell(dst, appendString(nil, f.Name))
	dst = strconv.AppendBool(append(dst, '\t'), f.Folder)
	dst = append(dst, '\t')
	if f.Size >= 0 && !f.Folder {
		dst = strconv.AppendInt(dst, f.Size, 10)
	}
	dst = appendCellText(append(dst, '\t'), f.MIMEType)
	dst = append(dst, '\t')
	if !f.Updated.IsZero() {
		dst = f.Updated.UTC().AppendFormat(dst, time.RFC3339Nano)
	}
	return append(dst, '\n')
}

func appendFile(dst []byte, f supabase.File) []byte {
	dst = appendString(append(dst, `{"name":`...), f.Name)
	dst = strconv.AppendBool(append(dst, `,"folder":`...), f.Folder)
	if f.Size >= 0 && !f.Folder {
		dst = strconv.AppendInt(append(dst, `,"size":`...), f.Size, 10)
	}
	if f.MIMEType != "" {
		dst = appendString(append(dst, `,"type":`...), f.MIMEType)
	}
	if !f.Updated.IsZero() {
		dst = append(f.Updated.UTC().AppendFormat(append(dst, `,"updated_at":"`...), time.RFC3339Nano), '"')
	}
	return append(dst, '}')
}

func (l *fileListing) structure(n int, more bool, cursor string, withCall bool) []byte {
	dst := append(make([]byte, 0, 256+n*128), `{"items":[`...)
	for i, f := range l.entries[:n] {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendFile(dst, f)
	}
	dst = strconv.AppendBool(append(dst, `],"has_more":`...), more)
	if cursor == "" {
		return append(dst, `,"next_cursor":null,"next_call":null}`...)
	}
	dst = appendString(append(dst, `,"next_cursor":`...), cursor)
	arguments := l.call.argumentsWith(cursor)
	if !withCall || len(arguments) > maxNextArguments {
		return append(dst, `,"next_call":null}`...)
	}
	dst = appendString(append(dst, `,"next_call":{"name":`...), l.call.tool.Name)
	dst = append(append(dst, `,"arguments":`...), arguments...)
	return append(dst, `}}`...)
}

// footer says in words what the structure says in has_more and next_cursor, and
// which tool reads a file.
func (l *fileListing) footer(n int, more bool, cursor string) []byte {
	dst := strconv.AppendInt(nil, int64(n), 10)
	if n == 1 {
		dst = append(dst, " entry"...)
	} else {
		dst = append(dst, " entries"...)
	}
	switch {
	case !more:
		dst = append(dst, ", no more.\n"...)
	case cursor == "":
		dst = append(dst, ", and more that cannot be reached by paging. Use search.\n"...)
	default:
		dst = append(append(dst, ", more: call "...), l.call.tool.Name...)
		dst = append(append(dst, ` again with the same arguments and cursor "`...), cursor...)
		dst = append(dst, "\".\n"...)
	}
	if l.plan.ReadTool != "" && n > 0 {
		dst = append(append(dst, "Read a file with "...), l.plan.ReadTool...)
		dst = append(dst, "; its path is the folder, / and the name.\n"...)
	}
	return dst
}
