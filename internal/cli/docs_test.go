package cli

import (
	"os"
	"strings"
	"testing"
)

func TestEveryCommandAndFlagIsInTheReference(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(b)
	for _, command := range newRoot(Environment{}, &printer{}).Commands() {
		heading := "\n### chumbo " + command.Use + "\n"
		_, section, found := strings.Cut(page, heading)
		if !found {
			t.Errorf("docs/cli.md has no heading %q", strings.TrimSpace(heading))
			continue
		}
		section, _, _ = strings.Cut(section, "\n### ")
		names := flagNames(command)
		for _, part := range command.Commands() {
			names = append(names, flagNames(part)...)
			if !strings.Contains(section, "`"+part.Name()+"`") && !strings.Contains(section, command.Name()+" "+part.Name()) {
				t.Errorf("docs/cli.md does not describe chumbo %s %s", command.Name(), part.Name())
			}
		}
		for _, name := range names {
			if name != "json" && name != "insecure" && !strings.Contains(section, "--"+name) {
				t.Errorf("docs/cli.md does not describe --%s of chumbo %s", name, command.Name())
			}
		}
	}
}
