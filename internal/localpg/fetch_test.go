package localpg

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// fakePrograms is a .tar.xz with bin/initdb, bin/pg_ctl and bin/postgres:
// scripts that end with 1.
const fakePrograms = "/Td6WFoAAATm1rRGAgAhARwAAAAQz1jM4Cf/AJddADEaShsFkZA3OlG9V3Gz1uQT2IkQonAbexNN15tic70r6rNJbkVqC6RLQH2665UL531xp7xGLwZ7XwcXL/wvKJ1aBeMCqWTjQH7YxblWRHR1bDaTTIvu62NBMQ4WBd+n1r9W4Nq4ccyJWSnfRt0IfTgKuO1O8TXuDnVzc2BQM4aONzbQj42kuvyU4nVhJB5JF8EfAxIW5QAAANhu+KYZJ7hkAAGzAYBQAAA9BI7jscRn+wIAAAAABFla"

// repository answers as the one that holds PostgreSQL's programs, and counts
// what is asked.
func repository(t *testing.T, checksum func([]byte) string) (url string, asked *atomic.Int32) {
	t.Helper()
	archive, err := base64.StdEncoding.DecodeString(fakePrograms)
	if err != nil {
		t.Fatal(err)
	}
	var jar bytes.Buffer
	w := zip.NewWriter(&jar)
	f, err := w.Create("postgres-test.txz")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(archive); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	asked = &atomic.Int32{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if strings.HasSuffix(r.URL.Path, ".sha256") {
			_, _ = w.Write([]byte(checksum(jar.Bytes())))
			return
		}
		_, _ = w.Write(jar.Bytes())
	}))
	t.Cleanup(server.Close)
	return server.URL, asked
}

func hexSum(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func TestProgramsAreFetchedOnceIntoTheCache(t *testing.T) {
	t.Parallel()
	url, asked := repository(t, hexSum)
	home := filepath.Join(t.TempDir(), "chumbo", "postgresql-test")
	var log bytes.Buffer
	for range 2 {
		p, err := fetchInto(t.Context(), home, url, &log)
		if err != nil || p.initdb != filepath.Join(home, "bin", "initdb") {
			t.Fatalf("got %+v, %v", p, err)
		}
		if n := asked.Load(); n != 2 {
			t.Errorf("%d requests, want one for the programs and one for their checksum", n)
		}
	}
	for _, want := range []string{"Downloading version", "once (about 30 MB) into " + home, "PostgreSQL is downloaded"} {
		if strings.Count(log.String(), want) != 1 {
			t.Errorf("progress says %q not once: %s", want, log.String())
		}
	}
	info, err := os.Stat(home)
	if err != nil || info.Mode().Perm()&0o055 != 0o055 {
		t.Errorf("another account cannot reach the programs: %v, %v", info.Mode(), err)
	}
}

func TestDownloadThatIsNotWhatItShouldBeIsRefused(t *testing.T) {
	t.Parallel()
	url, _ := repository(t, func([]byte) string { return strings.Repeat("0", 64) })
	home := filepath.Join(t.TempDir(), "chumbo", "postgresql-test")
	var log bytes.Buffer
	if p, err := fetchInto(t.Context(), home, url, &log); err == nil || !strings.Contains(err.Error(), "checksum") {
		t.Fatalf("got %+v, %v", p, err)
	}
	if _, there := inDir(filepath.Join(home, "bin")); there {
		t.Error("the programs are used all the same")
	}
}
