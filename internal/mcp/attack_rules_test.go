package mcp

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// TestNoRuleTakesWhatItCannotReadForAbsent: numbers that the database reads, and
// that have no spelling to compare them in, would slip by a rule that asks
// whether a column is written at all.
func TestNoRuleTakesWhatItCannotReadForAbsent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	amount := surfaces.Column{Name: "amount", SQLType: "numeric", JSON: surfaces.JSONString, AsText: true}
	b.caller(b.surface("acme", func(_ *tenants.Endpoint, c *surfaces.Compiled) {
		tool := updateTool()
		tool.Name, tool.Update.Values = "change", append(tool.Update.Values, writes(amount)...)
		tool.Input = json.RawMessage(`{"type":"object","additionalProperties":false,"required":["id","patch"],"properties":{"id":{"type":"string"},"patch":{"type":"object","minProperties":1,"additionalProperties":false,"properties":{"name":{"type":"string"},"amount":{"anyOf":[{"type":"integer"},{"type":"string","pattern":"^-?[0-9]+(\\.[0-9]+)?$"}]}}}}}`)
		tool.Allow = &surfaces.Allow{Rule: `!("amount" in args.patch)`}
		c.Tools = []surfaces.Tool{*tool}
	}), "alice", "alice")
	for _, value := range []string{`1e0002`, `1E+0002`, `"` + strings.Repeat("0", 400) + `9"`, `"0.` + strings.Repeat("0", 400) + `"`} {
		body := b.call("change", "alice", `{"id":"1","patch":{"name":"x","amount":`+value+`}}`).body
		if b.runner.count() != 0 || !strings.Contains(body, `\"kind\":\"invalid\"`) || !strings.Contains(body, `\"path\":\"/patch\"`) {
			t.Fatalf("%.20s: %s", value, body)
		}
	}
	if got := b.call("change", "alice", `{"id":"1","patch":{"name":"x","amount":"5"}}`); !got.forbidden() || b.runner.count() != 0 {
		t.Errorf("what the rule forbids: %s", got.body)
	}
	if got := b.call("change", "alice", `{"id":"1","patch":{"name":"x"}}`); !got.ran() || b.runner.count() != 1 {
		t.Errorf("what it allows: %s", got.body)
	}
}

// TestRulesSeeEveryFilter: what asks for null or not is no value of the column.
func TestRulesSeeEveryFilter(t *testing.T) {
	t.Parallel()
	plan := &surfaces.DeletePlan{Many: &surfaces.Many{MaxAffected: 9, Filters: []surfaces.Filter{
		{Argument: "big_is", Column: bigColumn, Operator: "is"}, {Argument: "big", Column: bigColumn, Operator: "eq"},
		{Argument: "code", Column: surfaces.Column{Name: "code", SQLType: "bpchar"}, Operator: "eq"},
		{Argument: "code_like", Column: surfaces.Column{Name: "code", SQLType: "bpchar"}, Operator: "like"},
	}}}
	given := `{"big_is":"not_null","big":"007","code":"ab  ","code_like":"a "}`
	got, unread := canonical([]byte(given), exactArguments(&surfaces.Tool{Delete: plan}))
	if want := `{"big_is":"not_null","big":"7","code":"ab","code_like":"a "}`; string(got) != want || unread != "" {
		t.Errorf("%s (%s unread), want %s", got, unread, want)
	}
}

// TestSpellingOutNumbersIsBounded: a body of 1 MiB holds numbers of sixty times
// as many digits.
func TestSpellingOutNumbersIsBounded(t *testing.T) {
	t.Parallel()
	exact := map[string]spelling{"a": exactNumber, "b": exactNumber}
	list := func(n int) string { return "[" + strings.TrimSuffix(strings.Repeat("1e399,", n), ",") + "]" }
	for arguments, want := range map[string]string{`{"a":` + list(150_000) + `}`: "a", `{"a":` + list(9_000) + `,"b":` + list(9_000) + `}`: "b", `{"a":` + list(4_000) + `,"b":` + list(4_000) + `}`: ""} {
		got, unread := canonical([]byte(arguments), exact)
		if unread != want || len(got) > maxSpelled+16 {
			t.Errorf("%d bytes became %d, %q unread, want %q", len(arguments), len(got), unread, want)
		}
	}
	ordinary := `{"a":[` + strings.TrimSuffix(strings.Repeat("1,", maxBody/2-8), ",") + `]}`
	if _, unread := canonical([]byte(ordinary), exact); unread != "" {
		t.Error("a list as long as a body is refused")
	}
}
