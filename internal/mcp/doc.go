// Package mcp owns how surfaces are spoken to: the HTTP edge in front of the
// SDK, one cached SDK server per live revision, the middleware that decides
// what a caller sees and may call, the runner of declared tools and the
// rendering of their results.
//
// It never verifies a token itself (package oauth), never builds a request to
// a project (package supabase), and keeps no state of a caller between
// requests.
package mcp
