package mcp

import (
	"net/http"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

func TestAGuardWithoutAValueBeginsAtOne(t *testing.T) {
	t.Parallel()
	tool := updateTool()
	version := versionColumn
	version.Nullable = true
	tool.Update.Guard = &surfaces.Guard{Column: version, Argument: "version", Bump: surfaces.BumpIncrement}
	p := ending(supabase.Answer{Status: http.StatusOK, Body: []byte(`{"id":"1","name":"x","status":null}`)}, nil)
	if got := runTool(t, newTestRunner(t, p), runCall(), tool, `{"id":"1","version":null,"patch":{"name":"x"}}`); got.isError {
		t.Fatal(got.text)
	}
	q := p.changes[0].change
	if string(q.Patch) != `{"name":"x","version":1}` || len(q.Where) != 2 || q.Where[1].Operator != "is" || q.Where[1].Value != "null" {
		t.Errorf("%s %+v", q.Patch, q.Where)
	}
}
