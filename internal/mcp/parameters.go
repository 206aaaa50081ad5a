package mcp

import "github.com/chumbo-dev/chumbo/internal/surfaces"

// parameter is an argument of a tool as its plan declares it, with its type in
// the database.
type parameter struct {
	name     string
	sqlType  string
	operator string // of a filter; empty for others
	inPatch  bool   // inside the patch of an update
}

// parametersOf are the arguments of a tool whose values are of a column's or a
// function's type, in the order of its plan.
func parametersOf(spec *surfaces.Tool) []parameter {
	var p parameters
	switch {
	case spec.List != nil:
		p.filters(spec.List.Filters)
	case spec.Get != nil:
		p.columns(spec.Get.Key)
	case spec.RPC != nil:
		for _, a := range spec.RPC.Arguments {
			p = append(p, parameter{name: a.Name, sqlType: a.SQLType})
		}
	case spec.Create != nil:
		p.values(spec.Create.Values, false)
	case spec.Update != nil:
		p.columns(spec.Update.Key)
		p.row(spec.Update.Guard, spec.Update.Many)
		p.values(spec.Update.Values, true)
	case spec.Delete != nil:
		p.columns(spec.Delete.Key)
		p.row(spec.Delete.Guard, spec.Delete.Many)
	}
	return p
}

// parameters gathers them.
type parameters []parameter

func (p *parameters) columns(list []surfaces.Column) {
	for _, c := range list {
		*p = append(*p, parameter{name: c.Name, sqlType: c.SQLType})
	}
}

func (p *parameters) filters(list []surfaces.Filter) {
	for _, f := range list {
		*p = append(*p, parameter{name: f.Argument, sqlType: f.Column.SQLType, operator: f.Operator})
	}
}

func (p *parameters) values(list []surfaces.WriteColumn, inPatch bool) {
	for _, w := range list {
		*p = append(*p, parameter{name: w.Argument, sqlType: w.Column.SQLType, inPatch: inPatch})
	}
}

// row is what names the rows of a change beside their key.
func (p *parameters) row(guard *surfaces.Guard, many *surfaces.Many) {
	if guard != nil {
		*p = append(*p, parameter{name: guard.Argument, sqlType: guard.Column.SQLType})
	}
	if many != nil {
		p.filters(many.Filters)
	}
}
