package mcp

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

const repeatingSchema = `{"type":"object","properties":{
	"region":{"type":"string","x-mcp-header":"Region"},"count":{"type":"integer","x-mcp-header":"Count"},"dry":{"type":"boolean","x-mcp-header":"Dry"},
	"inner":{"type":"object","properties":{"zone":{"type":"string","x-mcp-header":"Zone"}}},"plain":{"type":"string"}}}`

func TestHeadersRepeatTheirArguments(t *testing.T) {
	t.Parallel()
	headers := paramHeaders([]byte(repeatingSchema))
	if len(headers) != 4 {
		t.Fatalf("%+v", headers)
	}
	for _, k := range []struct {
		arguments string
		header    map[string]string
		fits      bool
	}{
		{``, nil, true}, {`{}`, nil, true}, {`{"plain":"x"}`, nil, true}, {`{"region":null}`, nil, true},
		{`{"region":"eu"}`, map[string]string{"Region": "eu"}, true}, {`{"region":"eu"}`, nil, false}, {`{"region":"eu"}`, map[string]string{"Region": "us"}, false}, {`{"region":"eu"}`, map[string]string{"Region": "EU"}, false},
		{`{}`, map[string]string{"Region": "eu"}, false}, {`{"region":null}`, map[string]string{"Region": ""}, false}, {`{"region":""}`, map[string]string{"Region": ""}, true}, {`{"region":""}`, nil, false},
		{`{"region":"Hello"}`, map[string]string{"Region": "=?base64?SGVsbG8=?="}, true}, {`{"region":"Hello"}`, map[string]string{"Region": "=?base64?SGVsbG8?="}, false}, {`{"region":"Hello"}`, map[string]string{"Region": "=?base64?SGVs!!!bG8=?="}, false},
		{`{"region":"SGVsbG8="}`, map[string]string{"Region": "SGVsbG8="}, true}, {`{"region":"=?base64?SGVsbG8="}`, map[string]string{"Region": "=?base64?SGVsbG8="}, true},
		{`{"region":"é"}`, map[string]string{"Region": "=?base64?w6k=?="}, true}, {`{"region":"\u00e9"}`, map[string]string{"Region": "=?base64?w6k=?="}, true},
		{`{"count":42}`, map[string]string{"Count": "42"}, true}, {`{"count":42.0}`, map[string]string{"Count": "42"}, true}, {`{"count":4.2e1}`, map[string]string{"Count": "42.0"}, true}, {`{"count":42}`, map[string]string{"Count": "43"}, false},
		{`{"count":9007199254740993}`, map[string]string{"Count": "9007199254740992"}, false}, {`{"count":42}`, map[string]string{"Count": `"42"`}, false}, {`{"count":42}`, map[string]string{"Count": "0x2a"}, false},
		{`{"dry":true}`, map[string]string{"Dry": "true"}, true}, {`{"dry":true}`, map[string]string{"Dry": "1"}, false}, {`{"dry":false}`, map[string]string{"Dry": "true"}, false},
		{`{"inner":{"zone":"a"}}`, map[string]string{"Zone": "a"}, true}, {`{"inner":{"zone":"a"}}`, nil, false}, {`{"inner":{}}`, map[string]string{"Zone": "a"}, false},
		{`{"region":["eu"]}`, nil, true}, {`{"region":["eu"]}`, map[string]string{"Region": `["eu"]`}, false}, {`{"plain":"x"}`, map[string]string{"Plain": "y"}, true},
	} {
		h := http.Header{}
		for name, value := range k.header {
			h.Set("Mcp-Param-"+name, value)
		}
		params := `{"name":"x"}`
		if k.arguments != "" {
			params = `{"name":"x","arguments":` + k.arguments + `}`
		}
		if err := checkParams(headers, &message{params: []byte(params)}, h); (err == nil) != k.fits {
			t.Errorf("%s with %v: %v", k.arguments, k.header, err)
		}
	}
	twice := http.Header{"Mcp-Param-Region": {"eu", "eu"}}
	if checkParams(headers, &message{params: []byte(`{"arguments":{"region":"eu"}}`)}, twice) == nil {
		t.Error("given twice")
	}
}

func TestHeadersAreCheckedForWhoSeesTheTool(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ep := b.surface("acme", func(_ *tenants.Endpoint, compiled *surfaces.Compiled) {
		compiled.Tools[0].Input = json.RawMessage(repeatingSchema)
		compiled.Tools[1].Input = json.RawMessage(repeatingSchema)
		compiled.Tools[1].Visible = "false"
	})
	b.caller(ep, "alice", "alice")
	call := func(tool, header string) (int, string) {
		q := modern("tools/call", tool, `"name":"`+tool+`","arguments":{"region":"eu"}`).as("alice")
		if header != "" {
			q.header["Mcp-Param-Region"] = header
		}
		res := b.send(q)
		return res.StatusCode, bodyOf(t, res)
	}
	if status, body := call("zebra_list", "us"); status != http.StatusBadRequest || !strings.Contains(body, "-32020") || b.runner.count() != 0 {
		t.Errorf("%d %s", status, body)
	}
	if status, body := call("zebra_list", "eu"); status != http.StatusOK || b.runner.count() != 1 {
		t.Errorf("%d %s", status, body)
	}
	_, hidden := call("customers_list", "us")
	_, unknown := call("no_such_tool", "us")
	if hidden != unknown || strings.Contains(hidden, "-32020") {
		t.Errorf("a hidden tool shows:\n%s\n%s", hidden, unknown)
	}
	old := legacy(version20251125, "tools/call", `{"name":"zebra_list","arguments":{"region":"eu"}}`).as("alice")
	if res := b.send(old); res.StatusCode != http.StatusOK || strings.Contains(bodyOf(t, res), "error") {
		t.Error("older versions have no such headers")
	}
}
