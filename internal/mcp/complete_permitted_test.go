package mcp

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// suggestingRunner has the same values for everybody.
type suggestingRunner struct{ *scriptedRunner }

func (suggestingRunner) suggest(context.Context, *call, *surfaces.ValueColumn, string) ([]string, bool, error) {
	return []string{"7", "8", "9"}, true, nil
}

// TestSuggestionsTellNothingThatACallIsRefused: what the rules or the app's
// authorizer keep from a caller by its arguments is not listed to them as a
// suggestion.
func TestSuggestionsTellNothingThatACallIsRefused(t *testing.T) {
	t.Parallel()
	only8 := func(_ context.Context, _ *call, _ *surfaces.Function, argument []byte) ([]byte, error) {
		var answers []string
		var checks []struct{ Arguments map[string]any }
		if err := json.Unmarshal(argument, &checks); err != nil {
			return nil, err
		}
		for _, check := range checks {
			answers = append(answers, map[bool]string{true: `{"allowed":true}`, false: `{"allowed":false}`}[check.Arguments == nil || check.Arguments["id"] == "8"])
		}
		return []byte("[" + strings.Join(answers, ",") + "]"), nil
	}
	for name, tc := range map[string]struct {
		gate, all surfaces.Gate // of the capability, of the surface
		claims    string
		context   string
		want      string
	}{
		"no rule":              {want: `["7","8","9"]`},
		"a rule about it":      {gate: surfaces.Gate{Allow: &surfaces.Allow{Rule: `args.id != "7"`}}, want: `["8","9"]`},
		"the surface's":        {all: surfaces.Gate{Allow: &surfaces.Allow{Rule: `args.id == "9"`}}, want: `["9"]`},
		"both":                 {gate: surfaces.Gate{Allow: &surfaces.Allow{Rule: `args.id != "7"`}}, all: surfaces.Gate{Allow: &surfaces.Allow{Rule: `args.id != "8"`}}, want: `["9"]`},
		"a rule about who":     {gate: surfaces.Gate{Allow: &surfaces.Allow{Rule: `"admin" in claims.roles`}}, claims: `{"roles":["member"]}`, want: `[]`},
		"who may":              {gate: surfaces.Gate{Allow: &surfaces.Allow{Rule: `"admin" in claims.roles`}}, claims: `{"roles":["admin"]}`, want: `["7","8","9"]`},
		"a claim nobody has":   {gate: surfaces.Gate{Allow: &surfaces.Allow{Rule: `"admin" in claims.roles`}}, claims: `{}`, want: `[]`},
		"another, not chosen":  {gate: surfaces.Gate{Allow: &surfaces.Allow{Rule: `args.day == "monday"`}}, want: `[]`},
		"another, chosen":      {gate: surfaces.Gate{Allow: &surfaces.Allow{Rule: `args.day == "monday" && args.id == "8"`}}, context: `{"day":"monday","id":"9"}`, want: `["8"]`},
		"by the authorizer":    {gate: surfaces.Gate{Permission: "p"}, want: `["8"]`},
		"authorizer and rule":  {gate: surfaces.Gate{Permission: "p", Allow: &surfaces.Allow{Rule: `args.id != "8"`}}, want: `[]`},
		"what no call can say": {gate: surfaces.Gate{Allow: &surfaces.Allow{Rule: `args.id != ""`}}, context: `{"unknown":"x"}`, want: `["7","8","9"]`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := &suggestingRunner{&scriptedRunner{}}
			b := setupOver(t, run)
			run.answers(only8)
			from := &surfaces.Completion{Column: &surfaces.ValueColumn{}}
			ep := b.gated(tc.gate, func(_ *tenants.Endpoint, c *surfaces.Compiled) {
				c.Policy.Allow, c.Policy.Authorizer = tc.all.Allow, function("authorize", "checks")
				c.Resources[1].URI, c.Resources[1].Variables = "acme://gated/{day}/{id}", []surfaces.Variable{{Name: "day"}, {Name: "id", Complete: from}}
				day := c.Prompts[0].Arguments[0]
				day.Name, day.Complete = "day", nil
				c.Prompts[0].Arguments[0].Complete = from
				c.Prompts[0].Arguments = append(c.Prompts[0].Arguments, day)
			})
			b.admitAs(ep, oauth.ModeDirect, "alice", tc.claims)
			for _, ref := range []string{`{"type":"ref/prompt","name":"gated"}`, `{"type":"ref/resource","uri":"acme://gated/{day}/{id}"}`} {
				params := `"ref":` + ref + `,"argument":{"name":"id","value":""}`
				if tc.context != "" {
					params += `,"context":{"arguments":` + tc.context + `}`
				}
				got := answered(b, modern("completion/complete", "", params))
				if got.status != 200 || !strings.Contains(got.body, `"values":`+tc.want) {
					t.Errorf("%s: %d %s, want %s", ref, got.status, got.body, tc.want)
				}
			}
			if logs := b.logs.String(); logs != "" {
				t.Errorf("logged: %s", logs)
			}
		})
	}
}
