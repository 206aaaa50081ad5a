package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// session is one run of the command: where it runs and what its global flags
// say.
type session struct {
	env      Environment
	printer  *printer
	insecure bool
}

// settings is where the server is and who we are to it.
type settings struct {
	server *url.URL
	token  seal.Secret
}

// settings reads CHUMBO_URL and CHUMBO_TOKEN, or ~/.config/chumbo/config. Both
// come from the same place, so that a token never goes to a server it was not
// given for. A repository's files have no say.
func (s *session) settings() (settings, error) {
	address, token := s.env.Getenv("CHUMBO_URL"), s.env.Getenv("CHUMBO_TOKEN")
	if address == "" && token == "" {
		var err error
		if address, token, err = s.configFile(); err != nil {
			return settings{}, err
		}
	}
	if address == "" {
		return settings{}, usage("no server: set CHUMBO_URL, such as https://mcp.example.test, and CHUMBO_TOKEN")
	}
	if token == "" {
		return settings{}, usage("no token: set CHUMBO_TOKEN to an API token of the server (it starts with cht_)")
	}
	if err := tenants.RefuseSecret("CHUMBO_TOKEN", token); err != nil {
		return settings{}, publicError(err)
	}
	if !strings.HasPrefix(token, "cht_") {
		return settings{}, usage("CHUMBO_TOKEN is not an API token: it starts with cht_")
	}
	server, err := s.serverURL(address)
	if err != nil {
		return settings{}, err
	}
	return settings{server: server, token: seal.NewSecret(token)}, nil
}

func (s *session) serverURL(address string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSuffix(address, "/"))
	if err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") {
		return nil, usage("CHUMBO_URL is not a server's address: write it as https://mcp.example.test")
	}
	if u.User != nil || u.Path != "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, usage("CHUMBO_URL is the server's address alone, without a path: https://%s", u.Host)
	}
	if u.Scheme == "http" && !loopback(u.Hostname()) && !s.insecure {
		return nil, usage("CHUMBO_URL is plain http, and the token would be readable on the way: use https, or --insecure on a network you trust")
	}
	return u, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || (ip != nil && ip.IsLoopback())
}

// configFile reads url and token from ~/.config/chumbo/config (TOML). A file
// that others may read is refused. No file is no error.
func (s *session) configFile() (address, token string, err error) {
	dir := s.env.Getenv("XDG_CONFIG_HOME")
	if dir == "" {
		if s.env.Home == "" {
			return "", "", nil
		}
		dir = filepath.Join(s.env.Home, ".config")
	}
	path := filepath.Join(dir, "chumbo", "config")
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", "", nil
	}
	if err != nil {
		return "", "", fmt.Errorf("read %s: %w", path, err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return "", "", usage("%s holds a token and others may read it: run chmod 600 on it", path)
	}
	var file struct {
		URL   string `toml:"url"`
		Token string `toml:"token"`
	}
	if _, err := toml.DecodeFile(path, &file); err != nil {
		return "", "", usage("%s is not valid TOML: it holds url = \"…\" and token = \"…\"", path) // the cause would quote the token's line
	}
	return file.URL, file.Token, nil
}
