package web

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// shown is text that others wrote, on one line of at most that many
// characters. Characters that would make it read differently from what it is
// are gone.
func shown(text string, most int) string {
	text = strings.Join(strings.Fields(strings.Map(func(c rune) rune {
		if misleads(c) {
			return ' '
		}
		return c
	}, text)), " ")
	return cut(text, most)
}

// spelled is text exactly as clients get it, except that characters that would
// make it read differently are spelled out.
func spelled(text string, most int) string {
	text = cut(text, most)
	if !strings.ContainsFunc(text, misleads) && utf8.ValidString(text) {
		return text
	}
	var b strings.Builder
	for _, c := range text {
		if c != '\n' && c != '\t' && misleads(c) {
			fmt.Fprintf(&b, `\u%04x`, c)
			continue
		}
		b.WriteRune(c)
	}
	return b.String()
}

func misleads(c rune) bool {
	return unicode.IsControl(c) && c != '\n' && c != '\t' || unicode.Is(unicode.Bidi_Control, c) || c == utf8.RuneError || c == '\u2028' || c == '\u2029'
}

func cut(text string, most int) string {
	if len(text) <= most || utf8.RuneCountInString(text) <= most {
		return text
	}
	runes := []rune(text[:min(len(text), most*utf8.UTFMax)])
	return string(runes[:most-1]) + "…"
}

// often is "60 calls a minute", "1 call in 90 seconds".
func often(calls, seconds int) string {
	text := counted(calls, "call")
	for _, unit := range []struct {
		seconds int
		one     string
		many    string
	}{{86400, "a day", "days"}, {3600, "an hour", "hours"}, {60, "a minute", "minutes"}, {1, "a second", "seconds"}} {
		switch {
		case seconds == unit.seconds:
			return text + " " + unit.one
		case seconds%unit.seconds == 0:
			return fmt.Sprintf("%s in %s %s", text, grouped(seconds/unit.seconds), unit.many)
		}
	}
	return text
}
