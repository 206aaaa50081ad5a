package localpg

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// programs are the two PostgreSQL programs we run.
type programs struct{ initdb, postgres string }

// lookup says where programs are looked for. Its zero value, once through
// withDefaults, is this machine.
type lookup struct {
	onPath   func(name string) (string, error)
	patterns []string // globs of further bin directories
	fetch    func(ctx context.Context, log io.Writer) (programs, error)
}

func (l lookup) withDefaults() lookup {
	if l.onPath == nil {
		l.onPath = exec.LookPath
	}
	if l.patterns == nil {
		l.patterns = []string{
			"/usr/lib/postgresql/*/bin",          // Debian, Ubuntu
			"/usr/pgsql-*/bin",                   // Fedora and kin
			"/opt/homebrew/opt/postgresql@*/bin", // Homebrew on Apple silicon
			"/usr/local/opt/postgresql@*/bin",    // Homebrew on Intel
			"/home/linuxbrew/.linuxbrew/opt/postgresql@*/bin",
		}
	}
	if l.fetch == nil {
		l.fetch = fetch
	}
	return l
}

// programs finds the programs on PATH, then in the usual places (newest
// version first), then downloads them.
func (l lookup) programs(ctx context.Context, log io.Writer) (programs, error) {
	if p, ok := l.path(); ok {
		return p, nil
	}
	if p, ok := l.usualPlaces(); ok {
		return p, nil
	}
	p, err := l.fetch(ctx, log)
	if err != nil {
		return programs{}, errors.Join(errNoPrograms, fmt.Errorf("fetch PostgreSQL: %w", err))
	}
	return p, nil
}

var errNoPrograms = errors.New(`PostgreSQL's programs (initdb, postgres) are not on this machine, and could not be downloaded. Install them:
  Debian or Ubuntu:  apt-get install postgresql
  Homebrew:          brew install postgresql@17`)

func (l lookup) path() (programs, bool) {
	initdb, err := l.onPath("initdb")
	if err != nil {
		return programs{}, false
	}
	// A link such as /usr/local/bin/initdb may be alone there: postgres is
	// then beside what it points at.
	if real, err := filepath.EvalSymlinks(initdb); err == nil {
		if p, ok := inDir(filepath.Dir(real)); ok {
			return p, true
		}
	}
	return inDir(filepath.Dir(initdb))
}

func (l lookup) usualPlaces() (programs, bool) {
	var dirs []string
	for _, pattern := range l.patterns {
		found, _ := filepath.Glob(pattern)
		slices.SortStableFunc(found, func(a, b string) int { return version(b) - version(a) })
		dirs = append(dirs, found...)
	}
	for _, dir := range dirs {
		if p, ok := inDir(dir); ok {
			return p, true
		}
	}
	return programs{}, false
}

// version is the first number in a path: /usr/lib/postgresql/17/bin is 17.
func version(path string) int {
	start := strings.IndexFunc(path, isDigit)
	if start < 0 {
		return 0
	}
	rest := path[start:]
	if end := strings.IndexFunc(rest, func(r rune) bool { return !isDigit(r) }); end >= 0 {
		rest = rest[:end]
	}
	n, _ := strconv.Atoi(rest)
	return n
}

func isDigit(r rune) bool { return r >= '0' && r <= '9' }

func inDir(dir string) (programs, bool) {
	p := programs{initdb: filepath.Join(dir, "initdb"), postgres: filepath.Join(dir, "postgres")}
	return p, executable(p.initdb) && executable(p.postgres)
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}
