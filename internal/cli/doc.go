// Package cli owns the chumbo command: a thin client of a server's control
// API. From a builder's repository it registers the project (link), reads the
// database's catalogs (import), publishes surface files (push) and shows what
// is there (status). docs/cli.md is the reference.
//
// It never sends a secret key or a database connection string anywhere: both
// stay on the builder's machine. It never takes the server to send its token
// to from a file of the repository.
package cli
