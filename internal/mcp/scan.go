package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"unicode/utf8"
)

// maxDepth bounds the nesting of a request body.
const maxDepth = 128

var (
	errSyntax    = errors.New("not valid JSON")
	errDuplicate = errors.New("a key is given twice in one object")
	errDepth     = errors.New("nested too deeply")
)

// checkJSON accepts exactly one JSON value (RFC 8259) in valid UTF-8, in which
// no object names a key twice. Two readers of such a value cannot disagree on
// which of two members counts.
func checkJSON(data []byte) error {
	if !json.Valid(data) || !utf8.Valid(data) {
		return errSyntax
	}
	s := scanner{data: data}
	return s.value(0)
}

// member is one member of an object: the decoded key, and where its value is.
type member struct {
	key        string
	start, end int // of the value, in the scanned bytes
}

// members lists the members of the object that starts at offset, in order.
// The data has passed checkJSON; a value that is no object has no members.
func members(data []byte, offset int) []member {
	s := scanner{data: data, pos: offset}
	s.space()
	if s.peek() != '{' {
		return nil
	}
	var list []member
	s.pos++
	for s.space(); s.peek() != '}'; s.space() {
		if s.peek() == ',' {
			s.pos++
			s.space()
		}
		key := s.str()
		s.space()
		s.pos++ // the colon
		s.space()
		start := s.pos
		s.skip()
		list = append(list, member{key: key, start: start, end: s.pos})
	}
	return list
}

// elements lists where the elements of the array that data holds are.
func elements(data []byte) [][]byte {
	s := scanner{data: data}
	s.space()
	if s.peek() != '[' {
		return nil
	}
	var list [][]byte
	s.pos++
	for s.space(); s.peek() != ']'; s.space() {
		if s.peek() == ',' {
			s.pos++
			s.space()
		}
		start := s.pos
		s.skip()
		list = append(list, data[start:s.pos])
	}
	return list
}

// scanner walks JSON that json.Valid has accepted, so it never checks syntax.
type scanner struct {
	data []byte
	pos  int
}

func (s *scanner) peek() byte {
	if s.pos >= len(s.data) {
		return 0
	}
	return s.data[s.pos]
}

func (s *scanner) space() {
	for s.pos < len(s.data) {
		switch s.data[s.pos] {
		case ' ', '\t', '\r', '\n':
			s.pos++
		default:
			return
		}
	}
}

// value walks one value, looking for duplicate keys and depth.
func (s *scanner) value(depth int) error {
	if depth > maxDepth {
		return errDepth
	}
	s.space()
	switch s.peek() {
	case '{':
		return s.object(depth)
	case '[':
		return s.array(depth)
	default:
		s.scalar()
		return nil
	}
}

func (s *scanner) object(depth int) error {
	var keys keySet
	s.pos++
	for s.space(); s.peek() != '}'; s.space() {
		if s.peek() == ',' {
			s.pos++
			s.space()
		}
		if !keys.add(s.str()) {
			return errDuplicate
		}
		s.space()
		s.pos++ // the colon
		if err := s.value(depth + 1); err != nil {
			return err
		}
	}
	s.pos++
	return nil
}

func (s *scanner) array(depth int) error {
	s.pos++
	for s.space(); s.peek() != ']'; s.space() {
		if s.peek() == ',' {
			s.pos++
		}
		if err := s.value(depth + 1); err != nil {
			return err
		}
	}
	s.pos++
	return nil
}

// str reads the string at pos and returns it decoded.
func (s *scanner) str() string {
	raw := s.data[s.pos:s.endOfString()]
	s.pos += len(raw)
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1])
	}
	var decoded string
	if json.Unmarshal(raw, &decoded) != nil {
		return string(raw)
	}
	return decoded
}

// endOfString returns the offset after the string that starts at pos.
func (s *scanner) endOfString() int {
	for i := s.pos + 1; i < len(s.data); i++ {
		switch s.data[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(s.data)
}

func (s *scanner) scalar() {
	if s.peek() == '"' {
		s.pos = s.endOfString()
		return
	}
	for s.pos < len(s.data) && bytes.IndexByte([]byte(" \t\r\n,]}"), s.data[s.pos]) < 0 {
		s.pos++
	}
}

// skip passes one value without looking inside.
func (s *scanner) skip() {
	depth := 0
	for s.pos < len(s.data) {
		switch s.data[s.pos] {
		case '{', '[':
			depth++
			s.pos++
		case '}', ']':
			depth--
			s.pos++
		case ' ', '\t', '\r', '\n', ',', ':':
			s.pos++
			continue
		default:
			s.scalar()
		}
		if depth == 0 {
			return
		}
	}
}

// keySet remembers the keys of one object: a list while they are few.
type keySet struct {
	few  []string
	many map[string]struct{}
}

const fewKeys = 16

func (k *keySet) add(key string) bool {
	if k.many == nil && len(k.few) < fewKeys {
		for _, have := range k.few {
			if have == key {
				return false
			}
		}
		k.few = append(k.few, key)
		return true
	}
	if k.many == nil {
		k.many = make(map[string]struct{}, 4*fewKeys)
		for _, have := range k.few {
			k.many[have] = struct{}{}
		}
	}
	if _, have := k.many[key]; have {
		return false
	}
	k.many[key] = struct{}{}
	return true
}
