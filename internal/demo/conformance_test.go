package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"
)

const expectedFailures = "testdata/conformance-expected-failures.yml"

// suite runs the official conformance suite against the demo's conformance
// surface and returns what it printed and whether it was content.
func suite(t *testing.T, args ...string) (output string, err error) {
	t.Helper()
	node := nodeProgram(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	args = append([]string{"node_modules/@modelcontextprotocol/conformance/dist/index.js", "server", "--url", running.ConformanceURL}, args...)
	cmd := exec.CommandContext(ctx, node, args...)
	cmd.Dir = nodeFolder
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// required are the scenarios that a revision of the protocol asks of servers, as
// the suite lists them.
func required(t *testing.T, revision string) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), nodeProgram(t), "node_modules/@modelcontextprotocol/conformance/dist/index.js", "list", "--server", "--requirements", revision)
	cmd.Dir = nodeFolder
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	servers, _, _ := strings.Cut(string(out), "\n\nClient scenarios")
	servers, _, _ = strings.Cut(servers, "\n\nRun and reported")
	var names []string
	for line := range strings.SplitSeq(servers, "\n") {
		if name, ok := strings.CutPrefix(line, "  - "); ok {
			names = append(names, name)
		}
	}
	return names
}

// check is one check of a scenario, as the suite writes it down.
type check struct {
	ID      string `json:"id"`
	Status  string `json:"status"`
	Message string `json:"errorMessage"`
}

// checksOf reads the checks of every scenario below the folder.
func checksOf(t *testing.T, folder string, names []string) map[string][]check {
	t.Helper()
	all := map[string][]check{}
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "checks.json" {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var checks []check
		if err := json.Unmarshal(data, &checks); err != nil {
			return err
		}
		// The folder is named after the scenario, with what tells runs apart.
		of := ""
		for _, name := range names {
			if strings.Contains(filepath.Base(filepath.Dir(path)), name) && len(name) > len(of) {
				of = name
			}
		}
		all[of] = append(all[of], checks...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// unclean lists what a scenario's checks have against a clean pass: failures and
// warnings, and that nothing was checked at all.
func unclean(checks []check) []string {
	var bad []string
	passed := 0
	for _, c := range checks {
		switch c.Status {
		case "SUCCESS":
			passed++
		case "FAILURE", "WARNING":
			bad = append(bad, fmt.Sprintf("%s %s: %s", c.Status, c.ID, c.Message))
		}
	}
	if passed == 0 && len(bad) == 0 {
		bad = append(bad, "nothing was checked")
	}
	return bad
}

// TestConformance holds the demo's conformance surface against the official
// suite: all that 2026-07-28 requires, and all that 2025-11-25 requires but what
// the file of expected failures names.
func TestConformance(t *testing.T) {
	t.Parallel()
	allowed := failuresExpected(t)
	for _, revision := range []struct {
		name      string
		scenarios int
		allowed   map[string]bool
	}{{"2026-07-28", 37, nil}, {"2025-11-25", 30, allowed}} {
		// One after the other: publishing in the middle of a scenario that asks
		// would void its state.
		t.Run(revision.name, func(t *testing.T) {
			names, folder := required(t, revision.name), t.TempDir()
			if len(names) != revision.scenarios {
				t.Errorf("the suite requires %d scenarios, want %d: %v", len(names), revision.scenarios, names)
			}
			args := []string{"--requirements", revision.name, "--output-dir", folder}
			if revision.allowed != nil {
				path, err := filepath.Abs(expectedFailures)
				if err != nil {
					t.Fatal(err)
				}
				args = append(args, "--expected-failures", path)
			}
			out, err := suite(t, args...)
			if err != nil {
				t.Errorf("the suite: %v\n%s", err, tail(out))
			}
			checks := checksOf(t, folder, names)
			for _, name := range names {
				bad := unclean(checks[name])
				if failed := len(bad) > 0; failed != revision.allowed[name] {
					t.Errorf("%s: failed %t, expected to fail %t: %s", name, failed, revision.allowed[name], strings.Join(bad, "; "))
				}
			}
		})
	}
	// Not required, and passed all the same.
	for _, name := range []string{"http-header-validation", "http-custom-header-server-validation", "json-schema-2020-12"} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			out, err := suite(t, "--scenario", name, "--spec-version", "2026-07-28", "--output-dir", folder)
			if err != nil {
				t.Errorf("the suite: %v\n%s", err, tail(out))
			}
			if bad := unclean(checksOf(t, folder, []string{name})[name]); len(bad) > 0 {
				t.Error(strings.Join(bad, "; "))
			}
		})
	}
}

func tail(out string) string { return out[max(0, len(out)-4000):] }

// failuresExpected reads the file of expected failures: each entry has its
// reason beside it.
func failuresExpected(t *testing.T) map[string]bool {
	t.Helper()
	data, err := os.ReadFile(expectedFailures)
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Server []string `yaml:"server"`
	}
	if err := yaml.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	allowed := map[string]bool{}
	for _, name := range file.Server {
		allowed[name] = true
		at := strings.Index(string(data), "- "+name)
		before := strings.TrimSpace(string(data[:max(0, at)]))
		if line := before[strings.LastIndexByte(before, '\n')+1:]; !strings.HasPrefix(strings.TrimSpace(line), "#") {
			t.Errorf("%s has no reason above it", name)
		}
	}
	want := []string{"elicitation-sep1034-defaults", "elicitation-sep1330-enums", "server-sse-multiple-streams", "tools-call-elicitation", "tools-call-sampling"}
	slices.Sort(file.Server)
	if !slices.Equal(file.Server, want) {
		t.Errorf("expected failures %v, want exactly %v", file.Server, want)
	}
	return allowed
}
