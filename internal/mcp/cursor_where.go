package mcp

import (
	"slices"

	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// afterRow is the condition that holds for exactly the rows that come after a
// row in a total order, from the row's values of the order's columns. For each
// term with value v, the rest being the terms behind it:
//
//	v is a value, nulls last    c beyond v, or c = v and the rest, or c is null
//	v is a value, nulls first   c beyond v, or c = v and the rest
//	v is null, nulls last       c is null and the rest
//	v is null, nulls first      c is not null, or c is null and the rest
//
// "Beyond" is gt or lt by the term's direction. Columns of the primary key are
// never null, so nothing is said of nulls for them.
func afterRow(terms []surfaces.OrderTerm, values []token, key []surfaces.Column) supabase.Condition {
	last := len(terms) - 1
	where, has := afterTerm(terms[last], values[last], supabase.Condition{}, false, isKey(key, terms[last].Column.Name))
	for i := last - 1; i >= 0; i-- {
		where, has = afterTerm(terms[i], values[i], where, has, isKey(key, terms[i].Column.Name))
	}
	if !has {
		return nothing(terms[last].Column.Name)
	}
	return where
}

// afterTerm is the condition for one term; has is false for one that no row
// can meet.
func afterTerm(term surfaces.OrderTerm, value token, rest supabase.Condition, hasRest, inKey bool) (supabase.Condition, bool) {
	column := term.Column.Name
	null := supabase.Condition{Column: column, Operator: "is", Value: "null"}
	if isNull(value) {
		var any []supabase.Condition
		if term.NullsFirst {
			any = append(any, supabase.Condition{Column: column, Operator: "is", Value: "null", Negate: true})
		}
		if hasRest {
			any = append(any, supabase.Condition{And: []supabase.Condition{null, rest}})
		}
		return anyOf(any)
	}
	text := stringOf(value)
	beyond := "gt"
	if term.Desc {
		beyond = "lt"
	}
	any := []supabase.Condition{{Column: column, Operator: beyond, Value: text}}
	if hasRest {
		any = append(any, supabase.Condition{And: []supabase.Condition{{Column: column, Operator: "eq", Value: text}, rest}})
	}
	if !term.NullsFirst && !inKey {
		any = append(any, null)
	}
	return anyOf(any)
}

func anyOf(list []supabase.Condition) (supabase.Condition, bool) {
	switch len(list) {
	case 0:
		return supabase.Condition{}, false
	case 1:
		return list[0], true
	}
	return supabase.Condition{Or: list}, true
}

// nothing holds for no row.
func nothing(column string) supabase.Condition {
	return supabase.Condition{And: []supabase.Condition{
		{Column: column, Operator: "is", Value: "null"},
		{Column: column, Operator: "is", Value: "null", Negate: true},
	}}
}

func isKey(key []surfaces.Column, name string) bool {
	return slices.ContainsFunc(key, func(k surfaces.Column) bool { return k.Name == name })
}
