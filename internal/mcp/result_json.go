package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"unicode/utf8"

	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// A token is one JSON value exactly as the project (or the caller) wrote it.
// Values stay tokens from the wire to the result: never a float, never a time.
type token = []byte

var (
	nullToken  = token("null")
	errColumns = errors.New("answer lacks a column that was asked for")
	errShape   = errors.New("answer has another shape than the tool declares")
)

// table is the rows of an answer, as tokens in the order of its names.
type table struct {
	width  int
	tokens []token // row by row
}

func (t table) len() int { return len(t.tokens) / max(t.width, 1) }

func (t table) row(i int) []token { return t.tokens[i*t.width : (i+1)*t.width] }

// readTable reads a JSON array of objects. Every name must be in every row.
func readTable(body []byte, names []string) (table, error) {
	body, err := cleanAnswer(body)
	if err != nil {
		return table{}, err
	}
	return readRows(&scanner{data: body}, names)
}

// readRows reads the array at the scanner's place, of JSON that was checked.
func readRows(s *scanner, names []string) (table, error) {
	if s.space(); s.peek() != '[' {
		return table{}, errShape
	}
	s.pos++
	t := table{width: len(names)}
	var err error
	for s.space(); s.peek() != ']'; s.space() {
		if s.peek() == ',' {
			s.pos++
			s.space()
		}
		if t.tokens, err = readRow(s, names, t.tokens); err != nil {
			return table{}, err
		}
	}
	return t, nil
}

// readOne reads one JSON object as a table of one row.
func readOne(body []byte, names []string) (table, error) {
	body, err := cleanAnswer(body)
	if err != nil {
		return table{}, err
	}
	s := scanner{data: body}
	s.space()
	tokens, err := readRow(&s, names, nil)
	return table{width: len(names), tokens: tokens}, err
}

// readRow appends the tokens of the object at the scanner's place.
func readRow(s *scanner, names []string, tokens []token) ([]token, error) {
	if s.peek() != '{' {
		return nil, errShape
	}
	s.pos++
	first := len(tokens)
	for range names {
		tokens = append(tokens, nil)
	}
	next, found := 0, 0
	for s.space(); s.peek() != '}'; s.space() {
		if s.peek() == ',' {
			s.pos++
			s.space()
		}
		raw := s.data[s.pos:s.endOfString()]
		s.pos += len(raw)
		s.space()
		s.pos++ // the colon
		s.space()
		start := s.pos
		s.skip()
		// Rows come in the order of the select list, so the next name is
		// nearly always the right one.
		at := next
		if at >= len(names) || !keyIs(raw, names[at]) {
			at = indexOfKey(names, raw)
		}
		if at < 0 {
			continue
		}
		if tokens[first+at] == nil {
			found++
		}
		tokens[first+at], next = s.data[start:s.pos], at+1
	}
	s.pos++
	if found < len(names) {
		return nil, errColumns
	}
	return tokens, nil
}

func keyIs(raw []byte, name string) bool {
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1:len(raw)-1]) == name
	}
	return stringOf(raw) == name
}

func indexOfKey(names []string, raw []byte) int {
	for i, name := range names {
		if keyIs(raw, name) {
			return i
		}
	}
	return -1
}

// cleanAnswer is cleanJSON of what the project answered, as every client can
// read it.
func cleanAnswer(body []byte) ([]byte, error) {
	clean, err := cleanJSON(body)
	return pairedText(clean), err
}

// cleanJSON checks that the body is JSON, and makes its text valid UTF-8.
func cleanJSON(body []byte) ([]byte, error) {
	if !json.Valid(body) {
		return nil, errShape
	}
	if !utf8.Valid(body) {
		body = bytes.ToValidUTF8(body, []byte("\uFFFD"))
	}
	return bytes.TrimSpace(body), nil
}

// stringOf decodes a string token; anything else gives its own text.
func stringOf(t token) string {
	if len(t) < 2 || t[0] != '"' {
		return string(t)
	}
	if bytes.IndexByte(t, '\\') < 0 {
		return string(t[1 : len(t)-1])
	}
	var s string
	if json.Unmarshal(t, &s) != nil {
		return string(t[1 : len(t)-1])
	}
	return s
}

func isNull(t token) bool      { return len(t) == 4 && t[0] == 'n' }
func isString(t token) bool    { return len(t) > 1 && t[0] == '"' }
func isContainer(t token) bool { return len(t) > 1 && (t[0] == '{' || t[0] == '[') }
func isNumber(t token) bool {
	return len(t) > 0 && (t[0] == '-' || (t[0] >= '0' && t[0] <= '9'))
}

// appendToken appends the token without the space between its parts.
func appendToken(dst []byte, t token) []byte {
	if !isContainer(t) {
		return append(dst, t...)
	}
	for i := 0; i < len(t); i++ {
		switch t[i] {
		case ' ', '\t', '\r', '\n':
		case '"':
			s := scanner{data: t, pos: i}
			end := s.endOfString()
			dst = append(dst, t[i:end]...)
			i = end - 1
		default:
			dst = append(dst, t[i])
		}
	}
	return dst
}

// appendValue appends a token as a column's value travels: a number where text
// was declared (bigint, numeric and lists of them) gets quotes around its very
// digits.
func appendValue(dst []byte, t token, c *surfaces.Column) []byte {
	switch {
	case c == nil:
		return appendToken(dst, t)
	case c.AsText && isNumber(t):
		dst = append(dst, '"')
		dst = append(dst, t...)
		return append(dst, '"')
	case len(t) > 0 && t[0] == '[' && (c.SQLType == "int8[]" || c.SQLType == "numeric[]"):
		return appendQuotedNumbers(dst, t)
	}
	return appendToken(dst, t)
}

// appendQuotedNumbers appends a list, of any number of dimensions, with its
// numbers as text.
func appendQuotedNumbers(dst []byte, list token) []byte {
	dst = append(dst, '[')
	for i, element := range elements(list) {
		if i > 0 {
			dst = append(dst, ',')
		}
		switch {
		case len(element) > 0 && element[0] == '[':
			dst = appendQuotedNumbers(dst, element)
		case isNumber(element):
			dst = append(append(append(dst, '"'), element...), '"')
		default:
			dst = appendToken(dst, element)
		}
	}
	return append(dst, ']')
}

const hexDigits = "0123456789abcdef"

// appendMember appends a member to an object that is not closed yet.
func appendMember(dst []byte, key string, value []byte) []byte {
	if len(dst) > 1 {
		dst = append(dst, ',')
	}
	dst = append(appendString(dst, key), ':')
	return append(dst, value...)
}

// appendString appends text as a JSON string (RFC 8259 section 7).
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for _, r := range s { // invalid bytes become U+FFFD
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r == '\n':
			dst = append(dst, '\\', 'n')
		case r == '\t':
			dst = append(dst, '\\', 't')
		case r == '\r':
			dst = append(dst, '\\', 'r')
		case r < ' ':
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[r>>4], hexDigits[r&15])
		default:
			dst = utf8.AppendRune(dst, r)
		}
	}
	return append(dst, '"')
}

// wireSize is how many bytes of the answer the text takes as a JSON string,
// without its quotes, as encoding/json writes it (with its HTML escapes).
func wireSize(s string) int {
	n := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			n += asciiSize(c)
			i++
			continue
		}
		r, width := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && width == 1, r == '\u2028', r == '\u2029':
			n += 6
		default:
			n += width
		}
		i += width
	}
	return n
}

func asciiSize(c byte) int {
	switch c {
	case '"', '\\', '\n', '\r', '\t', '\b', '\f':
		return 2
	case '<', '>', '&':
		return 6
	}
	if c < ' ' {
		return 6
	}
	return 1
}

// wireSizeJSON is how many bytes compact JSON takes inside the answer.
func wireSizeJSON(b []byte) int {
	n := len(b)
	for i, c := range b {
		switch {
		case c == '<' || c == '>' || c == '&':
			n += 5
		case c == 0xE2 && i+2 < len(b) && b[i+1] == 0x80 && b[i+2]&^1 == 0xA8:
			n += 3
		}
	}
	return n
}
