package mcp

import (
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

func writes(columns ...surfaces.Column) []surfaces.WriteColumn {
	list := make([]surfaces.WriteColumn, len(columns))
	for i, c := range columns {
		list[i] = surfaces.WriteColumn{Column: c, Argument: c.Name, Null: c.Nullable}
	}
	return list
}

var customersRelation = surfaces.Relation{Schema: "public", Name: "customers"}

func createTool() *surfaces.Tool {
	return &surfaces.Tool{Name: "customers_create", Result: surfaces.ResultHybrid, Budget: 16 << 10, Create: &surfaces.CreatePlan{
		Relation: customersRelation, Columns: []surfaces.Column{idColumn, nameColumn, statusColumn}, Key: []surfaces.Column{idColumn},
		Values: writes(nameColumn, statusColumn),
	}}
}

func updateTool() *surfaces.Tool {
	return &surfaces.Tool{Name: "customers_update", Result: surfaces.ResultHybrid, Budget: 16 << 10, Update: &surfaces.UpdatePlan{
		Relation: customersRelation, Columns: []surfaces.Column{idColumn, nameColumn, statusColumn}, Key: []surfaces.Column{idColumn},
		Patch: "patch", Values: writes(nameColumn, statusColumn),
	}}
}

func deleteTool() *surfaces.Tool {
	return &surfaces.Tool{Name: "customers_delete", Result: surfaces.ResultHybrid, Budget: 16 << 10, Delete: &surfaces.DeletePlan{
		Relation: customersRelation, Columns: []surfaces.Column{idColumn, nameColumn, statusColumn}, Key: []surfaces.Column{idColumn},
	}}
}
