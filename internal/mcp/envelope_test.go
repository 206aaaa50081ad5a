package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

func TestDuplicateKeysAreFoundAnywhere(t *testing.T) {
	t.Parallel()
	wide := make([]string, 0, 100)
	for i := range 100 {
		wide = append(wide, fmt.Sprintf(`"k%d":%d`, i, i))
	}
	for in, want := range map[string]error{
		`{}`:                                       nil,
		`{"a":1,"A":2}`:                            nil,
		`{"a":1,"a":2}`:                            errDuplicate,
		`{"a":1,"\u0061":2}`:                       errDuplicate,
		`{"x":{"a":1,"b":{"c":1,"c":1}}}`:          errDuplicate,
		`[{"a":1},{"a":1}]`:                        nil,
		`[[[{"a":[{"a":1,"a":1}]}]]]`:              errDuplicate,
		`{"a":"{\"b\":1,\"b\":2}"}`:                nil,
		`{"a\"":1,"a\\":2}`:                        nil,
		`{"a":"\\","b":"]}","c":[1,2,"}"]}`:        nil,
		`{` + strings.Join(wide, ",") + `}`:        nil,
		`{` + strings.Join(wide, ",") + `,"k3":0}`: errDuplicate,
		`{"a":1`:           errSyntax,
		`{"a":1}x`:         errSyntax,
		`{'a':1}`:          errSyntax,
		`{"a":01}`:         errSyntax,
		``:                 errSyntax,
		"{\"a\":\"\xff\"}": errSyntax,
		"\ufeff{}":         errSyntax,
		strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth):     nil,
		strings.Repeat("[", maxDepth+2) + strings.Repeat("]", maxDepth+2): errDepth,
	} {
		if got := checkJSON([]byte(in)); got != want {
			t.Errorf("%.60s: %v, want %v", in, got, want)
		}
	}
}

func TestIDsComeBackAsSent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.caller(b.surface("acme", nil), "alice", "alice")
	for _, id := range []string{`0`, `-1`, `7`, `1.5`, `1e3`, `9007199254740993`, `-9007199254740993`, `123456789012345678901234567890`, `-0`, `"x"`, `""`, `"\u00e9 \" \\ id"`} {
		body := bodyOf(t, b.send(request{token: "alice", body: `{ "method" : "tools/call", "id" : ` + id + ` , "jsonrpc":"2.0","params":{"name":"customers_list","arguments":{}}}`}))
		var answer struct {
			ID     json.RawMessage `json:"id"`
			Result json.RawMessage `json:"result"`
		}
		if err := json.Unmarshal([]byte(body), &answer); err != nil {
			t.Fatal(err)
		}
		if id[0] == '"' {
			var got, want string
			if json.Unmarshal(answer.ID, &got) != nil || json.Unmarshal([]byte(id), &want) != nil || got != want {
				t.Errorf("%s came back as %s", id, answer.ID)
			}
			continue
		}
		if string(answer.ID) != id || answer.Result == nil {
			t.Errorf("%s came back as %s: %s", id, answer.ID, body)
		}
	}
}

func TestHeaderValuesAreDecoded(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"customers_list": "customers_list", "=?base64?w6k=?=": "é", "=?base64?": "=?base64?", "=?base64??=": "",
	} {
		if got, ok := decodeHeader(in); !ok || got != want {
			t.Errorf("%q: %q, %v", in, got, ok)
		}
	}
	if _, ok := decodeHeader("=?base64?%%?="); ok {
		t.Error("broken Base64 passes")
	}
}

func TestAcceptOfBrowsersIsTold(t *testing.T) {
	t.Parallel()
	for accept, want := range map[string]bool{
		"text/html": true, "application/json, Text/HTML;q=0.9": true, "*/*": false, "text/*": false, "": false,
		"text/html;q=0": false, "text/html; charset=utf-8; q=0.0": false, "application/json, text/event-stream": false, "text/html5": false,
	} {
		if got := acceptsHTML(map[string][]string{"Accept": {accept}}); got != want {
			t.Errorf("%q: %v", accept, got)
		}
	}
}

// FuzzEnvelope holds the edge's reading against the SDK's: where both accept,
// they must agree on method, id, and the name of the tool.
func FuzzEnvelope(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"x":[1,{"y":null}]}}}`,
		`{"jsonrpc":"2.0","id":1.5,"method":"tools/call","params":{"name":"a","Name":"b"}}`,
		`{"jsonrpc":"2.0","id":"\ud800","method":"tools/c\u0061ll","params":{"n\u0061me":"a"}}`,
		`[{"jsonrpc":"2.0","method":"ping"},{"jsonrpc":"2.0","id":-0,"method":"ping","params":null}]`,
		`{"jsonrpc":"2.0","id":1e400,"method":"initialize","params":{"protocolVersion":"2025-06-18","_meta":{}}}`,
		` {"a":{"b":"}\""},"jsonrpc":"2.0","result":{},"id":9007199254740993} `,
		`{"jsonrpc":"2.0","id":1,"method":"ping","METHOD":"tools/list","ID":2}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		list, _, err := parseEnvelope(body, true)
		if err != nil {
			return
		}
		for i := range list {
			m := &list[i]
			if !json.Valid(m.raw) || (m.params != nil && !json.Valid(m.params)) || !json.Valid(m.forSDK()) {
				t.Fatalf("cut wrongly: %q", body)
			}
			if !m.isCall() {
				continue
			}
			agree(t, m)
		}
	})
}

func agree(t *testing.T, m *message) {
	t.Helper()
	decoded, err := jsonrpc.DecodeMessage(m.forSDK())
	if err != nil {
		return // the SDK refuses what we let through: nothing is served
	}
	req, ok := decoded.(*jsonrpc.Request)
	if !ok || req.Method != m.method || !req.ID.IsValid() {
		t.Fatalf("edge reads %q, SDK %#v in %q", m.method, decoded, m.raw)
	}
	if !bytes.Equal(bytes.TrimSpace(req.Params), bytes.TrimSpace(m.params)) && string(req.Params) != "null" {
		t.Fatalf("edge reads params %q, SDK %q", m.params, req.Params)
	}
	answer := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"result":{"id":7}}`, standInID)
	if !safeID(m.id) && !bytes.Contains(m.restoreID(answer), append([]byte(`"id":`), m.id...)) {
		t.Fatalf("id %q is not restored", m.id)
	}
}
