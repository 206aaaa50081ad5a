package mcp

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// TestNoTextHidesAnything: every character that acts on a reader unseen goes,
// from tables, fields and templates; the structure keeps the data.
func TestNoTextHidesAnything(t *testing.T) {
	t.Parallel()
	hidden := []rune{0x00, 0x07, 0x1B, 0x7F, 0x80, 0x9F, 0x061C, 0x200E, 0x200F, 0x202A, 0x202B, 0x202C, 0x202D, 0x202E, 0x2066, 0x2067, 0x2068, 0x2069, 0xE0001, 0xE0041, 0xE007F}
	for _, r := range hidden {
		name := string(appendString(nil, "a"+string(r)+"b"))
		rows := `[{"id":"1","name":` + name + `,"status":null}]`
		list, text, get := listTool(), listTool(), getTool()
		text.Result, text.Template = surfaces.ResultText, "{{#items}}{{name}} {{/items}}"
		get.Get.Columns = list.List.Columns
		for what, got := range map[string]ran{
			"a table":    runTool(t, newTestRunner(t, answering(rows)), runCall(), list, `{}`),
			"a template": runTool(t, newTestRunner(t, answering(rows)), runCall(), text, `{}`),
			"fields":     runTool(t, newTestRunner(t, answering(rows[1:len(rows)-1])), runCall(), get, `{"id":"1"}`),
		} {
			if strings.ContainsRune(got.text, r) || !strings.Contains(got.text, "ab") {
				t.Errorf("%s with U+%04X: %q", what, r, got.text)
			}
			if what != "a template" && !strings.Contains(string(got.structured), name) && !strings.Contains(string(got.structured), fmt.Sprintf(`\u%04x`, r)) {
				t.Errorf("%s with U+%04X is not the data: %q", what, r, got.structured)
			}
		}
	}
}

// TestField68_WithoutADetailToolTheOwnerIsNamed, and how to go on all the same.
func TestField68_WithoutADetailToolTheOwnerIsNamed(t *testing.T) {
	t.Parallel()
	tool := listTool()
	tool.List.DetailTool = ""
	rows := `[{"id":"7","name":"` + strings.Repeat("x", 1<<20) + `","status":null},{"id":"8","name":"b","status":null}]`
	got := runTool(t, newTestRunner(t, answering(rows)), runCall(), tool, `{}`)
	if got.kind() != kindRowTooLarge || !strings.Contains(got.text, "ask the app's owner") || !strings.Contains(got.text, `cursor \"`) || strings.Contains(got.text, "Read it with") {
		t.Errorf("%.500s", got.text)
	}
	tool.Budget = 1
	if got := runTool(t, newTestRunner(t, answering(`[]`)), runCall(), tool, `{}`); got.kind() != kindRowTooLarge || !strings.Contains(got.text, "does not even hold an empty page") {
		t.Errorf("%.500s", got.text)
	}
}
