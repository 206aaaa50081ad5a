package mcp

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/bidi"

	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

const (
	maxAskedValue = 80      // characters of one value in a question
	maxAlso       = 20      // arguments beside those of the question
	maxAskedText  = 2 << 10 // bytes of what a function asks
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
// line and short, so that no argument reads as a part of the question. None cuts
// off what follows it: the text is as short as its author and its values are.
func (t template) asked(arguments []byte) string {
	var b strings.Builder
	for _, p := range t {
		if p.name == "" {
			b.WriteString(oneLine(p.text))
			continue
		}
		b.WriteString(quotedValue(memberOf(arguments, p.name)))
	}
	return b.String()
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
	// Only as much as can be seen is looked at: values may be long. What is not
	// shown is told, however little of the rest there is to see.
	begun := cutText(said, 16*maxAskedValue)
	more := len(begun) < len(said)
	said = strings.Join(strings.Fields(oneLine(begun)), " ")
	said = strings.Map(func(r rune) rune {
		if strings.ContainsRune(doubleQuotes, r) {
			return '\''
		}
		return r
	}, said)
	for strings.Contains(said, "''") { // two look like one that is double
		said = strings.ReplaceAll(said, "''", "'")
	}
	if more || utf8.RuneCountInString(said) > maxAskedValue {
		runes := []rune(said)
		said = string(runes[:min(len(runes), maxAskedValue-1)]) + "…"
	}
	return `"` + isolated(said) + `"`
}

// isolated keeps text that runs from right to left from moving what stands
// around it: beside it, one value would be read in the place of the next
// (Unicode Standard Annex #9, FSI and PDI).
func isolated(said string) string {
	for rest := said; rest != ""; {
		class, size := bidi.LookupString(rest)
		switch class.Class() {
		case bidi.R, bidi.AL, bidi.AN:
			return "\u2068" + said + "\u2069"
		}
		rest = rest[max(size, 1):]
	}
	return said
}

// doubleQuotes are the characters that people read as the end of what is quoted
// (Unicode, confusables of U+0022, and the other quotation marks).
const doubleQuotes = "\"\u00AB\u00BB\u02BA\u02DD\u02EE\u02F6\u05F2\u05F4\u1CD3\u201C\u201D\u201E\u201F\u2033\u2036\u275D\u275E\u2E42\u3003\u301D\u301E\u301F\uFF02\U0001F676\U0001F677\U0001F678"

// confirmText says who asks and what will happen.
func confirmText(c *call, spec *surfaces.Tool, question, also string) string {
	return appTitle(c) + " asks you to confirm: " + question + also + " If you agree, \"" + plainTitle(spec.Title) + "\" runs with your account there."
}

// also names the arguments that the question does not, such as what an update
// writes: whoever agrees, agrees to all of the call. Empty for none.
func (t template) also(arguments []byte) string {
	var list []string
	add := func(name string, value token) {
		if !plainName(name) {
			name = quotedValue(appendString(nil, name))
		}
		list = append(list, name+" "+quotedValue(value))
	}
	for _, m := range members(arguments, 0) {
		value := arguments[m.start:m.end]
		inside := members(value, 0)
		switch {
		case slices.ContainsFunc(t, func(p templatePart) bool { return p.name != "" && p.name == m.key }):
		case len(inside) == 0:
			add(m.key, value)
		default:
			for _, one := range inside {
				add(one.key, value[one.start:one.end])
			}
		}
	}
	if len(list) == 0 {
		return ""
	}
	if more := len(list) - maxAlso; more > 0 {
		list = append(list[:maxAlso], "and "+strconv.Itoa(more)+" more")
	}
	return " Also given: " + strings.Join(list, ", ") + "."
}

// plainName reports whether a name reads as one word.
func plainName(name string) bool {
	for i := range len(name) {
		letter := name[i]|0x20 >= 'a' && name[i]|0x20 <= 'z'
		if !letter && (name[i] < '0' || name[i] > '9') && name[i] != '_' {
			return false
		}
	}
	return name != "" && len(name) <= 64
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
