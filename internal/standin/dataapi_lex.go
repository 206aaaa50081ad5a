package standin

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// lexer walks over one decoded value of a query string. Its methods report
// success and leave the position where they were on failure.
type lexer struct {
	in  string
	pos int
}

func (l *lexer) rest() string { return l.in[l.pos:] }
func (l *lexer) done() bool   { return l.pos >= len(l.in) }

// take consumes a literal.
func (l *lexer) take(s string) bool {
	if !strings.HasPrefix(l.rest(), s) {
		return false
	}
	l.pos += len(s)
	return true
}

// quoted consumes "…", in which \ protects the next character.
func (l *lexer) quoted() (string, bool) {
	if !strings.HasPrefix(l.rest(), `"`) {
		return "", false
	}
	var b strings.Builder
	for i := l.pos + 1; i < len(l.in); i++ {
		switch c := l.in[i]; c {
		case '"':
			l.pos = i + 1
			return b.String(), true
		case '\\':
			if i++; i < len(l.in) {
				b.WriteByte(l.in[i])
			}
		default:
			b.WriteByte(c)
		}
	}
	return "", false
}

// identifier consumes a name: bare (letters, digits, _ space $ and a hyphen
// that does not start an arrow), trimmed, or quoted. NUL is dropped from it.
func (l *lexer) identifier() (string, bool) {
	start := l.pos
	for strings.HasPrefix(l.rest(), " ") && strings.HasPrefix(strings.TrimLeft(l.rest(), " "), `"`) {
		l.pos++
	}
	if name, ok := l.quoted(); ok {
		return strings.ReplaceAll(name, "\x00", ""), true
	}
	l.pos = start
	for !l.done() {
		r, size := utf8.DecodeRuneInString(l.rest())
		if r == '-' && strings.HasPrefix(l.rest(), "->") {
			break
		}
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_ $-\x00", r) {
			break
		}
		l.pos += size
	}
	name := strings.TrimSpace(strings.ReplaceAll(l.in[start:l.pos], "\x00", ""))
	if name == "" {
		l.pos = start
		return "", false
	}
	return name, true
}

// until consumes raw text up to one of the stop characters or the end.
func (l *lexer) until(stops string) string {
	start := l.pos
	if i := strings.IndexAny(l.rest(), stops); i >= 0 {
		l.pos += i
	} else {
		l.pos = len(l.in)
	}
	return l.in[start:l.pos]
}

// jsonStep is one arrow of a JSON path.
type jsonStep struct {
	key     string
	isIndex bool
	asText  bool // ->>
}

// field is a column with an optional JSON path.
type field struct {
	name string
	path []jsonStep
}

func (l *lexer) field() (field, bool) {
	start := l.pos
	name, ok := l.identifier()
	if !ok {
		return field{}, false
	}
	path, ok := l.jsonPath()
	if !ok {
		l.pos = start
	}
	return field{name: name, path: path}, ok
}

func (l *lexer) jsonPath() (path []jsonStep, ok bool) {
	for {
		step := jsonStep{}
		switch {
		case l.take("->>"):
			step.asText = true
		case l.take("->"):
		default:
			return path, true
		}
		if n := l.index(); n != "" {
			step.key, step.isIndex = n, true
		} else if step.key, ok = l.identifier(); !ok {
			return nil, false
		}
		path = append(path, step)
	}
}

// index consumes a whole number that ends a step of a JSON path.
func (l *lexer) index() string {
	end := l.pos
	if end < len(l.in) && l.in[end] == '-' {
		end++
	}
	digits := end
	for end < len(l.in) && isASCIIDigit(l.in[end]) {
		end++
	}
	if end == digits || end-digits > 9 || (end < len(l.in) && !strings.ContainsRune("-:,.)", rune(l.in[end]))) {
		return ""
	}
	number := l.in[l.pos:end]
	l.pos = end
	return number
}

func isASCIIDigit(c byte) bool { return c >= '0' && c <= '9' }

// list consumes "(a,b)" of the in operator: elements quoted, or raw up to a
// comma or the closing parenthesis. "()" and `("")` are both the empty list.
func (l *lexer) list() (values []string, ok bool) {
	start := l.pos
	if !l.take("(") {
		return nil, false
	}
	for {
		value, quoted := l.quoted()
		if !quoted {
			value = l.until(",)")
		}
		values = append(values, value)
		if l.take(",") {
			continue
		}
		if !l.take(")") {
			l.pos = start
			return nil, false
		}
		if len(values) == 1 && values[0] == "" {
			values = nil
		}
		return values, true
	}
}
