package surfaces

// readersOf are the tools of a surface, and what else reads the project as if
// it were one: resources that hold rows, files or what functions say, and the
// columns that suggestions come from. They are named like what they stand for.
func readersOf(c *Compiled) []Tool {
	if c == nil {
		return nil
	}
	list := append([]Tool(nil), c.Tools...)
	suggests := func(g Gate, name string, from *Completion) {
		if from != nil && from.Column != nil {
			list = append(list, Tool{Gate: g, Name: name, Annotations: reads, Get: &GetPlan{Relation: from.Column.Relation, Columns: []Column{from.Column.Column}}})
		}
	}
	for i := range c.Resources {
		r := &c.Resources[i]
		if t := r.tool(); t.Operation() != "" {
			list = append(list, t)
		}
		for _, v := range r.Variables {
			suggests(r.Gate, r.URI, v.Complete)
		}
	}
	for _, p := range c.Prompts {
		for _, a := range p.Arguments {
			suggests(p.Gate, p.capability(), a.Complete)
		}
	}
	return list
}

// reads are the annotations of what is no tool.
var reads = Annotations{ReadOnly: true, Idempotent: true}

// tool is the resource as a tool would be that reads the same.
func (r *Resource) tool() Tool {
	return Tool{
		Gate: r.Gate, Name: r.URI, Title: r.Title, Description: r.Description, Annotations: reads, Budget: r.Budget,
		List: r.Rows, Get: r.Row, ReadFile: r.File, Function: r.Function,
	}
}

// capability is what rules, the authorizer and records call the prompt.
func (p *Prompt) capability() string { return "prompt:" + p.Name }

// tool is the prompt as a tool would be that says the same.
func (p *Prompt) tool() Tool {
	return Tool{Gate: p.Gate, Name: p.capability(), Title: p.Title, Description: p.Description, Annotations: reads, Budget: p.Budget, Function: p.Function}
}
