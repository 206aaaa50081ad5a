package cli

import (
	"bufio"
	"net"
	"net/url"
	"strings"

	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// session is one run of the command: where it runs and what its global flags
// say.
type session struct {
	env      Environment
	printer  *printer
	insecure bool
	answers  *bufio.Reader // of env.In, from the first question on
}

// settings is where the server is and who we are to it.
type settings struct {
	server  *url.URL
	token   seal.Secret
	fromEnv bool // CHUMBO_URL said which server
}

const tokenPrefix = "cht_"

// settings reads CHUMBO_URL and CHUMBO_TOKEN, or what chumbo login kept. A
// token goes only to the server it was given for: the one of the variable to
// that of the other variable, a kept one to its own. A repository's files have
// no say.
func (s *session) settings() (settings, error) {
	address, token := s.env.Getenv("CHUMBO_URL"), s.env.Getenv("CHUMBO_TOKEN")
	if err := refuseSecrets(field{"CHUMBO_URL", address}, field{"CHUMBO_TOKEN", token}); err != nil {
		return settings{}, err
	}
	fromEnv := address != ""
	if token == "" {
		kept, err := s.keptAccount(address)
		if err != nil {
			return settings{}, err
		}
		address, token = first(kept.URL, address), kept.Token
	}
	if address == "" {
		return settings{}, usage("no server: run chumbo login --server https://mcp.example.test, or set CHUMBO_URL and CHUMBO_TOKEN")
	}
	server, err := s.serverURL("CHUMBO_URL", address)
	if err != nil {
		return settings{}, err
	}
	if token == "" {
		return settings{}, usage("not signed in at %s: run chumbo login --server %s, or set CHUMBO_TOKEN to an API token of it (it starts with cht_)", server, server)
	}
	if !strings.HasPrefix(token, tokenPrefix) {
		return settings{}, usage("CHUMBO_TOKEN is not an API token: it starts with cht_")
	}
	return settings{server: server, token: seal.NewSecret(token), fromEnv: fromEnv}, nil
}

// keptAccount is what chumbo login kept for the server at address, or for the
// last one signed in to where address is empty.
func (s *session) keptAccount(address string) (account, error) {
	kept, err := s.readAccounts()
	if err != nil || address == "" {
		return kept.account, err
	}
	server, err := s.serverURL("CHUMBO_URL", address)
	if err != nil {
		return account{}, err
	}
	found, _ := kept.at(server.String())
	return found, nil
}

// serverURL reads a server's address; name says where it was given.
func (s *session) serverURL(name, address string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSuffix(address, "/"))
	if err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") {
		return nil, usage("%s is not a server's address: write it as https://mcp.example.test", name)
	}
	if u.User != nil || u.Path != "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, usage("%s is the server's address alone, without a path: https://%s", name, u.Host)
	}
	if u.Scheme == "http" && !loopback(u.Hostname()) && !s.insecure {
		return nil, usage("%s is plain http, and the token would be readable on the way: use https, or --insecure on a network you trust", name)
	}
	u.Host = strings.ToLower(u.Host)
	return u, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || (ip != nil && ip.IsLoopback())
}

// field is one thing that may be sent or shown, and where it came from.
type field struct{ name, value string }

// refuseSecrets refuses the first field that holds a secret key.
func refuseSecrets(fields ...field) error {
	for _, f := range fields {
		if err := tenants.RefuseSecret(f.name, f.value); err != nil {
			return publicError(err)
		}
	}
	return nil
}
