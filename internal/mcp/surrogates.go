package mcp

import (
	"bytes"
	"strconv"
	"unicode/utf16"
)

// pairedText is JSON whose escapes of half a character (\ud800 without its
// other half) stand for U+FFFD: they are syntax (RFC 8259 section 8.2), but
// some clients cannot read a message that has one at all.
func pairedText(data []byte) []byte {
	owned := false
	for i := 0; ; {
		next := bytes.IndexByte(data[i:], '\\')
		if next < 0 || i+next+1 >= len(data) {
			return data
		}
		i += next
		r, ok := escapedUnit(data[i:])
		switch {
		case !ok: // an escape of two characters
			i += 2
			continue
		case !utf16.IsSurrogate(r):
			i += 6
			continue
		}
		if low, ok := escapedUnit(data[i+6:]); ok && utf16.DecodeRune(r, low) != '\uFFFD' {
			i += 12
			continue
		}
		if !owned {
			data, owned = bytes.Clone(data), true
		}
		copy(data[i+2:], "fffd")
		i += 6
	}
}

// escapedUnit is the UTF-16 code unit of the escape (\u and four digits) that
// the data begins with.
func escapedUnit(data []byte) (rune, bool) {
	if len(data) < 6 || data[0] != '\\' || data[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(data[2:6]), 16, 16)
	return rune(n), err == nil
}
