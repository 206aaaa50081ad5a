package mcp

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// promptBundle has prompts over a surface with templates that lie side by side.
func promptBundle(t *testing.T, run runner) *bundle {
	t.Helper()
	b := setupOver(t, run)
	b.caller(b.surface("acme", func(_ *tenants.Endpoint, c *surfaces.Compiled) {
		function := &surfaces.FunctionPlan{Slug: "f", Timeout: 30, Asks: true}
		c.Resources = []surfaces.Resource{
			{URI: "acme://one/{id}", Name: "one", Function: function, Variables: []surfaces.Variable{{Name: "id"}}},
			{URI: "acme://one/{id}/{part}", Name: "part", Function: function, Variables: []surfaces.Variable{{Name: "id"}, {Name: "part"}}},
		}
		argument := func(name string, of surfaces.JSONType, schema string) surfaces.PromptArgument {
			return surfaces.PromptArgument{Name: name, Type: of, Schema: json.RawMessage(schema)}
		}
		c.Prompts = []surfaces.Prompt{
			{
				Name: "says", Budget: 600, Arguments: []surfaces.PromptArgument{
					argument("text", surfaces.JSONString, `{"type":"string"}`), argument("n", surfaces.JSONNumber, `{"type":"number","maximum":10}`), argument("yes", surfaces.JSONBoolean, `{"type":"boolean"}`),
				},
				Messages: []surfaces.PromptMessage{{Role: "user", Text: "{{text}}"}, {Role: "assistant", Text: "{{n}} {{yes}}"}},
			},
			{Name: "shows", Budget: 600, Messages: []surfaces.PromptMessage{{Role: "user", Text: strings.Repeat("x", 300)}, {Role: "user", Image: &surfaces.PromptImage{MIMEType: "image/png", Data: make([]byte, 300)}}}},
			{Name: "embeds", Arguments: []surfaces.PromptArgument{argument("id", surfaces.JSONString, `{"type":"string"}`)}, Messages: []surfaces.PromptMessage{{Role: "user", Resource: "acme://one/{{id}}"}}},
		}
	}), "alice", "alice")
	return b
}

func (b *bundle) prompt(name string, arguments map[string]string) called {
	b.t.Helper()
	raw, err := json.Marshal(arguments)
	if err != nil {
		b.t.Fatal(err)
	}
	res := b.send(modern("prompts/get", name, `"name":"`+name+`","arguments":`+string(raw)).as("alice"))
	return called{res.StatusCode, bodyOf(b.t, res), res.Header}
}

func TestMessagesOfAPromptAreWithinItsBudget(t *testing.T) {
	t.Parallel()
	b := promptBundle(t, nil)
	if got := b.prompt("says", map[string]string{"text": strings.Repeat("x", 500), "n": "1.50", "yes": "true"}); got.status != http.StatusOK || !strings.Contains(got.body, `"text":"1.5 true"`) {
		t.Errorf("%d %s", got.status, got.body)
	}
	for name, got := range map[string]called{"a long argument": b.prompt("says", map[string]string{"text": strings.Repeat("x", 700)}), "an image": b.prompt("shows", nil)} {
		if !strings.Contains(got.body, `"error"`) || !strings.Contains(got.body, `"kind":"too_large"`) {
			t.Errorf("%s: %d %.300s", name, got.status, got.body)
		}
	}
	for argument, words := range map[string]string{"n": "a number in digits", "yes": "true or false"} {
		for _, said := range []string{"x", "TRUE", "0x1"} {
			if got := b.prompt("says", map[string]string{argument: said}); got.status != http.StatusBadRequest || !strings.Contains(got.body, words) || !strings.Contains(got.body, `"path":"/`+argument+`"`) {
				t.Errorf("%s %q: %d %s", argument, said, got.status, got.body)
			}
		}
	}
	if got := b.prompt("says", map[string]string{"n": "11"}); got.status != http.StatusBadRequest || !strings.Contains(got.body, `"path":"/n"`) {
		t.Errorf("too many: %d %s", got.status, got.body)
	}
}

// TestNoArgumentLeavesItsPlaceInAnAddress: what a prompt embeds is the resource
// that its author wrote, whatever the argument holds.
func TestNoArgumentLeavesItsPlaceInAnAddress(t *testing.T) {
	t.Parallel()
	b := promptBundle(t, nil)
	for said, uri := range map[string]string{
		"7": "acme://one/7", "a-b_c~.d": "acme://one/a-b_c~.d", "a/b": "acme://one/a%2Fb", "a%2Fb": "acme://one/a%252Fb", "a b?c#d": "acme://one/a%20b%3Fc%23d", "é": "acme://one/%C3%A9", "..": "acme://one/..", "{part}": "acme://one/%7Bpart%7D",
	} {
		got := b.prompt("embeds", map[string]string{"id": said})
		want := string(appendString(nil, "one alice "+`{"id":`+string(appendString(nil, said))+`}`))
		var answer struct {
			Result struct {
				Messages []struct {
					Content struct {
						Resource struct{ URI, Text string }
					}
				}
			}
		}
		if err := json.Unmarshal([]byte(got.body), &answer); err != nil || len(answer.Result.Messages) != 1 {
			t.Errorf("%q: %d %s", said, got.status, got.body)
			continue
		}
		one := answer.Result.Messages[0].Content.Resource
		if string(appendString(nil, one.Text)) != want || one.URI != uri {
			t.Errorf("%q: %s %s, want %s %s", said, one.URI, one.Text, uri, want)
		}
	}
	for _, said := range []string{"", "a\x00b", "a\nb"} {
		if got := b.prompt("embeds", map[string]string{"id": said}); got.status != http.StatusBadRequest || !strings.Contains(got.body, errNotEmbedded.detail) {
			t.Errorf("%q: %d %s", said, got.status, got.body)
		}
	}
	// What asks cannot be embedded: nobody would know what is asked.
	run := &embeddedAsks{scriptedRunner: &scriptedRunner{}}
	if got := promptBundle(t, run).prompt("embeds", map[string]string{"id": "7"}); !strings.Contains(got.body, `"kind":"out_of_date"`) || !strings.Contains(got.body, "must be asked for by itself") {
		t.Errorf("what asks: %d %s", got.status, got.body)
	}
}

// embeddedAsks asks instead of being read.
type embeddedAsks struct{ *scriptedRunner }

func (embeddedAsks) read(context.Context, *call, *surfaces.Resource, string, []byte) (*mcp.ReadResourceResult, error) {
	return &mcp.ReadResourceResult{InputRequests: mcp.InputRequestMap{"name": &mcp.ElicitParams{Message: "Who?"}}}, nil
}
