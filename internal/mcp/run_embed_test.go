package mcp

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// embeds are an organization and up to two notes of each customer.
func embeds() []surfaces.Embed {
	body := surfaces.Column{Name: "body", SQLType: "text", JSON: surfaces.JSONString, Nullable: true}
	size := surfaces.Column{Name: "size", SQLType: "numeric", JSON: surfaces.JSONString, AsText: true, Nullable: true}
	return []surfaces.Embed{
		{Name: "organization", Relation: surfaces.Relation{Name: "organizations"}, Target: "organizations", Hint: "customers_organization_fkey",
			Columns: []surfaces.Column{idColumn, nameColumn}},
		{Name: "notes", Relation: surfaces.Relation{Name: "notes"}, Target: "notes", Many: true, Limit: 2,
			Columns: []surfaces.Column{idColumn, body, size}, Order: []surfaces.OrderTerm{term(idColumn, true, true)}},
	}
}

func embedList() *surfaces.Tool {
	tool := listTool()
	tool.List.Columns = []surfaces.Column{idColumn, nameColumn}
	tool.List.Embeds = embeds()
	return tool
}

const embedRows = `[
	{"id":"1","name":"a","organization": {"name": "Acme", "id": "9007199254740993"},
	 "notes": [{"id": "5", "body": "x\ty", "size": "1.10"}, {"size": null, "id": "4", "body": null}, {"id": "3", "body": "one more than shown", "size": null}]},
	{"id":"2","name":"b","organization": null,"notes": []}]`

func TestEmbedsHaveTheirDeclaredForm(t *testing.T) {
	t.Parallel()
	p := answering(embedRows)
	got := runTool(t, newTestRunner(t, p), runCall(), embedList(), `{}`)
	const one = `{"id":"1","name":"a","organization":{"id":"9007199254740993","name":"Acme"},` +
		`"notes":{"items":[{"id":"5","body":"x\ty","size":"1.10"},{"id":"4","body":null,"size":null}],"truncated":true}}`
	const two = `{"id":"2","name":"b","organization":null,"notes":{"items":[],"truncated":false}}`
	if want := `{"items":[` + one + `,` + two + `],"has_more":false,"next_cursor":null,"next_call":null}`; string(got.structured) != want {
		t.Errorf("got  %s\nwant %s", got.structured, want)
	}
	if want := "id\tname\torganization\tnotes\n" +
		`1` + "\ta\t" + `{"id":"9007199254740993","name":"Acme"}` + "\t" + `{"items":[{"id":"5","body":"x\\ty","size":"1.10"},{"id":"4","body":null,"size":null}],"truncated":true}` + "\n" +
		"2\tb\tnull\t" + `{"items":[],"truncated":false}` + "\n2 rows, no more."; got.text != want {
		t.Errorf("got\n%s\nwant\n%s", got.text, want)
	}
	want := []supabase.Embed{
		{Alias: "organization", Relation: "organizations", Hint: "customers_organization_fkey", Columns: []string{`"id"::text`, `"name"`}},
		{Alias: "notes", Relation: "notes", Columns: []string{`"id"::text`, `"body"`, `"size"::text`}, Order: []supabase.OrderBy{{Column: "id", Desc: true, NullsFirst: true}}, Limit: 3},
	}
	if got := p.selects[0].Embeds; fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
		t.Errorf("asked for %+v", got)
	}
	if cols := p.selects[0].Columns; len(cols) != 2 {
		t.Errorf("columns %v", cols)
	}

	get := getTool()
	get.Get.Columns, get.Get.Embeds = embedList().List.Columns, embeds()
	var rows []json.RawMessage
	if err := json.Unmarshal([]byte(embedRows), &rows); err != nil {
		t.Fatal(err)
	}
	whole := runTool(t, newTestRunner(t, answering(string(rows[0]))), runCall(), get, `{"id":"1"}`)
	if string(whole.structured) != one {
		t.Errorf("get: %s", whole.structured)
	}
	text := embedList()
	text.Result, text.Template = surfaces.ResultText, "{{#items}}{{name}} of {{#organization}}{{name}}{{/organization}}:{{#notes}}{{#items}} {{id}}{{/items}}{{/notes}}\n{{/items}}"
	if got := runTool(t, newTestRunner(t, answering(embedRows)), runCall(), text, `{}`); got.text != "a of Acme: 5 4\nb of :\n2 rows, no more." {
		t.Errorf("template: %q", got.text)
	}
}

func TestAnEmbedOfAnotherFormIsDrift(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ organization, notes string }{
		{`[{"id":"1","name":"a"},{"id":"2","name":"b"}]`, `[]`}, {`[7]`, `[]`}, {`"x"`, `[]`}, {`7`, `[]`}, {`{"id":"1"}`, `[]`}, {`null`, `null`}, {`null`, `{"id":"1","body":"b","size":null}`},
		{`null`, `[null]`}, {`null`, `[{"id":"1","body":"b"}]`}, {`null`, `[[]]`}, {`true`, `[]`},
	} {
		rows := fmt.Sprintf(`[{"id":"1","name":"a","organization":%s,"notes":%s}]`, test.organization, test.notes)
		if got := runTool(t, newTestRunner(t, answering(rows)), runCall(), embedList(), `{}`); got.kind() != "out_of_date" {
			t.Errorf("%s: %s", rows, got.text)
		}
	}
	if got := runTool(t, newTestRunner(t, answering(`[{"id":"1","name":"a","organization":null}]`)), runCall(), embedList(), `{}`); got.kind() != "out_of_date" {
		t.Errorf("without an embed: %s", got.text)
	}
}

// TestOneRowMayComeAsAListOfOne: the Data API goes by constraints, and a unique
// index is none.
func TestOneRowMayComeAsAListOfOne(t *testing.T) {
	t.Parallel()
	for sent, want := range map[string]string{`[]`: `null`, `[{"name":"Acme","id":"9"}]`: `{"id":"9","name":"Acme"}`} {
		rows := fmt.Sprintf(`[{"id":"1","name":"a","organization":%s,"notes":[]}]`, sent)
		if got := runTool(t, newTestRunner(t, answering(rows)), runCall(), embedList(), `{}`); !strings.Contains(string(got.structured), `"organization":`+want+`,`) {
			t.Errorf("%s: %s %s", sent, got.structured, got.text)
		}
	}
}

// TestEmbedsCountInTheBudget: what is related counts with its row, and a row
// with too much of it is an error that names the way around.
func TestEmbedsCountInTheBudget(t *testing.T) {
	t.Parallel()
	var rows []string
	for i := range 21 {
		rows = append(rows, fmt.Sprintf(`{"id":"%d","name":"n","organization":null,"notes":[{"id":"1","body":"%s","size":null}]}`, i+1, strings.Repeat("b", 300)))
	}
	for _, budget := range []int{2048, 4096, 16 << 10} {
		tool := embedList()
		tool.Budget = budget
		got := runTool(t, newTestRunner(t, answering("["+strings.Join(rows, ",")+"]")), runCall(), tool, `{}`)
		if n := sent(t, got); n > budget {
			t.Errorf("%d bytes within %d", n, budget)
		}
		if seen := len(got.list(t).Items); seen == 0 || seen > 20 || !*got.list(t).HasMore {
			t.Errorf("%d rows within %d", seen, budget)
		}
	}
	tool := embedList()
	tool.Budget = 512
	tool.List.Columns[1].Shorten = true // of the row, not of what is inside embeds
	got := runTool(t, newTestRunner(t, answering("["+strings.Join(rows, ",")+"]")), runCall(), tool, `{}`)
	if got.kind() != "row_too_large" || !strings.Contains(got.text, `customers_get and arguments {\"id\":\"1\"}`) || !strings.Contains(got.text, "To go on behind it") {
		t.Errorf("%s", got.text)
	}
}

func FuzzReshapeEmbed(f *testing.F) {
	f.Add(`[{"id": "5", "body": "x", "size": "1.10"}]`)
	f.Add(`[{"\u0069d":1,"body":[1, {"a":"]"}],"size":{}},{"id":null,"body":null,"size":null},{"size":1,"id":2,"body":3}]`)
	f.Add(`{"id":"1","name":"\ud800"}`)
	f.Add(`null`)
	f.Fuzz(func(t *testing.T, answer string) {
		clean, err := cleanJSON([]byte(answer))
		if err != nil {
			return
		}
		for _, e := range embeds() {
			shaped, err := reshapeEmbed(&e, columnNames(e.Columns), clean)
			if err != nil {
				continue
			}
			if !json.Valid(shaped) {
				t.Fatalf("%q became %q", answer, shaped)
			}
			var many struct {
				Items     []map[string]json.RawMessage
				Truncated *bool
			}
			if e.Many && (json.Unmarshal(shaped, &many) != nil || many.Items == nil || many.Truncated == nil || len(many.Items) > e.Limit) {
				t.Fatalf("%q became %q", answer, shaped)
			}
		}
	})
}
