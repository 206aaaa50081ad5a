package surfaces

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// search makes the argument that looks for text in several columns.
func (b *tableTool) search(filters []Filter) *Search {
	spec := b.spec.Search
	if spec == nil {
		return nil
	}
	if spec.Config.Value != "" && spec.Mode.Value != SearchWeb {
		b.errorf(spec.Config.at, "config goes with mode: web; contains looks for the text as it stands")
	}
	s := &Search{Mode: spec.Mode.Value, Config: spec.Config.Value}
	for _, t := range spec.Columns {
		c, ok := b.find(t, "search")
		if !ok {
			continue
		}
		b.mustShow(t, spec.HiddenOK, "searched by")
		b.searchFits(t, c, spec)
		column := b.ix.column(b.rel, c)
		column.Hidden = !b.returned(c.Name)
		s.Columns = append(s.Columns, column)
	}
	taken := map[string]bool{"order": true, "limit": true, "cursor": true}
	for _, f := range filters {
		taken[f.Argument] = true
	}
	s.Argument = uniqueArgument("search", taken)
	return s
}

// tsvector is the type of text that is cut into words already.
const tsvector = "tsvector"

func (b *tableTool) searchFits(t Text, c *ColumnSchema, spec *SearchSpec) {
	v := b.ix.typeOf(c.Type)
	words := v.sql == tsvector && spec.Mode.Value == SearchWeb
	switch {
	case v.isText():
	case !words:
		b.errorf(t.at, "rows cannot be searched by %s, which is of type %s: search looks in text, and with mode: web in one tsvector column", quoteName(c.Name), v.sql)
	case len(spec.Columns) > 1:
		b.errorf(t.at, "%s is a tsvector, which holds the words of several columns already: search it alone", quoteName(c.Name))
	}
}

func searchSchema(s *Search) *schema {
	names := orList(columnNamesAll(s.Columns))
	text := &schema{Type: "string", MinLength: ptr(1), MaxLength: ptr(maxText)}
	if s.Mode == SearchContains {
		text.Description = fmt.Sprintf("Only rows with this text in %s (any case).", names)
		return text
	}
	text.Description = fmt.Sprintf(`Only rows with these words in %s. "Quotes" keep words together, or stands between alternatives, a leading - leaves a word out.`, names)
	return text
}

// columnNamesAll are the names of columns, hidden ones too.
func columnNamesAll(columns []Column) []string {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.Name
	}
	return names
}

func orList(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// missingSearchIndexes are the indexes that a search asks for and does not
// have. A snapshot does not say what an index of an expression is about, so
// those of the right kind are counted.
func missingSearchIndexes(snap *Snapshot, rel *RelationSchema, s *Search) []missingIndex {
	if s == nil {
		return nil
	}
	var missing []missingIndex
	add := func(columns, sql string) {
		missing = append(missing, missingIndex{search: s, columns: columns, sql: sql})
	}
	table, expressions := qualified(rel.Schema, rel.Name), 0
	for _, x := range rel.Indexes {
		if x.Partial || x.Method != "gin" && x.Method != "gist" {
			continue
		}
		for _, k := range x.Keys {
			if k.Column == "" {
				expressions++
			}
		}
	}
	for _, c := range s.Columns {
		switch {
		case s.Mode == SearchContains:
			m := missingFilterIndex(snap, rel, Filter{Column: c, Operator: "ilike"})
			if m.sql != "" {
				add(m.columns, m.sql)
			}
		case c.SQLType == tsvector:
			if !slices.ContainsFunc(rel.Indexes, func(x IndexSchema) bool { return wordIndex(x, c.Name) }) {
				add("gin "+ident(c.Name), fmt.Sprintf("create index on %s using gin (%s);", table, ident(c.Name)))
			}
		case expressions > 0:
			expressions--
		default:
			config := cmp.Or(s.Config, "english")
			add("gin "+config+" "+ident(c.Name), fmt.Sprintf("create index on %s using gin (to_tsvector(%s, %s));", table, "'"+config+"'", ident(c.Name)))
		}
	}
	return missing
}

func wordIndex(x IndexSchema, column string) bool {
	return !x.Partial && (x.Method == "gin" || x.Method == "gist") &&
		slices.ContainsFunc(x.Keys, func(k IndexTerm) bool { return k.Column == column })
}
