// Package crm is the example app: a Supabase folder with a customer database
// of two organizations under Row Level Security, and the surface files over
// it. The demo serves it and the tests run against it.
//
// It never holds Go code of an app: everything is in supabase/.
package crm

import (
	"embed"
	"io/fs"
	"slices"
	"strings"
)

//go:embed supabase
var files embed.FS

// Schema is every migration in order.
var Schema = read(glob("supabase/migrations/*.sql")...)

// Seed is the rows of both organizations. Their owners, Alice and Bob, must
// have an account: seeds/users.sql makes it on a local Supabase.
var Seed = read("supabase/seeds/crm.sql")

// SurfaceFile is the surface file of that name, supabase/chumbo/<name>.yaml.
func SurfaceFile(name string) ([]byte, error) {
	return files.ReadFile("supabase/chumbo/" + name + ".yaml")
}

func glob(pattern string) []string {
	names, err := fs.Glob(files, pattern)
	if err != nil {
		panic("crm: " + err.Error()) // a pattern above is malformed
	}
	slices.Sort(names)
	return names
}

func read(names ...string) string {
	var all strings.Builder
	for _, name := range names {
		b, err := files.ReadFile(name)
		if err != nil {
			panic("crm: " + err.Error()) // the folder is embedded above
		}
		all.Write(b)
		all.WriteByte('\n')
	}
	return all.String()
}
