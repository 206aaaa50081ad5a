package events_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/events"
)

// pageOnly are codes of package bridge that are told on a page of its own and
// never part of an attempt to connect: builders' settings, Connected apps,
// visits.
var pageOnly = []string{
	"project_not_found", "sign_in_settings_invalid", "unknown_surface", "unknown_grant", "grant_over", "too_many_tokens", "lifetime_invalid", "name_invalid",
	"no_authorization_server", "method_not_allowed",
}

var codeShaped = regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`)

// codesOf are the codes that a package's source can give a step: those of its
// errors, and those it names itself.
func codesOf(t *testing.T, folder string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no source in %s: %v", folder, err)
	}
	codes, set := map[string]string{}, token.NewFileSet()
	add := func(e ast.Expr) {
		lit, ok := e.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return
		}
		if text, err := strconv.Unquote(lit.Value); err == nil && codeShaped.MatchString(text) {
			codes[text] = set.Position(lit.Pos()).String()
		}
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(set, file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				switch name := called(n); {
				case name == "fault.New" && len(n.Args) > 1:
					add(n.Args[1])
				case name == "fault.Wrap" && len(n.Args) > 2:
					add(n.Args[2])
				case strings.HasSuffix(name, ".because") && len(n.Args) == 1:
					add(n.Args[0])
				}
			case *ast.KeyValueExpr:
				if key, ok := n.Key.(*ast.Ident); ok && slices.Contains([]string{"code", "Code"}, key.Name) {
					add(n.Value)
				}
			case *ast.ValueSpec: // why a grant ended
				for i, name := range n.Names {
					if i < len(n.Values) && strings.HasPrefix(name.Name, "revoked") {
						add(n.Values[i])
					}
				}
			}
			return true
		})
	}
	return codes
}

// called is the name of a called function, as far as it is of interest.
func called(n *ast.CallExpr) string {
	sel, ok := n.Fun.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	if x, ok := sel.X.(*ast.Ident); ok {
		return x.Name + "." + sel.Sel.Name
	}
	return "." + sel.Sel.Name
}

// TestEveryCodeOfTheBridgeHasWords: a builder is never left with a bare code.
func TestEveryCodeOfTheBridgeHasWords(t *testing.T) {
	t.Parallel()
	codes := codesOf(t, "../oauth/bridge")
	if len(codes) < 30 {
		t.Fatalf("only %d codes were found: %v", len(codes), codes)
	}
	for code, where := range codes {
		if !events.HasWords(code) && !slices.Contains(pageOnly, code) {
			t.Errorf("%s has no words (%s)", code, where)
		}
	}
	for _, code := range pageOnly {
		if _, used := codes[code]; !used {
			t.Errorf("%s is nowhere in package bridge", code)
		}
	}
}

// TestNoWordsAreForCodesThatNobodyRecords: the table says what may happen.
func TestNoWordsAreForCodesThatNobodyRecords(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../oauth/bridge/*.go")
	if err != nil {
		t.Fatal(err)
	}
	var source strings.Builder
	for _, file := range files {
		if b, err := os.ReadFile(file); err == nil && !strings.HasSuffix(file, "_test.go") {
			source.Write(b)
		}
	}
	kinds := []string{"internal", "unavailable", "timeout", "rate_limited"} // of errors without a code
	for _, code := range events.CodesWithWords() {
		if !slices.Contains(kinds, code) && !strings.Contains(source.String(), `"`+code+`"`) {
			t.Errorf("%s is nowhere in package bridge", code)
		}
	}
}

// TestEveryEndOfAGrantHasWords reads the ends from the table they are stored
// in.
func TestEveryEndOfAGrantHasWords(t *testing.T) {
	t.Parallel()
	migration, err := os.ReadFile("../../db/migrations/00006_bridge.sql")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`revoked_why .*-- (.*)`).FindSubmatch(migration)
	if found == nil {
		t.Fatal("the migration does not list why a grant ends")
	}
	ends := strings.Split(string(found[1]), ", ")
	for _, end := range ends {
		if why, _ := events.Words(events.StepEnded, end); !events.HasWords(end) || why == "" {
			t.Errorf("%s has no words", end)
		}
	}
	if len(ends) < 7 {
		t.Errorf("only %v", ends)
	}
}

// TestWordsAreSentences: outcome first, then the next step.
func TestWordsAreSentences(t *testing.T) {
	t.Parallel()
	for _, kind := range []events.StepKind{
		events.StepChallenge, events.StepMetadata, events.StepRegistration, events.StepAuthorize, events.StepSignIn, events.StepConsent,
		events.StepToken, events.StepFirstCall, events.StepRefresh, events.StepEnded,
	} {
		for code := range codesOf(t, "../oauth/bridge") {
			why, do := events.Words(kind, code)
			if !strings.HasSuffix(why, ".") || do != "" && !strings.HasSuffix(do, ".") {
				t.Errorf("%s %s: %q, %q", kind, code, why, do)
			}
		}
		if why, do := events.Words(kind, "never_heard_of"); why == "" || do == "" {
			t.Errorf("%s has no words for a code of its own", kind)
		}
	}
}
