package mcp

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/chumbo-dev/chumbo/internal/fault"
)

// Bounds of a number in arguments, both beyond what a double can be. The
// schema's validator reckons with every digit a number stands for, so that one
// of nine characters can cost a tenth of a second, and a body holds a hundred
// thousand of them.
const (
	maxDigits   = 400
	maxExponent = 400
)

// beyondReckoning finds the first number that is too long or has too large an
// exponent. The data is valid JSON.
func beyondReckoning(data []byte) *fault.Issue {
	w := numberWalk{scanner: scanner{data: data}}
	if w.value() {
		return nil
	}
	return &fault.Issue{Path: pointer(w.path), Message: "is a number too large or too long; at most " + strconv.Itoa(maxDigits) + " digits"}
}

// numberWalk walks one JSON value; path leads to where it stopped.
type numberWalk struct {
	scanner
	path []string
}

// value reports whether every number inside is within bounds.
func (w *numberWalk) value() bool {
	w.space()
	switch c := w.peek(); c {
	case '{', '[':
		return w.container(c == '{')
	case '"':
		w.scalar()
		return true
	}
	start := w.pos
	w.scalar()
	return reckonable(w.data[start:w.pos])
}

func (w *numberWalk) container(object bool) bool {
	w.pos++
	w.path = append(w.path, "")
	for i := 0; ; i++ {
		w.space()
		if w.peek() == ',' {
			w.pos++
			w.space()
		}
		if c := w.peek(); c == '}' || c == ']' || c == 0 {
			break
		}
		key := ""
		if object {
			key = w.str()
			w.space()
			w.pos++ // the colon
		}
		depth := len(w.path)
		if !w.value() {
			if w.path[depth-1] = key; !object {
				w.path[depth-1] = strconv.Itoa(i)
			}
			return false
		}
	}
	w.pos++
	w.path = w.path[:len(w.path)-1]
	return true
}

// reckonable reports whether a number, or another word of JSON, is within
// bounds.
func reckonable(token []byte) bool {
	if len(token) > maxDigits {
		return false
	}
	at := bytes.IndexAny(token, "eE")
	if at < 0 || !json.Valid(token) || token[0] > '9' { // true, false
		return true
	}
	exponent, err := strconv.Atoi(string(token[at+1:]))
	return err == nil && exponent <= maxExponent && exponent >= -maxExponent
}
