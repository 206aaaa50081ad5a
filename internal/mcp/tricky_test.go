package mcp

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/egress"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/localpg"
	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/standin"
	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

//go:embed testdata/tricky.sql
var trickySchema string

// trickyInputs is how many there are.
const trickyInputs = 48

// trickyMaxRows is the project's db-max-rows: small, so that few rows pass it.
const trickyMaxRows = 30

// trickyRow is one input that is easy to get wrong on the way to a database:
// what goes over the wire for it, and what the model gets.
type trickyRow struct {
	number int
	input  string
	tools  string // of a surface file; may be empty
	access string // of that file; empty: oauth, direct
	asks   []trickyAsk
	// refused are tools that cannot be published, each with the problem.
	refused []trickyRefusal
	// then is what no question and answer says.
	then func(w *trickyWorld)
}

// trickyAsk is a call of a tool as Alice.
type trickyAsk struct {
	tool, arguments string
	// wire is every request that reaches the project, as trickyRequest writes
	// them; none means that nothing may. "…" at the end of a line stands for the
	// rest of it.
	wire []string
	gets string // the structured content, exactly
	text string // a part of the text
	// fails is a tool error's kind and the places of its issues: "invalid /id".
	fails string
	told  string // a part of the error's detail
	once  bool   // it writes: never called a second time, in the older era
}

// trickyRefusal is an entry of a surface file, without the dash, and the line
// and a part of the message of the problem that stops it.
type trickyRefusal struct {
	tools string
	line  int
	says  string
}

// trickyWorld is the one project of the table, served by the edge.
type trickyWorld struct {
	t        *testing.T
	project  *realProject
	edge     *bundle
	snapshot *surfaces.Snapshot
	row      *trickyRow
	path     string // of the row's surface
	token    string // of the caller; Alice unless a row says otherwise
	asked    map[bool]bool

	mu   sync.Mutex
	seen []string
}

func trickyTable() []trickyRow {
	return slices.Concat(trickyNames(), trickyValues(), trickyFilters(), trickyRows(), trickyWrites(), trickyCalls(), trickyAccess())
}

// TestTrickyInputs goes through the whole table, end to end: a surface file
// compiled over an imported schema, called through the edge in both eras of the
// protocol, over a real Postgres.
func TestTrickyInputs(t *testing.T) {
	t.Parallel()
	table := trickyTable()
	slices.SortStableFunc(table, func(a, b trickyRow) int { return a.number - b.number })
	for i := range trickyInputs {
		if !slices.ContainsFunc(table, func(r trickyRow) bool { return r.number == i+1 }) {
			t.Errorf("input %d is missing", i+1)
		}
	}
	w := newTrickyWorld(t)
	for i := range table {
		row := &table[i]
		if row.input == "" || len(row.asks) == 0 && len(row.refused) == 0 && row.then == nil {
			t.Errorf("input %d says nothing", row.number)
		}
		t.Run(fmt.Sprintf("%02d %s", row.number, row.input), func(t *testing.T) {
			outer := w.t
			w.t, w.edge.t, w.row, w.token, w.asked = t, t, row, standin.AliceEmail, map[bool]bool{}
			defer func() { w.t, w.edge.t = outer, outer }()
			for _, r := range row.refused {
				w.refuse(r)
			}
			if row.tools != "" {
				w.publish(row.tools, row.access)
			}
			for _, a := range row.asks {
				w.ask(a)
			}
			if row.then != nil {
				row.then(w)
			}
		})
	}
}

func newTrickyWorld(t *testing.T) *trickyWorld {
	t.Helper()
	p, err := standin.Start(t.Context(), standin.Options{
		Postgres: localpg.Shared(t), Schema: trickySchema, Users: standin.CRMUsers(), MaxRows: trickyMaxRows, NoReload: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	client := supabase.New(egress.New(egress.Policy{AllowHTTP: true, AllowLoopback: true, AllowAnyPort: true}))
	w := &trickyWorld{t: t, project: &realProject{
		Project: p, runner: newRunner(client, testKeys(t)), surface: id.New[id.SurfaceKind](), project: id.New[id.ProjectKind](),
	}}
	p.Intercept(w.record)
	w.edge = setupOver(t, w.project.runner)
	w.importSchema()
	return w
}

func (w *trickyWorld) importSchema() {
	w.t.Helper()
	conn, err := pgx.Connect(w.t.Context(), w.project.DSN())
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = conn.Close(w.t.Context()) }()
	w.snapshot, err = surfaces.ImportPostgres(w.t.Context(), conn, surfaces.ImportOptions{MaxRows: trickyMaxRows})
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *trickyWorld) exec(sql string) {
	w.t.Helper()
	if err := w.project.Exec(w.t.Context(), sql); err != nil {
		w.t.Fatal(err)
	}
}

// reload makes the project read its schema again, which it never does by itself.
func (w *trickyWorld) reload() {
	w.t.Helper()
	if err := w.project.ReloadSchema(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

// roleSetting gives a setting to the role of people who are signed in, and
// returns what takes it away.
func (w *trickyWorld) roleSetting(name, value string) (reset func()) {
	w.t.Helper()
	alter := func(what string) {
		w.t.Helper()
		w.exec(`do $do$ begin execute format($sql$alter role authenticated in database %I ` + what + `$sql$, current_database()); end $do$`)
		w.reload()
	}
	alter("set " + name + " = '" + value + "'")
	return func() { alter("reset " + name) }
}

// value asks the database itself, past the project, for one text.
func (w *trickyWorld) value(sql string) string {
	w.t.Helper()
	conn, err := pgx.Connect(w.t.Context(), w.project.DSN())
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = conn.Close(w.t.Context()) }()
	var text string
	if err := conn.QueryRow(w.t.Context(), sql).Scan(&text); err != nil {
		w.t.Fatal(err)
	}
	return text
}

// trickyFile is a surface file of these entries, and how many lines stand
// before them.
func trickyFile(tools, access string) (file string, before int) {
	if access == "" {
		access = "{ mode: oauth, authorization: direct }"
	}
	head := "version: 1\ntitle: Tricky\naccess: " + access + "\ntools:\n"
	return head + strings.Trim(tools, "\n") + "\n", strings.Count(head, "\n")
}

func (w *trickyWorld) compile(tools, access string) (*surfaces.Compiled, []surfaces.Problem) {
	file, _ := trickyFile(tools, access)
	return surfaces.Compile([]byte(file), w.snapshot, surfaces.ProjectFacts{Signing: surfaces.SigningAsymmetric})
}

// publish serves these tools from here on.
func (w *trickyWorld) publish(tools, access string) {
	w.t.Helper()
	compiled, problems := w.compile(tools, access)
	if compiled == nil {
		w.t.Fatalf("cannot be published: %v", problems)
	}
	slug := fmt.Sprintf("tricky-%d", w.row.number)
	ep := w.edge.surface(slug, func(ep *tenants.Endpoint, c *surfaces.Compiled) {
		*c = *compiled
		ep.Project.ID, ep.Project.APIOrigin, ep.Project.PublishableKey = w.project.project, w.project.URL(), w.project.PublishableKey()
	})
	w.path = ep.Resource.Path
	w.admit(ep, standin.AliceEmail, standin.AliceID)
	w.admit(ep, standin.BobEmail, standin.BobID)
}

// admit lets the person of that email call, with a fresh token of the project.
func (w *trickyWorld) admit(ep *tenants.Endpoint, email, subject string) *oauth.Caller {
	c := w.project.callAs(w.t, email).caller
	c.Key.Surface, c.Key.Subject, c.Role = ep.Surface, subject, "authenticated"
	c.Claims = json.RawMessage(`{"sub":"` + subject + `","role":"authenticated"}`)
	w.edge.auth.admit(email, c)
	return c
}

func (w *trickyWorld) refuse(r trickyRefusal) {
	w.t.Helper()
	compiled, problems := w.compile(r.tools, w.row.access)
	if compiled != nil {
		w.t.Errorf("published all the same:\n%s", r.tools)
		return
	}
	_, before := trickyFile("", "")
	if !slices.ContainsFunc(problems, func(p surfaces.Problem) bool {
		return p.Severity == surfaces.SeverityError && p.Line == before+r.line && strings.Contains(p.Message, r.says)
	}) {
		w.t.Errorf("no error on line %d says %q: %v", before+r.line, r.says, problems)
	}
}

// unescapeHTML undoes what the SDK's encoder does to JSON.
var unescapeHTML = strings.NewReplacer(`\u0026`, "&", `\u003c`, "<", `\u003e`, ">")

// trickyAnswer is what a client gets.
type trickyAnswer struct {
	status     int
	header     http.Header
	text       string
	structured string
	failed     bool
	raw        string
}

func (w *trickyWorld) send(era, tool, arguments string) trickyAnswer {
	w.t.Helper()
	params := `"name":"` + tool + `","arguments":` + arguments
	q := modern("tools/call", tool, params)
	if era != version20260728 {
		q = legacy(era, "tools/call", "{"+params+"}")
	}
	q.path = w.path
	if w.token != "" {
		q = q.as(w.token)
	}
	res := w.edge.send(q)
	a := trickyAnswer{status: res.StatusCode, header: res.Header, raw: bodyOf(w.t, res)}
	var body struct {
		Result struct {
			Content []struct {
				Text string `json:"text"`
			} `json:"content"`
			StructuredContent json.RawMessage `json:"structuredContent"`
			IsError           bool            `json:"isError"`
		} `json:"result"`
	}
	if err := json.Unmarshal([]byte(a.raw), &body); err != nil {
		return a // a challenge, or a refusal of the edge
	}
	a.failed = body.Result.IsError
	for _, c := range body.Result.Content {
		a.text += c.Text
	}
	if body.Result.StructuredContent != nil {
		var compact bytes.Buffer
		if err := json.Compact(&compact, body.Result.StructuredContent); err != nil {
			w.t.Fatal(err)
		}
		a.structured = unescapeHTML.Replace(compact.String())
	}
	return a
}

// outcome is the kind of a tool error and the places of its issues, and the
// detail; empty for a call that worked.
func (a trickyAnswer) outcome() (fails, told string) {
	if !a.failed {
		return "", ""
	}
	var e struct {
		Kind, Detail string
		Issues       []fault.Issue
	}
	if json.Unmarshal([]byte(a.text), &e) != nil {
		return a.text, ""
	}
	for _, issue := range e.Issues {
		if !strings.Contains(e.Kind, " "+issue.Path) {
			e.Kind += " " + issue.Path
		}
	}
	return e.Kind, e.Detail
}

// ask calls, in each era of the protocol where again says so, and holds wire and
// answer against what is written.
func (w *trickyWorld) ask(a trickyAsk) {
	w.t.Helper()
	if a.arguments == "" {
		a.arguments = "{}"
	}
	for _, era := range []string{version20260728, version20250618} {
		if era != version20260728 && !w.again(a) {
			return
		}
		w.forget()
		got := w.send(era, a.tool, a.arguments)
		what := fmt.Sprintf("%s %s (%s)", a.tool, a.arguments, era)
		if seen := w.requests(); !onWire(a.wire, seen) {
			w.t.Errorf("%s: over the wire went\n%s\nwant\n%s", what, strings.Join(seen, "\n"), strings.Join(a.wire, "\n"))
		}
		fails, told := got.outcome()
		switch {
		case fails != a.fails, a.told != "" && !strings.Contains(told, a.told):
			w.t.Errorf("%s: %q, %q; want %q, %q\n%s", what, fails, told, a.fails, a.told, got.raw)
		case a.fails != "" && got.structured != "":
			w.t.Errorf("%s: an error with structured content %s", what, got.structured)
		case a.fails == "" && got.structured != a.gets:
			w.t.Errorf("%s:\n got %s\nwant %s\n%s", what, got.structured, a.gets, got.raw)
		case !strings.Contains(got.text, a.text):
			w.t.Errorf("%s: the text\n%s\nlacks\n%s", what, got.text, a.text)
		}
		w.keepsSecrets(what, got)
	}
}

// again says whether to ask once more in the older era: for a row's first
// answer and first error of a call that changes nothing.
func (w *trickyWorld) again(a trickyAsk) bool {
	if a.once || w.asked[a.fails != ""] {
		return false
	}
	w.asked[a.fails != ""] = true
	return true
}

// keepsSecrets holds every answer against what no model may see: what the
// database says to developers, the project's address and its tokens.
func (w *trickyWorld) keepsSecrets(what string, got trickyAnswer) {
	w.t.Helper()
	for _, secret := range []string{"secret", "SQLSTATE", "PGRST", "GRANT", "pg_", "schema cache", "violates", w.project.URL(), w.project.PublishableKey()} {
		if strings.Contains(got.raw, secret) {
			w.t.Errorf("%s: the answer tells %q: %s", what, secret, got.raw)
		}
	}
}

// onWire compares lines; one that ends in … is a beginning.
func onWire(want, seen []string) bool {
	return slices.EqualFunc(want, seen, func(want, seen string) bool {
		if begin, open := strings.CutSuffix(want, "…"); open {
			return strings.HasPrefix(seen, begin)
		}
		return want == seen
	})
}

// record notes a request as trickyRequest writes it.
func (w *trickyWorld) record(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(rw, "unreadable body", http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		lines := trickyRequest(r, body)
		w.mu.Lock()
		w.seen = append(w.seen, lines...)
		w.mu.Unlock()
		next.ServeHTTP(rw, r)
	})
}

// trickyRequest is a request in lines: method and path as sent; every pair of
// the query, split at & as sent and then decoded, as the Data API does it; the
// headers that mean something to it; the body.
func trickyRequest(r *http.Request, body []byte) []string {
	lines := []string{r.Method + " " + r.URL.EscapedPath()}
	if r.URL.RawQuery != "" {
		for pair := range strings.SplitSeq(r.URL.RawQuery, "&") {
			decoded, err := url.QueryUnescape(pair)
			if err != nil {
				decoded = "undecodable " + pair
			}
			lines = append(lines, "  "+decoded)
		}
	}
	for _, name := range []string{"Accept", "Prefer", "Accept-Profile", "Content-Profile", "Range"} {
		value := strings.Join(r.Header.Values(name), " | ")
		if value != "" && (name != "Accept" || value != "application/json") {
			lines = append(lines, "  "+name+": "+strings.ReplaceAll(value, "application/vnd.pgrst.object+json", "object"))
		}
	}
	if r.Header.Get("Authorization") == "" {
		lines = append(lines, "  without a token")
	}
	if len(body) > 0 {
		lines = append(lines, "  "+string(body))
	}
	return lines
}

func (w *trickyWorld) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = nil
}

func (w *trickyWorld) requests() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.seen)
}

// wire is a request in lines, for trickyAsk.wire.
func wire(request string, lines ...string) []string {
	for i, l := range lines {
		lines[i] = "  " + l
	}
	return append([]string{request}, lines...)
}

// pagesThrough follows next_call to the end of a list and holds what one column
// said on the way against want.
func (w *trickyWorld) pagesThrough(tool, arguments, column, want string) {
	w.t.Helper()
	var said []string
	for range 200 {
		got := w.send(version20260728, tool, arguments)
		var page listResult
		if err := json.Unmarshal([]byte(got.structured), &page); err != nil {
			w.t.Fatalf("%s %s: %s", tool, arguments, got.raw)
		}
		for _, item := range page.Items {
			said = append(said, fmt.Sprint(item[column]))
		}
		if page.NextCall == nil {
			break
		}
		arguments = argumentsText(w.t, page)
	}
	if got := strings.Join(said, " "); got != want {
		w.t.Errorf("%s by pages: %s, want %s", tool, got, want)
	}
}

// lastPage is a list's structured content when nothing follows.
func lastPage(items string) string {
	return `{"items":[` + items + `],"has_more":false,"next_cursor":null,"next_call":null}`
}
