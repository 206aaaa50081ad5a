// Package migrations holds the control plane's goose migrations, embedded so
// that the server can apply them. db.Migrate runs them; nothing else does.
package migrations

import "embed"

// FS holds the numbered SQL files.
//
//go:embed *.sql
var FS embed.FS
