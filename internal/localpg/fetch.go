package localpg

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	embedded "github.com/fergusstrange/embedded-postgres"
)

const fetchedVersion = embedded.V17

// fetch downloads PostgreSQL's programs once and keeps them in the user's
// cache directory.
func fetch(ctx context.Context, log io.Writer) (programs, error) {
	cache, err := cacheDir(os.Geteuid(), os.UserCacheDir)
	if err != nil {
		return programs{}, err
	}
	return fetchInto(ctx, filepath.Join(cache, "chumbo", "postgresql-"+string(fetchedVersion)), "", log)
}

// fetchInto downloads into home, from another repository than the library's
// own when one is named.
func fetchInto(ctx context.Context, home, repository string, log io.Writer) (programs, error) {
	bin := filepath.Join(home, "bin")
	if p, ok := inDir(bin); ok {
		return p, nil
	}
	if err := os.MkdirAll(filepath.Dir(home), 0o755); err != nil {
		return programs{}, fmt.Errorf("make cache directory: %w", err)
	}
	say(log, "PostgreSQL is not installed here. Downloading version %s once (about 30 MB) into %s", fetchedVersion, home)
	began := time.Now()
	err := download(ctx, home, repository, log)
	// What matters is that the programs are there: as root the library
	// extracts them and then fails to run initdb, which we do ourselves.
	p, ok := inDir(bin)
	if !ok {
		return programs{}, err
	}
	// Extracted for its owner only; as root another account runs it.
	if err := os.Chmod(home, 0o755); err != nil {
		return programs{}, fmt.Errorf("open the downloaded programs: %w", err)
	}
	say(log, "PostgreSQL is downloaded, after %s.", time.Since(began).Round(time.Second))
	return p, nil
}

// say writes a progress line; one that cannot be written is no reason to stop.
func say(log io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(log, format+"\n", args...) }

func download(ctx context.Context, home, repository string, log io.Writer) error {
	work, err := os.MkdirTemp("", "chumbo-fetch-")
	if err != nil {
		return fmt.Errorf("make work directory: %w", err)
	}
	defer func() { _ = os.RemoveAll(work) }()
	port, err := freePort()
	if err != nil {
		return err
	}
	config := embedded.DefaultConfig().
		Version(fetchedVersion).
		Port(uint32(port)).
		CachePath(filepath.Dir(home)).
		RuntimePath(filepath.Join(work, "runtime")).
		BinariesPath(home).
		Logger(io.Discard)
	if repository != "" {
		config = config.BinaryRepositoryURL(repository)
	}
	database := embedded.NewDatabase(config)

	done := make(chan error, 1)
	go func() {
		err := database.Start()
		if err == nil {
			err = database.Stop()
		}
		done <- err
	}()
	for waited := time.Duration(0); ; waited += progressEvery {
		select {
		case err := <-done:
			return err
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(progressEvery):
			say(log, "  still downloading (%s)", waited+progressEvery)
		}
	}
}

const progressEvery = 5 * time.Second

// cacheDir is the user's cache directory. Root's own is closed to the account
// that runs the programs, so root uses the machine's.
func cacheDir(euid int, userCache func() (string, error)) (string, error) {
	if euid == 0 {
		return "/var/cache", nil
	}
	dir, err := userCache()
	if err != nil {
		return "", fmt.Errorf("find the user's cache directory: %w", err)
	}
	return dir, nil
}
