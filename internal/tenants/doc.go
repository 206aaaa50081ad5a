// Package tenants owns who builds: organizations, members, the first run,
// sign-in and sessions, device login, API tokens, projects and the proofs of
// their ownership, surface names and URLs, domains; and the Directory, which
// turns the host and path of a request into a surface and its live revision.
//
// It never decides what a surface offers (package surfaces) or who may call it
// (package oauth).
package tenants
