package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math/big"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

var runNow = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

func testKeys(t testing.TB) *seal.Keyset {
	t.Helper()
	keys, err := seal.ParseKeyset(seal.GenerateKey())
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// newTestRunner is a runner over a scripted project.
func newTestRunner(t testing.TB, p projects) *toolRunner {
	t.Helper()
	return &toolRunner{projects: p, cursors: testKeys(t).Sealer(seal.Cursor), now: func() time.Time { return runNow }}
}

func runCall() *call {
	return &call{
		requestID: "req-test",
		endpoint: &tenants.Endpoint{
			Surface: id.New[id.SurfaceKind](),
			Project: tenants.ProjectRef{ID: id.New[id.ProjectKind](), APIOrigin: "http://project.example.test", PublishableKey: "sb_publishable_x"},
		},
		caller: &oauth.Caller{
			Key:   oauth.CallerKey{Mode: oauth.ModeDirect, Subject: "alice"},
			Token: seal.NewSecret("token"), Expires: runNow.Add(time.Hour),
		},
	}
}

// scripted answers from functions and keeps what was asked.
type scripted struct {
	mu       sync.Mutex
	selects  []supabase.Select
	calls    []supabase.Call
	onSelect func(q supabase.Select) (string, error)
	onCall   func(q supabase.Call) (string, error)

	changes  []change
	onChange func(c change) (supabase.Answer, error) // nil: fails
}

// change is one write that was asked for.
type change struct {
	verb   string // insert, update or delete
	insert supabase.Insert
	change supabase.Change
}

func (s *scripted) changed(c change) (supabase.Answer, error) {
	s.mu.Lock()
	s.changes = append(s.changes, c)
	s.mu.Unlock()
	if s.onChange == nil {
		return supabase.Answer{}, errors.New("no change is expected")
	}
	return s.onChange(c)
}

func (s *scripted) Insert(_ context.Context, _ supabase.Session, q supabase.Insert) (supabase.Answer, error) {
	return s.changed(change{verb: "insert", insert: q})
}

func (s *scripted) Update(_ context.Context, _ supabase.Session, q supabase.Change) (supabase.Answer, error) {
	return s.changed(change{verb: "update", change: q})
}

func (s *scripted) Delete(_ context.Context, _ supabase.Session, q supabase.Change) (supabase.Answer, error) {
	return s.changed(change{verb: "delete", change: q})
}

func (s *scripted) Select(_ context.Context, _ supabase.Session, q supabase.Select) (supabase.Answer, error) {
	s.mu.Lock()
	s.selects = append(s.selects, q)
	s.mu.Unlock()
	body, err := s.onSelect(q)
	return supabase.Answer{Status: 200, Body: []byte(body), Upstream: "up-1", Took: time.Millisecond}, err
}

func (s *scripted) Call(_ context.Context, _ supabase.Session, q supabase.Call) (supabase.Answer, error) {
	s.mu.Lock()
	s.calls = append(s.calls, q)
	s.mu.Unlock()
	body, err := s.onCall(q)
	a := supabase.Answer{Status: 200, Upstream: "up-1", Took: time.Millisecond}
	if body == "" {
		return a, err
	}
	a.Body = []byte(body)
	return a, err
}

func answering(body string) *scripted {
	return &scripted{
		onSelect: func(supabase.Select) (string, error) { return body, nil },
		onCall:   func(supabase.Call) (string, error) { return body, nil },
	}
}

func failing(err error) *scripted {
	return &scripted{
		onSelect: func(supabase.Select) (string, error) { return "", err },
		onCall:   func(supabase.Call) (string, error) { return "", err },
	}
}

// memoryTable answers selects as the Data API would, by evaluating the
// conditions over rows in memory.
type memoryTable struct {
	rows []map[string]any // nil, string or *big.Int
}

func (m *memoryTable) answer(q supabase.Select) (string, error) {
	var found []map[string]any
	for _, row := range m.rows {
		if holds(supabase.Condition{And: q.Where}, row) {
			found = append(found, row)
		}
	}
	slices.SortStableFunc(found, func(a, b map[string]any) int {
		for _, o := range q.Order {
			if c := compareInOrder(a[o.Column], b[o.Column], o.Desc, o.NullsFirst); c != 0 {
				return c
			}
		}
		return 0
	})
	if q.Limit > 0 && len(found) > q.Limit {
		found = found[:q.Limit]
	}
	objects := make([]string, len(found))
	for i, row := range found {
		objects[i] = objectText(q.Columns, row)
	}
	if !q.Single {
		return "[" + strings.Join(objects, ", \n ") + "]", nil
	}
	if len(objects) != 1 {
		return "", &supabase.Error{Status: 406, Code: "PGRST116", Rows: len(objects)}
	}
	return objects[0], nil
}

func objectText(columns []string, row map[string]any) string {
	var parts []string
	for _, item := range columns {
		name, text := strings.CutSuffix(item, "::text")
		name = strings.Trim(name, `"`)
		value := "null"
		switch v := row[name].(type) {
		case string:
			b, _ := json.Marshal(v)
			value = string(b)
		case *big.Int:
			value = v.String()
			if text {
				value = `"` + value + `"`
			}
		}
		key, _ := json.Marshal(name)
		parts = append(parts, string(key)+":"+value)
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func holds(c supabase.Condition, row map[string]any) bool {
	var is bool
	switch {
	case c.Column == "" && len(c.Or) > 0:
		is = slices.ContainsFunc(c.Or, func(m supabase.Condition) bool { return holds(m, row) })
	case c.Column == "":
		is = !slices.ContainsFunc(c.And, func(m supabase.Condition) bool { return !holds(m, row) })
	case c.Operator == "is":
		is = row[c.Column] == nil
	case row[c.Column] == nil:
		return false // null compares as unknown, negated or not
	case c.Operator == "in":
		is = slices.ContainsFunc(c.Values, func(v string) bool { return compareText(row[c.Column], v) == 0 })
	default:
		n := compareText(row[c.Column], c.Value)
		is = map[string]bool{"eq": n == 0, "neq": n != 0, "gt": n > 0, "gte": n >= 0, "lt": n < 0, "lte": n <= 0}[c.Operator]
	}
	return is != c.Negate
}

func compareText(v any, text string) int {
	if n, ok := v.(*big.Int); ok {
		other, ok := new(big.Int).SetString(text, 10)
		if !ok {
			panic("not a number: " + text)
		}
		return n.Cmp(other)
	}
	return cmp.Compare(v.(string), text)
}

func compareInOrder(a, b any, desc, nullsFirst bool) int {
	if a == nil || b == nil {
		if a == nil && b == nil {
			return 0
		}
		if (a == nil) == nullsFirst {
			return -1
		}
		return 1
	}
	var c int
	if n, ok := a.(*big.Int); ok {
		c = n.Cmp(b.(*big.Int))
	} else {
		c = cmp.Compare(a.(string), b.(string))
	}
	if desc {
		return -c
	}
	return c
}

var (
	idColumn     = surfaces.Column{Name: "id", SQLType: "int8", JSON: surfaces.JSONString, AsText: true}
	nameColumn   = surfaces.Column{Name: "name", SQLType: "text", JSON: surfaces.JSONString, Nullable: true}
	statusColumn = surfaces.Column{Name: "status", SQLType: "text", JSON: surfaces.JSONString, Nullable: true}
)

func term(c surfaces.Column, desc, nullsFirst bool) surfaces.OrderTerm {
	return surfaces.OrderTerm{Column: c, Desc: desc, NullsFirst: nullsFirst}
}

func listTool() *surfaces.Tool {
	return &surfaces.Tool{
		Name: "customers_list", Result: surfaces.ResultHybrid, Budget: 16 << 10,
		List: &surfaces.ListPlan{
			Relation: surfaces.Relation{Schema: "public", Name: "customers"},
			Columns:  []surfaces.Column{idColumn, nameColumn, statusColumn},
			Key:      []surfaces.Column{idColumn},
			Filters: []surfaces.Filter{
				{Argument: "status", Column: statusColumn, Operator: "eq"},
				{Argument: "status_in", Column: statusColumn, Operator: "in"},
				{Argument: "name_ilike", Column: nameColumn, Operator: "ilike"},
				{Argument: "name_is", Column: nameColumn, Operator: "is"},
				{Argument: "id_gt", Column: idColumn, Operator: "gt"},
			},
			Orders: []surfaces.Order{
				{Name: "id", Keys: []surfaces.OrderTerm{term(idColumn, false, false)}},
				{Name: "name", Keys: []surfaces.OrderTerm{term(nameColumn, false, false), term(idColumn, false, false)}},
			},
			DefaultLimit: 20, MaxLimit: 100, DetailTool: "customers_get",
		},
	}
}

// outcomeOf runs the tool and decodes its result.
type ran struct {
	text       string
	isError    bool
	structured []byte
	call       *call
}

func (r ran) kind() string {
	var body struct {
		Kind string `json:"kind"`
	}
	_ = json.Unmarshal([]byte(r.text), &body)
	return body.Kind
}

type listResult struct {
	Items      []map[string]any `json:"items"`
	HasMore    *bool            `json:"has_more"`
	NextCursor *string          `json:"next_cursor"`
	NextCall   *struct {
		Name      string                     `json:"name"`
		Arguments map[string]json.RawMessage `json:"arguments"`
	} `json:"next_call"`
}

func (r ran) list(t testing.TB) listResult {
	t.Helper()
	if r.isError {
		t.Fatalf("tool error: %s", r.text)
	}
	var l listResult
	if err := json.Unmarshal(r.structured, &l); err != nil {
		t.Fatalf("structured %s: %v", r.structured, err)
	}
	if l.Items == nil || l.HasMore == nil {
		t.Fatalf("structured %s lacks items or has_more", r.structured)
	}
	return l
}

func runTool(t testing.TB, r *toolRunner, c *call, tool *surfaces.Tool, arguments string) ran {
	t.Helper()
	res, err := r.run(t.Context(), c, tool, []byte(arguments))
	if err != nil {
		t.Fatalf("run: %v", err)
	}
	if len(res.Content) != 1 {
		t.Fatalf("%d contents", len(res.Content))
	}
	out := ran{text: res.Content[0].(*mcp.TextContent).Text, isError: res.IsError, call: c}
	if res.StructuredContent != nil {
		out.structured = res.StructuredContent.(json.RawMessage)
		if !json.Valid(out.structured) {
			t.Fatalf("structured content is not JSON: %s", out.structured)
		}
	}
	if res.IsError && res.StructuredContent != nil {
		t.Error("an error carries structured content")
	}
	return out
}

func getTool() *surfaces.Tool {
	return &surfaces.Tool{Name: "customers_get", Result: surfaces.ResultHybrid, Budget: 16 << 10, Get: &surfaces.GetPlan{
		Relation: surfaces.Relation{Schema: "public", Name: "customers"},
		Columns:  []surfaces.Column{idColumn, nameColumn, statusColumn}, Key: []surfaces.Column{idColumn},
	}}
}
