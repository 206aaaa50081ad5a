package mcp

import (
	"bytes"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// typedValue is text, as a URI holds it, as the value of a column: the JSON that
// a tool's argument for the column has, in the one spelling that rules see. Nil
// where no value of the column's type is written so: for types whose values the
// database reads in many forms, one form is taken, so that no rule misses
// another.
func typedValue(said string, c *surfaces.Column) token {
	quoted := appendString(nil, said)
	switch c.SQLType {
	case "int2", "int4", "int8":
		digits := plainNumber(said, true)
		if digits == nil || c.JSON == surfaces.JSONInteger {
			return digits
		}
		return appendString(nil, string(digits))
	case "numeric", "float4", "float8":
		digits := plainNumber(said, false)
		if digits == nil || c.JSON == surfaces.JSONNumber {
			return digits
		}
		return appendString(nil, string(digits))
	case "bool":
		if said != "true" && said != "false" {
			return nil
		}
		return token(said)
	case "uuid":
		if len(said) != len(uuid.Nil.String()) || uuid.Validate(said) != nil {
			return nil
		}
		return lowerText(quoted)
	case "bpchar":
		return withoutPadding(quoted)
	case "date":
		return inForm(said, quoted, time.DateOnly)
	case "timestamptz":
		return inForm(said, quoted, time.RFC3339Nano)
	case "timestamp":
		return inForm(said, quoted, "2006-01-02T15:04:05.999999999")
	}
	return quoted
}

// inForm is the value where the text is a time in the form.
func inForm(said string, value token, form string) token {
	if _, err := time.Parse(form, said); err != nil {
		return nil
	}
	return value
}

// plainNumber is a number in plain digits, without a sign that says nothing,
// zeros in front, or a fraction of zeros; nil where the text is none, or where
// it is not whole and must be.
func plainNumber(said string, whole bool) token {
	spelt := exactNumber(appendString(nil, said))
	if spelt == nil || strings.ContainsAny(said, " +") {
		return nil
	}
	digits := bytes.Trim(spelt, `"`)
	if whole && bytes.ContainsRune(digits, '.') {
		return nil
	}
	return digits
}
