package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
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
		if got := checkJSON([]byte(in)); !errors.Is(got, want) {
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

// FuzzEnvelope holds the edge's reading against the SDK's: where both accept
// a message, they agree on what it is.
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
			agree(t, &list[i])
		}
	})
}

func agree(t *testing.T, m *message) {
	t.Helper()
	if !json.Valid(m.raw) || (m.params != nil && !json.Valid(m.params)) || (m.id != nil && !json.Valid(m.id)) {
		t.Fatalf("cut wrongly: %q", m.raw)
	}
	if m.isCall() && !json.Valid(envelope(m.id, "result", []byte("{}"))) {
		t.Fatalf("answer under id %q is not JSON", m.id)
	}
	decoded, err := jsonrpc.DecodeMessage(m.raw)
	if err != nil {
		return // the SDK is stricter here
	}
	req, ok := decoded.(*jsonrpc.Request)
	if ok == m.response || (ok && req.Method != m.method) {
		t.Fatalf("edge reads %+v, SDK %#v", m, decoded)
	}
	if ok && !bytes.Equal(bytes.TrimSpace(req.Params), m.params) && string(req.Params) != "null" {
		t.Fatalf("edge reads params %q, SDK %q", m.params, req.Params)
	}
}
