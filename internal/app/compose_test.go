package app

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/chumbo-dev/chumbo/internal/seal"
)

type composeFile struct {
	Services map[string]struct {
		Image       string                       `yaml:"image"`
		Build       string                       `yaml:"build"`
		Entrypoint  []string                     `yaml:"entrypoint"`
		Command     []string                     `yaml:"command"`
		Environment map[string]string            `yaml:"environment"`
		DependsOn   map[string]map[string]string `yaml:"depends_on"`
		Ports       []string                     `yaml:"ports"`
	} `yaml:"services"`
	Volumes map[string]any `yaml:"volumes"`
}

func readText(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

var composeVariable = regexp.MustCompile(`\$\{([A-Z_]+)(?::([-?])([^}]*))?\}`)

// interpolate fills in ${NAME}, ${NAME:-default} and ${NAME:?message} as
// docker compose does.
func interpolate(t *testing.T, text string, env map[string]string) string {
	return composeVariable.ReplaceAllStringFunc(text, func(found string) string {
		part := composeVariable.FindStringSubmatch(found)
		value := env[part[1]]
		if value == "" && part[2] == "-" {
			return part[3]
		}
		if value == "" {
			t.Errorf("%s has no value", part[1])
		}
		return value
	})
}

// dotenv reads the assignments of .env.example, with values for those a person
// must fill in.
func dotenv(t *testing.T) map[string]string {
	t.Helper()
	env := map[string]string{}
	for line := range strings.Lines(readText(t, "../../.env.example")) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok || strings.Contains(value, "#") {
			t.Errorf(".env.example: %q is no plain assignment", line)
		}
		env[name] = value
	}
	return env
}

// TestComposeFileStartsWhatThereIs: every setting reaches server and worker
// under its right name and is accepted, and every program exists.
func TestComposeFileStartsWhatThereIs(t *testing.T) {
	t.Parallel()
	env := dotenv(t)
	for name, value := range map[string]string{
		"POSTGRES_PASSWORD": "p1", "CHUMBO_SERVER_PASSWORD": "p2", "CHUMBO_RIVER_PASSWORD": "p3", "CHUMBO_MASTER_KEY": seal.GenerateKey().Reveal(),
	} {
		if empty, there := env[name]; !there || empty != "" {
			t.Errorf(".env.example does not ask for %s: %q", name, empty)
		}
		env[name] = value
	}
	var file composeFile
	if err := yaml.Unmarshal([]byte(interpolate(t, readText(t, "../../docker-compose.yml"), env)), &file); err != nil {
		t.Fatal(err)
	}
	if names := slices.Sorted(maps.Keys(file.Services)); !slices.Equal(names, []string{"migrate", "postgres", "server", "worker"}) {
		t.Fatalf("services: %v", names)
	}
	known, err := knownVariables()
	if err != nil {
		t.Fatal(err)
	}
	for name, service := range file.Services {
		for other := range service.DependsOn {
			if _, ok := file.Services[other]; !ok {
				t.Errorf("%s depends on %s, which is not there", name, other)
			}
		}
		if name == "postgres" {
			continue
		}
		environ := []string{}
		for variable, value := range service.Environment {
			environ = append(environ, variable+"="+value)
		}
		cfg, err := LoadConfig(environ)
		if err != nil {
			t.Errorf("%s does not start: %v", name, err)
		}
		if cfg.Listen != "0.0.0.0:8080" || cfg.RequireOwnership != true {
			t.Errorf("%s: %+v", name, cfg)
		}
		for variable := range known {
			if _, ok := service.Environment[variable]; !ok {
				t.Errorf("%s cannot be set for %s", variable, name)
			}
		}
	}
	if after := file.Services["server"].DependsOn["migrate"]["condition"]; after != "service_completed_successfully" {
		t.Errorf("server starts when migrate is %q", after)
	}
}

// TestImageHoldsTheProgramsThatComposeRuns reads Dockerfile, docker-compose.yml
// and the commands' sources side by side.
func TestImageHoldsTheProgramsThatComposeRuns(t *testing.T) {
	t.Parallel()
	dockerfile, compose := readText(t, "../../Dockerfile"), readText(t, "../../docker-compose.yml")
	built := regexp.MustCompile(`\./cmd/([a-z]+)`).FindAllStringSubmatch(dockerfile, -1)
	programs := map[string]bool{}
	for _, b := range built {
		programs["/usr/local/bin/"+b[1]] = true
		if _, err := os.Stat("../../cmd/" + b[1] + "/main.go"); err != nil {
			t.Errorf("the image builds %s: %v", b[0], err)
		}
	}
	started := regexp.MustCompile(`(?i)entrypoint:? \["?([^"\]]+)"?\]`).FindAllStringSubmatch(dockerfile+compose, -1)
	if len(started) != 2 {
		t.Fatalf("entry points: %v", started)
	}
	for _, s := range started {
		if !programs[s[1]] {
			t.Errorf("%s is started and not in the image", s[1])
		}
	}
	if !strings.Contains(compose, "command: [migrate]") || !strings.Contains(readText(t, "../../cmd/server/run.go"), `case "migrate":`) {
		t.Error("compose runs a command that the server does not have")
	}
	goVersion := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(readText(t, "../../go.mod"))
	if !strings.Contains(dockerfile, "FROM golang:"+goVersion[1]) {
		t.Errorf("the image is not built with Go %s", goVersion[1])
	}
	for _, secret := range []string{".env", ".git"} {
		if !slices.Contains(strings.Fields(readText(t, "../../.dockerignore")), secret) {
			t.Errorf(".dockerignore lets %s into the image's build", secret)
		}
	}
}
