// Package directclients owns what is known of callers whose tokens the
// project's own Auth issued (authorization: direct, and bearer): which OAuth
// clients came, at which surface first, and whether their sessions still live.
//
//	service.go  what the package is made of
//	admit.go    a client comes to a surface (access.isolation)
//	binding.go  whose a client is, settled in the database and remembered
//	uses.go     clients, last uses and names, written in batches
//	list.go     what builders see
//	sessions.go whether sessions live (access.session_check)
//
// It never stores a token, and never makes a caller wait for the project.
package directclients
