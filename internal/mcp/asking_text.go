package mcp

import (
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

const (
	maxAskedValue = 80      // characters of one value in a question
	maxAskedText  = 2 << 10 // bytes of a whole question
)

// askedTemplate parses what a person is asked. Sections have no place there.
func askedTemplate(text string) (template, error) {
	t, err := parseTemplate(text)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(t, func(p templatePart) bool { return p.body != nil }) {
		return nil, errors.New("a question has a section")
	}
	return t, nil
}

// asked is the text with the values of arguments in it. Each is quoted, on one
// line and short, so that no argument reads as a part of the question.
func (t template) asked(arguments []byte) string {
	var b strings.Builder
	for _, p := range t {
		if p.name == "" {
			b.WriteString(p.text)
			continue
		}
		b.WriteString(quotedValue(memberOf(arguments, p.name)))
	}
	return cutText(oneLine(b.String()), maxAskedText)
}

// quotedValue is a value between quotes that it cannot end.
func quotedValue(value token) string {
	if len(value) == 0 || isNull(value) {
		return "(nothing)"
	}
	said := stringOf(value)
	if isContainer(value) {
		said = string(appendToken(nil, value))
	}
	// Only as much as can be seen is looked at: values may be long.
	said = strings.Join(strings.Fields(oneLine(cutText(said, 16*maxAskedValue))), " ")
	said = strings.Map(func(r rune) rune {
		switch r {
		case '"', '\u201C', '\u201D', '\u201E', '\u201F', '\uFF02', '\u00AB', '\u00BB':
			return '\''
		}
		return r
	}, said)
	if utf8.RuneCountInString(said) > maxAskedValue {
		said = string([]rune(said)[:maxAskedValue-1]) + "…"
	}
	return `"` + said + `"`
}

// confirmText says who asks and what will happen.
func confirmText(c *call, spec *surfaces.Tool, question string) string {
	return appTitle(c) + " asks you to confirm: " + question + " If you agree, \"" + plainTitle(spec.Title) + "\" runs with your account there."
}

// questionText says who asks.
func questionText(c *call, question string) string { return appTitle(c) + " asks: " + question }

// wrong says what was wrong with the answer before.
func wrong(message, why string) string {
	if why == "" {
		return message
	}
	return message + " (The answer before did not fit: " + cutText(oneLine(why), maxIssueLength) + ")"
}

func appTitle(c *call) string { return plainTitle(c.endpoint.Title) }

// plainTitle is a title in the middle of a sentence.
func plainTitle(title string) string {
	title = strings.Join(strings.Fields(oneLine(title)), " ")
	if title == "" {
		return "This app"
	}
	return strings.ReplaceAll(cutText(title, 200), `"`, "'")
}
