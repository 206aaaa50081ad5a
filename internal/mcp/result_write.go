package mcp

import (
	"strconv"

	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// The structured content of tools that write, always an object:
//
//	create, update, delete   the row (deleted: as it was); {"ok":true} where none is read back
//	of several rows          {"affected":n,"items":[row…],"truncated":bool}
//
// What was written is never answered as an error because its row cannot be
// shown: long columns are shortened, then only the key is shown, then
// {"ok":true}, and the text says so. Text begins with the outcome.

// rowWritten is the page of one written row. The body is nil where nothing was
// read back.
func (t *toolCall) rowWritten(outcome string, columns, key []surfaces.Column, body []byte) *page {
	proj := projectionOf(columns, nil, nil)
	if len(proj.names) == 0 {
		return t.only(outcome, nil, nil)
	}
	rows, err := readOne(body, proj.names)
	if err != nil {
		return t.only(outcome+" Its row cannot be shown: it could not be read.", nil, nil)
	}
	row := rows.row(0)
	if p := t.attempt(outcome, proj.columns, row); p != nil {
		return p
	}
	keyColumns, keyRow := keyOf(proj, key, row)
	shorten(proj.columns, row, shortenTo(t.budget()), "")
	if p := t.attempt(outcome, proj.columns, row); p != nil {
		return p
	}
	if len(keyColumns) > 0 {
		if p := t.only(outcome+" The row is too large to be shown here; this is its key.", keyColumns, keyRow); p.size() <= t.budget() {
			return p
		}
	}
	return t.only(outcome+" The row is too large to be shown here.", nil, nil)
}

// attempt is the whole page of the row, or nil where it does not fit.
func (t *toolCall) attempt(outcome string, columns []surfaces.Column, row []token) *page {
	p, err := t.finish(appendObject(nil, columns, row), func(dst []byte) []byte { return appendFields(dst, columns, row) }, nil)
	return t.beginning(outcome, p, err)
}

// beginning puts the outcome before the text, and gives nil where the budget does
// not hold the page or the page could not be made.
func (t *toolCall) beginning(outcome string, p *page, err error) *page {
	if err != nil {
		return nil
	}
	if t.tool.Result != surfaces.ResultStructured { // there the text is the structure's JSON
		p.text = outcome + "\n" + p.text
		if p.text[len(outcome):] == "\n" {
			p.text = outcome
		}
	}
	if p.size() > t.budget() {
		return nil
	}
	return p
}

// only is a page of the outcome and these columns, {"ok":true} for none. It
// cannot fail.
func (t *toolCall) only(outcome string, columns []surfaces.Column, row []token) *page {
	structured := []byte(`{"ok":true}`)
	text := []byte(outcome)
	if len(columns) > 0 {
		structured = appendObject(nil, columns, row)
		text = appendFields(append(text, '\n'), columns, row)
		text = text[:len(text)-1]
	}
	return t.bare(string(text), structured)
}

// bare is a page without template and guidance.
func (t *toolCall) bare(text string, structured []byte) *page {
	switch t.tool.Result {
	case surfaces.ResultStructured:
		return &page{text: string(structured), structured: structured}
	case surfaces.ResultText:
		return &page{text: text}
	}
	return &page{text: text, structured: structured}
}

// keyOf are the key's columns among those shown, with their values.
func keyOf(proj projection, key []surfaces.Column, row []token) ([]surfaces.Column, []token) {
	var columns []surfaces.Column
	var values []token
	for i, c := range proj.columns {
		if isKey(key, c.Name) {
			columns, values = append(columns, c), append(values, row[i])
		}
	}
	return columns, values
}

// rowsWritten is the page of several written rows, as many of them as the
// budget holds.
func (t *toolCall) rowsWritten(verb string, affected int, columns []surfaces.Column, rows table) *page {
	w := writtenRows{t: t, columns: columns, rows: rows, outcome: saying(verb, affected), affected: affected}
	n := rows.len()
	if p := w.page(n); p != nil {
		return p
	}
	for i := range n {
		shorten(columns, rows.row(i), shortenTo(t.budget()), "")
	}
	var best *page
	for low, high := 1, n; low <= high; {
		middle := (low + high) / 2
		if p := w.page(middle); p != nil {
			best, low = p, middle+1
		} else {
			high = middle - 1
		}
	}
	if best != nil {
		return best
	}
	if n == 0 {
		return w.none("")
	}
	return w.none(" They are too large to be shown here.")
}

func saying(verb string, affected int) string { return verb + " " + countOf(affected) + "." }

// writtenRows renders pages of the rows of one answer.
type writtenRows struct {
	t        *toolCall
	columns  []surfaces.Column
	rows     table
	outcome  string
	affected int
}

func (w *writtenRows) structure(n int) []byte {
	dst := strconv.AppendInt([]byte(`{"affected":`), int64(w.affected), 10)
	dst = appendItems(append(dst, `,"items":`...), w.columns, w.rows, n)
	dst = strconv.AppendBool(append(dst, `,"truncated":`...), n < w.affected)
	return append(dst, '}')
}

// page shows the first n rows; nil where they do not fit.
func (w *writtenRows) page(n int) *page {
	p, err := w.t.finish(w.structure(n), func(dst []byte) []byte {
		if n == 0 {
			return dst
		}
		dst = appendHeader(dst, w.columns)
		for i := range n {
			dst = appendTextRow(dst, w.rows.row(i))
		}
		return dst
	}, w.footer(n))
	return w.t.beginning(w.outcome, p, err)
}

func (w *writtenRows) footer(n int) []byte {
	if n >= w.affected {
		return nil
	}
	return []byte("The first " + strconv.Itoa(n) + " of them are shown.\n")
}

// none is the page without any row. It cannot fail.
func (w *writtenRows) none(note string) *page {
	return w.t.bare(w.outcome+note, w.structure(0))
}
