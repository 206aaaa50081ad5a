package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
)

// outputVersion is the number of the JSON form. A reader checks it.
const outputVersion = 1

// step is one line of what the command did or found.
type step struct {
	ID      string `json:"id"`
	Status  string `json:"status"` // pass, warn, fail, skip
	Message string `json:"message"`
	Fix     string `json:"fix,omitempty"`
}

// printer shows steps as they happen, or gathers them for one JSON object.
type printer struct {
	json     bool
	quiet    bool // help was shown: nothing more to say
	out, err io.Writer
	command  string
	steps    []step
	data     any
	next     []string // commands that come next, in their order
}

var marks = map[string]string{"pass": "ok", "warn": "warn", "fail": "FAIL", "skip": "skip"}

// step shows one step. Its message is one line, and what it takes to fix it is
// indented, so that no text from elsewhere can pass for a step.
func (p *printer) step(s step) {
	p.steps = append(p.steps, s)
	if p.json {
		return
	}
	p.print("%-5s %s\n", marks[s.Status], oneLine(s.Message))
	if s.Fix != "" {
		p.print("      -> %s\n", strings.ReplaceAll(strings.TrimRight(s.Fix, "\n"), "\n", "\n         "))
	}
}

// done shows a passed step.
func (p *printer) done(id, format string, args ...any) {
	p.step(step{ID: id, Status: "pass", Message: fmt.Sprintf(format, args...)})
}

// line shows one line that belongs to no step. JSON readers find it in data.
func (p *printer) line(format string, args ...any) {
	if !p.json {
		p.print("%s\n", oneLine(fmt.Sprintf(format, args...)))
	}
}

// end says the outcome and the commands that come next, each after the one
// before it.
func (p *printer) end(outcome string, next ...string) {
	p.suggest(next...)
	if len(next) > 0 {
		outcome += " Next: " + strings.Join(next, ", then ")
	}
	if outcome = strings.TrimSpace(outcome); outcome != "" {
		p.line("%s", outcome)
	}
}

// suggest adds to the next commands without a line of its own.
func (p *printer) suggest(next ...string) {
	for _, command := range next {
		if !slices.Contains(p.next, command) {
			p.next = append(p.next, command)
		}
	}
}

// print writes to a terminal or pipe; when that is gone, nobody is left to tell.
func (p *printer) print(format string, args ...any) {
	_, _ = io.WriteString(p.out, plain(fmt.Sprintf(format, args...)))
}

// aside writes a line to the error stream: what a person needs while the
// output is for a program.
func (p *printer) aside(format string, args ...any) {
	_, _ = io.WriteString(p.err, plain(oneLine(fmt.Sprintf(format, args...)))+"\n")
}

// finish ends the output: the JSON object, or the error on the error stream.
func (p *printer) finish(err error) {
	if p.json && !p.quiet {
		p.finishJSON(err)
		return
	}
	if err == nil || errors.Is(err, errShown) {
		return
	}
	text := strings.ReplaceAll(plain(err.Error()), "\n", "\n  ")
	_, _ = fmt.Fprintf(p.err, "chumbo: %s\n", text)
}

func (p *printer) finishJSON(err error) {
	if err != nil && !errors.Is(err, errShown) {
		p.steps = append(p.steps, step{ID: "error", Status: "fail", Message: err.Error()})
	}
	if p.steps == nil {
		p.steps = []step{}
	}
	if p.next == nil {
		p.next = []string{}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(struct {
		Version int      `json:"version"`
		OK      bool     `json:"ok"`
		Command string   `json:"command"`
		Steps   []step   `json:"steps"`
		Data    any      `json:"data,omitempty"`
		Next    []string `json:"next"`
	}{outputVersion, err == nil, p.command, p.steps, p.data, p.next})
	_, _ = io.WriteString(p.out, escaped(b.String()))
}

// errShown ends a command whose steps already say what is wrong.
var errShown = errors.New("refused")

type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

func usage(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }

// plain removes what could move a terminal's cursor or turn its text around:
// some of what is shown was written by a project or typed by somebody else.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && moves(r) {
			return -1
		}
		return r
	}, s)
}

func moves(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }

// escaped writes what plain removes as JSON escapes: the same value, and
// harmless when a person looks at it.
func escaped(object string) string {
	var b strings.Builder
	for _, r := range object {
		if r != '\n' && moves(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// oneLine puts a text on one line.
func oneLine(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' }), " ")
}
