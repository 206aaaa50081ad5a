package surfaces

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/chumbo-dev/chumbo/internal/fault"
)

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
