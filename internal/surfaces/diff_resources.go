package surfaces

import "slices"

// resources compares resources by their URI.
func (d *differ) resources(before, after []Resource) {
	for i := range before {
		if was := &before[i]; resourceAt(after, was.URI) == nil {
			d.tool = was.URI
			d.add(ChangeBreaks, "the resource is gone; it is not found any more")
		}
	}
	for i := range after {
		is := &after[i]
		d.tool = is.URI
		if was := resourceAt(before, is.URI); was != nil {
			d.resource(was, is)
		} else {
			d.add(ChangeSafe, "new resource")
		}
	}
	d.tool = ""
	if len(d.changes) == 0 && !slices.EqualFunc(before, after, func(a, b Resource) bool { return a.URI == b.URI }) {
		d.add(ChangeSafe, "the resources are listed in another order")
	}
}

func resourceAt(list []Resource, uri string) *Resource {
	i := slices.IndexFunc(list, func(r Resource) bool { return r.URI == uri })
	if i < 0 {
		return nil
	}
	return &list[i]
}

func (d *differ) resource(was, is *Resource) {
	told := len(d.changes)
	if was.Name != is.Name {
		d.add(ChangeBehaviour, "is named %s now, it was %s", is.Name, was.Name)
	}
	if was.MIMEType != is.MIMEType {
		d.add(ChangeBehaviour, "is %s now, it was %s", orUnknown(is.MIMEType), orUnknown(was.MIMEType))
	}
	if a, b := was.kind(), is.kind(); a != b {
		d.add(ChangeBehaviour, "is %s now, it was %s", b, a)
	} else if !sameJSON([]any{was.Text, was.Blob}, []any{is.Text, is.Blob}) {
		d.add(ChangeBehaviour, "what it holds changed")
	}
	if was.FilePath != is.FilePath {
		d.add(ChangeBehaviour, "is the file %s now, it was %s", word(is.FilePath), word(was.FilePath))
	}
	for i := range min(len(was.Variables), len(is.Variables)) {
		d.completes("the variable", is.Variables[i].Name, was.Variables[i].Complete, is.Variables[i].Complete)
	}
	a, b := was.tool(), is.tool()
	if was.kind() != is.kind() { // told
		a.List, a.Get, a.ReadFile, a.Function = b.List, b.Get, b.ReadFile, b.Function
	}
	d.compare(&a, &b)
	if len(d.changes) == told && !sameJSON(was, is) {
		d.add(ChangeBehaviour, "how it is read changed")
	}
}

// kind is what the resource holds, in words.
func (r *Resource) kind() string {
	switch {
	case r.Text != nil:
		return "a text"
	case r.Blob != nil:
		return "fixed bytes"
	case r.Row != nil:
		return "a row"
	case r.Rows != nil:
		return "rows"
	case r.File != nil:
		return "a file"
	case r.Function != nil:
		return "what a function says"
	}
	return "nothing"
}

func orUnknown(mimeType string) string {
	if mimeType == "" {
		return "of the media type it is found to have"
	}
	return mimeType
}

func (d *differ) completes(what, name string, before, after *Completion) {
	switch {
	case sameJSON(before, after):
	case before == nil:
		d.add(ChangeSafe, "values for %s %s are suggested now", what, word(name))
	case after == nil:
		d.add(ChangeSafe, "nothing is suggested for %s %s any more", what, word(name))
	default:
		d.add(ChangeSafe, "other values are suggested for %s %s", what, word(name))
	}
}

// prompts compares prompts by name.
func (d *differ) prompts(before, after []Prompt) {
	for i := range before {
		if was := &before[i]; promptNamed(after, was.Name) == nil {
			d.tool = was.capability()
			d.add(ChangeBreaks, "the prompt is gone")
		}
	}
	for i := range after {
		is := &after[i]
		d.tool = is.capability()
		if was := promptNamed(before, is.Name); was != nil {
			d.prompt(was, is)
		} else {
			d.add(ChangeSafe, "new prompt")
		}
	}
	d.tool = ""
	if len(d.changes) == 0 && !slices.EqualFunc(before, after, func(a, b Prompt) bool { return a.Name == b.Name }) {
		d.add(ChangeSafe, "the prompts are listed in another order")
	}
}

func promptNamed(list []Prompt, name string) *Prompt {
	i := slices.IndexFunc(list, func(p Prompt) bool { return p.Name == name })
	if i < 0 {
		return nil
	}
	return &list[i]
}

func (d *differ) prompt(was, is *Prompt) {
	told := len(d.changes)
	d.promptArguments(was.Arguments, is.Arguments)
	a, b := was.tool(), is.tool()
	switch {
	case was.Function == nil && is.Function != nil:
		d.add(ChangeBehaviour, "its messages come from the function %s now", is.Function.Slug)
		a.Function = b.Function
	case was.Function != nil && is.Function == nil:
		d.add(ChangeBehaviour, "its messages no longer come from the function %s", was.Function.Slug)
		a.Function = b.Function
	case !sameJSON(was.Messages, is.Messages):
		d.add(ChangeBehaviour, "its messages changed")
	}
	d.compare(&a, &b)
	if len(d.changes) == told && !sameJSON(was, is) {
		d.add(ChangeBehaviour, "how it works changed")
	}
}

func (d *differ) promptArguments(before, after []PromptArgument) {
	named := func(list []PromptArgument, name string) *PromptArgument {
		i := slices.IndexFunc(list, func(a PromptArgument) bool { return a.Name == name })
		if i < 0 {
			return nil
		}
		return &list[i]
	}
	for _, was := range before {
		if named(after, was.Name) == nil {
			d.add(ChangeBreaks, "the argument %s is gone", word(was.Name))
		}
	}
	for _, is := range after {
		was := named(before, is.Name)
		if was == nil {
			d.add(map[bool]ChangeClass{true: ChangeBreaks, false: ChangeSafe}[is.Required], "new argument %s%s", word(is.Name), map[bool]string{true: ", which is required"}[is.Required])
			continue
		}
		switch {
		case !was.Required && is.Required:
			d.add(ChangeBreaks, "the argument %s is required now", word(is.Name))
		case was.Required && !is.Required:
			d.add(ChangeSafe, "the argument %s may be left out now", word(is.Name))
		}
		if was.Type != is.Type || !sameJSON(was.Schema, is.Schema) {
			d.add(ChangeBreaks, "the argument %s takes other values now", word(is.Name))
		}
		if was.Title != is.Title || was.Description != is.Description {
			d.add(ChangeBehaviour, "the argument %s is described in other words", word(is.Name))
		}
		d.completes("the argument", is.Name, was.Complete, is.Complete)
	}
	order := func(list []PromptArgument) []string {
		var names []string
		for _, a := range list {
			names = append(names, a.Name)
		}
		return names
	}
	if a, b := order(before), order(after); !slices.Equal(a, b) && len(without(a, b)) == 0 && len(without(b, a)) == 0 {
		d.add(ChangeSafe, "its arguments are listed in another order")
	}
}
