package surfaces

import (
	"fmt"
	"strings"
)

// lead is the first sentence: the builder's words, or what the tool does and
// what a row is.
func (b *tableTool) lead(o *OperationSpec, does string) string {
	if o.Description.Value != "" {
		return ended(o.Description.Value)
	}
	return does + b.about()
}

func (b *tableTool) describeCreate(w *write) string {
	s := b.lead(w.op, fmt.Sprintf("Adds one row to %s.", b.shown))
	if w.dedupe != nil {
		s += " Repeated with exactly the same arguments within ten minutes, it adds no second row."
	}
	return s + " " + b.answers("Returns the new row: %s.")
}

func (b *tableTool) describeUpdate(w *write) string {
	if w.many != nil {
		return b.describeMany(w, "Changes", fmt.Sprintf("%s has what to change in each of them.", w.patch), "as they are then")
	}
	s := b.lead(w.op, fmt.Sprintf("Changes one row of %s by %s.", b.shown, keyWords(b.key)))
	s += fmt.Sprintf(" Only the columns given in %s are written.", w.patch)
	return s + b.guarded(w) + " " + b.answers("Returns the row as it is then: %s.") + " A row the caller may not see is not found."
}

func (b *tableTool) describeDelete(w *write) string {
	if w.many != nil {
		return b.describeMany(w, "Deletes", "", "as they were")
	}
	s := b.lead(w.op, fmt.Sprintf("Deletes one row of %s by %s.", b.shown, keyWords(b.key)))
	return s + b.guarded(w) + " " + b.answers("Returns the row as it was: %s.") + " A row the caller may not see is not found."
}

func (b *tableTool) describeMany(w *write, does, more, rows string) string {
	arguments := make([]string, len(w.many.Filters))
	for i, f := range w.many.Filters {
		arguments[i] = f.Argument
	}
	s := b.lead(w.op, fmt.Sprintf("%s the rows of %s that match the filters, %d at most.", does, b.shown, w.many.MaxAffected))
	s += fmt.Sprintf(" Filters (at least one must be given, all must match): %s.", strings.Join(arguments, ", "))
	if more != "" {
		s += " " + more
	}
	return s + fmt.Sprintf(" If more than %d rows match, nothing is written. Returns how many rows there were (affected), and the rows %s: %s.", w.many.MaxAffected, rows, strings.Join(columnNames(b.columns), ", "))
}

// guarded tells a model what the guard asks of it.
func (b *tableTool) guarded(w *write) string {
	if w.guard == nil {
		return ""
	}
	return fmt.Sprintf(" %s must be the value last read: if the row has changed since, nothing is written and the answer holds the row as it is now.", w.guard.Argument)
}

// answers says what comes back.
func (b *tableTool) answers(row string) string {
	if len(b.columns) == 0 {
		return "The row is not returned."
	}
	return fmt.Sprintf(row, strings.Join(columnNames(b.columns), ", "))
}
