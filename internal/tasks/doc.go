// Package tasks owns what outlives a request: River's clients (the worker's,
// which fetches jobs over a small pool of its own, and the server's, which can
// only insert) and which jobs run when.
//
// It never does a job's work itself; workers live with the noun they serve.
package tasks
