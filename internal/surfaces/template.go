package surfaces

import (
	"slices"
	"strings"
)

// templateNames are the names a template may use at one place. items is nil
// where the result has none; open means that the result's names are not known.
type templateNames struct {
	values, items []string
	section, open bool
	embeds        []embedded // sections of a row: of items, where there are items
	row           bool       // within a row already
}

func listTemplateNames(columns []Column, embeds ...embedded) templateNames {
	return templateNames{values: []string{"has_more", "next_cursor"}, items: rowTemplateNames(columns, embeds...).values, section: true, embeds: embeds}
}

func rowTemplateNames(columns []Column, embeds ...embedded) templateNames {
	names := columnNames(columns)
	for _, e := range embeds {
		names = append(names, e.plan.Name)
	}
	return templateNames{values: names, embeds: embeds}
}

// inside are the names within a section; ok is false where there is none of
// that name.
func (n templateNames) inside(section string) (inner templateNames, ok bool) {
	if section == "items" && (n.section || n.open) && !n.row {
		return templateNames{values: n.items, open: n.open, embeds: n.embeds, row: true}, true
	}
	if n.section {
		return templateNames{}, false
	}
	for _, e := range n.embeds {
		columns := columnNames(e.plan.Columns)
		switch {
		case e.plan.Name != section:
		case e.plan.Many:
			return templateNames{values: []string{"truncated"}, items: columns, section: true}, true
		default:
			return templateNames{values: columns, row: true}, true
		}
	}
	return templateNames{}, false
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
// {{name}}, {{#items}} … {{/items}} where there are items, and the same with the
// name of an embed; nothing else.
func (r *report) checkTemplate(t Text, allowed templateNames) {
	names, sections := []templateNames{allowed}, []string{}
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
		name, last := strings.TrimSpace(tag), len(names)-1
		section, opens := strings.CutPrefix(name, "#")
		ending, closes := strings.CutPrefix(name, "/")
		switch {
		case opens:
			inner, ok := names[last].inside(strings.TrimSpace(section))
			if !ok {
				r.sectionProblem(t, name, allowed)
				return
			}
			names, sections = append(names, inner), append(sections, strings.TrimSpace(section))
		case closes && last > 0 && sections[last-1] == strings.TrimSpace(ending):
			names, sections = names[:last], sections[:last-1]
		case closes:
			r.sectionProblem(t, name, allowed)
			return
		default:
			r.templateName(t, name, names[last])
		}
	}
	if n := len(sections); n > 0 {
		r.errorf(t.at, "the template opens {{#%s}} and never closes it with {{/%s}}", sections[n-1], sections[n-1])
	}
}

func (r *report) sectionProblem(t Text, name string, allowed templateNames) {
	switch {
	case len(allowed.embeds) > 0:
		r.errorf(t.at, "the template has {{%s}} where that is not possible: around rows there is only one level of {{#items}} … {{/items}}, and in a row a section for each embed", name)
	case !allowed.section && !allowed.open:
		r.errorf(t.at, "the template has the section {{%s}}, but this result has no items", name)
	default:
		r.errorf(t.at, "the template has {{%s}}, where only one level of {{#items}} … {{/items}} is possible", name)
	}
}

func (r *report) templateName(t Text, name string, names templateNames) {
	if name == "" || strings.ContainsAny(name, "{}") {
		r.errorf(t.at, "the template has a tag that is not a name: write {{name}} or {{#items}} … {{/items}}")
		return
	}
	if slices.Contains(names.values, name) || names.open {
		return
	}
	hint := r.suggest(name, names.values, "; it may use ")
	if slices.Contains(names.items, name) {
		hint = ": write it inside {{#items}} … {{/items}}"
	}
	r.errorf(t.at, "the template uses the unknown name %s%s", quoteName(name), hint)
}
