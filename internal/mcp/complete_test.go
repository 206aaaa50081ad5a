package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// columnRunner suggests the values of a column as a test says.
type columnRunner struct {
	*scriptedRunner
	from func(ctx context.Context) ([]string, bool, error)
}

func (r *columnRunner) suggest(ctx context.Context, _ *call, _ *surfaces.ValueColumn, _ string) ([]string, bool, error) {
	return r.from(ctx)
}

func numbered(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("v%04d", i)
	}
	return list
}

// TestSuggestionsAreAHundredAtMostAndNeverAnError: total and hasMore say what is
// known, and values that cannot be had are none.
func TestSuggestionsAreAHundredAtMostAndNeverAnError(t *testing.T) {
	t.Parallel()
	run := &columnRunner{scriptedRunner: &scriptedRunner{}}
	b := setupOver(t, run)
	b.caller(b.surface("acme", func(_ *tenants.Endpoint, c *surfaces.Compiled) {
		plain := func(name string, from *surfaces.Completion) surfaces.PromptArgument {
			return surfaces.PromptArgument{Name: name, Type: surfaces.JSONString, Schema: json.RawMessage(`{"type":"string"}`), Complete: from}
		}
		c.Prompts = []surfaces.Prompt{{
			Name: "p", Title: "P", Messages: []surfaces.PromptMessage{{Role: "user", Text: "Hello."}},
			Arguments: []surfaces.PromptArgument{
				plain("listed", &surfaces.Completion{Values: numbered(250)}), plain("column", &surfaces.Completion{Column: &surfaces.ValueColumn{}}), plain("free", nil),
			},
		}}
	}), "alice", "alice")
	ask := func(argument, typed string) string {
		res := b.send(modern("completion/complete", "", `"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"`+argument+`","value":"`+typed+`"}`).as("alice"))
		body := bodyOf(t, res)
		var answer struct {
			Result struct {
				Completion *struct {
					Values  []string
					Total   int
					HasMore bool
				}
			}
		}
		if err := json.Unmarshal([]byte(body), &answer); err != nil || res.StatusCode != http.StatusOK || answer.Result.Completion == nil || answer.Result.Completion.Values == nil {
			t.Fatalf("%s: %d %s", argument, res.StatusCode, body)
		}
		got := answer.Result.Completion
		return fmt.Sprintf("%d of %d, more %t", len(got.Values), got.Total, got.HasMore)
	}
	for typed, want := range map[string]string{"": "100 of 250, more true", "v00": "100 of 100, more false", "V020": "10 of 10, more false", "x": "0 of 0, more false"} {
		if got := ask("listed", typed); got != want {
			t.Errorf("%q: %s, want %s", typed, got, want)
		}
	}
	if got := ask("free", ""); got != "0 of 0, more false" {
		t.Errorf("nothing is declared: %s", got)
	}
	for _, k := range []struct {
		values []string
		all    bool
		err    error
		want   string
	}{
		{numbered(3), true, nil, "3 of 3, more false"},
		{numbered(101), false, nil, "100 of 0, more true"},
		{numbered(3), false, nil, "3 of 0, more true"},
		{nil, true, nil, "0 of 0, more false"},
		{nil, false, errors.New("hidden"), "0 of 0, more false"},
		{nil, false, fault.New(fault.Unavailable, "", "away"), "0 of 0, more false"},
		{nil, false, context.DeadlineExceeded, "0 of 0, more false"},
	} {
		run.from = func(ctx context.Context) ([]string, bool, error) {
			if end, ok := ctx.Deadline(); !ok || time.Until(end) > completeTimeout {
				t.Error("suggestions may take as long as they like")
			}
			return k.values, k.all, k.err
		}
		if got := ask("column", ""); got != k.want {
			t.Errorf("%d values, %v: %s, want %s", len(k.values), k.err, got, k.want)
		}
	}
}

// TestColumnsAreSuggestedPageByPage, each page behind the last value, and so
// many pages only.
func TestColumnsAreSuggestedPageByPage(t *testing.T) {
	t.Parallel()
	countTo := func(n int) *scripted { // a table of the numbers from 1, each twice
		return &scripted{onSelect: func(q supabase.Select) (string, error) {
			first := 1
			for _, w := range q.Where {
				if w.Operator == "gt" {
					last, err := strconv.Atoi(w.Value)
					if err != nil {
						return "", err
					}
					first = last + 1
				}
			}
			var rows []string
			for i := first; i <= n && len(rows) < q.Limit; i++ {
				row := `{"id":"` + strconv.Itoa(i) + `"}`
				rows = append(rows, row, row)
			}
			return "[" + strings.Join(rows[:min(len(rows), q.Limit)], ",") + "]", nil
		}}
	}
	from := &surfaces.ValueColumn{Relation: surfaces.Relation{Schema: "public", Name: "customers"}, Column: surfaces.Column{Name: "id", SQLType: "int8", JSON: surfaces.JSONString, AsText: true}}
	for _, k := range []struct {
		rows   int
		typed  string
		values string
		all    bool
		pages  int
	}{
		{3, "", "1 2 3", true, 2},
		{300, "12", "12 120 121 122 123 124 125 126 127 128 129", true, 4},
		{1_000_000, "12", "12 120 121 122 123 124 125 126 127 128 129", false, suggestPages},
	} {
		p := countTo(k.rows)
		values, all, err := newTestRunner(t, p).suggest(t.Context(), runCall(), from, k.typed)
		if err != nil || strings.Join(values, " ") != k.values || all != k.all || len(p.selects) != k.pages {
			t.Errorf("%q of %d: %v, all %t, %d pages, %v", k.typed, k.rows, values, all, len(p.selects), err)
		}
	}
	values, all, err := newTestRunner(t, countTo(1_000_000)).suggest(t.Context(), runCall(), from, "")
	if err != nil || len(values) != maxSuggestions+1 || all {
		t.Errorf("%d values, all %t, %v", len(values), all, err)
	}
	p := countTo(3)
	from.Column.SQLType = "text"
	if _, _, err := newTestRunner(t, p).suggest(t.Context(), runCall(), from, "a_b"); err != nil {
		t.Error(err)
	}
	if !slices.ContainsFunc(p.selects[0].Where, func(w supabase.Condition) bool {
		return w.Operator == "ilike" && w.Value == `a\_b%` || w.Value == `a\_b*`
	}) {
		t.Errorf("asked %+v", p.selects[0].Where)
	}
	// A token whose time is over is a challenge, also here.
	c := runCall()
	c.caller.Expires = runNow
	if _, _, err := newTestRunner(t, failing(&supabase.Error{Status: 401, Code: "PGRST303"})).suggest(t.Context(), c, from, ""); err == nil || !c.unauthorized {
		t.Errorf("%v, unauthorized %t", err, c.unauthorized)
	}
}
