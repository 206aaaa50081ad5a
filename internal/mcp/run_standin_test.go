package mcp

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chumbo-dev/chumbo/internal/egress"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/localpg"
	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/standin"
	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

func TestMain(m *testing.M) { localpg.TestMain(m) }

// realProject is the CRM project with a runner that reaches it.
type realProject struct {
	*standin.Project
	runner  *toolRunner
	surface id.Surface
	project id.Project
}

const moreTables = `
create table public.oddities (
  "id.part" int not null, "order" text not null, label text, at timestamptz, score float8,
  primary key ("id.part", "order"));
alter table public.oddities enable row level security;
create policy everybody on public.oddities for select to authenticated using (true);
grant select on public.oddities to authenticated;
insert into public.oddities values
  (1, 'a', 'a"b,c', '2026-01-01 00:00:00.123456+00', 'NaN'), (1, 'b', 'back\slash', null, 1.1), (2, 'a', '(x)', '2026-01-01 00:00:00.123457+00', '-Infinity'),
  (2, 'b', 'null', null, null), (3, '', '', '2025-12-31 23:59:59+00', 0.30000000000000004), (3, 'c', null, null, 'Infinity'),
  (4, 'x', 'x&role=eq.admin', null, 2), (5, 'y', '),id.gt.0,(', null, 3), (6, 'z', '50%_off*', null, 4), (7, 'w', ' lead', null, 5);
create table public.locked (id int primary key);
create function public.fail_with(code text) returns int language plpgsql as $$
begin raise exception 'The trial is over.' using errcode = code, detail = 'secret detail', hint = 'secret hint'; end $$;
grant execute on function public.fail_with(text) to authenticated;
`

func startReal(t *testing.T, more ...string) *realProject {
	t.Helper()
	p, err := standin.Start(t.Context(), standin.Options{
		Postgres: localpg.Shared(t), Schema: standin.CRM + moreTables + strings.Join(more, ""), Users: standin.CRMUsers(),
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
	return &realProject{Project: p, runner: newRunner(client, testKeys(t)), surface: id.New[id.SurfaceKind](), project: id.New[id.ProjectKind]()}
}

// callAs is a call of the person, or an anonymous one for "".
func (p *realProject) callAs(t *testing.T, email string) *call {
	t.Helper()
	c := &call{requestID: "req-" + email, endpoint: &tenants.Endpoint{
		Surface: p.surface, Project: tenants.ProjectRef{ID: p.project, APIOrigin: p.URL(), PublishableKey: p.PublishableKey()},
	}}
	if email == "" {
		c.caller = &oauth.Caller{Key: oauth.CallerKey{Surface: p.surface, Mode: oauth.ModePublic}, Role: "anon"}
		return c
	}
	token, err := p.AccessToken(email, standin.TokenOptions{ClientID: "c1"})
	if err != nil {
		t.Fatal(err)
	}
	c.caller = &oauth.Caller{Key: oauth.CallerKey{Surface: p.surface, Mode: oauth.ModeDirect, Subject: email},
		Token: seal.NewSecret(token), Expires: time.Now().Add(time.Hour)}
	return c
}

func crmList() *surfaces.Tool {
	tool := listTool()
	status := surfaces.Column{Name: "status", SQLType: "customer_status", JSON: surfaces.JSONString}
	updated := surfaces.Column{Name: "updated_at", SQLType: "timestamptz", JSON: surfaces.JSONString}
	tool.List.Columns = []surfaces.Column{idColumn, nameColumn, status, updated,
		{Name: "balance", SQLType: "numeric", JSON: surfaces.JSONString, AsText: true}}
	tool.List.Filters[0].Column, tool.List.Filters[1].Column = status, status
	tool.List.Orders = append(tool.List.Orders, surfaces.Order{Name: "-updated_at", Keys: []surfaces.OrderTerm{term(updated, true, true), term(idColumn, false, false)}})
	return tool
}

func oddList() *surfaces.Tool {
	part := surfaces.Column{Name: "id.part", SQLType: "int4", JSON: surfaces.JSONInteger}
	order := surfaces.Column{Name: "order", SQLType: "text", JSON: surfaces.JSONString}
	label := surfaces.Column{Name: "label", SQLType: "text", JSON: surfaces.JSONString, Nullable: true}
	at := surfaces.Column{Name: "at", SQLType: "timestamptz", JSON: surfaces.JSONString, Nullable: true}
	score := surfaces.Column{Name: "score", SQLType: "float8", JSON: surfaces.JSONNumber, Nullable: true}
	plan := &surfaces.ListPlan{Relation: surfaces.Relation{Name: "oddities"}, Columns: []surfaces.Column{part, order, label, at, score},
		Key: []surfaces.Column{part, order}, DefaultLimit: 3, MaxLimit: 100}
	for _, op := range []string{"eq", "neq", "in", "like", "ilike", "is", "gt"} {
		plan.Filters = append(plan.Filters, surfaces.Filter{Argument: "label_" + op, Column: label, Operator: op})
	}
	plan.Filters = append(plan.Filters, surfaces.Filter{Argument: "order_eq", Column: order, Operator: "eq"}, surfaces.Filter{Argument: "at", Column: at, Operator: "eq"})
	for _, c := range []surfaces.Column{label, at, score} {
		for bits := range 4 {
			plan.Orders = append(plan.Orders, surfaces.Order{Name: fmt.Sprintf("%s%d", c.Name, bits),
				Keys: []surfaces.OrderTerm{term(c, bits&1 != 0, bits&2 != 0), term(part, false, false), term(order, bits&1 != 0, false)}})
		}
	}
	return &surfaces.Tool{Name: "oddities_list", Result: surfaces.ResultHybrid, Budget: 16 << 10, List: plan}
}

// all pages through a list and returns one column of every row, as text.
func all(t *testing.T, r *toolRunner, c *call, tool *surfaces.Tool, arguments, column string) []string {
	t.Helper()
	var out []string
	for range 200 {
		l := runTool(t, r, c, tool, arguments).list(t)
		for _, item := range l.Items {
			out = append(out, fmt.Sprint(item[column]))
		}
		if !*l.HasMore {
			return out
		}
		arguments = argumentsText(t, l)
	}
	t.Fatal("the list does not end")
	return nil
}

func TestRealPagingInEveryOrder(t *testing.T) {
	t.Parallel()
	p := startReal(t)
	c := p.callAs(t, standin.AliceEmail)
	tool := oddList()
	for _, o := range tool.List.Orders {
		whole := all(t, p.runner, c, tool, `{"limit":100,"order":"`+o.Name+`"}`, "label")
		for _, limit := range []int{1, 2, 3} {
			paged := all(t, p.runner, c, tool, fmt.Sprintf(`{"limit":%d,"order":%q}`, limit, o.Name), "label")
			if len(whole) != 10 || strings.Join(paged, "|") != strings.Join(whole, "|") {
				t.Errorf("%s by %d:\n%q\n%q", o.Name, limit, paged, whole)
			}
		}
	}
	for _, order := range []string{"id", "name", "-updated_at"} {
		if got := all(t, p.runner, c, crmList(), `{"limit":7,"order":"`+order+`"}`, "id"); len(got) != 60 || len(unique(got)) != 60 {
			t.Errorf("%s: %d rows, %d different", order, len(got), len(unique(got)))
		}
	}
}

func unique(list []string) map[string]bool {
	set := map[string]bool{}
	for _, s := range list {
		set[s] = true
	}
	return set
}

func TestField71_FilterValuesStayValues(t *testing.T) {
	t.Parallel()
	p := startReal(t)
	c := p.callAs(t, standin.AliceEmail)
	for arguments, want := range map[string]string{
		`{"label_in":["a\"b,c","back\\slash","(x)","null"]}`: `a"b,c|back\slash|(x)|null`,
		`{"label_eq":"x&role=eq.admin"}`:                     `x&role=eq.admin`,
		`{"label_eq":"),id.gt.0,("}`:                         `),id.gt.0,(`,
		`{"label_in":["),id.gt.0,("]}`:                       `),id.gt.0,(`,
		`{"label_eq":"\"(x)\""}`:                             ``,
		`{"label_eq":""}`:                                    ``,
		`{"label_in":[""]}`:                                  ``,
		`{"label_in":[]}`:                                    ``,
		`{"label_eq":"null"}`:                                `null`,
		`{"label_eq":" lead"}`:                               ` lead`,
		`{"label_in":[" lead","x"]}`:                         ` lead`,
		`{"label_ilike":"50%_OFF"}`:                          `50%_off*`,
		`{"label_like":"%"}`:                                 `50%_off*`,
		`{"label_like":"_"}`:                                 `50%_off*`,
		`{"label_like":"\\"}`:                                `back\slash`,
		`{"label_like":"off*"}`:                              `50%_off*`,
		`{"label_like":"5*%"}`:                               `50%_off*`,
		`{"label_like":"50*off"}`:                            ``, // * is one character, never many
		`{"label_is":"null"}`:                                `<nil>`,
		`{"order_eq":"z"}`:                                   `50%_off*`,
		`{"at":"2026-01-01T00:00:00.123457+00:00"}`:          `(x)`,
	} {
		got := all(t, p.runner, c, oddList(), arguments, "label")
		if strings.Join(got, "|") != strings.Join(sameOrder(want, got), "|") {
			t.Errorf("%s: %q, want %q", arguments, got, want)
		}
	}
}

// sameOrder puts the wanted values, which a list returns by its own order,
// into the order got has.
func sameOrder(want string, got []string) []string {
	var list []string
	left := strings.Split(want, "|")
	for _, g := range got {
		for i, w := range left {
			if w == g {
				list, left = append(list, w), append(left[:i:i], left[i+1:]...)
				break
			}
		}
	}
	if len(left) == 1 && left[0] == "" {
		left = nil
	}
	return append(list, left...)
}

func TestAliceAndBobSeeTheirOwnRowsAtOnce(t *testing.T) {
	t.Parallel()
	p := startReal(t)
	own := map[string]string{standin.AliceEmail: "Acme", standin.BobEmail: "Globex"}
	cursors := map[string]string{}
	for email := range own {
		cursors[email] = *runTool(t, p.runner, p.callAs(t, email), crmList(), `{"order":"name","limit":10}`).list(t).NextCursor
	}
	var wait sync.WaitGroup
	for worker := range 8 {
		email, other := standin.AliceEmail, standin.BobEmail
		if worker%2 == 1 {
			email, other = other, email
		}
		c := p.callAs(t, email)
		wait.Go(func() {
			for i := range 40 {
				arguments := `{"order":"name","limit":10}`
				if i%2 == 1 { // the other one's cursor yields this one's rows
					arguments = `{"order":"name","limit":10,"cursor":"` + cursors[other] + `"}`
				}
				got := runTool(t, p.runner, c, crmList(), arguments)
				if strings.Contains(got.text+string(got.structured), own[other]) {
					t.Errorf("%s saw rows of %s", email, other)
					return
				}
				for _, item := range got.list(t).Items {
					if !strings.HasPrefix(item["name"].(string), own[email]) {
						t.Errorf("%s got %v", email, item["name"])
						return
					}
				}
			}
		})
	}
	wait.Wait()
	for _, r := range p.RequestsTo("/rest/v1/") {
		if r.Bearer == "" || r.APIKey != p.PublishableKey() {
			t.Fatalf("a user's call went out with token %v", r.Bearer != "")
		}
	}
}

func TestRowsOfOthersAreNotFound(t *testing.T) {
	t.Parallel()
	p := startReal(t)
	get := getTool()
	get.Get.Columns = crmList().List.Columns
	alice, bob := p.callAs(t, standin.AliceEmail), p.callAs(t, standin.BobEmail)
	ids := all(t, p.runner, alice, crmList(), `{"limit":2}`, "id")[:2]
	if got := runTool(t, p.runner, alice, get, `{"id":"`+ids[0]+`"}`); got.isError {
		t.Fatal(got.text)
	}
	hidden := runTool(t, p.runner, bob, get, `{"id":"`+ids[0]+`"}`)
	missing := runTool(t, p.runner, bob, get, `{"id":"999999999"}`)
	if hidden.kind() != "not_found" || hidden.text != missing.text {
		t.Errorf("%s\n%s", hidden.text, missing.text)
	}
	archive := &surfaces.Tool{Name: "archive_customer", Budget: 4096, RPC: &surfaces.RPCPlan{
		Relation: surfaces.Relation{Name: "archive_customer"}, Arguments: []surfaces.Argument{{Name: "id", SQLType: "int8", Required: true}},
		Returns: surfaces.Returns{Kind: "row", Columns: []surfaces.Column{idColumn, crmList().List.Columns[2]}},
	}}
	if got := runTool(t, p.runner, bob, archive, `{"id":"`+ids[0]+`"}`); got.kind() != "refused" || !strings.Contains(got.text, "There is no customer") {
		t.Errorf("a write to another's row: %s", got.text)
	}
	if got := runTool(t, p.runner, alice, archive, `{"id":"`+ids[0]+`"}`); string(got.structured) != `{"id":"`+ids[0]+`","status":"archived"}` {
		t.Errorf("%s %s", got.text, got.structured)
	}
}

func TestAnonymousCallsCarryNoToken(t *testing.T) {
	t.Parallel()
	p := startReal(t)
	p.ForgetRequests()
	greet := &surfaces.Tool{Name: "greet", Budget: 4096, RPC: &surfaces.RPCPlan{Relation: surfaces.Relation{Name: "greet"}, ReadOnly: true,
		Arguments: []surfaces.Argument{{Name: "name", SQLType: "text"}}, Returns: surfaces.Returns{Kind: "scalar"}}}
	c := p.callAs(t, "")
	c.caller.Token = seal.NewSecret("left over") // the mode decides, not what happens to be there
	if got := runTool(t, p.runner, c, greet, `{"name":"is.null"}`); string(got.structured) != `{"result":"Hello, is.null!"}` {
		t.Errorf("%s", got.text)
	}
	if got := runTool(t, p.runner, c, crmList(), `{}`); got.kind() != "forbidden" {
		t.Errorf("customers as anon: %s", got.text)
	}
	for _, r := range p.Requests() {
		if r.Bearer != "" || r.Header.Get("Authorization") != "" {
			t.Error("an anonymous call carried a token")
		}
	}
	p.ForgetRequests()
	user := p.callAs(t, standin.AliceEmail)
	user.caller.Token = seal.Secret{}
	if _, err := p.runner.run(t.Context(), user, crmList(), nil); err == nil || len(p.Requests()) != 0 {
		t.Errorf("a user without a token: %v, %d requests", err, len(p.Requests()))
	}
}

func TestField76_EmptyAndForbiddenAreNotTheSame(t *testing.T) {
	t.Parallel()
	p := startReal(t)
	c := p.callAs(t, standin.AliceEmail)
	notes := oddList()
	notes.List = &surfaces.ListPlan{Relation: surfaces.Relation{Name: "locked"}, Columns: []surfaces.Column{{Name: "id", SQLType: "int4", JSON: surfaces.JSONInteger}},
		Key: []surfaces.Column{{Name: "id"}}, DefaultLimit: 5, MaxLimit: 10,
		Orders: []surfaces.Order{{Name: "id", Keys: []surfaces.OrderTerm{{Column: surfaces.Column{Name: "id"}}}}}}
	if got := runTool(t, p.runner, c, notes, `{}`); got.kind() != "forbidden" || strings.Contains(got.text, "GRANT") || strings.Contains(got.text, "locked") {
		t.Errorf("without a grant: %s", got.text)
	}
	if err := p.Exec(t.Context(), "delete from public.memberships"); err != nil {
		t.Fatal(err)
	}
	if l := runTool(t, p.runner, c, crmList(), `{}`).list(t); len(l.Items) != 0 || *l.HasMore {
		t.Errorf("hidden by policy: %v", l.Items)
	}
}

func TestATableDroppedAfterPublishing(t *testing.T) {
	t.Parallel()
	p := startReal(t)
	c := p.callAs(t, standin.AliceEmail)
	if err := p.Exec(t.Context(), "alter table public.oddities drop column label; drop view public.customer_names"); err != nil {
		t.Fatal(err)
	}
	if got := runTool(t, p.runner, c, oddList(), `{}`); got.kind() != "out_of_date" || strings.Contains(got.text, "label") {
		t.Errorf("a dropped column: %s", got.text)
	}
	view := crmList()
	view.List.Relation.Name = "customer_names_that_never_was"
	if got := runTool(t, p.runner, c, view, `{}`); got.kind() != "out_of_date" || !strings.Contains(got.text, "publish") {
		t.Errorf("a missing relation: %s", got.text)
	}
}

func TestDatabaseErrorsKeepTheirDetailsInside(t *testing.T) {
	t.Parallel()
	p := startReal(t)
	c := p.callAs(t, standin.AliceEmail)
	tool := &surfaces.Tool{Name: "fail", Budget: 4096, RPC: &surfaces.RPCPlan{Relation: surfaces.Relation{Name: "fail_with"},
		Arguments: []surfaces.Argument{{Name: "code", SQLType: "text", Required: true}}, Returns: surfaces.Returns{Kind: "scalar"}}}
	for code, kind := range map[string]string{"P0001": "refused", "PT409": "conflict", "PT503": "unavailable", "23505": "conflict", "42501": "forbidden", "XX000": "unavailable"} {
		got := runTool(t, p.runner, c, tool, `{"code":"`+code+`"}`)
		if got.kind() != kind || strings.Contains(got.text, "secret") {
			t.Errorf("%s: %s", code, got.text)
		}
		if passes := strings.Contains(got.text, "The trial is over."); passes != (code == "P0001" || code == "PT409") {
			t.Errorf("%s: the message passes: %v", code, passes)
		}
	}
	bad := crmList()
	if got := runTool(t, p.runner, c, bad, `{"status":"opne"}`); got.kind() != "invalid" || !strings.Contains(got.text, `"/status"`) {
		t.Errorf("a wrong label: %s", got.text)
	}
	if got := runTool(t, p.runner, c, bad, `{"id_gt":"99999999999999999999999"}`); got.kind() != "invalid" || !strings.Contains(got.text, `"/id_gt"`) {
		t.Errorf("out of range: %s", got.text)
	}
	if got := runTool(t, p.runner, c, oddList(), `{"label_eq":"a\u0000b"}`); got.kind() != "invalid" {
		t.Errorf("NUL: %s", got.text)
	}
}

func TestField52_ALate401FromTheProject(t *testing.T) {
	t.Parallel()
	p := startReal(t)
	c := p.callAs(t, standin.AliceEmail)
	p.ExpireNext()
	if got := runTool(t, p.runner, c, crmList(), `{}`); c.unauthorized || got.kind() != "upstream_error" {
		t.Errorf("expired by the project's clock alone: %s", got.text)
	}
	p.ExpireNext()
	c.caller.Expires = time.Now().Add(-time.Second)
	if got := runTool(t, p.runner, c, crmList(), `{}`); !c.unauthorized || got.kind() != "unauthenticated" {
		t.Errorf("%s", got.text)
	}
	foreign := p.callAs(t, standin.AliceEmail)
	foreign.caller.Token = seal.NewSecret("not.a.token")
	if got := runTool(t, p.runner, foreign, crmList(), `{}`); foreign.unauthorized || got.kind() != "upstream_error" {
		t.Errorf("refused before its time: %s", got.text)
	}
	later := p.runner.withClock(func() time.Time { return time.Now().Add(2 * time.Hour) })
	if runTool(t, later, foreign, crmList(), `{}`); !foreign.unauthorized {
		t.Error("refused after its time, and not marked")
	}
}

func TestAProjectThatIsAway(t *testing.T) {
	t.Parallel()
	p := startReal(t)
	c := p.callAs(t, standin.AliceEmail)
	p.FailNext("/rest/v1/", http.StatusBadGateway, "text/html", "<html>bad gateway at 10.0.0.7</html>")
	if got := runTool(t, p.runner, c, crmList(), `{}`); got.kind() != "unavailable" || strings.Contains(got.text, "10.0.0.7") {
		t.Errorf("%s", got.text)
	}
	if got := runTool(t, p.runner, c, crmList(), `{}`); got.isError {
		t.Errorf("afterwards: %s", got.text)
	}
}
