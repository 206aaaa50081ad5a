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
	home := filepath.Join(cache, "chumbo", "postgresql-"+string(fetchedVersion))
	bin := filepath.Join(home, "bin")
	if p, ok := inDir(bin); ok {
		return p, nil
	}
	if err := os.MkdirAll(filepath.Dir(home), 0o755); err != nil {
		return programs{}, fmt.Errorf("make cache directory: %w", err)
	}
	fmt.Fprintf(log, "PostgreSQL is not installed here. Downloading version %s once (about 30 MB) into %s\n", fetchedVersion, home)
	began := time.Now()
	err = download(ctx, home, log)
	// What matters is that the programs are there: as root the library
	// extracts them and then fails to run initdb, which we do ourselves.
	p, ok := inDir(bin)
	if !ok {
		return programs{}, err
	}
	fmt.Fprintf(log, "PostgreSQL is ready after %s\n", time.Since(began).Round(time.Second))
	return p, nil
}

func download(ctx context.Context, home string, log io.Writer) error {
	work, err := os.MkdirTemp("", "chumbo-fetch-")
	if err != nil {
		return fmt.Errorf("make work directory: %w", err)
	}
	defer func() { _ = os.RemoveAll(work) }()
	port, err := freePort()
	if err != nil {
		return err
	}
	database := embedded.NewDatabase(embedded.DefaultConfig().
		Version(fetchedVersion).
		Port(uint32(port)).
		CachePath(filepath.Dir(home)).
		RuntimePath(filepath.Join(work, "runtime")).
		BinariesPath(home).
		Logger(io.Discard))

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
			fmt.Fprintf(log, "  still downloading (%s)\n", waited+progressEvery)
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
