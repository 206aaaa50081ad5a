package mcp

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

func TestPreviewIsWhatToolsListAnswers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var compiled *surfaces.Compiled
	ep := b.surface("acme", func(_ *tenants.Endpoint, c *surfaces.Compiled) {
		hostile := testTool("hostile")
		hostile.Title, hostile.Description = `<script>alert("1")</script>`, "a\u202eb & c"
		hostile.Annotations = surfaces.Annotations{Destructive: true, OpenWorld: true}
		hostile.Output = nil
		c.Tools = append(c.Tools, hostile)
		compiled = c
	})
	b.caller(ep, "alice", "alice")
	var answer struct {
		Result struct{ Tools []json.RawMessage }
	}
	if err := json.Unmarshal([]byte(bodyOf(t, b.send(modern("tools/list", "", "").as("alice")))), &answer); err != nil {
		t.Fatal(err)
	}
	preview := PreviewOf(compiled).Tools
	if len(preview) != 3 || len(answer.Result.Tools) != 3 {
		t.Fatalf("%d in the preview, %d listed", len(preview), len(answer.Result.Tools))
	}
	for i, listed := range answer.Result.Tools {
		var mine, theirs map[string]any // how characters are escaped may differ
		if err := errors.Join(json.Unmarshal(preview[i], &mine), json.Unmarshal(listed, &theirs)); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(mine, theirs) {
			t.Errorf("preview %s\nlisted  %s", preview[i], listed)
		}
	}
}

func TestPreviewLeavesOutWhatServingLeavesOut(t *testing.T) {
	t.Parallel()
	broken := testTool("broken")
	broken.Input = json.RawMessage(`{"type":"nonsense"}`)
	list := PreviewOf(&surfaces.Compiled{Tools: []surfaces.Tool{broken, testTool("whole")}}).Tools
	if len(list) != 2 || list[0] != nil || list[1] == nil {
		t.Errorf("preview: %s", list)
	}
}
