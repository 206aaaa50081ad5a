package demo

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/standin"
)

// pagingData gives customers equal names, equal times and missing values, so
// that every order meets ties and nulls.
const pagingData = `
update public.customers set email = null where id % 4 = 0;
update public.customers set name = split_part(name, ' ', 1) || ' "Twin, (50%) & Sons"' where id % 3 = 0;
update public.customers set updated_at = timestamptz '2026-01-02 00:00:00.000001+00' where id % 5 = 0;
`

const pagingFile = `
version: 1
title: %s
access: { mode: oauth, authorization: direct }
tools:
  - table: customers
    operations: [list, get]
    columns: [id, name, email, status, balance, tags, updated_at]
    filters: { status: [eq, in], name: [eq, ilike], email: [is], balance: [gt], updated_at: [gte, lt] }
    order: [id, name, -name, { column: email, nulls: first }, -email, -updated_at, balance, -status]
    budget: %d
`

// orderSQL is what each order of pagingFile means.
var orderSQL = map[string]string{
	"id": "c.id", "name": "name, c.id", "-name": "name desc, c.id desc",
	"email": "email nulls first, c.id", "-email": "email desc, c.id desc",
	"-updated_at": "updated_at desc, c.id desc", "balance": "balance, c.id", "-status": "status desc, c.id desc",
}

// filterSQL is what each filter means, beside its arguments.
var filterSQL = []struct {
	arguments map[string]any
	sql       string
}{
	{nil, "true"},
	{map[string]any{"status": "active"}, "status = 'active'"},
	{map[string]any{"status_in": []string{"lead", "archived"}}, "status in ('lead', 'archived')"},
	{map[string]any{"name": `Acme "Twin, (50%) & Sons"`}, `name = 'Acme "Twin, (50%) & Sons"'`},
	{map[string]any{"name_ilike": `(50%) & sons"`}, `name like '%(50\%) & Sons"'`},
	{map[string]any{"email_is": "null"}, "email is null"},
	{map[string]any{"balance_gt": "100.5", "status": "active"}, "balance > 100.5 and status = 'active'"},
	{map[string]any{"updated_at_gte": "2026-01-02T00:00:00.000001Z"}, "updated_at >= '2026-01-02 00:00:00.000001+00'"},
	{map[string]any{"updated_at_lt": "2026-01-02T00:00:00.000001Z"}, "updated_at < '2026-01-02 00:00:00.000001+00'"},
	{map[string]any{"status_in": []string{}}, "false"},
}

// pagingTenant is a world with pagingData and pagingFile.
func pagingTenant(t *testing.T, budget int) *tenant {
	t.Helper()
	p := newWorld(t).tenant(t, "Acme builders", "crm", standin.Options{Schema: pagingData})
	p.importSchema()
	p.publish(fmt.Sprintf(pagingFile, "Paging", budget))
	return p
}

// ids asks the database itself for Acme's customers.
func (p *tenant) ids(where, order string) []string {
	p.t.Helper()
	conn, err := pgx.Connect(p.t.Context(), p.DSN())
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = conn.Close(p.t.Context()) }()
	rows, err := conn.Query(p.t.Context(), "select id::text from public.customers c where "+where+
		" and organization_id = (select id from public.organizations where name = 'Acme') order by "+order)
	if err != nil {
		p.t.Fatal(err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		p.t.Fatal(err)
	}
	return ids
}

// walk reads every page of customers_list and returns the ids as they come.
// between runs before each further page.
func (p *tenant) walk(token, era string, arguments map[string]any, between func()) []string {
	p.t.Helper()
	given := map[string]any{}
	for name, value := range arguments {
		given[name] = value
	}
	ids := []string{}
	for range 200 {
		page := call(p.t, p.mcp, token, era, "customers_list", given).page(p.t)
		for _, item := range page.Items {
			ids = append(ids, fmt.Sprint(item["id"]))
		}
		if !page.HasMore {
			if page.NextCursor != nil {
				p.t.Error("a cursor behind the end")
			}
			return ids
		}
		if len(*page.NextCursor) > 512 {
			p.t.Errorf("a cursor of %d characters", len(*page.NextCursor))
		}
		given["cursor"] = *page.NextCursor
		between()
	}
	p.t.Fatal("paging does not end")
	return nil
}

func nothing() {}

// TestPagingGivesEveryRowOnceInEveryOrderUnderEveryFilter compares walks with
// what the database says.
func TestPagingGivesEveryRowOnceInEveryOrderUnderEveryFilter(t *testing.T) {
	t.Parallel()
	p := pagingTenant(t, 16<<10)
	token := p.signIn(standin.AliceEmail).AccessToken
	orders := p.orders(token)
	if len(orders) != len(orderSQL) {
		t.Fatalf("orders on offer: %v", orders)
	}
	for _, order := range orders {
		for _, f := range filterSQL {
			want := p.ids(f.sql, orderSQL[order])
			for i, era := range eras {
				arguments := map[string]any{"order": order, "limit": []int{7, 11}[i]}
				for name, value := range f.arguments {
					arguments[name] = value
				}
				if got := p.walk(token, era, arguments, nothing); !slices.Equal(got, want) {
					t.Errorf("%s, %s %v:\ngot  %v\nwant %v", era, order, f.arguments, got, want)
				}
			}
		}
	}
}

// orders are those that the list tool offers.
func (p *tenant) orders(token string) []string {
	p.t.Helper()
	var answer struct {
		Result struct {
			Tools []struct {
				Name        string `json:"name"`
				InputSchema struct {
					Properties struct {
						Order struct {
							Enum []string `json:"enum"`
						} `json:"order"`
					} `json:"properties"`
				} `json:"inputSchema"`
			} `json:"tools"`
		} `json:"result"`
	}
	list := speak(p.t, p.mcp, token, eras[0], "tools/list", nil)
	if err := json.Unmarshal([]byte(list.body), &answer); err != nil || len(answer.Result.Tools) == 0 {
		p.t.Fatalf("tools: %v %s", err, list.body)
	}
	return answer.Result.Tools[0].InputSchema.Properties.Order.Enum
}

// TestCursorSurvivesAPublish publishes another revision between every two
// pages of a walk.
func TestCursorSurvivesAPublish(t *testing.T) {
	t.Parallel()
	p := pagingTenant(t, 16<<10)
	token := p.signIn(standin.AliceEmail).AccessToken
	for _, era := range eras {
		revisions := 0
		publish := func() {
			revisions++
			p.publish(fmt.Sprintf(pagingFile, fmt.Sprintf("Paging %s %d", era, revisions), 16<<10))
			p.awaitTitle(token, fmt.Sprintf("Paging %s %d", era, revisions))
		}
		got := p.walk(token, era, map[string]any{"order": "-updated_at", "limit": 11}, publish)
		if want := p.ids("true", orderSQL["-updated_at"]); revisions < 5 || !slices.Equal(got, want) {
			t.Errorf("%s, %d publications:\ngot  %v\nwant %v", era, revisions, got, want)
		}
	}
}

// awaitTitle waits until the revision of that title answers.
func (p *tenant) awaitTitle(token, title string) {
	p.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	timeout := time.After(20 * time.Second)
	for {
		if strings.Contains(speak(p.t, p.mcp, token, eras[0], "server/discover", nil).body, title) {
			return
		}
		select {
		case <-tick.C:
		case <-timeout:
			p.t.Fatalf("%s does not serve", title)
		}
	}
}

// TestPagesStayWithinTheBudget: text and structure together, and a row that no
// page can hold is named, never passed over in silence.
func TestPagesStayWithinTheBudget(t *testing.T) {
	t.Parallel()
	const budget = 2048
	p := pagingTenant(t, budget)
	token := p.signIn(standin.AliceEmail).AccessToken
	want := p.ids("true", orderSQL["id"])
	for _, era := range eras {
		got, given := []string{}, map[string]any{"order": "id", "limit": 100}
		for page := (pageOf{HasMore: true}); page.HasMore; given["cursor"] = page.NextCursor {
			r := call(t, p.mcp, token, era, "customers_list", given)
			result := r.result(t)
			if size := len(result.Content[0].Text) + len(result.Structured); size > budget {
				t.Fatalf("a page of %d bytes", size)
			}
			page = r.page(t)
			for _, item := range page.Items {
				got = append(got, item["id"].(string))
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s:\ngot  %v\nwant %v", era, got, want)
		}
	}

	if err := p.Exec(t.Context(), "update public.customers set name = 'Acme ' || repeat('x', 3000) where id = 5"); err != nil {
		t.Fatal(err)
	}
	first := call(t, p.mcp, token, eras[0], "customers_list", map[string]any{"order": "id", "limit": 4}).page(t)
	text := call(t, p.mcp, token, eras[0], "customers_list", map[string]any{"order": "id", "limit": 4, "cursor": *first.NextCursor}).failed(t)
	if !strings.Contains(text, "customers_get") || !strings.Contains(text, "2048 bytes") {
		t.Fatalf("an oversized row: %s", text)
	}
	var told struct{ Detail string }
	if err := json.Unmarshal([]byte(text), &told); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	_, rest, _ := strings.Cut(told.Detail, `cursor "`)
	behind, _, _ := strings.Cut(rest, `"`)
	next := call(t, p.mcp, token, eras[0], "customers_list", map[string]any{"order": "id", "limit": 4, "cursor": behind}).page(t)
	if len(next.Items) == 0 || next.Items[0]["id"] != want[5] {
		t.Errorf("behind the oversized row: %v", next.Items)
	}
}

// TestACursorIsGoodForItsListOnly: anything else is one clear tool error.
func TestACursorIsGoodForItsListOnly(t *testing.T) {
	t.Parallel()
	p := pagingTenant(t, 16<<10)
	token := p.signIn(standin.AliceEmail).AccessToken
	cursor := *call(t, p.mcp, token, eras[0], "customers_list", map[string]any{"order": "name", "limit": 2, "status": "active"}).page(t).NextCursor
	for name, arguments := range map[string]map[string]any{
		"another order":  {"order": "id", "status": "active", "cursor": cursor},
		"another filter": {"order": "name", "status": "lead", "cursor": cursor},
		"no filter":      {"order": "name", "cursor": cursor},
		"changed":        {"order": "name", "status": "active", "cursor": cursor[:len(cursor)-2] + "AA"},
		"invented":       {"order": "name", "status": "active", "cursor": "nonsense"},
	} {
		for _, era := range eras {
			text := call(t, p.mcp, token, era, "customers_list", arguments).failed(t)
			if !strings.Contains(text, "invalid_cursor") || !strings.Contains(text, "without cursor") {
				t.Errorf("%s: %s", name, text)
			}
		}
	}
	bob := p.signIn(standin.BobEmail).AccessToken
	rows := call(t, p.mcp, bob, eras[0], "customers_list", map[string]any{"order": "name", "limit": 100, "status": "active", "cursor": cursor})
	if rows.status != http.StatusOK || strings.Contains(rows.body, "Acme") || len(rows.page(t).Items) == 0 {
		t.Errorf("Bob with Alice's cursor: %s", rows.body)
	}
}
