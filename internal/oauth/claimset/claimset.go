// Package claimset reads the claims of tokens strictly: one JSON object, names
// as they are written and never twice, each value of the type that it must have.
//
// It verifies nothing, and says nothing of what a claim means.
package claimset

import (
	"errors"
	"io"
	"math"
	"strings"
	"time"

	strict "github.com/go-jose/go-jose/v4/json"
)

const latestMoment = 253402300799 // 9999-12-31T23:59:59Z

// ErrMalformed is that a text is no JSON object, names something twice at any
// level, or that something follows.
var ErrMalformed = errors.New("not one JSON object without repeated names")

// Object is a JSON object with typed access. null counts as absent.
type Object struct {
	Members map[string]any // numbers are kept as they were written
	// Wrong is set by a member of another type than asked for: a claim that
	// cannot be read is never taken as absent.
	Wrong bool
}

// Parse reads an object, or returns ErrMalformed.
func Parse(raw []byte) (*Object, error) {
	var members map[string]any
	decoder := strict.NewDecoder(strings.NewReader(string(raw)))
	decoder.SetNumberType(strict.UnmarshalJSONNumber)
	if err := decoder.Decode(&members); err != nil || members == nil {
		return nil, ErrMalformed
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) { // something follows
		return nil, ErrMalformed
	}
	return &Object{Members: members}, nil
}

// Has reports whether a member is there.
func (o *Object) Has(name string) bool { return o.Members[name] != nil }

// Text is a string member; empty where there is none.
func (o *Object) Text(name string) string {
	s, ok := o.Members[name].(string)
	o.Wrong = o.Wrong || !ok && o.Has(name)
	return s
}

// Flag is a boolean member; false where there is none.
func (o *Object) Flag(name string) bool {
	b, ok := o.Members[name].(bool)
	o.Wrong = o.Wrong || !ok && o.Has(name)
	return b
}

// Texts is a member that is a string or an array of strings (RFC 7519 section
// 4.1.3).
func (o *Object) Texts(name string) []string {
	switch v := o.Members[name].(type) {
	case nil:
		return nil
	case string:
		return []string{v}
	case []any:
		out := make([]string, 0, len(v))
		for _, item := range v {
			s, ok := item.(string)
			o.Wrong = o.Wrong || !ok
			out = append(out, s)
		}
		return out
	}
	o.Wrong = true
	return nil
}

// Moment is a NumericDate (RFC 7519 section 2), fractions cut off; zero where
// there is none.
func (o *Object) Moment(name string) time.Time {
	if !o.Has(name) {
		return time.Time{}
	}
	number, ok := o.Members[name].(strict.Number)
	if !ok {
		o.Wrong = true
		return time.Time{}
	}
	seconds, err := number.Float64()
	if err != nil || math.IsNaN(seconds) || seconds < 1 || seconds > latestMoment {
		o.Wrong = true
		return time.Time{}
	}
	return time.Unix(int64(seconds), 0)
}
