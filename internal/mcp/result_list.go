package mcp

import (
	"strconv"

	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// maxNextArguments bounds the arguments repeated in next_call.
const maxNextArguments = 2048

// listing renders pages of one answer.
type listing struct {
	call    *toolCall
	plan    *surfaces.ListPlan
	proj    projection
	rows    table
	count   int  // rows that may be shown
	further bool // the project has rows behind them
	scope   cursorScope
}

// listPage renders as many of the rows as the budget holds. The whole answer is
// tried first; a page ends at a row, and no row is ever passed over.
func (t *toolCall) listPage(plan *surfaces.ListPlan, proj projection, rows table, limit int, scope cursorScope) (*page, error) {
	l := &listing{call: t, plan: plan, proj: proj, rows: rows, scope: scope,
		count: min(rows.len(), limit), further: rows.len() > limit}
	keep := shortenTo(t.budget())
	for i := range l.count {
		shorten(proj.columns, rows.row(i)[:proj.visible], keep, plan.DetailTool)
	}
	for _, withCall := range []bool{true, false} {
		p, err := l.fit(withCall)
		if p != nil || err != nil {
			return p, err
		}
	}
	return nil, l.tooLarge()
}

// fit is the largest page within the budget, or nil when not one row fits.
func (l *listing) fit(withCall bool) (*page, error) {
	p, err := l.call.within(l.render(l.count, withCall))
	if p != nil || err != nil {
		return p, err
	}
	var best *page
	low, high := 1, l.count-1
	for low <= high {
		middle := (low + high) / 2
		p, err := l.call.within(l.render(middle, withCall))
		if err != nil {
			return nil, err
		}
		if p != nil {
			best, low = p, middle+1
		} else {
			high = middle - 1
		}
	}
	return best, nil
}

// render makes the page of the first n rows.
func (l *listing) render(n int, withCall bool) (*page, error) {
	more := n < l.count || l.further
	cursor := ""
	if more && n > 0 {
		cursor = l.cursorAfter(n - 1)
	}
	return l.call.finish(l.structure(n, more, cursor, withCall), func(dst []byte) []byte {
		if n == 0 {
			return dst
		}
		dst = appendHeader(dst, l.proj.columns)
		for i := range n {
			dst = appendTextRow(dst, l.rows.row(i)[:l.proj.visible])
		}
		return dst
	}, l.footer(n, more, cursor))
}

func (l *listing) cursorAfter(i int) string {
	row := l.rows.row(i)
	return l.call.runner.sealCursor(l.scope, pick(row, l.proj.order), pick(row, l.proj.key))
}

func (l *listing) structure(n int, more bool, cursor string, withCall bool) []byte {
	dst := append(make([]byte, 0, 256+n*128), `{"items":`...)
	dst = appendItems(dst, l.proj.columns, l.rows, n)
	dst = append(dst, `,"has_more":`...)
	dst = strconv.AppendBool(dst, more)
	dst = append(dst, `,"next_cursor":`...)
	if cursor == "" {
		return append(dst, `null,"next_call":null}`...)
	}
	dst = appendString(dst, cursor)
	dst = append(dst, `,"next_call":`...)
	arguments := l.call.argumentsWith(cursor)
	if !withCall || len(arguments) > maxNextArguments {
		return append(dst, `null}`...)
	}
	dst = append(dst, `{"name":`...)
	dst = appendString(dst, l.call.tool.Name)
	dst = append(dst, `,"arguments":`...)
	dst = append(dst, arguments...)
	return append(dst, `}}`...)
}

// footer says in words what the structure says in has_more and next_cursor.
func (l *listing) footer(n int, more bool, cursor string) []byte {
	dst := strconv.AppendInt(nil, int64(n), 10)
	if n == 1 {
		dst = append(dst, " row"...)
	} else {
		dst = append(dst, " rows"...)
	}
	switch {
	case !more:
		dst = append(dst, ", no more.\n"...)
	case cursor == "":
		dst = append(dst, ", and more that cannot be reached in this order. Use narrower filters or another order.\n"...)
	default:
		dst = append(dst, ", more: call "...)
		dst = append(dst, l.call.tool.Name...)
		dst = append(dst, ` again with the same arguments and cursor "`...)
		dst = append(dst, cursor...)
		dst = append(dst, "\".\n"...)
	}
	return dst
}

// tooLarge is the error for a first row that no page can hold. It names the
// tool that returns the row, and how to go on behind it.
func (l *listing) tooLarge() *toolError {
	if l.count == 0 {
		return &toolError{kind: kindRowTooLarge, detail: "This tool's limit of " + strconv.Itoa(l.call.budget()) +
			" bytes does not even hold an empty page. The app's owner must raise its budget."}
	}
	detail := "The next row alone is larger than this tool's limit of " + strconv.Itoa(l.call.budget()) + " bytes. "
	if l.plan.DetailTool != "" {
		detail += "Read it with " + l.plan.DetailTool + l.keyArguments() + "."
	} else {
		detail += "No tool of this app returns it whole: ask the app's owner to raise the limit or to leave out long columns."
	}
	if l.count > 1 || l.further {
		if cursor := l.cursorAfter(0); cursor != "" {
			detail += " To go on behind it, call " + l.call.tool.Name + ` again with the same arguments and cursor "` + cursor + `".`
		}
	}
	return &toolError{kind: kindRowTooLarge, detail: detail}
}

// keyArguments are the first row's key as arguments of the detail tool, where
// the key's columns are among those the tool returns.
func (l *listing) keyArguments() string {
	dst := []byte(" and arguments {")
	row := l.rows.row(0)
	for i, at := range l.proj.key {
		if at >= l.proj.visible {
			return ""
		}
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendString(dst, l.plan.Key[i].Name)
		dst = append(dst, ':')
		dst = appendValue(dst, row[at], &l.plan.Key[i])
	}
	if len(dst) > maxNextArguments {
		return ""
	}
	return string(append(dst, '}'))
}
