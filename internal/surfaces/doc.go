// Package surfaces owns what is offered: the surface file and its JSON Schema,
// the schema snapshot of a project, the compiler that turns both into a
// revision, and the revisions of a surface (put, publish, list, roll back).
//
// It never speaks MCP and never calls a project.
package surfaces
