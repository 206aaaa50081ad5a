// Package surfaces owns what is offered: the surface file and its JSON Schema,
// the schema snapshot of a project, the compiler that turns both into a
// revision, and the revisions of a surface: draft, plan, diff, publish, pin, roll
// back; what is risky in a schema, and how it moved since a publication.
//
// It never speaks MCP and never calls a project.
package surfaces
