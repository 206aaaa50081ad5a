// Package api owns the control API of builders under /api/v1: JSON in, JSON
// out, errors as RFC 9457 problems, a cht_ token in Authorization. The CLI and
// the dashboard are its clients. docs/api.md is the reference.
//
// The files: config.go wires it; serve.go and request.go are what every route
// goes through; projects.go, schema.go, surfaces.go and revisions.go are the
// routes; wire.go holds what goes over the wire; schemas.go serves the
// published JSON Schemas.
//
// It never sets a cookie and never answers CORS: a browser page of another
// origin cannot use it. It never stores or repeats a secret key.
package api
