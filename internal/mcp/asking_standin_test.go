package mcp

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/standin"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// TestField93_NothingReachesTheProjectUnasked counts what a real project is
// asked while a model tries to go on without its person, and after.
func TestField93_NothingReachesTheProjectUnasked(t *testing.T) {
	t.Parallel()
	p := startReal(t)
	once := &memoryApprovals{used: map[string]bool{}}
	b := &askingBundle{bundle: setupOver(t, p.runner), once: once}
	b.handler.revisions.asking.once = once
	b.ep = b.surface("acme", func(ep *tenants.Endpoint, c *surfaces.Compiled) {
		ep.Project.ID, ep.Project.APIOrigin, ep.Project.PublishableKey = p.project, p.URL(), p.PublishableKey()
		list := *crmList()
		list.Name, list.Title, list.Description, list.Confirm = "customers", "Customers", "Customers", "Show {{limit}} customers to the model?"
		list.Input = json.RawMessage(`{"type":"object","properties":{"limit":{"type":"integer"}},"additionalProperties":false}`)
		c.Tools = []surfaces.Tool{list}
	})
	for _, email := range []string{standin.AliceEmail, standin.BobEmail} {
		c := p.callAs(t, email).caller
		c.Key.Surface = b.ep.Surface
		b.auth.admit(email, c)
	}
	const arguments = `{"limit":2}`
	state := b.asks(standin.AliceEmail, "customers", arguments, formClient, "").input(t, "confirm")
	for what, got := range map[string]heard{
		"Bob's answer":            b.asks(standin.BobEmail, "customers", arguments, formClient, agreed+","+state),
		"other arguments":         b.asks(standin.AliceEmail, "customers", `{"limit":100}`, formClient, agreed+","+state),
		"a state made up":         b.asks(standin.AliceEmail, "customers", arguments, formClient, agreed+`,"requestState":"yes"`),
		"answers alone":           b.asks(standin.AliceEmail, "customers", arguments, formClient, agreed),
		"confirm as an argument":  b.asks(standin.AliceEmail, "customers", `{"limit":2,"confirm":true}`, formClient, ""),
		"a client that can't ask": b.asks(standin.AliceEmail, "customers", arguments, `{}`, agreed),
	} {
		if got.Result != nil && got.Result.ResultType == "complete" && !got.Result.IsError || strings.Contains(got.body, "Ada") {
			t.Errorf("%s: %s", what, got.body)
		}
	}
	if n := len(p.RequestsTo("/rest/v1/")); n != 0 {
		t.Fatalf("the project was asked %d times", n)
	}
	got := b.asks(standin.AliceEmail, "customers", arguments, formClient, agreed+","+state)
	if got.Result == nil || got.Result.ResultType != "complete" || got.Result.IsError || len(p.RequestsTo("/rest/v1/customers")) != 1 {
		t.Fatalf("agreed: %s", got.body)
	}
	if got := b.asks(standin.AliceEmail, "customers", arguments, formClient, agreed+","+state); !got.stale() || len(p.RequestsTo("/rest/v1/customers")) != 1 {
		t.Errorf("replayed: %s", got.body)
	}
}
