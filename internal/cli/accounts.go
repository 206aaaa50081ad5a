package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// account is one server that chumbo login signed in to.
type account struct {
	URL          string `toml:"url"`
	Token        string `toml:"token"`
	Organization string `toml:"organization,omitempty"`
}

// accounts is ~/.config/chumbo/config: the server in use, then the others.
type accounts struct {
	account
	Others []account `toml:"server,omitempty"`
}

// at finds the account of a server.
func (a accounts) at(server string) (account, bool) {
	for _, one := range append([]account{a.account}, a.Others...) {
		if one.URL != "" && strings.TrimSuffix(one.URL, "/") == server {
			return one, true
		}
	}
	return account{}, false
}

// without leaves the account of a server out. The next one is in use then.
func (a accounts) without(server string) accounts {
	all := append([]account{a.account}, a.Others...)
	all = slices.DeleteFunc(all, func(one account) bool {
		return one.URL == "" || strings.TrimSuffix(one.URL, "/") == server
	})
	if len(all) == 0 {
		return accounts{}
	}
	return accounts{account: all[0], Others: all[1:]}
}

// with puts an account in use, in place of an earlier one of the same server.
func (a accounts) with(one account) accounts {
	rest := a.without(one.URL)
	if rest.URL == "" {
		return accounts{account: one}
	}
	return accounts{account: one, Others: append([]account{rest.account}, rest.Others...)}
}

// accountsPath is empty where there is no home directory.
func (s *session) accountsPath() string {
	dir := s.env.Getenv("XDG_CONFIG_HOME")
	if dir == "" && s.env.Home != "" {
		dir = filepath.Join(s.env.Home, ".config")
	}
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, "chumbo", "config")
}

// readAccounts reads the accounts. A file that others may read is refused. No
// file is no error.
func (s *session) readAccounts() (accounts, error) {
	path := s.accountsPath()
	if path == "" {
		return accounts{}, nil
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return accounts{}, nil
	}
	if err != nil {
		return accounts{}, fmt.Errorf("read %s: %w", path, err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return accounts{}, usage("%s holds a token and others may read it: run chmod 600 on it", path)
	}
	var kept accounts
	if _, err := toml.DecodeFile(path, &kept); err != nil {
		return accounts{}, usage("%s is not valid TOML: it holds url = \"…\" and token = \"…\"", path) // the cause would quote the token's line
	}
	return kept, nil
}

// writeAccounts replaces the file whole, for nobody else to read.
func (s *session) writeAccounts(kept accounts) error {
	path := s.accountsPath()
	if path == "" {
		return usage("no home directory to keep the token in: set HOME, or use CHUMBO_URL and CHUMBO_TOKEN")
	}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target // the link stays, for those who keep such files elsewhere
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make %s: %w", dir, err)
	}
	f, err := os.CreateTemp(dir, ".config-*") // 0600
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer func() { _ = os.Remove(f.Name()) }() // gone already when all went well
	_, err = f.WriteString("# Written by chumbo login. The first server is the one in use.\n")
	if err == nil {
		err = toml.NewEncoder(f).Encode(kept)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
