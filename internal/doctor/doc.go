// Package doctor owns the checks that say whether a thing works, each with a
// grade and the exact remedy. Registration, the control API, the CLI and the
// dashboard all run these.
//
// It never writes: what a check learns is handed back as findings and facts.
// It never sees a secret key or a user's token.
package doctor
