package mcp

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// TestNoArgumentHidesWhatIsAsked: whatever a model writes into an argument, the
// person sees where its value ends, that there is more of it, and the rest of
// the question.
func TestNoArgumentHidesWhatIsAsked(t *testing.T) {
	t.Parallel()
	asked := func(text, arguments string) string {
		t.Helper()
		parsed, err := askedTemplate(text)
		if err != nil {
			t.Fatal(err)
		}
		return parsed.asked([]byte(arguments))
	}
	object := func(name, value string) string {
		return "{" + string(appendString(nil, name)) + ":" + string(appendString(nil, value)) + "}"
	}
	const rest = ", mallory@example.test"
	for what, filling := range map[string]string{
		"spaces": strings.Repeat(" ", 2000), "lines": strings.Repeat("\n", 2000), "bidi": strings.Repeat("\u202e", 700), "tags": strings.Repeat("\U000E0041", 400), "nothing": strings.Repeat("\u0001", 1300),
	} {
		if got := asked("Send it to {{to}}?", object("to", "bob@example.test"+filling+rest)); got != `Send it to "bob@example.test…"?` {
			t.Errorf("%s: %s", what, got)
		}
		if got := asked("Send it to {{to}}?", object("to", filling+"bob@example.test")); got != `Send it to "…"?` {
			t.Errorf("%s before: %s", what, got)
		}
	}
	for _, quote := range doubleQuotes + "\"" {
		got := asked("Archive {{name}}? Nobody else.", object("name", "Ada"+string(quote)+"? Nothing more. "+string(quote)+string(quote)+"x"))
		if got != `Archive "Ada'? Nothing more. 'x"? Nobody else.` {
			t.Errorf("%U: %s", quote, got)
		}
	}
	if got := asked("{{a}}", object("a", "x''''y")); got != `"x'y"` {
		t.Error(got)
	}
	// What runs from right to left moves nothing but itself.
	if got := asked("Move {{a}} {{b}}.", `{"a":"\u05d0\u05d1\u202e","b":5}`); got != "Move \"\u2068\u05d0\u05d1\u2069\" \"5\"." {
		t.Errorf("%q", got)
	}
	// As many long values as a question can have leave its end where it is.
	values := map[string]string{"to": "Mallory"}
	text := "Move"
	for i := range 40 {
		name := fmt.Sprintf("a%d", i)
		values[name] = strings.Repeat("\U0001F600", 500)
		text += " {{" + name + "}}"
	}
	arguments, err := json.Marshal(values)
	if err != nil {
		t.Fatal(err)
	}
	if got := asked(text+" to {{to}}?", string(arguments)); !strings.HasSuffix(got, ` to "Mallory"?`) || strings.Count(got, "…") != 40 {
		t.Errorf("the end is cut off: %s", got[len(got)-100:])
	}
}
