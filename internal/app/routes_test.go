package app

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// TestEveryFirstSegmentOfOurOwnIsReserved: no project may take a name that
// would hide one of our routes. Every path literal of routes.go counts.
func TestEveryFirstSegmentOfOurOwnIsReserved(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "routes.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	segments := slices.Clone(ownSegments)
	ast.Inspect(file, func(n ast.Node) bool {
		if _, isImport := n.(*ast.ImportSpec); isImport {
			return false
		}
		literal, ok := n.(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			return true
		}
		_, path, found := strings.Cut(strings.Trim(literal.Value, `"`), "/")
		if first, _, _ := strings.Cut(path, "/"); found && first != "" && !strings.ContainsAny(first, " .:;") {
			segments = append(segments, first)
		}
		return true
	})
	if len(segments) < 6 {
		t.Fatalf("routes.go names only %v", segments)
	}
	for _, segment := range segments {
		if !slices.Contains(tenants.ReservedProjectNames(), segment) {
			t.Errorf("%q is a route of ours and not a reserved project name", segment)
		}
	}
}
