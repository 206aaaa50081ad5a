package mcp

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/chumbo-dev/chumbo/internal/standin"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

const crmSurface = `
version: 1
title: CRM
access: { mode: oauth, authorization: direct }
tools:
  - table: customers
    description: Customers of the user's organization.
    operations: [list, get]
    columns: [id, name, email, status, balance, tags, profile, updated_at]
    filters: { status: [eq, in], name: [ilike], email: [is], balance: [gte], updated_at: [lt] }
    order: [id, name, -updated_at, balance]
  - table: notes
    description: Notes about customers.
    operations: [list, get]
    columns: [id, customer_id, body, created_at]
    order: [id]
  - tool: customer_summary
    description: Customers by status.
    rpc: customer_summary
  - tool: archive_customer
    description: Archive a customer.
    rpc: archive_customer
  - tool: touch_customer
    description: Touch a customer.
    rpc: touch_customer
  - tool: greet
    description: Say hello.
    rpc: greet
`

// TestACompiledSurfaceRuns runs every tool of a compiled surface file and holds
// each result against the output schema that clients were told.
func TestACompiledSurfaceRuns(t *testing.T) {
	t.Parallel()
	p := startReal(t)
	compiled := compileFor(t, p, crmSurface)
	c := p.callAs(t, standin.AliceEmail)
	for _, test := range []struct{ tool, arguments string }{
		{"customers_list", `{}`}, {"customers_list", `{"order":"-updated_at","limit":7,"status_in":["lead","active"]}`},
		{"customers_list", `{"name_ilike":"bakery","balance_gte":"10.50","order":"balance"}`},
		{"customers_list", `{"email_is":"null"}`}, {"customers_list", `{"updated_at_lt":"2026-01-02T00:00:00+00:00"}`},
		{"customers_get", `{"id":"5"}`}, {"customers_get", `{"id":6}`},
		{"notes_list", `{"limit":3}`}, {"notes_get", `{"id":"2"}`},
		{"customer_summary", `{}`}, {"customer_summary", `{"since":"2026-01-01T00:00:00Z","with_archived":true}`},
		{"greet", `{"name":"Alice"}`}, {"touch_customer", `{"id":"7"}`}, {"archive_customer", `{"id":7}`},
	} {
		tool := toolNamed(t, compiled, test.tool)
		got := runTool(t, p.runner, c, tool, test.arguments)
		if got.isError {
			t.Errorf("%s %s: %s", test.tool, test.arguments, got.text)
			continue
		}
		if err := matches(t, tool.Output, got.structured); err != nil {
			t.Errorf("%s %s: %v\n%s", test.tool, test.arguments, err, got.structured)
		}
	}
	list := toolNamed(t, compiled, "customers_list")
	for _, order := range list.List.Orders {
		if got := all(t, p.runner, c, list, fmt.Sprintf(`{"limit":9,"order":%q}`, order.Name), "id"); len(unique(got)) != 60 || len(got) != 60 {
			t.Errorf("%s: %d rows, %d different", order.Name, len(got), len(unique(got)))
		}
	}
}

func compileFor(t *testing.T, p *realProject, src string) *surfaces.Compiled {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), p.DSN())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	snap, err := surfaces.ImportPostgres(t.Context(), conn, surfaces.ImportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	compiled, problems := surfaces.Compile([]byte(src), snap, surfaces.ProjectFacts{Signing: surfaces.SigningAsymmetric})
	if compiled == nil {
		t.Fatalf("problems: %+v", problems)
	}
	return compiled
}

func toolNamed(t *testing.T, compiled *surfaces.Compiled, name string) *surfaces.Tool {
	t.Helper()
	for i := range compiled.Tools {
		if compiled.Tools[i].Name == name {
			return &compiled.Tools[i]
		}
	}
	t.Fatalf("no tool %s", name)
	return nil
}

func matches(t *testing.T, schema, value []byte) error {
	t.Helper()
	compiled, err := compileSchema(schema)
	if err != nil {
		t.Fatal(err)
	}
	instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err != nil {
		t.Fatal(err)
	}
	return compiled.Validate(instance)
}
