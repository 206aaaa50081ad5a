package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

func argumentsText(t testing.TB, l listResult) string {
	t.Helper()
	if l.NextCall == nil {
		t.Fatal("no next_call")
	}
	b, err := json.Marshal(l.NextCall.Arguments)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestPagingSeesEveryRowOnceInAnyOrder(t *testing.T) {
	t.Parallel()
	table := &memoryTable{}
	values := []any{nil, "", "a", "a", `b"q`, "b,c)", nil, `\`, "null", "z", "a"}
	for i, v := range values {
		for j, w := range []any{nil, "x", "y"} {
			n := new(big.Int).Add(big.NewInt(9007199254740990), big.NewInt(int64(i*3+j)))
			table.rows = append(table.rows, map[string]any{"id": n, "name": v, "status": w})
		}
	}
	for bits := range 16 {
		terms := []surfaces.OrderTerm{
			term(nameColumn, bits&1 != 0, bits&2 != 0), term(statusColumn, bits&4 != 0, bits&8 != 0), term(idColumn, bits&1 != 0, false),
		}
		for _, keys := range [][]surfaces.OrderTerm{terms, {terms[0], terms[2]}, {terms[2]}} {
			t.Run(fmt.Sprintf("%04b of %d", bits, len(keys)), func(t *testing.T) {
				t.Parallel()
				tool := listTool()
				tool.List.Orders = []surfaces.Order{{Name: "o", Keys: keys}}
				r := newTestRunner(t, &scripted{onSelect: table.answer})
				whole, _ := table.answer(supabase.Select{Columns: []string{`"id"::text`}, Order: orderOf(tool.List.Orders[0])})
				var want []map[string]any
				if err := json.Unmarshal([]byte(whole), &want); err != nil {
					t.Fatal(err)
				}
				var got []string
				c := runCall()
				arguments := `{"limit":4}`
				for range 20 {
					l := runTool(t, r, c, tool, arguments).list(t)
					for _, item := range l.Items {
						got = append(got, item["id"].(string))
					}
					if !*l.HasMore {
						break
					}
					arguments = argumentsText(t, l)
				}
				if len(got) != len(want) {
					t.Fatalf("%d rows, want %d", len(got), len(want))
				}
				for i := range want {
					if got[i] != want[i]["id"] {
						t.Fatalf("row %d is %s, want %v", i, got[i], want[i]["id"])
					}
				}
			})
		}
	}
}

func TestListAsksForOneRowMoreAndCapsTheLimit(t *testing.T) {
	t.Parallel()
	for arguments, want := range map[string]int{`{}`: 21, ``: 21, `{"limit":5}`: 6, `{"limit":100}`: 101, `{"limit":5000}`: 101, `{"limit":1e1}`: 11, `{"limit":10.0}`: 11} {
		p := answering(`[]`)
		runTool(t, newTestRunner(t, p), runCall(), listTool(), arguments)
		if p.selects[0].Limit != want {
			t.Errorf("%s: limit %d, want %d", arguments, p.selects[0].Limit, want)
		}
	}
	for _, arguments := range []string{`{"limit":0}`, `{"limit":-1}`, `{"limit":1.5}`, `{"limit":1e300}`, `{"limit":"x"}`} {
		p := answering(`[]`)
		if got := runTool(t, newTestRunner(t, p), runCall(), listTool(), arguments); got.kind() != "invalid" || len(p.selects) != 0 {
			t.Errorf("%s: %s", arguments, got.text)
		}
	}
}

func TestZeroRowsAreAnEmptyList(t *testing.T) {
	t.Parallel()
	got := runTool(t, newTestRunner(t, answering(`[]`)), runCall(), listTool(), `{}`)
	if string(got.structured) != `{"items":[],"has_more":false,"next_cursor":null,"next_call":null}` || got.text != "0 rows, no more." {
		t.Errorf("%s\n%s", got.structured, got.text)
	}
}

func TestNextCallRepeatsTheArguments(t *testing.T) {
	t.Parallel()
	rows := `[{"id":"1","name":"a","status":null},{"id":"2","name":"b","status":null}]`
	got := runTool(t, newTestRunner(t, answering(rows)), runCall(), listTool(), `{"status":"open","limit":1,"name_ilike":"x"}`)
	l := got.list(t)
	if l.NextCall == nil || l.NextCall.Name != "customers_list" || string(l.NextCall.Arguments["status"]) != `"open"` || string(l.NextCall.Arguments["limit"]) != "1" {
		t.Fatalf("next call %+v", l.NextCall)
	}
	if string(l.NextCall.Arguments["cursor"]) != `"`+*l.NextCursor+`"` || !strings.Contains(got.text, *l.NextCursor) {
		t.Error("the cursor is not the same everywhere")
	}
	if len(*l.NextCursor) > 512 {
		t.Errorf("cursor of %d characters", len(*l.NextCursor))
	}
}

func TestFiltersBecomeConditions(t *testing.T) {
	t.Parallel()
	p := answering(`[]`)
	runTool(t, newTestRunner(t, p), runCall(), listTool(),
		`{"status":"x&role=eq.admin","status_in":["a\"b,c","back\\slash","(x)","null"],"name_ilike":"50%_off*\\","name_is":"not_null","id_gt":9007199254740993}`)
	want := []supabase.Condition{
		{Column: "status", Operator: "eq", Value: "x&role=eq.admin"},
		{Column: "status", Operator: "in", Values: []string{`a"b,c`, `back\slash`, `(x)`, `null`}},
		{Column: "name", Operator: "ilike", Value: `%50\%\_off_\\%`},
		{Column: "name", Operator: "is", Value: "not_null"},
		{Column: "id", Operator: "gt", Value: "9007199254740993"},
	}
	if got := fmt.Sprintf("%+v", p.selects[0].Where); got != fmt.Sprintf("%+v", want) {
		t.Errorf("conditions\n got %s\nwant %+v", got, want)
	}
}

func TestFilterValuesOfAnotherShapeAreRefusedBeforeAnyCall(t *testing.T) {
	t.Parallel()
	for _, arguments := range []string{
		`{"status":null}`, `{"status":{"a":1}}`, `{"status":["a"]}`, `{"status_in":"a"}`, `{"status_in":[null]}`, `{"status_in":[["a"]]}`,
		`{"name_is":"null,id.gt.0"}`, `{"order":"id;drop"}`, `{"status":"a","status":"b"}`, `[1]`,
	} {
		p := answering(`[]`)
		if got := runTool(t, newTestRunner(t, p), runCall(), listTool(), arguments); got.kind() != "invalid" || len(p.selects) != 0 {
			t.Errorf("%s: %s", arguments, got.text)
		}
	}
}

func TestField76_AnEmptyAllowSetMeansNothing(t *testing.T) {
	t.Parallel()
	table := &memoryTable{rows: []map[string]any{{"id": big.NewInt(1), "name": "a", "status": "open"}}}
	p := &scripted{onSelect: table.answer}
	l := runTool(t, newTestRunner(t, p), runCall(), listTool(), `{"status_in":[]}`).list(t)
	if len(l.Items) != 0 || len(p.selects[0].Where) != 1 {
		t.Errorf("items %v, where %+v", l.Items, p.selects[0].Where)
	}
}

func TestHiddenColumnsNeverShow(t *testing.T) {
	t.Parallel()
	tool := listTool()
	secret := surfaces.Column{Name: "rank", SQLType: "text", JSON: surfaces.JSONString, Hidden: true}
	tool.List.Columns = []surfaces.Column{nameColumn, secret}
	tool.List.Orders = []surfaces.Order{{Name: "rank", Keys: []surfaces.OrderTerm{term(secret, false, false), term(idColumn, false, false)}}}
	p := answering(`[{"name":"a","id":"77001","rank":"secret-1"},{"name":"b","id":"77002","rank":"secret-2"}]`)
	got := runTool(t, newTestRunner(t, p), runCall(), tool, `{"limit":1}`)
	for _, word := range []string{"secret", "7700", "rank"} {
		if strings.Contains(got.text, word) || strings.Contains(string(got.structured), word) {
			t.Errorf("%q shows in\n%s\n%s", word, got.text, got.structured)
		}
	}
	if want := []string{`"name"`, `"id"::text`, `"rank"`}; !slices.Equal(p.selects[0].Columns, want) {
		t.Errorf("columns %v", p.selects[0].Columns)
	}
}

func TestOrderByAnArrayComparesItsText(t *testing.T) {
	t.Parallel()
	tool := listTool()
	tags := surfaces.Column{Name: "tags", SQLType: "text[]", JSON: surfaces.JSONArray}
	tool.List.Columns = []surfaces.Column{idColumn, tags}
	tool.List.Orders = []surfaces.Order{{Name: "tags", Keys: []surfaces.OrderTerm{term(tags, false, false), term(idColumn, false, false)}}}
	p := answering(`[{"id":"1","tags":["x", "y"],"chumbo_order_0":"{x,y}"},{"id":"2","tags":null,"chumbo_order_0":null}]`)
	r := newTestRunner(t, p)
	c := runCall()
	l := runTool(t, r, c, tool, `{"limit":1}`).list(t)
	if p.selects[0].Columns[2] != `"chumbo_order_0":"tags"::text` {
		t.Errorf("columns %v", p.selects[0].Columns)
	}
	runTool(t, r, c, tool, argumentsText(t, l))
	if got := p.selects[1].Where[0].Or[0].Value; got != "{x,y}" {
		t.Errorf("compares with %q", got)
	}
}

func TestGetReadsByTheWholeKey(t *testing.T) {
	t.Parallel()
	tool := getTool()
	p := answering(`{"id":"9007199254740993","name":"a\nb\tc","status":null}`)
	got := runTool(t, newTestRunner(t, p), runCall(), tool, `{"id":"9007199254740993"}`)
	if string(got.structured) != `{"id":"9007199254740993","name":"a\nb\tc","status":null}` || got.text != "id: 9007199254740993\nname: a\\nb\\tc\nstatus: null" {
		t.Errorf("%s\n%s", got.structured, got.text)
	}
	if q := p.selects[0]; !q.Single || len(q.Where) != 1 || q.Where[0].Value != "9007199254740993" {
		t.Errorf("select %+v", q)
	}
	if c := got.call; c.upstream != "up-1" || c.projectTime != time.Millisecond || c.outcome.resultBytes == 0 || c.outcome.toolError {
		t.Errorf("call %+v", c)
	}
}

func TestGetOfNoRowIsNotFound(t *testing.T) {
	t.Parallel()
	p := failing(&supabase.Error{Status: 406, Code: "PGRST116", Rows: 0, Upstream: "up-2"})
	got := runTool(t, newTestRunner(t, p), runCall(), getTool(), `{"id":"1"}`)
	if !got.isError || got.kind() != "not_found" || !got.call.outcome.toolError || got.call.outcome.errorKind != "not_found" {
		t.Errorf("%s %+v", got.text, got.call.outcome)
	}
	p = failing(&supabase.Error{Status: 406, Code: "PGRST116", Rows: 2})
	if got := runTool(t, newTestRunner(t, p), runCall(), getTool(), `{"id":"1"}`); got.kind() != "out_of_date" {
		t.Errorf("a key that names two rows: %s", got.text)
	}
}

func TestACallerWithoutATokenReachesNothing(t *testing.T) {
	t.Parallel()
	p := answering(`[]`)
	c := runCall()
	c.caller.Token = seal.Secret{}
	if _, err := newTestRunner(t, p).run(t.Context(), c, listTool(), nil); err == nil || len(p.selects) != 0 {
		t.Errorf("error %v after %d requests", err, len(p.selects))
	}
}

func TestACanceledRunIsNoToolError(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := newTestRunner(t, failing(context.Canceled)).run(ctx, runCall(), listTool(), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
