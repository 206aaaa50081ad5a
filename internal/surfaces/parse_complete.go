package surfaces

import "go.yaml.in/yaml/v4"

// maxCompletions is how many values a file may suggest for one name.
const maxCompletions = 500

var ruleSuggestion = textRule{max: 200, oneLine: true}

// completions reads, by variable, where the suggestions of a resource come from.
func (r *reader) completions(m mapping) completionSpecs {
	n, at, ok := m.get("complete")
	if !ok {
		return nil
	}
	byName, ok := r.raw(n, at, "complete")
	if !ok {
		return nil
	}
	if len(byName.names) == 0 {
		r.errorf(at, "complete is an empty mapping: name a variable, or leave it out")
	}
	var list completionSpecs
	for _, name := range byName.names {
		value, valueAt, ok := byName.get(name)
		if !ok {
			continue
		}
		if c := r.completion(value, valueAt); c != nil {
			c.Name = Text{Value: name, at: byName.entries[name].key}
			list = append(list, *c)
		}
	}
	return list
}

// completion reads a list of values, or the column whose values are suggested.
func (r *reader) completion(n *yaml.Node, at place) *CompletionSpec {
	c := &CompletionSpec{at: at}
	if !isMapping(n) {
		var ok bool
		if c.Values, ok = r.texts(n, at, "complete", ruleSuggestion); !ok {
			return nil
		}
		if len(c.Values) == 0 || len(c.Values) > maxCompletions {
			r.errorf(at, "complete lists from 1 to %d values; or write { table: …, column: … }", maxCompletions)
			return nil
		}
		return c
	}
	m, ok := r.mapping(n, at, "complete", columnKeys)
	if !ok {
		return nil
	}
	c.Table, _ = m.text("table", textRule{max: 200, oneLine: true})
	if c.Column, ok = m.text("column", ruleName); !ok {
		if !m.given("column") {
			r.errorf(at, "complete needs column: the one whose values are suggested")
		}
		return nil
	}
	return c
}
