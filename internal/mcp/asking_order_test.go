package mcp

import (
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// TestNobodyIsAskedWhatMayNotBe: arguments that do not fit, and calls that
// policy refuses, end before a person is asked.
func TestNobodyIsAskedWhatMayNotBe(t *testing.T) {
	t.Parallel()
	b := setupAsking(t, func(_ *tenants.Endpoint, c *surfaces.Compiled) {
		for i := range c.Tools {
			c.Tools[i].Allow = &surfaces.Allow{Rule: `!has(args.id) || args.id != 13`, Reason: "Not that one."}
		}
	})
	for _, client := range []string{formClient, `{}`} {
		for _, tool := range []string{"archive", "close"} {
			for arguments, kind := range map[string]string{`{}`: "invalid", `{"id":"x"}`: "invalid", `{"id":13}`: "forbidden"} {
				if got := b.asks("alice", tool, arguments, client, ""); got.kind() != kind {
					t.Errorf("%s of %s: %s, want %s", tool, arguments, got.body, kind)
				}
			}
		}
	}
	b.nothingRan(t, "refused")
}

// TestWhatIsAskedInRoundsIsBounded: a state that would grow too large, and a
// function whose questions are never answered, end with what to do.
func TestWhatIsAskedInRoundsIsBounded(t *testing.T) {
	t.Parallel()
	b := setupAsking(t, nil)
	state := b.asks("alice", "close", `{"id":7}`, formClient, "").input(t, "why")
	long := `"inputResponses":{"why":{"action":"accept","content":{"reason":"` + strings.Repeat("a", maxState) + `"}}},`
	if got := b.asks("alice", "close", `{"id":7}`, formClient, long+state); got.kind() != "too_large" || len(got.body) > 2000 {
		t.Errorf("a long answer: %.300s", got.body)
	}
	b.nothingRan(t, "a long answer")
	b.asksFor(func(round) (mcp.InputRequestMap, string) { return requestsOf(t, `{`+asksName+`}`), "" })
	got := b.asks("alice", "interview", `{}`, formClient, "")
	for range maxTries - 1 {
		got = b.asks("alice", "interview", `{}`, formClient, got.input(t, "name"))
	}
	ran := len(b.calls())
	got = b.asks("alice", "interview", `{}`, formClient, got.input(t, "name"))
	if got.Error == nil || !strings.Contains(got.Error.Message, "Call again without requestState") || len(b.calls()) != ran {
		t.Errorf("never answered: %s", got.body)
	}
}

// TestValuesInQuestionsEndWhereTheirQuotesDo: on one line, 80 characters at
// most, and without what would look like the end of the value.
func TestValuesInQuestionsEndWhereTheirQuotesDo(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		``: "(nothing)", `null`: "(nothing)", `""`: `""`, `"(nothing)"`: `"(nothing)"`, `7.10`: `"7.10"`, `true`: `"true"`, `"a\n\t b"`: `"a b"`, `"a\u202e\u0000b"`: `"ab"`,
		`"a\" or \u201cb\u201d \u00abc\u00bb\uff02"`: `"a' or 'b' 'c'"`,
		`"` + strings.Repeat("é", 80) + `"`:          `"` + strings.Repeat("é", 80) + `"`,
		`"` + strings.Repeat("é", 81) + `"`:          `"` + strings.Repeat("é", 79) + `…"`,
		`"` + strings.Repeat("x", 1<<20) + `"`:       `"` + strings.Repeat("x", 79) + `…"`,
	} {
		if got := quotedValue(token(value)); got != want {
			t.Errorf("%.100s: %s, want %s", value, got, want)
		}
	}
}
