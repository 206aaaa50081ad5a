package surfaces

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// humanize makes words of a database name: "customer_notes" is "Customer
// notes".
func humanize(name string) string {
	words := strings.TrimSpace(strings.NewReplacer("_", " ", "-", " ", ".", " ").Replace(name))
	if words == "" {
		return name
	}
	r, size := utf8.DecodeRuneInString(words)
	return strings.ToUpper(string(r)) + words[size:]
}

// sentence ends a sentence and adds what is known beside it.
func sentence(main, hint, comment string) string {
	s := main
	if hint != "" {
		s += " (" + hint + ")"
	}
	s += "."
	if note := oneLine(comment, 200); note != "" {
		s += " " + note
	}
	return s
}

// oneLine makes one bounded line of a database comment. It is data: control
// and bidirectional characters are gone.
func oneLine(s string, most int) string {
	s = strings.Join(strings.Fields(clean(s)), " ")
	if utf8.RuneCountInString(s) > most {
		s = string([]rune(s)[:most-1]) + "…"
	}
	return s
}

// clean replaces characters that could make a text read differently from what
// it is.
func clean(s string) string {
	return strings.Map(func(c rune) rune {
		if _, bad := firstForbidden(string(c), false); bad {
			return ' '
		}
		return c
	}, s)
}

func (b *tableTool) title(o *OperationSpec) string {
	if o.Title.Value != "" {
		return o.Title.Value
	}
	noun := b.spec.Noun.Value
	if noun == "" {
		noun = humanize(b.shown)
	}
	if len(b.spec.By) == 1 && b.spec.Noun.Value != "" {
		return noun
	}
	switch o.Operation {
	case opList:
		return noun + ": list"
	case opGet:
		return noun + ": one row"
	}
	return noun + ": " + o.Operation
}

// about is what a row is, in the builder's words.
func (b *tableTool) about() string {
	if b.spec.About.Value != "" {
		return " " + ended(b.spec.About.Value)
	}
	if b.rel.Comment != "" {
		return " " + ended(oneLine(b.rel.Comment, MaxComment))
	}
	return ""
}

func ended(s string) string {
	s = strings.TrimSpace(s)
	if strings.HasSuffix(s, ".") || strings.HasSuffix(s, "!") || strings.HasSuffix(s, "?") {
		return s
	}
	return s + "."
}

func (b *tableTool) who() string {
	if a := b.file.Access; b.tool.Public || a.has(ModeAPIKey) || a.external() {
		return "that the caller may see"
	}
	return "that the signed-in user may see"
}

func (b *tableTool) describeList(o *OperationSpec, p *ListPlan) string {
	lead := fmt.Sprintf("Lists rows of %s %s.%s", b.shown, b.who(), b.about())
	if o.Description.Value != "" {
		lead = ended(o.Description.Value)
	}
	var more []string
	more = append(more, "Returns "+b.returnWords()+".")
	if p.Search != nil {
		more = append(more, fmt.Sprintf("%s looks for text in %s.", humanize(p.Search.Argument), sentenceList(columnNamesAll(p.Search.Columns))))
	}
	if len(p.Filters) > 0 {
		arguments := make([]string, len(p.Filters))
		for i, f := range p.Filters {
			arguments[i] = f.Argument
		}
		more = append(more, "Filters (all must match): "+strings.Join(arguments, ", ")+".")
	}
	more = append(more, fmt.Sprintf("Ordered by %s, %d rows a page, %d at most.", orderWords(p.Orders[0]), p.DefaultLimit, p.MaxLimit))
	more = append(more, "While has_more is true, call again with cursor set to next_cursor.")
	return lead + " " + strings.Join(more, " ")
}

// returnWords name what is in a row that is read.
func (b *tableTool) returnWords() string {
	words := strings.Join(columnNames(b.columns), ", ")
	if len(b.embeds) > 0 {
		words += ", with " + embedWords(b.embeds)
	}
	return words
}

func orderWords(o Order) string {
	if o.Keys[0].Desc {
		return o.Keys[0].Column.Name + " (descending)"
	}
	return o.Keys[0].Column.Name
}

func (b *tableTool) describeGet(o *OperationSpec) string {
	keys := make([]string, len(b.key))
	for i, k := range b.key {
		keys[i] = k.Name
	}
	lead := fmt.Sprintf("Reads one row of %s by %s.%s", b.shown, strings.Join(keys, " and "), b.about())
	if o.Description.Value != "" {
		lead = ended(o.Description.Value)
	}
	return lead + " Returns " + b.returnWords() + ". A row the caller may not see is not found."
}
