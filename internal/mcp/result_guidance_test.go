package mcp

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// TestGuidanceIsNeverAroundAnError: an error is JSON as it stands, whatever
// the tool says around its results.
func TestGuidanceIsNeverAroundAnError(t *testing.T) {
	t.Parallel()
	guided := surfaces.Guidance{Before: "Told before.", After: "Told after."}
	tools := map[string]struct {
		tool      *surfaces.Tool
		arguments string
	}{"list": {listTool(), `{}`}, "get": {getTool(), `{"id":"1"}`}}
	for name, k := range everyWrite {
		tools[name] = struct {
			tool      *surfaces.Tool
			arguments string
		}{k.tool(), k.arguments}
	}
	for name, k := range tools {
		for _, form := range []surfaces.ResultForm{surfaces.ResultHybrid, surfaces.ResultStructured, surfaces.ResultText} {
			k.tool.Result, k.tool.Guidance, k.tool.Template = form, guided, "x"
			refused := &supabase.Error{Status: 403, Code: "42501"}
			p := ending(supabase.Answer{}, refused)
			p.onSelect = func(supabase.Select) (string, error) { return "", refused }
			got := runTool(t, newTestRunner(t, p), runCall(), k.tool, k.arguments)
			if !got.isError || got.kind() != "forbidden" || !json.Valid([]byte(got.text)) || strings.Contains(got.text, "Told") || got.structured != nil {
				t.Errorf("%s as %s: %s", name, form, got.text)
			}
		}
	}
}
