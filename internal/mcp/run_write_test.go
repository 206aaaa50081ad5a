package mcp

import (
	"bytes"
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

func writes(columns ...surfaces.Column) []surfaces.WriteColumn {
	list := make([]surfaces.WriteColumn, len(columns))
	for i, c := range columns {
		list[i] = surfaces.WriteColumn{Column: c, Argument: c.Name, Null: c.Nullable}
	}
	return list
}

var customersRelation = surfaces.Relation{Schema: "public", Name: "customers"}

func createTool() *surfaces.Tool {
	return &surfaces.Tool{Name: "customers_create", Result: surfaces.ResultHybrid, Budget: 16 << 10, Create: &surfaces.CreatePlan{
		Relation: customersRelation, Columns: []surfaces.Column{idColumn, nameColumn, statusColumn}, Key: []surfaces.Column{idColumn},
		Values: writes(nameColumn, statusColumn),
	}}
}

func updateTool() *surfaces.Tool {
	return &surfaces.Tool{Name: "customers_update", Result: surfaces.ResultHybrid, Budget: 16 << 10, Update: &surfaces.UpdatePlan{
		Relation: customersRelation, Columns: []surfaces.Column{idColumn, nameColumn, statusColumn}, Key: []surfaces.Column{idColumn},
		Patch: "patch", Values: writes(nameColumn, statusColumn),
	}}
}

func deleteTool() *surfaces.Tool {
	return &surfaces.Tool{Name: "customers_delete", Result: surfaces.ResultHybrid, Budget: 16 << 10, Delete: &surfaces.DeletePlan{
		Relation: customersRelation, Columns: []surfaces.Column{idColumn, nameColumn, statusColumn}, Key: []surfaces.Column{idColumn},
	}}
}

var (
	bigColumn     = surfaces.Column{Name: "big", SQLType: "int8", JSON: surfaces.JSONString, AsText: true, Nullable: true}
	versionColumn = surfaces.Column{Name: "version", SQLType: "int4", JSON: surfaces.JSONInteger}
	keyColumn     = surfaces.Column{Name: "request_id", SQLType: "uuid", JSON: surfaces.JSONString}
)

func volatileTool() *surfaces.Tool { return writingTool() }

func manyTool() *surfaces.Tool {
	tool := updateTool()
	tool.Update.Key, tool.Update.Many = nil, &surfaces.Many{MaxAffected: 2, Filters: listTool().List.Filters}
	return tool
}

func dedupeTool() *surfaces.Tool {
	tool := createTool()
	tool.Create.Dedupe = &surfaces.Dedupe{Column: keyColumn, Constraints: []string{"customers_request_id_key"}}
	return tool
}

// everyWrite is each tool that changes something, with arguments.
var everyWrite = map[string]struct {
	tool      func() *surfaces.Tool
	arguments string
}{
	"create": {createTool, `{"name":"Ada"}`}, "update": {updateTool, `{"id":"1","patch":{"name":"Ada"}}`}, "delete": {deleteTool, `{"id":"1"}`},
	"update of several": {manyTool, `{"status":"open","patch":{"name":"Ada"}}`}, "rpc": {volatileTool, `{}`},
}

// ending is a project where every write ends so, and nothing else works.
func ending(a supabase.Answer, err error) *scripted {
	return &scripted{
		onSelect: func(supabase.Select) (string, error) { return "", errors.New("no read is expected") },
		onCall:   func(supabase.Call) (string, error) { return "", err },
		onChange: func(change) (supabase.Answer, error) { return a, err },
	}
}

func TestAWriteThatMayBeDoneIsNeverTriedAgain(t *testing.T) {
	t.Parallel()
	for what, err := range map[string]error{
		"a timeout":               fault.New(fault.Timeout, "upstream_timeout", "x"),
		"a cut connection":        fault.New(fault.Unavailable, "upstream_unreachable", "x"),
		"a redirect":              fault.New(fault.Unavailable, "upstream_redirects", "x"),
		"a gateway's 502":         &supabase.Error{Status: 502, Gateway: true},
		"a gateway's 500":         &supabase.Error{Status: 500, Gateway: true},
		"a page of something":     &supabase.Error{Status: 200, Gateway: true},
		"a gateway's timeout":     &supabase.Error{Status: 408, Gateway: true},
		"a lost database":         &supabase.Error{Status: 503, Code: "PGRST001"},
		"a broken connection":     &supabase.Error{Status: 503, Code: "08006"},
		"a crash of the database": &supabase.Error{Status: 500, Code: "57P02"},
		"a database shut down":    &supabase.Error{Status: 503, Code: "57P01"},
	} {
		for name, k := range everyWrite {
			got := runTool(t, newTestRunner(t, ending(supabase.Answer{}, err)), runCall(), k.tool(), k.arguments)
			if got.kind() != kindOutcomeUnknown || !strings.Contains(got.text, "may have happened; check before trying again") || strings.Contains(got.text, "Try again") {
				t.Errorf("%s, %s: %s", name, what, got.text)
			}
		}
		tool := writingTool()
		tool.RPC.ReadOnly = true
		if got := runTool(t, newTestRunner(t, ending(supabase.Answer{}, err)), runCall(), tool, `{}`); got.kind() == kindOutcomeUnknown || !got.isError {
			t.Errorf("a call that only reads, %s: %s", what, got.text)
		}
		r := newTestRunner(t, ending(supabase.Answer{}, err)).withCreates(&memoryCreates{})
		if got := runTool(t, r, runCall(), dedupeTool(), `{"name":"Ada"}`); got.kind() != kindOutcomeUnknown || !strings.Contains(got.text, "exactly the same arguments within ten minutes: it is not made twice") {
			t.Errorf("with a dedupe column, %s: %s", what, got.text)
		}
	}
}

func TestAWriteThatWasNotDoneSaysSo(t *testing.T) {
	t.Parallel()
	refusedDial := &net.OpError{Op: "dial", Err: errors.New("connection refused")}
	for what, one := range map[string]struct {
		err  error
		kind string
	}{
		"nobody listens":        {fault.Wrap(refusedDial, fault.Unavailable, "upstream_unreachable", "x"), "unavailable"},
		"an address refused":    {fault.New(fault.Invalid, "address_refused", "x"), "upstream_error"},
		"a gateway's 404":       {&supabase.Error{Status: 404, Gateway: true}, "unavailable"},
		"a gateway's 401":       {&supabase.Error{Status: 401, Gateway: true}, "upstream_error"},
		"a gateway's 429":       {&supabase.Error{Status: 429, Gateway: true}, "rate_limited"},
		"the statement timeout": {&supabase.Error{Status: 500, Code: "57014"}, "timeout"},
		"no schema cache":       {&supabase.Error{Status: 503, Code: "PGRST002"}, "unavailable"},
		"no connection free":    {&supabase.Error{Status: 504, Code: "PGRST003"}, "unavailable"},
		"a deadlock":            {&supabase.Error{Status: 500, Code: "40P01"}, "conflict"},
		"a full disk":           {&supabase.Error{Status: 503, Code: "53100"}, "unavailable"},
	} {
		for name, k := range everyWrite {
			if got := runTool(t, newTestRunner(t, ending(supabase.Answer{}, one.err)), runCall(), k.tool(), k.arguments); got.kind() != one.kind {
				t.Errorf("%s, %s: %s", name, what, got.text)
			}
		}
	}
	for code, kind := range map[string]string{
		"42501": "forbidden", "23505": "conflict", "23P01": "conflict", "23503": "conflict", "23001": "conflict", "23502": "invalid", "23514": "invalid", "44000": "invalid",
		"22P02": "invalid", "22001": "invalid", "2200M": "invalid", "428C9": "out_of_date", "PGRST204": "out_of_date", "42703": "out_of_date",
		"55000": "upstream_error", "42809": "upstream_error", "0A000": "upstream_error", "21000": "upstream_error", "25006": "unavailable", "PGRST122": "upstream_error", "PGRST102": "upstream_error",
	} {
		for name, k := range everyWrite {
			if name == "rpc" {
				continue
			}
			got := runTool(t, newTestRunner(t, ending(supabase.Answer{}, &supabase.Error{Status: 400, Code: code, Message: leak, Rows: -1})), runCall(), k.tool(), k.arguments)
			if got.kind() != kind || strings.Contains(got.text, "salaries") {
				t.Errorf("%s, %s: %s", name, code, got.text)
			}
		}
	}
}

// TestWhatIsWrittenIsNoErrorForItsSize: nor for the form of its answer.
func TestWhatIsWrittenIsNoErrorForItsSize(t *testing.T) {
	t.Parallel()
	tooLarge := fault.New(fault.TooLarge, "answer_too_large", "x")
	for name, want := range map[string]string{"create": "Created.", "update": "Updated.", "delete": "Deleted."} {
		k := everyWrite[name]
		got := runTool(t, newTestRunner(t, ending(supabase.Answer{Status: 200, Affected: 1}, tooLarge)), runCall(), k.tool(), k.arguments)
		if got.isError || !strings.HasPrefix(got.text, want) || string(got.structured) != `{"ok":true}` {
			t.Errorf("%s: %s %s", name, got.text, got.structured)
		}
		for _, body := range []string{`[]`, `{"id":"1"}`, `null`, ``, `{"id":`} {
			got := runTool(t, newTestRunner(t, ending(supabase.Answer{Status: 200, Body: []byte(body)}, nil)), runCall(), k.tool(), k.arguments)
			if got.isError || !strings.HasPrefix(got.text, want) || string(got.structured) != `{"ok":true}` {
				t.Errorf("%s, %s: %s %s", name, body, got.text, got.structured)
			}
		}
		tool := k.tool()
		tool.Budget = 40
		body := `{"id":"1","name":"` + strings.Repeat("x", 500) + `","status":null}`
		if got := runTool(t, newTestRunner(t, ending(supabase.Answer{Status: 200, Body: []byte(body)}, nil)), runCall(), tool, k.arguments); got.isError || !strings.HasPrefix(got.text, want) {
			t.Errorf("%s, no room: %s %s", name, got.text, got.structured)
		}
		tool = k.tool()
		tool.Result, tool.Template = surfaces.ResultText, "{{broken"
		if got := runTool(t, newTestRunner(t, ending(supabase.Answer{Status: 200, Body: []byte(body)}, nil)), runCall(), tool, k.arguments); got.isError || !strings.HasPrefix(got.text, want) {
			t.Errorf("%s, a template that is none: %s", name, got.text)
		}
	}
	k := everyWrite["update of several"]
	got := runTool(t, newTestRunner(t, ending(supabase.Answer{Status: 200, Affected: 2, Bounded: true}, tooLarge)), runCall(), k.tool(), k.arguments)
	if got.isError || string(got.structured) != `{"affected":2,"items":[],"truncated":true}` {
		t.Errorf("%s %s", got.text, got.structured)
	}
	got = runTool(t, newTestRunner(t, ending(supabase.Answer{Status: 200, Affected: 9}, tooLarge)), runCall(), k.tool(), k.arguments)
	if got.kind() != kindTooManyRows || !strings.Contains(got.text, "Updated 9 rows, although") {
		t.Errorf("%s", got.text)
	}
	got = runTool(t, newTestRunner(t, ending(supabase.Answer{Status: 200, Affected: -1}, tooLarge)), runCall(), k.tool(), k.arguments)
	if got.kind() != kindOutcomeUnknown || !strings.Contains(got.text, "The change stands") {
		t.Errorf("%s", got.text)
	}
	got = runTool(t, newTestRunner(t, ending(supabase.Answer{Status: 200}, tooLarge)), runCall(), volatileTool(), `{}`)
	if got.kind() != kindOutcomeUnknown && !strings.Contains(got.text, "its effects stand") {
		t.Errorf("%s", got.text)
	}
}

func TestARowIsWrittenAsItWasGiven(t *testing.T) {
	t.Parallel()
	p := ending(supabase.Answer{Status: 201}, nil)
	tool := createTool()
	odd := surfaces.Column{Name: "odd \"name\"", SQLType: "jsonb", JSON: surfaces.JSONAny, Nullable: true}
	tool.Create.Values = append(writes(nameColumn, bigColumn), surfaces.WriteColumn{Column: odd, Argument: "odd_name", Null: true})
	tool.Create.Set = []surfaces.SetColumn{{Column: statusColumn, From: surfaces.ValueFrom{Value: []byte(`"open"`)}}}
	runTool(t, newTestRunner(t, p), runCall(), tool, `{"big": 9007199254740993, "odd_name": {"b": 1.50, "a":[null, "é\u2028"]}, "name":null}`)
	want := `{"name":null,"big":9007199254740993,"odd \"name\"":{"b": 1.50, "a":[null, "é\u2028"]},"status":"open"}`
	if got := p.changes[0].insert; string(got.Row) != want || got.Relation != "customers" || len(got.Columns) != 3 {
		t.Errorf("%+v\n%s\n%s", got, got.Row, want)
	}
	runTool(t, newTestRunner(t, p), runCall(), updateTool(), `{"id":9007199254740993,"patch":{"status":"x"}}`)
	if got := p.changes[1].change; string(got.Patch) != `{"status":"x"}` || got.Max != 1 || len(got.Where) != 1 || got.Where[0].Value != "9007199254740993" || got.Where[0].Operator != "eq" {
		t.Errorf("%+v", got)
	}
	guarded := updateTool()
	guarded.Update.Guard = &surfaces.Guard{Column: versionColumn, Argument: "seen", Bump: surfaces.BumpIncrement}
	runTool(t, newTestRunner(t, p), runCall(), guarded, `{"id":"1","seen":7e0,"patch":{"name":"x"}}`)
	if got := p.changes[2].change; string(got.Patch) != `{"name":"x","version":8}` || len(got.Where) != 2 || got.Where[1].Column != "version" || got.Where[1].Value != "7" {
		t.Errorf("%+v %s", got, got.Patch)
	}
	twice := updateTool()
	twice.Update.Set = []surfaces.SetColumn{{Column: nameColumn, From: surfaces.ValueFrom{Value: []byte(`"set"`)}}}
	if _, err := newTestRunner(t, p).run(t.Context(), runCall(), twice, []byte(`{"id":"1","patch":{"name":"given"}}`)); err == nil || len(p.changes) != 3 {
		t.Error("a plan that writes a column twice is sent")
	}
}

// memoryCreates is one key per digest, for ever.
type memoryCreates struct {
	mu   sync.Mutex
	keys map[string]uuid.UUID
	err  error
}

func (m *memoryCreates) Key(_ context.Context, surface id.Surface, digest []byte) (uuid.UUID, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err != nil {
		return uuid.Nil, m.err
	}
	if m.keys == nil {
		m.keys = map[string]uuid.UUID{}
	}
	name := surface.String() + string(digest)
	if _, known := m.keys[name]; !known {
		m.keys[name] = uuid.New()
	}
	return m.keys[name], nil
}

func TestACreateThatCannotBeRememberedIsNotSent(t *testing.T) {
	t.Parallel()
	p := ending(supabase.Answer{Status: 201}, nil)
	if got := runTool(t, newTestRunner(t, p), runCall(), dedupeTool(), `{"name":"Ada"}`); got.kind() != "unavailable" || !strings.Contains(got.text, "Nothing was created") {
		t.Errorf("%s", got.text)
	}
	away := &memoryCreates{err: fault.New(fault.Unavailable, "create_key_unavailable", "x").WithRetryAfter(2 * time.Second)}
	if got := runTool(t, newTestRunner(t, p).withCreates(away), runCall(), dedupeTool(), `{"name":"Ada"}`); got.kind() != "unavailable" || !strings.Contains(got.text, "in 2 seconds") {
		t.Errorf("%s", got.text)
	}
	if len(p.changes) != 0 {
		t.Errorf("%d creates were sent", len(p.changes))
	}
}

// TestCreatesOfThoseWithoutANameAreNotOne: nobody's create is answered by the
// row of somebody else.
func TestCreatesOfThoseWithoutANameAreNotOne(t *testing.T) {
	t.Parallel()
	p := ending(supabase.Answer{Status: 201}, nil)
	creates := &memoryCreates{}
	r := newTestRunner(t, p).withCreates(creates)
	for range 2 {
		c := runCall()
		c.caller.Key = oauth.CallerKey{Mode: oauth.ModePublic}
		runTool(t, r, c, dedupeTool(), `{"name":"Ada"}`)
	}
	if len(creates.keys) != 0 || bytes.Equal(p.changes[0].insert.Row, p.changes[1].insert.Row) {
		t.Error("two visitors share a key")
	}
	p = ending(supabase.Answer{}, fault.New(fault.Timeout, "upstream_timeout", "x"))
	c := runCall()
	c.caller.Key = oauth.CallerKey{Mode: oauth.ModePublic}
	if got := runTool(t, newTestRunner(t, p).withCreates(creates), c, dedupeTool(), `{"name":"Ada"}`); strings.Contains(got.text, "not made twice") {
		t.Errorf("%s", got.text)
	}
}

func TestAConflictShowsNoMoreThanFits(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("<", 3000)
	for name, columns := range map[string][]surfaces.Column{
		"shortened": {idColumn, {Name: "name", SQLType: "text", JSON: surfaces.JSONString, Shorten: true}, versionColumn}, "its version only": {idColumn, nameColumn, versionColumn},
	} {
		tool := updateTool()
		tool.Budget, tool.Update.Columns = 600, columns
		tool.Update.Guard = &surfaces.Guard{Column: versionColumn, Argument: "version", Bump: surfaces.BumpIncrement}
		p := ending(supabase.Answer{}, &supabase.Error{Status: 406, Code: codeNotSingular, Rows: 0})
		p.onSelect = func(supabase.Select) (string, error) { return `{"id":"1","name":"` + long + `","version":9}`, nil }
		got := runTool(t, newTestRunner(t, p), runCall(), tool, `{"id":"1","version":7,"patch":{"name":"x"}}`)
		current := currentOf(t, got)
		if got.kind() != "conflict" || len(got.text) > 1200 || string(memberOf(current, "version")) != "9" || (memberOf(current, "id") != nil) != (name == "shortened") {
			t.Errorf("%s: %s", name, got.text)
		}
		if len(p.selects) != 1 || len(p.selects[0].Where) != 1 || !p.selects[0].Single {
			t.Errorf("%s: looked with %+v", name, p.selects)
		}
	}
}

// FuzzAChangeNamesOneRow: whatever the arguments are, what goes out is bounded
// to one row by the whole key, and writes nothing that the plan does not have.
func FuzzAChangeNamesOneRow(f *testing.F) {
	update, remove := updateTool(), deleteTool()
	update.Update.Key, remove.Delete.Key = []surfaces.Column{idColumn, bigColumn}, []surfaces.Column{idColumn, bigColumn}
	update.Update.Guard = &surfaces.Guard{Column: versionColumn, Argument: "version", Bump: surfaces.BumpIncrement}
	for _, seed := range []string{
		`{"id":"1","big":2,"version":3,"patch":{"name":"x"}}`, `{"id":"1","big":2}`, `{"id":[1],"big":null}`, `{"id":"1","big":"","patch":{}}`, `{"id":"1","big":2,"version":1e1,"patch":{"name":null,"status":"(x)"}}`,
		`null`, `[]`, `{"id":"1","id":"2","big":2}`, `{"patch":{"name":"x","name":"y"}}`, `{"id":"),id.gt.0,(","big":"*"}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, arguments string) {
		if checkJSON([]byte(arguments)) != nil {
			return // the edge refuses it
		}
		p := ending(supabase.Answer{Status: 200, Body: []byte(`{"id":"1","name":null,"status":null}`)}, nil)
		r, c := newTestRunner(t, p), runCall()
		for _, tool := range []*surfaces.Tool{update, remove} {
			if _, err := r.run(t.Context(), c, tool, []byte(arguments)); err != nil {
				t.Fatalf("%s: %v", arguments, err)
			}
		}
		for _, sent := range p.changes {
			q := sent.change
			if q.Max != 1 || len(q.Where) < 2 || q.Where[0].Column != "id" || q.Where[1].Column != "big" || q.Where[0].Operator != "eq" || q.Where[1].Operator != "eq" {
				t.Fatalf("%s: %+v", arguments, q)
			}
			if sent.verb == "update" {
				if len(q.Where) != 3 || q.Where[2].Column != "version" || checkJSON(q.Patch) != nil {
					t.Fatalf("%s: %+v", arguments, q)
				}
				for _, m := range members(q.Patch, 0) {
					if m.key != "name" && m.key != "status" && m.key != "version" {
						t.Fatalf("%s writes %s", arguments, m.key)
					}
				}
			}
		}
	})
}
