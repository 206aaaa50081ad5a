package demo

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
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

// TestAliceAndBobAtOnceNeverSeeEachOther calls as both from several
// goroutines, lists, pages and errors, and looks at every answer.
func TestAliceAndBobAtOnceNeverSeeEachOther(t *testing.T) {
	t.Parallel()
	people := []struct{ email, mine, others string }{
		{"alice@example.test", "Acme", "Globex"},
		{"bob@example.test", "Globex", "Acme"},
	}
	calls := callsEach
	if testing.Short() {
		calls = 100
	}
	const lanes = 4
	var group sync.WaitGroup
	for _, p := range people {
		for _, protocol := range []string{"2026-07-28", "2025-11-25"} {
			session, _, _ := goClient(t, p.email, protocol)
			for lane := range lanes / 2 {
				group.Go(func() {
					for i := range calls / lanes {
						if err := oneCall(t, session, i+lane, p.mine, p.others); err != nil {
							t.Errorf("%s: %v", p.email, err)
							return
						}
					}
				})
			}
		}
	}
	group.Wait()
}

// oneCall makes one of several kinds of call and checks that nothing of the
// others is in the answer.
func oneCall(t *testing.T, session *mcp.ClientSession, i int, mine, others string) error {
	params := &mcp.CallToolParams{Name: "customers_list", Arguments: map[string]any{"limit": 3 + i%5}}
	switch i % 4 {
	case 1:
		params.Arguments = map[string]any{"name_ilike": others}
	case 2:
		params.Arguments = map[string]any{"limit": "many"} // an argument error
	case 3:
		params = &mcp.CallToolParams{Name: "customers_get", Arguments: map[string]any{"id": fmt.Sprint(1 + i%120)}}
	}
	result, err := session.CallTool(t.Context(), params)
	if err != nil {
		return err
	}
	text, err := json.Marshal(result)
	if err != nil {
		return err
	}
	// Another organization's name is in a row of hers only: the filter value
	// itself is never echoed.
	if strings.Contains(string(text), others) {
		return fmt.Errorf("call %d shows rows of %s: %s", i, others, text)
	}
	if i%4 == 0 && !strings.Contains(string(text), mine) {
		return fmt.Errorf("call %d shows no rows of %s: %s", i, mine, text)
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
	for _, row := range listAll(t, bob) {
		if row["id"] == his["id"] && row["status"] == his["status"] {
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
