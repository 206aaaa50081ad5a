// Package cli owns the chumbo command: a thin client of a server's control
// API. From a builder's repository it signs in (login), registers the project
// and proves it (link), reads the database's catalogs (import), begins, plans,
// publishes, fetches, compares and rolls back surface files (init, push, pull,
// diff, rollback), visits what is published (doctor), shows what is there
// (status) and writes a consent page for direct mode (consent). docs/cli.md is the reference.
//
// It never sends a secret key or a database connection string anywhere: both
// stay on the builder's machine. It never takes the server to send its token
// to from a file of the repository, never reads or writes a file outside of
// the repository by what a server or a symbolic link says, and never writes
// SQL that a server made up. It asks on a terminal only, and what comes from
// elsewhere cannot drive that terminal.
package cli
