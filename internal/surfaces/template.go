package surfaces

import (
	"slices"
	"strings"
)

// templateNames are the names a template may use. items is nil where the
// result has none; open means that the result's names are not known.
type templateNames struct {
	values, items []string
	section, open bool
}

func listTemplateNames(columns []Column, embeds ...embedded) templateNames {
	return templateNames{values: []string{"has_more", "next_cursor"}, items: rowTemplateNames(columns, embeds...).values, section: true}
}

func rowTemplateNames(columns []Column, embeds ...embedded) templateNames {
	names := columnNames(columns)
	for _, e := range embeds {
		names = append(names, e.plan.Name)
	}
	return templateNames{values: names}
}

func columnNames(columns []Column) []string {
	names := make([]string, 0, len(columns))
	for _, c := range columns {
		if !c.Hidden {
			names = append(names, c.Name)
		}
	}
	return names
}

// checkTemplate refuses names that a result never has. A template is text with
// {{name}} and one level of {{#items}} … {{/items}}, nothing else.
func (r *report) checkTemplate(t Text, allowed templateNames) {
	inside := false
	rest := t.Value
	for {
		_, after, found := strings.Cut(rest, "{{")
		if !found {
			break
		}
		tag, end, closed := strings.Cut(after, "}}")
		if !closed {
			r.errorf(t.at, "the template has {{ without }}")
			return
		}
		rest = end
		name := strings.TrimSpace(tag)
		switch {
		case name == "#items" && !inside && (allowed.section || allowed.open):
			inside = true
		case name == "/items" && inside:
			inside = false
		case strings.HasPrefix(name, "#") || strings.HasPrefix(name, "/"):
			r.sectionProblem(t, name, allowed)
			return
		default:
			r.templateName(t, name, inside, allowed)
		}
	}
	if inside {
		r.errorf(t.at, "the template opens {{#items}} and never closes it with {{/items}}")
	}
}

func (r *report) sectionProblem(t Text, name string, allowed templateNames) {
	if !allowed.section && !allowed.open {
		r.errorf(t.at, "the template has the section {{%s}}, but this result has no items", name)
		return
	}
	r.errorf(t.at, "the template has {{%s}}, where only one level of {{#items}} … {{/items}} is possible", name)
}

func (r *report) templateName(t Text, name string, inside bool, allowed templateNames) {
	if name == "" || strings.ContainsAny(name, "{}") {
		r.errorf(t.at, "the template has a tag that is not a name: write {{name}} or {{#items}} … {{/items}}")
		return
	}
	known := allowed.values
	if inside {
		known = allowed.items
	}
	if slices.Contains(known, name) || allowed.open {
		return
	}
	hint := r.suggest(name, known, "; it may use ")
	if !inside && slices.Contains(allowed.items, name) {
		hint = ": write it inside {{#items}} … {{/items}}"
	}
	r.errorf(t.at, "the template uses the unknown name %s%s", quoteName(name), hint)
}
