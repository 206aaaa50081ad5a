package cli

import (
	"fmt"
	"slices"

	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// What a change means, in a word and in a sentence.
var (
	classMarks = map[surfaces.ChangeClass]string{
		surfaces.ChangeBreaks: "BREAKS", surfaces.ChangeBehaviour: "changes", surfaces.ChangeSafe: "safe",
	}
	classWords = map[surfaces.ChangeClass]string{
		surfaces.ChangeBreaks:    "breaks connected clients",
		surfaces.ChangeBehaviour: "changes what connected clients see",
		surfaces.ChangeSafe:      "safe for connected clients",
		surfaces.ChangeFirst:     "the first publication",
	}
)

// showPlanned shows what publishing would do.
func (s *session) showPlanned(r *pushed, plan planAnswer, whole bool) {
	weight := 0
	for _, t := range plan.Tools {
		weight += t.Weight
	}
	text := "plan  " + r.File + ": " + plan.inWords()
	if weight > 0 {
		text += fmt.Sprintf(", about %d tokens", weight)
	}
	if words := classWords[plan.Class]; words != "" {
		text += "; " + words
	}
	if plan.Live != nil {
		text += fmt.Sprintf(", compared with revision %d", plan.Live.Number)
		if plan.Live.Author != "" {
			text += " of " + plan.Live.Author
		}
	}
	if plan.Again > 0 {
		text += fmt.Sprintf("; revision %d would be live again", plan.Again)
	}
	s.printer.line("%s", text)
	s.showChanges(plan.Changes)
	if whole {
		s.showLines(plan.Lines)
	}
	for _, f := range plan.Findings {
		// A missing index is among the problems, with its line.
		if f.Kind != surfaces.FindingMissingIndex && !slices.Contains(plan.Blocking, f.ID) {
			s.printer.line("      note: %s", f.Summary)
		}
	}
}

func (s *session) showChanges(changes []surfaces.Change) {
	for _, c := range changes {
		s.printer.line("      %-7s %s", classMarks[c.Class], c.Summary)
	}
}

// showLines shows a text diff; a gap in the line numbers is a line of dots.
func (s *session) showLines(lines []surfaces.Line) {
	before, after := 0, 0
	for _, l := range lines {
		if (l.Old > 0 && l.Old != before+1) || (l.New > 0 && l.New != after+1) {
			s.printer.line("      ...")
		}
		if l.Old > 0 {
			before = l.Old
		}
		if l.New > 0 {
			after = l.New
		}
		s.printer.line("    %s %s", l.Op, l.Text)
	}
}

// showProblems prints problems the way compilers do, so that editors find the
// place.
func (s *session) showProblems(r *pushed) {
	for _, p := range r.Problems {
		s.printer.line("%s:%d:%d: %s: %s", r.File, p.Line, p.Column, p.Severity, p.Message)
	}
}
