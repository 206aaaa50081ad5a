package surfaces

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/chumbo-dev/chumbo/internal/fault"
)

// Severity says whether a problem stops publishing.
type Severity string

// The severities. A file with one error is refused whole; warnings are shown
// and published.
const (
	SeverityError   Severity = "error"
	SeverityWarning Severity = "warning"
)

// Problem is one thing to know about a surface file: what is wrong, where, and
// what to do.
type Problem struct {
	Line     int      `json:"line,omitempty"`   // 1-based; 0 when it is about the file as a whole
	Column   int      `json:"column,omitempty"` // 1-based, in characters
	Path     string   `json:"path,omitempty"`   // such as tools[0].columns[2]
	Message  string   `json:"message"`
	Severity Severity `json:"severity"`
}

// String is the problem on one line: "3:5: error: tools[0].table: …".
func (p Problem) String() string {
	s := fmt.Sprintf("%s: %s", p.Severity, p.Message)
	if p.Path != "" {
		s = fmt.Sprintf("%s: %s: %s", p.Severity, p.Path, p.Message)
	}
	if p.Line > 0 {
		s = fmt.Sprintf("%d:%d: %s", p.Line, p.Column, s)
	}
	return s
}

// Issue is the problem as part of a fault.
func (p Problem) Issue() fault.Issue {
	return fault.Issue{Path: p.Path, Line: p.Line, Column: p.Column, Message: p.Message}
}

// HasErrors reports whether any problem stops publishing.
func HasErrors(problems []Problem) bool {
	return slices.ContainsFunc(problems, func(p Problem) bool { return p.Severity == SeverityError })
}

// place is where something stands in a surface file.
type place struct {
	line, column int
	path         string
}

// maxProblems bounds the problems of a file that are told, and maxSuggestions
// those that look for the nearest name: a file can be made of nothing else.
const (
	maxProblems    = 500
	maxSuggestions = 100
)

// report collects problems in any order.
type report struct {
	problems    []Problem
	suggestions int // looked for so far
}

func (r *report) errorf(at place, format string, args ...any) {
	r.add(at, SeverityError, fmt.Sprintf(format, args...))
}

func (r *report) warnf(at place, format string, args ...any) {
	r.add(at, SeverityWarning, fmt.Sprintf(format, args...))
}

func (r *report) add(at place, severity Severity, message string) {
	r.problems = append(r.problems, Problem{Line: at.line, Column: at.column, Path: at.path, Message: message, Severity: severity})
}

// sorted returns the problems by line and column, errors before warnings at
// the same place, exact repeats once; of too many the errors, and says so.
func (r *report) sorted() []Problem {
	slices.SortStableFunc(r.problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Severity, b.Severity), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Message, b.Message))
	})
	return told(slices.Compact(r.problems))
}

func told(list []Problem) []Problem {
	if len(list) <= maxProblems {
		return list
	}
	var errors, warnings []Problem
	for _, p := range list {
		if p.Severity == SeverityError {
			errors = append(errors, p)
		} else {
			warnings = append(warnings, p)
		}
	}
	if more := len(errors) - maxProblems; more > 0 {
		return append(errors[:maxProblems:maxProblems], Problem{Severity: SeverityError, Message: fmt.Sprintf("%d more errors are not listed: mend these first", more)})
	}
	return append(errors, warnings[:maxProblems-len(errors)]...)
}
