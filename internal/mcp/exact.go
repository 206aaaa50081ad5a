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
var spellings = map[string]spelling{"int8": exactNumber, "numeric": exactNumber, "uuid": lowerText}

// exactArguments are the arguments of a tool that can be spelt in several ways.
func exactArguments(spec *surfaces.Tool) map[string]spelling {
	names := exactNames{}
	switch {
	case spec.RPC != nil:
		for _, a := range spec.RPC.Arguments {
			names.note(a.Name, a.SQLType)
		}
	case spec.Get != nil:
		names.columns(spec.Get.Key)
	case spec.List != nil:
		names.filters(spec.List.Filters)
	case spec.Create != nil:
		names.values(spec.Create.Values)
	case spec.Update != nil:
		plan := spec.Update
		names.columns(plan.Key)
		names.row(plan.Guard, plan.Many)
		inside := exactNames{}
		inside.values(plan.Values)
		if len(inside) > 0 {
			names[plan.Patch] = func(patch []byte) []byte { return canonical(patch, inside) }
		}
	case spec.Delete != nil:
		names.columns(spec.Delete.Key)
		names.row(spec.Delete.Guard, spec.Delete.Many)
	}
	if len(names) == 0 {
		return nil
	}
	return names
}

// spellingOf is the type's, and an array's elements'; nil where values are
// written in one way only.
func spellingOf(sqlType string) spelling {
	return spellings[strings.TrimSuffix(sqlType, "[]")]
}

// exactNames are arguments with their spellings.
type exactNames map[string]spelling

func (n exactNames) note(name, sqlType string) {
	if spell := spellingOf(sqlType); spell != nil {
		n[name] = spell
	}
}

func (n exactNames) columns(list []surfaces.Column) {
	for _, c := range list {
		n.note(c.Name, c.SQLType)
	}
}

func (n exactNames) filters(list []surfaces.Filter) {
	for _, f := range list {
		n.note(f.Argument, f.Column.SQLType)
	}
}

func (n exactNames) values(list []surfaces.WriteColumn) {
	for _, w := range list {
		n.note(w.Argument, w.Column.SQLType)
	}
}

// row notes what else names the rows of a change.
func (n exactNames) row(guard *surfaces.Guard, many *surfaces.Many) {
	if guard != nil {
		n.note(guard.Argument, guard.Column.SQLType)
	}
	if many != nil {
		n.filters(many.Filters)
	}
}

// canonical writes such arguments in one spelling, so that what decides compares
// what the database will: "007", 7 and 7.0 are the text "7". One that cannot be
// read is left out, and what reads it refuses. The arguments are valid under the
// tool's schema.
func canonical(arguments []byte, exact map[string]spelling) []byte {
	if len(exact) == 0 {
		return arguments
	}
	out := []byte{'{'}
	for _, m := range members(arguments, 0) {
		value := arguments[m.start:m.end]
		if spell := exact[m.key]; spell != nil {
			if value = each(value, spell); value == nil {
				continue
			}
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = appendString(out, m.key)
		out = append(out, ':')
		out = append(out, value...)
	}
	return append(out, '}')
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
			out = append(out, element...)
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

func lowerText(value []byte) []byte {
	said, ok := text(value)
	if !ok {
		return nil
	}
	return appendString(nil, strings.ToLower(said))
}
