// Package builders owns what builders do that takes more than one service:
// register (probe, then keep), prove, import a schema, plan and publish. The
// control API and the dashboard are thin over it, so that both refuse the same
// things with the same words.
//
// It never renders anything and never reads a request. A secret key or a
// Management API token passes through memory once and is kept nowhere.
package builders
