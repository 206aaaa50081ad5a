package app

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"os"
	"reflect"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"

	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// Config is everything an operator can set, read once at start from CHUMBO_*
// environment variables. docs/self-hosting.md lists them; a test keeps it so.
type Config struct {
	PublicURL     string `env:"CHUMBO_PUBLIC_URL" envDefault:"http://localhost:8080"` // scheme://host[:port], no path
	Listen        string `env:"CHUMBO_LISTEN" envDefault:"127.0.0.1:8080"`            // address to listen on
	SurfaceDomain string `env:"CHUMBO_SURFACE_DOMAIN"`                                // with it, surfaces live at {project}.{domain}
	PagesURL      string `env:"CHUMBO_PAGES_URL"`                                     // where end users sign in, at /connect/; CHUMBO_PUBLIC_URL when empty

	DatabaseURL        seal.Secret `env:"CHUMBO_DATABASE_URL"`         // login role chumbo_server
	RiverDatabaseURL   seal.Secret `env:"CHUMBO_RIVER_DATABASE_URL"`   // login role chumbo_river; worker only
	MigrateDatabaseURL seal.Secret `env:"CHUMBO_MIGRATE_DATABASE_URL"` // may create roles; `server migrate` only
	MasterKey          seal.Secret `env:"CHUMBO_MASTER_KEY"`           // see seal.ParseKeyset

	SetupCode seal.Secret `env:"CHUMBO_SETUP_CODE"` // what the first owner types; a new one is printed at each start without it

	TrustedProxies    []netip.Prefix `env:"CHUMBO_TRUSTED_PROXIES"` // peers whose X-Forwarded-* headers count
	RequireOwnership  bool           `env:"CHUMBO_REQUIRE_OWNERSHIP" envDefault:"true"`
	AllowSplitIssuer  bool           `env:"CHUMBO_ALLOW_SPLIT_ISSUER"`  // self-host: issuer and API on different origins
	AllowPrivateHosts bool           `env:"CHUMBO_ALLOW_PRIVATE_HOSTS"` // self-host: projects on private or loopback addresses, over http, on any port

	CacheBytes          int64         `env:"CHUMBO_CACHE_BYTES" envDefault:"134217728"`     // compiled revisions kept in memory
	StaleMax            time.Duration `env:"CHUMBO_STALE_MAX" envDefault:"60s"`             // how long known surfaces serve without the database
	InvocationRetention time.Duration `env:"CHUMBO_INVOCATION_RETENTION" envDefault:"720h"` // how long invocations are kept

	LogLevel slog.Level `env:"CHUMBO_LOG_LEVEL" envDefault:"INFO"`
}

const (
	envPrefix     = "CHUMBO_"
	envTestPrefix = "CHUMBO_TEST_"
	fileSuffix    = "_FILE"
)

// LoadConfig reads the configuration from an environment as os.Environ gives
// it. Any secret NAME may also come as NAME_FILE, the path of a file that
// holds it. Every problem is reported at once.
func LoadConfig(environ []string) (Config, error) {
	vars := env.ToMap(environ)
	known, err := knownVariables()
	if err != nil {
		return Config{}, err
	}
	problems := readSecretFiles(vars, known)
	problems = append(problems, refuseUnknown(vars, known)...)
	var c Config
	if err := env.ParseWithOptions(&c, env.Options{Environment: vars}); err != nil {
		problems = append(problems, fmt.Errorf("read configuration: %w", redactParse(err)))
	}
	problems = append(problems, c.validate()...)
	return c, errors.Join(problems...)
}

// knownVariables maps every variable's name to whether it is a secret.
func knownVariables() (map[string]bool, error) {
	fields, err := env.GetFieldParams(&Config{})
	if err != nil {
		return nil, fmt.Errorf("list configuration: %w", err)
	}
	known := map[string]bool{}
	for _, f := range fields {
		known[f.Key] = slices.Contains(secretVariables, f.Key)
	}
	return known, nil
}

var secretVariables = []string{"CHUMBO_DATABASE_URL", "CHUMBO_RIVER_DATABASE_URL", "CHUMBO_MIGRATE_DATABASE_URL", "CHUMBO_MASTER_KEY", "CHUMBO_SETUP_CODE"}

func readSecretFiles(vars map[string]string, known map[string]bool) []error {
	var problems []error
	for name, secret := range known {
		path, set := vars[name+fileSuffix]
		if !secret || !set {
			continue
		}
		if _, both := vars[name]; both {
			problems = append(problems, fmt.Errorf("%s and %s are both set: keep one", name, name+fileSuffix))
			continue
		}
		b, err := os.ReadFile(path) //nolint:gosec // the operator names the file
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", name+fileSuffix, err))
			continue
		}
		vars[name] = strings.TrimSpace(string(b))
		delete(vars, name+fileSuffix)
	}
	return problems
}

func refuseUnknown(vars map[string]string, known map[string]bool) []error {
	var unknown []string
	for name := range vars {
		_, ok := known[name]
		base, isFile := strings.CutSuffix(name, fileSuffix)
		ok = ok || isFile && known[base]
		ok = ok || name == "CHUMBO_URL" || name == "CHUMBO_TOKEN" // the CLI's, often in the same shell
		if strings.HasPrefix(name, envPrefix) && !strings.HasPrefix(name, envTestPrefix) && !ok {
			unknown = append(unknown, name)
		}
	}
	sort.Strings(unknown)
	problems := make([]error, 0, len(unknown))
	for _, name := range unknown {
		if near := surfaces.Nearest(name, slices.Collect(maps.Keys(known))); near != "" {
			problems = append(problems, fmt.Errorf("%s is not a setting: did you mean %s?", name, near))
			continue
		}
		problems = append(problems, fmt.Errorf("%s is not a setting: docs/self-hosting.md lists them", name))
	}
	return problems
}

func (c *Config) validate() []error {
	var problems []error
	if err := checkOrigin(c.PublicURL); err != nil {
		problems = append(problems, fmt.Errorf("CHUMBO_PUBLIC_URL %w", err))
	}
	c.PublicURL = strings.ToLower(strings.TrimSuffix(c.PublicURL, "/"))
	if c.PagesURL != "" {
		if err := checkOrigin(c.PagesURL); err != nil {
			problems = append(problems, fmt.Errorf("CHUMBO_PAGES_URL %w", err))
		}
	}
	if c.PagesURL = strings.ToLower(strings.TrimSuffix(c.PagesURL, "/")); c.PagesURL == "" {
		c.PagesURL = c.PublicURL
	}
	c.SurfaceDomain = strings.ToLower(c.SurfaceDomain)
	if strings.ContainsAny(c.SurfaceDomain, "/: ") {
		problems = append(problems, errors.New("CHUMBO_SURFACE_DOMAIN must be a host name alone, such as mcp.example.com"))
	}
	if c.CacheBytes < 1<<20 {
		problems = append(problems, errors.New("CHUMBO_CACHE_BYTES must be at least 1048576 (1 MiB)"))
	}
	if c.StaleMax < 0 {
		problems = append(problems, errors.New("CHUMBO_STALE_MAX must not be negative; 0 means never serve without the database"))
	}
	if c.InvocationRetention < time.Hour {
		problems = append(problems, errors.New("CHUMBO_INVOCATION_RETENTION must be at least 1h"))
	}
	return problems
}

// requireSecrets reports which of the named settings a command lacks.
func requireSecrets(settings map[string]seal.Secret) error {
	var missing []string
	for name, value := range settings {
		if value.IsZero() {
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	sort.Strings(missing)
	return fmt.Errorf("set %s (or the same with _FILE); docs/self-hosting.md shows how", strings.Join(missing, " and "))
}

func checkOrigin(s string) error {
	u, err := url.Parse(strings.TrimSuffix(s, "/"))
	if err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") {
		return fmt.Errorf("must be http(s)://host[:port]")
	}
	if u.Path != "" || u.RawQuery != "" || u.ForceQuery || strings.Contains(s, "#") || u.User != nil {
		return fmt.Errorf("must have no path, query or user: surfaces get their own paths below it")
	}
	if port, err := strconv.Atoi(u.Port()); strings.HasSuffix(u.Host, ":") || u.Port() != "" && (err != nil || port < 1 || port > 65535) {
		return fmt.Errorf("must name a port from 1 to 65535, or none")
	}
	if strings.ContainsFunc(u.Hostname(), notHostRune) {
		return fmt.Errorf("must have a host of ASCII letters, digits, dots and hyphens (other letters in their xn-- form, as browsers send them)")
	}
	if u.Scheme == "http" && u.Port() == "80" || u.Scheme == "https" && u.Port() == "443" {
		return fmt.Errorf("must not name the default port: clients compare it byte for byte")
	}
	return nil
}

func notHostRune(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune(".-:", r)
}

// Loopback reports whether the public URL is on this machine only.
func (c *Config) Loopback() bool {
	u, err := url.Parse(c.PublicURL)
	if err != nil {
		return false
	}
	host := u.Hostname()
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// redactParse keeps a parser's complaint from quoting a value.
func redactParse(err error) error {
	var agg env.AggregateError
	if !errors.As(err, &agg) {
		return err
	}
	var out []error
	for _, e := range agg.Errors {
		var parse env.ParseError
		if errors.As(e, &parse) {
			out = append(out, fmt.Errorf("%s has a value that is not a %s", variableOf(parse.Name), parse.Type))
			continue
		}
		out = append(out, e)
	}
	return errors.Join(out...)
}

// variableOf is the environment variable of a field of Config.
func variableOf(field string) string {
	f, ok := reflect.TypeFor[Config]().FieldByName(field)
	if !ok {
		return field
	}
	return f.Tag.Get("env")
}
