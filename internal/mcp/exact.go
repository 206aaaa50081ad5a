package mcp

import (
	"bytes"
	"math/big"
	"regexp"
	"strings"

	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// exactForm is a number as the database reads one: at most 999 digits beyond
// those that are written.
var exactForm = regexp.MustCompile(`^[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?$`)

// spelling writes a value in the one way that what decides sees it; nil where
// it is no such value.
type spelling func(value []byte) []byte

// spellings are those of types whose values can be written in several ways:
// bigint and numeric travel as text, since no double holds them all, and clients
// may send a number as well.
// To char(n), space at the end is none.
var spellings = map[string]spelling{"int8": exactNumber, "numeric": exactNumber, "uuid": lowerText, "bpchar": withoutPadding}

// maxSpelled bounds arguments in one spelling, in bytes: a number of five
// characters can have 400 digits, and a body holds a hundred thousand of them.
const maxSpelled = 4 * maxBody

// wholeSpellings are those of integers. JSON has one kind of number, so clients
// send 10.0 or 1e1 for ten, which is an integer by JSON Schema and none for the
// database.
var wholeSpellings = map[string]spelling{"int2": wholeNumber, "int4": wholeNumber, "int8": wholeNumber}

// exactArguments are the arguments of a tool that can be spelt in several ways.
func exactArguments(spec *surfaces.Tool) map[string]spelling {
	return spelledArguments(spec, spellings)
}

// wholeArguments are the arguments of a tool that are integers.
func wholeArguments(spec *surfaces.Tool) map[string]spelling {
	return spelledArguments(spec, wholeSpellings)
}

// spelledArguments are the arguments of a tool whose types have spellings.
func spelledArguments(spec *surfaces.Tool, of map[string]spelling) map[string]spelling {
	found, inside := map[string]spelling{}, map[string]spelling{}
	for _, p := range parametersOf(spec) {
		switch p.operator {
		case "is", "like", "ilike": // their values are not of the column's type
			continue
		}
		spell := of[elementType(p.sqlType)]
		switch {
		case spell == nil:
		case p.inPatch:
			inside[p.name] = spell
		default:
			found[p.name] = spell
		}
	}
	if len(inside) > 0 {
		found[spec.Update.Patch] = func(patch []byte) []byte {
			spelt, unread := canonical(patch, inside)
			if unread != "" {
				return nil
			}
			return spelt
		}
	}
	if len(found) == 0 {
		return nil
	}
	return found
}

// spellingOf is the type's, and an array's elements'; nil where values are
// written in one way only.
func spellingOf(sqlType string) spelling { return spellings[elementType(sqlType)] }

func elementType(sqlType string) string { return strings.TrimSuffix(sqlType, "[]") }

// canonical writes such arguments in one spelling, so that what decides compares
// what the database will: "007", 7 and 7.0 are the text "7". unread names one
// that cannot be written so, if there is any: the call must be refused then, since
// what decides would take it for absent, and the database might read it. The
// arguments are valid under the tool's schema.
func canonical(arguments []byte, exact map[string]spelling) (spelt []byte, unread string) {
	if len(exact) == 0 {
		return arguments, ""
	}
	out := []byte{'{'}
	for _, m := range members(arguments, 0) {
		value := arguments[m.start:m.end]
		if spell := exact[m.key]; spell != nil {
			if value = each(value, spell); value == nil || len(out)+len(value) > maxSpelled {
				return nil, m.key
			}
		}
		out = appendMember(out, m.key, value)
	}
	return append(out, '}'), ""
}

// each spells a value, null, or every element of a list.
func each(value []byte, spell spelling) []byte {
	value = bytes.TrimSpace(value)
	if len(value) > 0 && value[0] == '[' {
		out := []byte{'['}
		for i, element := range elements(value) {
			if element = each(element, spell); element == nil {
				return nil
			}
			if i > 0 {
				out = append(out, ',')
			}
			if out = append(out, element...); len(out) > maxSpelled {
				return nil
			}
		}
		return append(out, ']')
	}
	if string(value) == "null" {
		return value
	}
	return spell(value)
}

func exactNumber(value []byte) []byte {
	number := string(value)
	if said, ok := text(value); ok {
		number = said
	}
	if len(number) > maxDigits || !exactForm.MatchString(number) {
		return nil
	}
	exact, ok := new(big.Rat).SetString(number)
	if !ok {
		return nil
	}
	digits, finite := exact.FloatPrec()
	if !finite {
		return nil
	}
	return appendString(nil, exact.FloatString(digits))
}

// wholeNumber writes a number that is an integer in digits alone; anything else
// stays as it is.
func wholeNumber(value []byte) []byte {
	if len(value) > maxDigits || !bytes.ContainsAny(value, ".eE") || !isNumber(value) || !exactForm.Match(value) {
		return value
	}
	whole, ok := new(big.Rat).SetString(string(value))
	if !ok || !whole.IsInt() {
		return value
	}
	return []byte(whole.Num().String())
}

func lowerText(value []byte) []byte {
	said, ok := text(value)
	if !ok {
		return nil
	}
	return appendString(nil, strings.ToLower(said))
}

func withoutPadding(value []byte) []byte {
	said, ok := text(value)
	if !ok {
		return nil
	}
	return appendString(nil, strings.TrimRight(said, " "))
}
