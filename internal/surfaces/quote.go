package surfaces

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/chumbo-dev/chumbo/internal/fault"
)

// keywords are the words that are no names unless quoted, of every version in
// use.
var keywords = wordSet(`all analyse analyze and any array as asc asymmetric authorization between bigint binary bit boolean both case cast char
	character check coalesce collate collation column concurrently constraint create cross current_catalog current_date current_role
	current_schema current_time current_timestamp current_user dec decimal default deferrable desc distinct do else end except exists
	extract false fetch float for foreign freeze from full grant greatest group grouping having ilike in initially inner inout int integer
	intersect interval into is isnull join json json_array json_arrayagg json_exists json_object json_objectagg json_query json_scalar
	json_serialize json_table json_value lateral leading least left like limit localtime localtimestamp merge_action national natural nchar
	none normalize not notnull null nullif numeric offset on only or order out outer overlaps overlay placing position precision primary
	real references returning right row select session_user setof similar smallint some substring symmetric system_user table tablesample
	then time timestamp to trailing treat trim true union unique user using values varchar variadic verbose when where window with
	xmlattributes xmlconcat xmlelement xmlexists xmlforest xmlnamespaces xmlparse xmlpi xmlroot xmlserialize xmltable`)

func wordSet(text string) map[string]bool {
	set := map[string]bool{}
	for _, word := range strings.Fields(text) {
		set[word] = true
	}
	return set
}

// ident quotes a name for SQL shown to builders. What does not print is
// written by its number, so that no name can break out of a line.
func ident(name string) string {
	if plainIdent(name) {
		return name
	}
	var b strings.Builder
	escaped := false
	for _, c := range name {
		if !unicode.IsPrint(c) {
			escaped = true
		}
	}
	for _, c := range name {
		switch {
		case c == '"':
			b.WriteString(`""`)
		case c == '\\' && escaped:
			b.WriteString(`\\`)
		case !unicode.IsPrint(c):
			fmt.Fprintf(&b, `\+%06X`, c)
		default:
			b.WriteRune(c)
		}
	}
	if escaped {
		return `U&"` + b.String() + `"`
	}
	return `"` + b.String() + `"`
}

func plainIdent(name string) bool {
	for i, c := range name {
		plain := c == '_' || (c >= 'a' && c <= 'z') || (i > 0 && c >= '0' && c <= '9')
		if !plain {
			return false
		}
	}
	return name != "" && !keywords[name]
}

func qualified(schema, name string) string { return ident(schema) + "." + ident(name) }

// literal writes text as an SQL string. What does not print, or could end a
// line or turn its direction, is written by its number, so that the text
// survives an editor and nobody is shown something else than what runs. It
// means the same whatever standard_conforming_strings says.
func literal(s string) (string, error) {
	if !utf8.ValidString(s) || strings.ContainsRune(s, 0) {
		return "", fault.New(fault.Invalid, "not_text", "A name is not UTF-8 text. Write it as it stands in the database.")
	}
	var b strings.Builder
	escaped := false
	for _, c := range s {
		switch {
		case c == '\'':
			b.WriteString("''")
		case c == '\\':
			b.WriteString(`\\`)
			escaped = true
		case !unicode.IsPrint(c):
			fmt.Fprintf(&b, `\U%08X`, c)
			escaped = true
		default:
			b.WriteRune(c)
		}
	}
	if escaped {
		return "E'" + b.String() + "'", nil
	}
	return "'" + b.String() + "'", nil
}

// textArray writes a list of text as an SQL array.
func textArray(list []string) (string, error) {
	literals := make([]string, len(list))
	for i, s := range list {
		var err error
		if literals[i], err = literal(s); err != nil {
			return "", err
		}
	}
	return "array[" + strings.Join(literals, ", ") + "]::pg_catalog.text[]", nil
}

// dollarQuoted quotes text by a tag that does not stand in it.
func dollarQuoted(body string) string {
	tag := "$chumbo$"
	for i := 2; strings.Contains(body, tag); i++ {
		tag = fmt.Sprintf("$chumbo%d$", i)
	}
	return tag + body + tag
}
