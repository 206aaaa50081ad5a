package web

import (
	"strings"
	"testing"
)

// TestField57_ThePreviewSaysWhichToolIsLeftOut, and shows the others as ever.
func TestField57_ThePreviewSaysWhichToolIsLeftOut(t *testing.T) {
	t.Parallel()
	tools := toolsOf(3)
	tools[1].LeftOut = true
	text := render(t, SurfacePreviewFragment(SurfacePreview{Checked: true, Tools: tools}))
	const note = "This tool could not be served"
	_, after, _ := strings.Cut(text, `data-tool="table_001_list"`)
	of, rest, _ := strings.Cut(after, `data-tool="table_002_list"`)
	if strings.Count(text, note) != 1 || !strings.Contains(of, note) || rest == "" {
		t.Errorf("fragment: %.400s", text)
	}
}
