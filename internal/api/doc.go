// Package api owns the control API of builders under /api/v1: JSON in, JSON
// out, errors as RFC 9457 problems, a cht_ token in Authorization. The CLI is
// its client, and whoever writes a script; docs/api.md is the reference.
//
// The files: config.go wires it; routes.go lists every route and what it needs;
// serve.go and request.go are what every route goes through; the routes are in
// device.go, tokens.go, notices.go, projects.go, ownership.go, schema.go,
// sign_in.go, surfaces.go, publish.go, revisions.go, connections.go, grants.go,
// keys.go and direct_clients.go; wire.go and wire_surfaces.go hold what goes over
// the wire where the route's own file does not; schemas.go serves the published JSON Schemas.
//
// It never sets a cookie and never answers CORS: a browser page of another
// origin cannot use it. It never stores, logs or repeats a secret key; three
// routes of their own pass one on, from memory, once.
package api
