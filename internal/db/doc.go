// Package db owns access to Chumbo's own Postgres: sqlc's generated queries
// (SQL lives in db/queries, tables in db/migrations) and Store, the two roles
// under which they run.
//
// It holds no rules about the data; those live with the nouns that own it.
package db
