package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
	steps    []step
	data     any
}

var marks = map[string]string{"pass": "ok", "warn": "warn", "fail": "FAIL", "skip": "skip"}

// step shows one step.
func (p *printer) step(s step) {
	p.steps = append(p.steps, s)
	if p.json {
		return
	}
	p.print("%-5s %s\n", marks[s.Status], s.Message)
	if s.Fix != "" {
		p.print("      -> %s\n", s.Fix)
	}
}

// done shows a passed step.
func (p *printer) done(id, format string, args ...any) {
	p.step(step{ID: id, Status: "pass", Message: fmt.Sprintf(format, args...)})
}

// line shows text that belongs to no step. JSON readers find it in data.
func (p *printer) line(format string, args ...any) {
	if !p.json {
		p.print("%s\n", fmt.Sprintf(format, args...))
	}
}

// print writes to a terminal or pipe; when that is gone, nobody is left to tell.
func (p *printer) print(format string, args ...any) {
	_, _ = io.WriteString(p.out, plain(fmt.Sprintf(format, args...)))
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
	_, _ = fmt.Fprintf(p.err, "chumbo: %s\n", plain(err.Error()))
}

func (p *printer) finishJSON(err error) {
	if err != nil && !errors.Is(err, errShown) {
		p.steps = append(p.steps, step{ID: "error", Status: "fail", Message: err.Error()})
	}
	if p.steps == nil {
		p.steps = []step{}
	}
	enc := json.NewEncoder(p.out)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(struct {
		Version int    `json:"version"`
		OK      bool   `json:"ok"`
		Steps   []step `json:"steps"`
		Data    any    `json:"data,omitempty"`
	}{outputVersion, err == nil, p.steps, p.data})
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
		if r == '\n' || r == '\t' {
			return r
		}
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return -1
		}
		return r
	}, s)
}
