package mcp

import (
	"strconv"

	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// selectEmbeds asks for the related rows, of many one more than shown, to see
// whether there are others.
func selectEmbeds(embeds []surfaces.Embed) []supabase.Embed {
	if len(embeds) == 0 {
		return nil
	}
	list := make([]supabase.Embed, len(embeds))
	for i, e := range embeds {
		list[i] = supabase.Embed{Alias: embedAlias(embeds, i), Relation: e.Target, Hint: e.Hint}
		for _, c := range e.Columns {
			list[i].Columns = append(list[i].Columns, supabase.SelectColumn(c.Name, c.AsText))
		}
		if e.Many {
			list[i].Order, list[i].Limit = orderOf(surfaces.Order{Keys: e.Order}), e.Limit+1
		}
	}
	return list
}

// embedAlias is the key of an embed in the project's answer: its name, unless
// that is what another one is selected by. The Data API takes a path such as
// notes.limit for either.
func embedAlias(embeds []surfaces.Embed, i int) string {
	for j, other := range embeds {
		if i != j && other.Target == embeds[i].Name {
			return "chumbo_embed_" + strconv.Itoa(i)
		}
	}
	return embeds[i].Name
}

// embedColumn is an embed as results show it: a value of any form under the
// embed's name.
func embedColumn(e surfaces.Embed) surfaces.Column {
	return surfaces.Column{Name: e.Name, JSON: surfaces.JSONAny, Nullable: true}
}

// reshape puts the embeds of each row into their form in results:
//
//	one    the row, or null
//	many   {"items":[row…],"truncated":bool}
//
// with the declared columns in their declared order; the Data API sends them
// in another.
func (p *projection) reshape(rows table) error {
	for i, e := range p.embeds {
		names := columnNames(e.Columns)
		for r := range rows.len() {
			shaped, err := reshapeEmbed(&e, names, rows.row(r)[p.embedAt+i])
			if err != nil {
				return err
			}
			rows.row(r)[p.embedAt+i] = shaped
		}
	}
	return nil
}

func reshapeEmbed(e *surfaces.Embed, names []string, value token) (token, error) {
	s := scanner{data: value}
	if e.Many {
		rows, err := readRows(&s, names)
		if err != nil {
			return nil, err
		}
		shown := min(rows.len(), e.Limit)
		out := appendItems([]byte(`{"items":`), e.Columns, rows, shown)
		out = strconv.AppendBool(append(out, `,"truncated":`...), rows.len() > shown)
		return append(out, '}'), nil
	}
	if s.peek() == '[' { // unique by an index, not by a constraint: a list of at most one
		rows, err := readRows(&s, names)
		switch {
		case err != nil:
			return nil, err
		case rows.len() == 0:
			return nullToken, nil
		case rows.len() > 1:
			return nil, errShape // it is unique no more
		}
		return appendObject(make([]byte, 0, len(value)), e.Columns, rows.row(0)), nil
	}
	if isNull(value) {
		return nullToken, nil
	}
	row, err := readRow(&s, names, nil)
	if err != nil {
		return nil, err
	}
	return appendObject(make([]byte, 0, len(value)), e.Columns, row), nil
}
