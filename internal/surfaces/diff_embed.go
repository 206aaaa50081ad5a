package surfaces

import "slices"

// embeds compares what comes with each row. Where both forms have an output
// schema, it has told what came and went, and the columns.
func (d *differ) embeds(before, after *Tool) {
	shown := len(before.Output) > 0 && len(after.Output) > 0
	for _, was := range before.embeds() {
		i := slices.IndexFunc(after.embeds(), func(e Embed) bool { return e.Name == was.Name })
		switch {
		case i >= 0:
			d.embed(was, after.embeds()[i], shown)
		case !shown:
			d.add(ChangeBehaviour, "%s does not come with a row any more", word(was.Name))
		}
	}
	for _, is := range after.embeds() {
		if !shown && !slices.ContainsFunc(before.embeds(), func(e Embed) bool { return e.Name == is.Name }) {
			d.add(ChangeBehaviour, "%s comes with a row now: %s of %s", word(is.Name), wordList(columnNames(is.Columns)), is.Relation.shown())
		}
	}
}

func (d *differ) embed(was, is Embed, shown bool) {
	name := word(is.Name)
	switch {
	case was.Relation.Schema != is.Relation.Schema || was.Relation.Name != is.Relation.Name:
		d.add(ChangeBehaviour, "%s is of %s now, it was of %s", name, is.Relation.shown(), was.Relation.shown())
	case was.Target != is.Target || was.Hint != is.Hint:
		d.add(ChangeBehaviour, "%s goes over another foreign key now", name)
	}
	if was.Many != is.Many {
		if !shown {
			d.add(ChangeBehaviour, "%s is %s now", name, map[bool]string{true: "a list of rows", false: "one row"}[is.Many])
		}
		return
	}
	if was.Limit != is.Limit {
		d.add(ChangeBehaviour, "%s has at most %d rows now, it was %d", name, is.Limit, was.Limit)
	}
	if !slices.EqualFunc(was.Order, is.Order, sameTerm) {
		d.add(ChangeBehaviour, "the rows of %s come in another order", name)
	}
	if a, b := columnNames(was.Columns), columnNames(is.Columns); !shown && !slices.Equal(a, b) {
		d.add(ChangeBehaviour, "%s has %s now, it had %s", name, wordList(b), wordList(a))
	}
}

// search compares what an argument of the same name looks in.
func (d *differ) search(was, is *Search) {
	if was == nil || is == nil || was.Argument != is.Argument {
		return // told by the schema
	}
	a, b := columnNamesAll(was.Columns), columnNamesAll(is.Columns)
	if !slices.Equal(a, b) {
		d.add(ChangeBehaviour, "%s looks in %s now, it was %s", word(is.Argument), wordList(b), wordList(a))
	}
	if was.Mode != is.Mode || was.Config != is.Config {
		d.add(ChangeBehaviour, "%s looks for its text in another way", word(is.Argument))
	}
}
