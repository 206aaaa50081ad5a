package mcp

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// The text of a hybrid result is a table a model reads well: a line of column
// names, a line per row, cells between tabs. In a cell \n, \t and \\ stand for
// newline, tab and backslash; a missing value is null, and text that could be
// taken for it, or is empty, is in quotes.

func appendHeader(dst []byte, columns []surfaces.Column) []byte {
	for i, c := range columns {
		if i > 0 {
			dst = append(dst, '\t')
		}
		dst = appendCellText(dst, c.Name)
	}
	return append(dst, '\n')
}

func appendTextRow(dst []byte, row []token) []byte {
	for i, t := range row {
		if i > 0 {
			dst = append(dst, '\t')
		}
		dst = appendCell(dst, t)
	}
	return append(dst, '\n')
}

func appendCell(dst []byte, t token) []byte {
	if !isString(t) {
		if isContainer(t) {
			return appendCellText(dst, string(appendToken(nil, t)))
		}
		return append(dst, t...)
	}
	s := stringOf(t)
	if s == "" || s == "null" || s[0] == '"' {
		dst = append(dst, '"')
		dst = appendCellText(dst, s)
		return append(dst, '"')
	}
	return appendCellText(dst, s)
}

func appendCellText(dst []byte, s string) []byte {
	for _, r := range s {
		switch {
		case r == '\\':
			dst = append(dst, '\\', '\\')
		case r == '\t':
			dst = append(dst, '\\', 't')
		case isBreak(r):
			dst = append(dst, '\\', 'n')
		case isHidden(r):
		default:
			dst = utf8.AppendRune(dst, r)
		}
	}
	return dst
}

// isBreak reports whether the rune ends a line somewhere.
func isBreak(r rune) bool {
	return r == '\n' || r == '\r' || r == '\v' || r == '\f' || r == '\u0085' || r == '\u2028' || r == '\u2029'
}

// isHidden reports whether the rune is not seen by a person but acts on what
// is read: controls, bidirectional marks and tag characters.
func isHidden(r rune) bool {
	switch {
	case unicode.IsControl(r):
		return true
	case r == '\u061C', r == '\u200E', r == '\u200F':
		return true
	case r >= '\u202A' && r <= '\u202E', r >= '\u2066' && r <= '\u2069':
		return true
	case r >= 0xE0000 && r <= 0xE007F:
		return true
	}
	return false
}

// oneLine is text on one line without what cannot be seen.
func oneLine(s string) string {
	clean := true
	for _, r := range s {
		if r == '\t' || isBreak(r) || isHidden(r) || r == utf8.RuneError {
			clean = false
			break
		}
	}
	if clean {
		return s
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || isBreak(r):
			return ' '
		case isHidden(r):
			return -1
		}
		return r
	}, s)
}

// withoutHidden is text with its lines and tabs, but without what cannot be
// seen.
func withoutHidden(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return r
		case isBreak(r):
			return '\n'
		case isHidden(r):
			return -1
		}
		return r
	}, s)
}
