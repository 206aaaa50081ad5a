package mcp

import (
	"encoding/json"
	"errors"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// The structured content of declared tools, always an object:
//
//	list           {"items":[row…],"has_more":bool,"next_cursor":string|null,"next_call":{"name":tool,"arguments":{…}}|null}
//	get            the row
//	rpc void       {"ok":true}
//	rpc scalar     {"result":value}
//	rpc row        the row
//	rpc rows       {"items":[row…]}
//	rpc scalars    {"items":[value…]}
//
// Related rows are inside each row, under their names: one as an object or null,
// many as {"items":[row…],"truncated":bool}.
//
// next_call is a convenience and may be null although has_more is true (very
// long arguments, very small budget); next_cursor is null then only where the
// order cannot be continued at all.

// page is a rendered result: text, and the structure it was rendered from.
type page struct {
	text       string
	structured []byte // nil in the text form
}

// size is how many bytes the result takes on the wire, content and structure.
func (p *page) size() int { return wireSize(p.text) + wireSizeJSON(p.structured) }

func (p *page) result(form surfaces.ResultForm) *mcp.CallToolResult {
	res := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: p.text}}}
	if form != surfaces.ResultText {
		res.StructuredContent = json.RawMessage(p.structured)
	}
	return res
}

func (t *toolCall) budget() int {
	if t.tool.Budget <= 0 {
		return surfaces.DefaultBudget
	}
	return t.tool.Budget
}

// finish makes the page of a structure in the tool's form: body writes the
// text of the hybrid form. The page may be over the budget (see within); a
// template that grows past it is errOutput.
func (t *toolCall) finish(structured []byte, body func(dst []byte) []byte, footer []byte) (*page, error) {
	text := make([]byte, 0, len(structured)+len(footer)+256)
	switch t.tool.Result {
	case surfaces.ResultStructured:
		// The text is the structure's JSON: guidance would make it none.
		return &page{text: string(structured), structured: structured}, nil
	case resultJSON:
		return &page{text: string(structured)}, nil
	case surfaces.ResultText:
		tmpl, err := parseTemplate(t.tool.Template)
		if err != nil {
			return nil, err
		}
		text = appendLine(text, t.tool.Guidance.Before)
		text, err = tmpl.render(text, structured, t.budget())
		if err != nil {
			return nil, err
		}
		text = endLine(text)
		structured = nil
	default:
		text = appendLine(text, t.tool.Guidance.Before)
		text = endLine(body(text))
	}
	text = append(text, footer...)
	text = appendLine(text, t.tool.Guidance.After)
	if n := len(text); n > 0 && text[n-1] == '\n' {
		text = text[:n-1]
	}
	return &page{text: string(text), structured: structured}, nil
}

func appendLine(dst []byte, line string) []byte {
	if line == "" {
		return dst
	}
	return endLine(append(dst, line...))
}

func endLine(dst []byte) []byte {
	if n := len(dst); n > 0 && dst[n-1] != '\n' {
		return append(dst, '\n')
	}
	return dst
}

// within takes what finish returned: the page if the budget holds it, or nil
// if it does not.
func (t *toolCall) within(p *page, err error) (*page, error) {
	if errors.Is(err, errOutput) || (err == nil && p.size() > t.budget()) {
		return nil, nil
	}
	return p, err
}

// appendObject appends a row as a JSON object with the columns' names.
func appendObject(dst []byte, columns []surfaces.Column, row []token) []byte {
	dst = append(dst, '{')
	for i := range columns {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendString(dst, columns[i].Name)
		dst = append(dst, ':')
		dst = appendValue(dst, row[i], &columns[i])
	}
	return append(dst, '}')
}

// appendItems appends the first n rows as a JSON array of objects. A row may
// have more tokens than there are columns.
func appendItems(dst []byte, columns []surfaces.Column, rows table, n int) []byte {
	dst = append(dst, '[')
	for i := range n {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendObject(dst, columns, rows.row(i))
	}
	return append(dst, ']')
}

// appendFields appends a row as lines of name and value.
func appendFields(dst []byte, columns []surfaces.Column, row []token) []byte {
	for i, c := range columns {
		dst = appendCellText(dst, c.Name)
		dst = append(dst, ": "...)
		dst = appendCell(dst, row[i])
		dst = append(dst, '\n')
	}
	return dst
}

// shorten cuts the long cells of columns declared so, for good. Each cut cell
// says its true length in bytes and, where there is one, the tool that returns
// it whole.
func shorten(columns []surfaces.Column, row []token, keep int, detailTool string) {
	for i, c := range columns {
		if !c.Shorten || (c.JSON != surfaces.JSONString && c.JSON != surfaces.JSONAny) {
			continue
		}
		text := stringOf(row[i])
		if isContainer(row[i]) {
			text = string(appendToken(nil, row[i]))
		}
		if len(text) <= keep {
			continue
		}
		note := "…(" + strconv.Itoa(len(text)) + " bytes"
		if detailTool != "" {
			note += ", use " + detailTool
		}
		row[i] = appendString(nil, cutText(text, keep)+note+")")
	}
}

// shortenTo is how many bytes of a long cell are kept: a 32nd of the budget,
// so that a page has room for many rows.
func shortenTo(budget int) int { return min(max(budget/32, 64), 2048) }

// cutText is the first n bytes of the text, ended at a rune.
func cutText(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n]
}
