package demo

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/standin"
)

var approvalLink = regexp.MustCompile(`https?://[^/" \\]+/connect/approvals/[a-z2-7]{32}`)

// TestAPersonApprovesOnThePageWhatAnOlderClientCalls, all the way: the client
// gets a link, nobody else can use it, and after the approval the same call runs
// once.
func TestAPersonApprovesOnThePageWhatAnOlderClientCalls(t *testing.T) {
	t.Parallel()
	customer := newPersonsCustomer(t)
	d := &dance{t: t, mcp: running.AssistantURL, who: newPerson(t, standin.AliceEmail)}
	d.challenge(http.MethodGet, nil, "")
	d.discover(nil)
	d.register(map[string]any{"client_name": "Client that cannot ask", "redirect_uris": []string{callbackURL}, "token_endpoint_auth_method": "none"})
	d.exchange("", d.code(d.authorize(callbackURL)))
	call := func() string {
		t.Helper()
		r := sendRaw(t, http.MethodPost, d.mcp, d.access, headers("Accept", "application/json, text/event-stream", "Mcp-Protocol-Version", "2025-11-25"),
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"archive_customer","arguments":{"id":"`+customer+`"}}}`)
		if r.status != http.StatusOK {
			t.Fatalf("%d %s", r.status, r.body)
		}
		return r.body
	}
	waits := func(when string) (link string) {
		t.Helper()
		body := call()
		link = approvalLink.FindString(body)
		if link == "" || !strings.Contains(body, "needs_person") {
			t.Fatalf("%s: %s", when, body)
		}
		return link
	}
	link := waits("first")
	bob := newPerson(t, standin.BobEmail)
	if at, err := bob.walk(t.Context(), link, func(string) bool { return false }); err == nil || !strings.Contains(err.Error(), "There is no such question for you") {
		t.Errorf("Bob comes to %s, %v", at, err)
	}
	if again := waits("after Bob"); again != link || statusOf(t, customer) == "archived" {
		t.Fatalf("%s, then %s", link, again)
	}
	approved := func(next string) bool {
		return next == link && slices.ContainsFunc(d.who.pages, func(path string) bool { return strings.Contains(path, "/connect/approvals/") })
	}
	if _, err := d.who.walk(t.Context(), link, approved); err != nil {
		t.Fatal(err)
	}
	if statusOf(t, customer) == "archived" {
		t.Fatal("the page itself ran the call")
	}
	if body := call(); strings.Contains(body, `"isError":true`) || statusOf(t, customer) != "archived" {
		t.Fatalf("approved: %s", body)
	}
	if again := waits("once more"); again == link {
		t.Error("an approval counts twice")
	}
}
