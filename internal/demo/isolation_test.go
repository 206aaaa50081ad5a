package demo

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chumbo-dev/chumbo/internal/standin"
)

func decodeClaims(token string, claims any) error {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return errors.New("not a JWT")
	}
	b, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return err
	}
	return json.Unmarshal(b, claims)
}

// callsEach is how many calls each person makes while the other does too.
const callsEach = 1500

// seat is one person of the isolation test: what is theirs and what is not.
type seat struct {
	email, mine, others string
	firstID             int    // theirs are the 60 from here on
	othersID            int    // and the other's the 60 from here on
	cursor, stolen      string // behind the third row by name: one's own, the other's
}

// TestAliceAndBobAtOnceNeverSeeEachOther calls as both from several
// goroutines, lists, pages, cursors and errors, and looks at every answer.
func TestAliceAndBobAtOnceNeverSeeEachOther(t *testing.T) {
	t.Parallel()
	alice := &seat{email: "alice@example.test", mine: "Acme", others: "Globex", firstID: 1, othersID: 61}
	bob := &seat{email: "bob@example.test", mine: "Globex", others: "Acme", firstID: 61, othersID: 1}
	sessions := map[*seat][]*mcp.ClientSession{}
	for _, p := range []*seat{alice, bob} {
		for _, protocol := range []string{"2026-07-28", "2025-11-25"} {
			session, _, _ := goClient(t, p.email, protocol)
			sessions[p] = append(sessions[p], session)
		}
		page, err := sessions[p][0].CallTool(t.Context(), &mcp.CallToolParams{Name: "customers_list", Arguments: map[string]any{"limit": 3, "order": "name"}})
		if err != nil || page.IsError {
			t.Fatalf("first page: %v %+v", err, page)
		}
		p.cursor = page.StructuredContent.(map[string]any)["next_cursor"].(string)
	}
	alice.stolen, bob.stolen = bob.cursor, alice.cursor

	calls := callsEach
	if testing.Short() {
		calls = 100
	}
	const lanes = 4 // of each person
	var group sync.WaitGroup
	for p, own := range sessions {
		for lane := range lanes {
			group.Go(func() {
				for i := range calls / lanes {
					if err := p.oneCall(t, own[lane%len(own)], i+lane, lane*calls+i); err != nil {
						t.Errorf("%s: %v", p.email, err)
						return
					}
				}
			})
		}
	}
	group.Wait()
}

// oneCall makes one of several kinds of call. What must be in the answer is
// there, and nothing of the other person is: their organization's name is in
// every row of theirs, and a filter's value is never echoed. unique marks this
// call among all the person's.
func (p *seat) oneCall(t *testing.T, session *mcp.ClientSession, i, unique int) error {
	list := func(arguments map[string]any) *mcp.CallToolParams {
		return &mcp.CallToolParams{Name: "customers_list", Arguments: arguments}
	}
	customer := func(tool string, id int) *mcp.CallToolParams {
		return &mcp.CallToolParams{Name: tool, Arguments: map[string]any{"id": fmt.Sprint(id)}}
	}
	nobody := 1_000_000*p.firstID + unique
	kinds := []struct {
		params *mcp.CallToolParams
		fails  bool
		says   string
	}{
		{list(map[string]any{"limit": 3 + i%5}), false, p.mine},
		{list(map[string]any{"name_ilike": p.others}), false, "0 rows"},
		{list(map[string]any{"limit": 10, "order": "name", "cursor": p.cursor}), false, p.mine},
		{list(map[string]any{"limit": 10, "order": "name", "cursor": p.stolen}), false, " rows"},
		{list(map[string]any{"limit": "many"}), true, "want integer"},
		{customer("customers_get", p.firstID+i%60), false, p.mine},
		{customer("customers_get", p.othersID+i%60), true, "not_found"},
		{customer("archive_customer", p.othersID+i%60), true, "There is no customer"},
		{customer("archive_customer", nobody), true, fmt.Sprintf("There is no customer %d.", nobody)},
		{&mcp.CallToolParams{Name: "customer_summary"}, false, "active"},
	}
	kind := kinds[i%len(kinds)]
	result, err := session.CallTool(t.Context(), kind.params)
	if err != nil {
		return err
	}
	text, err := json.Marshal(result)
	if err != nil {
		return err
	}
	if strings.Contains(string(text), p.others) {
		return fmt.Errorf("%s %v shows what is of %s: %s", kind.params.Name, kind.params.Arguments, p.others, text)
	}
	if result.IsError != kind.fails || !strings.Contains(string(text), kind.says) {
		return fmt.Errorf("%s %v answers %s", kind.params.Name, kind.params.Arguments, text)
	}
	return nil
}

// TestCursorOfAliceYieldsOnlyBobsRowsToBob: a cursor carries no rights.
func TestCursorOfAliceYieldsOnlyBobsRowsToBob(t *testing.T) {
	t.Parallel()
	alice, _, _ := goClient(t, "alice@example.test", "2026-07-28")
	bob, _, _ := goClient(t, "bob@example.test", "2026-07-28")
	page, err := alice.CallTool(t.Context(), &mcp.CallToolParams{Name: "customers_list", Arguments: map[string]any{"limit": 2}})
	if err != nil {
		t.Fatal(err)
	}
	cursor := page.StructuredContent.(map[string]any)["next_cursor"]
	if cursor == nil {
		t.Fatal("no cursor")
	}
	stolen, err := bob.CallTool(t.Context(), &mcp.CallToolParams{Name: "customers_list", Arguments: map[string]any{"limit": 2, "cursor": cursor}})
	if err != nil {
		t.Fatal(err)
	}
	text, _ := json.Marshal(stolen)
	if strings.Contains(string(text), "Acme") {
		t.Fatalf("Bob reads Alice's rows by her cursor: %s", text)
	}
}

// TestAliceCannotArchiveBobsCustomer: a write to another's row changes
// nothing.
func TestAliceCannotArchiveBobsCustomer(t *testing.T) {
	t.Parallel()
	alice, _, _ := goClient(t, "alice@example.test", "2026-07-28")
	bob, _, _ := goClient(t, "bob@example.test", "2026-07-28")
	his := listAll(t, bob)[0]
	arguments := map[string]any{"id": his["id"]}
	result, err := alice.CallTool(t.Context(), &mcp.CallToolParams{Name: "archive_customer", Arguments: arguments})
	if err != nil {
		t.Fatal(err)
	}
	text, _ := json.Marshal(result)
	if strings.Contains(string(text), "Globex") {
		t.Fatalf("the answer shows Bob's row: %s", text)
	}
	if !result.IsError {
		t.Errorf("the write was not refused: %s", text)
	}
	for _, row := range listAll(t, bob) {
		if row["id"] == his["id"] && reflect.DeepEqual(row, his) {
			return
		}
	}
	t.Fatal("Bob's customer changed or is gone")
}

func TestForeignHostIsRefusedBeforeAnyChallenge(t *testing.T) {
	t.Parallel()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, running.MCPURL, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	req.Host = "evil.example"
	resp, err := (&http.Client{}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusMisdirectedRequest || resp.Header.Get("WWW-Authenticate") != "" {
		t.Fatalf("foreign host: %s %v", resp.Status, resp.Header)
	}
}

// TestWriteReachesOnesOwnRowsOnly asks the database itself.
func TestWriteReachesOnesOwnRowsOnly(t *testing.T) {
	t.Parallel()
	_, p := newTenant(t)
	alice := p.signIn(standin.AliceEmail).AccessToken
	for i, era := range eras {
		before := p.rowsOf("Globex")
		text := call(t, p.mcp, alice, era, "archive_customer", map[string]any{"id": fmt.Sprint(62 + i)}).failed(t)
		if !strings.Contains(text, "There is no customer") || p.rowsOf("Globex") != before {
			t.Errorf("%s: Alice wrote to Bob's row: %s", era, text)
		}
		before = p.rowsOf("Acme")
		if r := call(t, p.mcp, alice, era, "archive_customer", map[string]any{"id": fmt.Sprint(1 + i)}); r.result(t).IsError || p.rowsOf("Acme") == before {
			t.Errorf("%s: Alice cannot write to her own: %s", era, r.body)
		}
	}
}

// rowsOf is every customer of an organization, as one text.
func (p *tenant) rowsOf(organization string) string {
	p.t.Helper()
	conn, err := pgx.Connect(p.t.Context(), p.DSN())
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = conn.Close(p.t.Context()) }()
	var rows string
	err = conn.QueryRow(p.t.Context(), `select string_agg(c::text, e'\n' order by c.id) from public.customers c
		join public.organizations o on o.id = c.organization_id where o.name = $1`, organization).Scan(&rows)
	if err != nil || rows == "" {
		p.t.Fatalf("rows of %s: %v", organization, err)
	}
	return rows
}

// TestTwoOrganizationsSurfacesAtOnce: the same person, the same ids, two
// projects of two organizations of builders behind one service.
func TestTwoOrganizationsSurfacesAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	red := w.tenant(t, "Red builders", "red-crm", standin.Options{Schema: "\nupdate public.customers set name = 'Red ' || id;"})
	blue := w.tenant(t, "Blue builders", "blue-crm", standin.Options{Schema: "\nupdate public.customers set name = 'Blue ' || id;"})
	var group sync.WaitGroup
	for _, p := range []*tenant{red, blue} {
		p.importSchema()
		p.publish(strings.Replace(demoFile(t), "title: Demo CRM", "title: Surface of "+p.slug, 1))
		p.ForgetRequests() // the probe's, which are nobody's
		own, foreign := "Red ", "Blue "
		if p == blue {
			own, foreign = foreign, own
		}
		token := p.signIn(standin.AliceEmail).AccessToken
		cursor := *call(t, p.mcp, token, eras[0], "customers_list", map[string]any{"limit": 2}).page(t).NextCursor
		for lane := range 4 {
			group.Go(func() {
				for i := range 150 {
					era := eras[(lane+i)%len(eras)]
					r := speak(t, p.mcp, token, era, "tools/list", nil)
					switch i % 4 {
					case 0:
						r = call(t, p.mcp, token, era, "customers_list", map[string]any{"limit": 5})
					case 1:
						r = call(t, p.mcp, token, era, "customers_list", map[string]any{"limit": 5, "cursor": cursor})
					case 2:
						r = call(t, p.mcp, token, era, "customers_get", map[string]any{"id": fmt.Sprint(1 + i%60)})
					}
					if r.status != http.StatusOK || strings.Contains(r.body, foreign) || strings.Contains(r.body, own) != (i%4 != 3) {
						t.Errorf("%s, call %d: %d %s", p.slug, i, r.status, r.body)
						return
					}
				}
			})
		}
	}
	group.Wait()
	for _, p := range []*tenant{red, blue} {
		for _, r := range p.RequestsTo("/rest/v1/") {
			if r.APIKey != p.PublishableKey() || claim(t, r.Bearer, "iss") != p.Issuer() {
				t.Fatalf("%s was asked with another project's credential", p.slug)
			}
		}
	}
}
