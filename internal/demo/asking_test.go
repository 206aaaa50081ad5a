package demo

import (
	"context"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/standin"
)

// asking is what test/node/asking.mjs is told to do, and what came of it.
type asking struct {
	URL     string         `json:"url"`
	Mode    string         `json:"mode"`
	Answers map[string]any `json:"answers"` // by a part of the question's text
	Calls   []askingCall   `json:"calls"`
}

type askingCall struct {
	Name      string         `json:"name"`
	Arguments map[string]any `json:"arguments"`
}

type askingResult struct {
	Protocol string   `json:"protocol"`
	Asked    []string `json:"asked"`
	Calls    []struct {
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
		Structured map[string]any `json:"structuredContent"`
		IsError    bool           `json:"isError"`
		Thrown     string         `json:"thrown"`
	} `json:"calls"`
}

// run drives the official TypeScript client, signing in as the person.
func (a asking) run(t *testing.T, who *person) (result askingResult) {
	t.Helper()
	driveNode(t, nodeProgram(t), "asking.mjs", a, who, &result)
	return result
}

// TestTypeScriptClientAnswersQuestionsByItself: the official client of the
// newest protocol is asked, answers for its person and gets its result, without
// any help from whoever calls it. One of the older protocol cannot be asked: it
// gets a plain refusal, and nothing happens.
func TestTypeScriptClientAnswersQuestionsByItself(t *testing.T) {
	t.Parallel()
	_ = nodeProgram(t)
	customer := newPersonsCustomer(t)
	question := `Archive customer "` + customer + `"?`
	calls := []askingCall{
		{"interview", map[string]any{}},
		{"archive_customer", map[string]any{"id": customer}},
	}
	answers := map[string]any{
		"What shall we talk about?": map[string]any{"action": "accept", "content": map[string]any{"topic": "plumb lines"}},
		question:                    map[string]any{"action": "accept", "content": map[string]any{"confirm": true}},
	}

	legacy := asking{URL: running.AssistantURL, Mode: "legacy", Answers: answers, Calls: calls}.run(t, newPerson(t, standin.AliceEmail))
	if legacy.Protocol != "2025-11-25" || len(legacy.Asked) > 0 {
		t.Errorf("a client that cannot be asked was asked %q in %s", legacy.Asked, legacy.Protocol)
	}
	for i, c := range legacy.Calls {
		if !c.IsError || len(c.Content) == 0 || !strings.Contains(c.Content[0].Text, "needs_person") {
			t.Errorf("%s answered %+v", calls[i].Name, c)
		}
	}
	if status := statusOf(t, customer); status == "archived" {
		t.Fatal("a call that was refused archived the customer")
	}

	declined := asking{URL: running.AssistantURL, Mode: "auto", Answers: map[string]any{question: map[string]any{"action": "decline"}}, Calls: calls[1:]}.run(t, newPerson(t, standin.AliceEmail))
	if c := declined.Calls[0]; !c.IsError || !strings.Contains(c.Content[0].Text, "declined") || statusOf(t, customer) == "archived" {
		t.Fatalf("a decline was answered %+v", c)
	}

	modern := asking{URL: running.AssistantURL, Mode: "auto", Answers: answers, Calls: calls}.run(t, newPerson(t, standin.AliceEmail))
	if modern.Protocol != "2026-07-28" || len(modern.Asked) != 2 || modern.Asked[0] != "What shall we talk about?" || !strings.Contains(modern.Asked[1], question) {
		t.Errorf("asked %q in %s", modern.Asked, modern.Protocol)
	}
	if c := modern.Calls[0]; c.IsError || len(c.Content) == 0 || c.Content[0].Text != "Let us talk about plumb lines." {
		t.Errorf("interview answered %+v", c)
	}
	if c := modern.Calls[1]; c.IsError || c.Structured["status"] != "archived" || statusOf(t, customer) != "archived" {
		t.Errorf("archive_customer answered %+v", c)
	}
}

// newPersonsCustomer makes a customer of Alice's in the demo's database, of
// which nobody else counts anything.
func newPersonsCustomer(t *testing.T) (id string) {
	t.Helper()
	t.Cleanup(func() {
		queryDemo(t, new(string), "delete from public.customers where id = $1::bigint returning id::text", id)
	})
	queryDemo(t, &id, `insert into public.customers (organization_id, name)
		select organization_id, 'Acme Asked About' from public.memberships where user_id = $1 returning id::text`, standin.AliceID)
	return id
}

func statusOf(t *testing.T, customer string) (status string) {
	t.Helper()
	queryDemo(t, &status, "select status::text from public.customers where id = $1::bigint", customer)
	return status
}

// queryDemo asks the demo's project for one value, as its owner.
func queryDemo(t *testing.T, to *string, sql string, args ...any) {
	t.Helper()
	conn, err := pgx.Connect(context.WithoutCancel(t.Context()), running.DatabaseURL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	if err := conn.QueryRow(context.WithoutCancel(t.Context()), sql, args...).Scan(to); err != nil {
		t.Fatal(err)
	}
}
