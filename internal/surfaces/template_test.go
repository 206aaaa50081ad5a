package surfaces

import "testing"

func TestTemplatesUseOnlyNamesThatResultsHave(t *testing.T) {
	t.Parallel()
	columns := []Column{{Name: "id"}, {Name: "name"}, {Name: "secret", Hidden: true}}
	list, row, open := listTemplateNames(columns), rowTemplateNames(columns), templateNames{open: true}
	embeds := []embedded{
		{plan: Embed{Name: "team", Columns: []Column{{Name: "id"}, {Name: "title"}}}},
		{plan: Embed{Name: "notes", Many: true, Columns: []Column{{Name: "body"}}}},
	}
	embeddedList, embeddedRow := listTemplateNames(columns, embeds...), rowTemplateNames(columns, embeds...)
	for _, c := range []struct {
		template string
		allowed  templateNames
		words    string // of the problem; empty when it is fine
	}{
		{"no tags at all", row, ""},
		{"{{name}} { x } }} {{ id }}", row, ""},
		{"{{#items}}{{name}}\n{{/items}}{{has_more}} {{next_cursor}}", list, ""},
		{"{{anything}}{{#items}}{{x}}{{/items}}", open, ""},
		{"{{nam}}", row, `did you mean "name"?`},
		{"{{secret}}", row, "unknown name"},
		{"{{name}}", list, "write it inside {{#items}}"},
		{"{{#items}}{{has_more}}{{/items}}", list, "unknown name"},
		{"{{#items}}{{name}}", list, "never closes"},
		{"{{#items}}{{#items}}{{/items}}{{/items}}", list, "only one level"},
		{"{{/items}}", list, "only one level"},
		{"{{#rows}}{{/rows}}", list, "only one level"},
		{"{{#items}}{{/items}}", row, "has no items"},
		{"{{team}} {{#team}}{{title}}{{/team}} {{#notes}}{{truncated}}{{#items}}{{body}}{{/items}}{{/notes}}", embeddedRow, ""},
		{"{{#items}}{{name}}{{# team }}{{title}}{{/ team }}{{#notes}}{{#items}}{{body}}{{/items}}{{/notes}}{{/items}}{{has_more}}", embeddedList, ""},
		{"{{#team}}{{title}}{{/team}}", embeddedList, "only one level"},
		{"{{#items}}{{#team}}{{name}}{{/team}}{{/items}}", embeddedList, `unknown name "name"`},
		{"{{#items}}{{#notes}}{{body}}{{/notes}}{{/items}}", embeddedList, "write it inside {{#items}}"},
		{"{{#items}}{{#notes}}{{#items}}{{#team}}{{/team}}{{/items}}{{/notes}}{{/items}}", embeddedList, "not possible"},
		{"{{#items}}{{#team}}{{title}}{{/items}}{{/team}}", embeddedList, "not possible"},
		{"{{#team}}{{title}}", embeddedRow, "never closes it with {{/team}}"},
		{"{{#items}}{{name}}{{/items}}", embeddedRow, "not possible"},
		{"{{name", row, "{{ without }}"},
		{"{{}}", open, "not a name"},
		{"{{{name}}}", open, "not a name"},
	} {
		var r report
		r.checkTemplate(Text{Value: c.template, at: place{line: 1, column: 1}}, c.allowed)
		if c.words == "" && len(r.problems) > 0 {
			t.Errorf("%s: %v", c.template, r.problems)
		}
		if c.words != "" && !mentions(r.problems, 1, c.words) {
			t.Errorf("%s: %v, want %q", c.template, r.problems, c.words)
		}
	}
}
