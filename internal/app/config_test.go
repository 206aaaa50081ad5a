package app

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestConfigDefaultsAreValid(t *testing.T) {
	t.Parallel()
	c, err := LoadConfig(nil)
	if err != nil {
		t.Fatal(err)
	}
	if !c.RequireOwnership || !c.Loopback() || c.CacheBytes != 128<<20 {
		t.Fatalf("defaults: %+v", c)
	}
}

func TestConfigRefusesEachBadSettingByName(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ set, want string }{
		{"CHUMBO_PUBLIC_ULR=https://a.example.test", "CHUMBO_PUBLIC_ULR is not a setting: did you mean CHUMBO_PUBLIC_URL?"},
		{"CHUMBO_LISTEN_FILE=/x", "CHUMBO_LISTEN_FILE is not a setting"},
		{"CHUMBO_PUBLIC_URL=https://a.example.test/mcp", "no path"},
		{"CHUMBO_PUBLIC_URL=https://a.example.test:443", "default port"},
		{"CHUMBO_PUBLIC_URL=a.example.test", "http(s)://host"},
		{"CHUMBO_PUBLIC_URL=https://a.example.test?", "no path"},
		{"CHUMBO_PUBLIC_URL=https://a.example.test#", "no path"},
		{"CHUMBO_PUBLIC_URL=https://a.example.test:", "a port from 1 to 65535"},
		{"CHUMBO_PUBLIC_URL=https://a.example.test:99999", "a port from 1 to 65535"},
		{"CHUMBO_PUBLIC_URL=https://exämple.test", "ASCII"},
		{"CHUMBO_PUBLIC_URL=https://a_b.example.test", "ASCII"},
		{"CHUMBO_CACHE_BYTES=lots", "CHUMBO_CACHE_BYTES has a value that is not a int64"},
		{"CHUMBO_CACHE_BYTES=12", "at least 1048576"},
		{"CHUMBO_STALE_MAX=-1s", "CHUMBO_STALE_MAX"},
		{"CHUMBO_INVOCATION_RETENTION=1s", "at least 1h"},
		{"CHUMBO_TRUSTED_PROXIES=everyone", "CHUMBO_TRUSTED_PROXIES has a value"},
		{"CHUMBO_SURFACE_DOMAIN=https://mcp.example.test", "host name alone"},
		{"CHUMBO_MASTER_KEY_FILE=/does/not/exist", "CHUMBO_MASTER_KEY_FILE"},
	} {
		_, err := LoadConfig([]string{tc.set})
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want %q", tc.set, err, tc.want)
		}
	}
}

func TestConfigAllowsVariablesOfTestsAndOfTheCommandLine(t *testing.T) {
	t.Parallel()
	if _, err := LoadConfig([]string{"CHUMBO_TEST_DATABASE_URL=x", "CHUMBO_URL=x", "CHUMBO_TOKEN=x", "OTHER=y"}); err != nil {
		t.Fatal(err)
	}
}

func TestConfigReadsSecretsFromFilesAndNeverPrintsThem(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "dsn")
	if err := os.WriteFile(path, []byte("postgres://u:hunter2@h/d\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := LoadConfig([]string{"CHUMBO_DATABASE_URL_FILE=" + path})
	if err != nil {
		t.Fatal(err)
	}
	if c.DatabaseURL.Reveal() != "postgres://u:hunter2@h/d" {
		t.Fatalf("secret not read from its file")
	}
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		if strings.Contains(fmt.Sprintf(format, c), "hunter2") {
			t.Errorf("%s prints the secret", format)
		}
	}
	if _, err := LoadConfig([]string{"CHUMBO_DATABASE_URL=a", "CHUMBO_DATABASE_URL_FILE=" + path}); err == nil {
		t.Error("both forms of one secret are accepted")
	}
}

// TestSelfHostingPageListsEverySetting keeps docs/self-hosting.md true.
func TestSelfHostingPageListsEverySetting(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/self-hosting.md")
	if err != nil {
		t.Fatal(err)
	}
	known, err := knownVariables()
	if err != nil {
		t.Fatal(err)
	}
	for name, secret := range known {
		row := ""
		for _, line := range strings.Split(string(page), "\n") {
			if strings.HasPrefix(line, "| `"+name+"`") {
				row = line
			}
		}
		if row == "" || secret != strings.Contains(row, "(secret") {
			t.Errorf("docs/self-hosting.md has no right row for %s: %q", name, row)
		}
	}
}
