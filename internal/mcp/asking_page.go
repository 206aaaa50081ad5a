package mcp

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chumbo-dev/chumbo/internal/approvals"
	"github.com/chumbo-dev/chumbo/internal/fault"
)

// onPage takes a person's answer from our page, once: nil, nil when they
// approved this very call. Else the model is told where they can.
func (a *askedCall) onPage(ctx context.Context, question string, arguments []byte) (*mcp.CallToolResult, error) {
	call, err := a.approvalOf(question, arguments)
	if err != nil {
		return nil, err
	}
	answer, err := a.r.asking.once.Ask(ctx, call)
	if err != nil {
		e := fault.From(err)
		if e.Kind != fault.RateLimited && e.Kind != fault.TooLarge {
			return nil, err
		}
		return a.told(&toolError{kind: e.Kind.String(), code: e.Code, detail: e.Message}), nil
	}
	switch answer.State {
	case approvals.Approved:
		return nil, nil
	case approvals.Declined:
		return a.declined(), nil
	}
	res := a.told(&toolError{kind: kindNeedsPerson, detail: "Nothing was called yet: " + appTitle(a.c) + " wants the user to approve this call. Ask the user to open " + answer.URL +
		" and to approve it there. Then make the same call again, unchanged, within 10 minutes: it runs once."})
	res.Content = append(res.Content, &mcp.ResourceLink{
		URI: answer.URL, Name: "approval", Title: "Approve: " + plainTitle(a.t.spec.Title), Description: "The page on which the user approves or declines this call.", MIMEType: "text/html",
	})
	return res, nil
}
