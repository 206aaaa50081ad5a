package mcp

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

const pixel = `iVBORw0KGgo=`

func TestMCPAnswersAreKeptAsTheyWereSaid(t *testing.T) {
	t.Parallel()
	body := `{"content":[{"type":"text","text":"a"},{"type":"image","data":"` + pixel + `","mimeType":"image/png","annotations":{"audience":["user"],"priority":0.5},"x-own":{"n":1.10}},` +
		`{"type":"resource","resource":{"uri":"acme://a","mimeType":"text/plain","text":"b"}},{"type":"resource_link","uri":"acme://c","name":"c","_meta":{"io.modelcontextprotocol/x":1,"mine":9007199254740993}}],` +
		`"structuredContent":{"n":9007199254740993,"d":1.10,"e":[ 1e400 ]},"_meta":{"io.modelcontextprotocol/related-task":{},"tools.mcp.com/x":1,"acme.example/y":0.10},"own":1}`
	m, err := readMCPAnswer(toolAnswer, []byte(body), "", false)
	if err != nil {
		t.Fatal(err)
	}
	content, err := json.Marshal(m.content)
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"type":"text","text":"a"},{"type":"image","data":"` + pixel + `","mimeType":"image/png","annotations":{"audience":["user"],"priority":0.5},"x-own":{"n":1.10}},` +
		`{"type":"resource","resource":{"uri":"acme://a","mimeType":"text/plain","text":"b"}},{"type":"resource_link","uri":"acme://c","name":"c","_meta":{"mine":9007199254740993}}]`
	if string(content) != want {
		t.Errorf("content\n got %s\nwant %s", content, want)
	}
	if string(m.structured) != `{"n":9007199254740993,"d":1.10,"e":[1e400]}` {
		t.Errorf("structured %s", m.structured)
	}
	if meta, _ := json.Marshal(m.meta); string(meta) != `{"acme.example/y":0.10}` {
		t.Errorf("meta %s", meta)
	}
	if m.blobs != 8 || m.text == 0 {
		t.Errorf("sizes %d and %d", m.text, m.blobs)
	}
}

func TestAnswersThatAClientWouldStumbleOverAreNone(t *testing.T) {
	t.Parallel()
	block := func(s string) string { return `{"content":[` + s + `]}` }
	for _, body := range []string{
		``, `null`, `[]`, `{}`, `{"content":null}`, `{"content":{}}`, `{"content":[],"content":[]}`, `{"isError":"yes","content":[]}`, `{"content":[]} {}`, "{\"content\":[{\"type\":\"text\",\"text\":\"\xff\"}]}",
		block(`null`), block(`"a"`), block(`{}`), block(`{"type":"text"}`), block(`{"type":"text","text":1}`), block(`{"type":"video","data":""}`), block(`{"type":"tool_use"}`),
		block(`{"type":"image","mimeType":"image/png"}`), block(`{"type":"image","mimeType":"png","data":""}`), block(`{"type":"image","mimeType":"image/png","data":"a-_b"}`),
		block(`{"type":"image","mimeType":"image/png","data":"iVBORw0KGgo"}`), block(`{"type":"image","mimeType":"image/png","data":"iVBO\nRw0KGgo="}`),
		block(`{"type":"resource"}`), block(`{"type":"resource","resource":{"uri":"acme://a"}}`), block(`{"type":"resource","resource":{"uri":"acme://a","text":"a","blob":""}}`),
		block(`{"type":"resource","resource":{"text":"a"}}`), block(`{"type":"resource","resource":{"uri":"a b","text":"a"}}`),
		block(`{"type":"resource_link","uri":"acme://a"}`), block(`{"type":"resource_link","name":"a"}`), block(`{"type":"text","text":"a","_meta":1}`), block(`{"type":"text","text":"a","annotations":{"audience":["bot"]}}`),
		block(`{"type":"text","text":"a","annotations":{"priority":2}}`), block(`{"type":"text","text":"a","annotations":null}`), block(`{"type":"text","text":"a","annotations":[]}`),
		block(`{"type":"text","text":"a","annotations":{"audience":null}}`), block(`{"type":"text","text":"a","annotations":{"priority":null}}`), block(`{"type":"text","text":"a","annotations":{"lastModified":"yesterday"}}`),
		block(`{"type":"image","mimeType":"application/pdf","data":""}`), block(`{"type":"audio","mimeType":"image/png","data":""}`),
		block(`{"type":"resource_link","uri":"acme://a","name":"a","title":null}`), block(`{"type":"resource_link","uri":"acme://a","name":"a","description":1}`), block(`{"type":"resource_link","uri":"acme://a","name":"a","mimeType":null}`),
		block(`{"type":"resource_link","uri":"acme://a","name":"a","size":"10"}`), block(`{"type":"resource_link","uri":"acme://a","name":"a","icons":[{}]}`), block(`{"type":"resource_link","uri":"acme://a","name":"a","icons":{}}`),
		block(`{"type":"resource_link","uri":"javascript:alert(1)","name":"a"}`), block(`{"type":"resource","resource":{"uri":"JavaScript:alert(1)","text":"a"}}`),
		`{"inputRequests":{"a":{"method":"elicitation/create","params":{}}}}`, `{"content":[],"requestState":"x"}`, `{"_meta":[],"content":[]}`,
		`{"structuredContent":null}`,
	} {
		if _, err := readMCPAnswer(toolAnswer, []byte(body), "", false); !errors.Is(err, errShape) {
			t.Errorf("%s: %v", body, err)
		}
	}
	for _, body := range []string{
		`{"inputRequests":{}}`, `{"inputRequests":null}`, `{"inputRequests":{"a":null}}`, `{"inputRequests":{"a":{"method":"tools/call"}}}`, `{"inputRequests":{"a":{"method":1}}}`, `{"inputRequests":{"a":{"method":"elicitation/create","params":1}}}`,
		`{"inputRequests":{"a":{"method":"roots/list"}},"content":[]}`, `{"content":[],"requestState":"x"}`, `{"requestState":"x"}`,
		`{"inputRequests":{"a":{"method":"roots/list"}},"requestState":"` + strings.Repeat("x", maxAnswerState+1) + `"}`,
	} {
		if _, err := readMCPAnswer(toolAnswer, []byte(body), "", true); !errors.Is(err, errShape) {
			t.Errorf("asks: %s: %v", body, err)
		}
	}
}

func TestWhatAContentBlockMayHave(t *testing.T) {
	t.Parallel()
	const blocks = `[{"type":"resource_link","uri":"https://acme.example.test/a","name":"a","title":"A","description":"d","mimeType":"text/plain","size":10,"icons":[{"src":"https://acme.example.test/i.png"}]},` +
		`{"type":"text","text":"a","annotations":{"audience":["user","assistant"],"priority":1,"lastModified":"2026-11-30T10:00:00+01:00","own":null}},{"type":"audio","mimeType":"Audio/wav","data":""},` +
		`{"type":"resource","resource":{"uri":"acme://a","text":"a","_meta":{"mine":1}}}]`
	said := strings.Replace(blocks, `{"mine":1}`, `{"io.modelcontextprotocol/x":1,"mine":1}`, 1)
	m, err := readMCPAnswer(toolAnswer, []byte(`{"content":`+said+`}`), "", false)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := json.Marshal(m.content); err != nil || string(got) != blocks {
		t.Errorf("%s %v", got, err)
	}
}

// TestAllOfAnAnswerCountsAgainstItsBudget: also what is neither text nor data.
func TestAllOfAnAnswerCountsAgainstItsBudget(t *testing.T) {
	t.Parallel()
	long, frames := strings.Repeat("x", 3000), func(one string) string { return strings.TrimSuffix(strings.Repeat(one+",", 100), ",") }
	for _, body := range []string{
		`{"content":[{"type":"text","text":"","own":"` + long + `"}]}`, `{"content":[{"type":"text","text":"","_meta":{"own":"` + long + `"}}]}`, `{"content":[],"_meta":{"own":"` + long + `"}}`,
		`{"content":[{"type":"image","mimeType":"image/png","data":"","own":"` + long + `"}]}`, `{"content":[{"type":"resource","resource":{"uri":"a:b","blob":"","own":"` + long + `"}}]}`,
		`{"isError":true,"content":[],"_meta":{"own":"` + long + `"}}`, `{"content":[` + frames(`{"type":"text","text":""}`) + `]}`, `{"content":[` + frames(`{"type":"resource","resource":{"uri":"a:b","blob":""}}`) + `]}`,
	} {
		tool := functionTool()
		tool.Budget = 2048
		if got := runTool(t, newServicesRunner(t, answers(mediaResult, body)), runCall(), tool, `{}`); got.kind() != "too_large" {
			t.Errorf("%.100s: %.200s", body, got.text)
		}
	}
	for _, body := range []string{`{"contents":[` + frames(`{"text":""}`) + `]}`, `{"contents":[{"text":"","_meta":{"own":"` + long + `"}}]}`, `{"contents":[{"text":""}],"_meta":{"own":"` + long + `"}}`} {
		var told *toolError
		spec := &surfaces.Resource{URI: "a:b", Budget: 2048, Function: &surfaces.FunctionPlan{Slug: "f", Timeout: 30}}
		if _, err := newServicesRunner(t, answers(mediaResult, body)).read(t.Context(), runCall(), spec, "a:b", []byte(`{}`)); !errors.As(err, &told) || told.kind != "too_large" {
			t.Errorf("%.100s: %v", body, err)
		}
	}
	spec := &surfaces.Prompt{Name: "p", Budget: 2048, Function: &surfaces.FunctionPlan{Slug: "f", Timeout: 30}}
	var told *toolError
	body := `{"messages":[` + frames(`{"role":"user","content":{"type":"text","text":""}}`) + `]}`
	if _, err := newServicesRunner(t, answers(mediaResult, body)).prompt(t.Context(), runCall(), spec, []byte(`{}`)); !errors.As(err, &told) || told.kind != "too_large" {
		t.Errorf("a prompt: %v", err)
	}
	data := strings.Repeat("AAAA", 2000)
	tool := functionTool()
	tool.Budget = 512
	body = `{"content":[{"type":"image","mimeType":"image/png","data":"` + data + `"},{"type":"resource","resource":{"uri":"a:b","blob":"` + data + `"}}]}`
	if res := runResult(t, newServicesRunner(t, answers(mediaResult, body)), runCall(), tool, `{}`); res.IsError {
		t.Error("data counts against the budget of text")
	}
}

func TestMCPAnswersThatAsk(t *testing.T) {
	t.Parallel()
	body := `{"inputRequests":{"who":{"method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}},"roots":{"method":"roots/list"}},"requestState":"mine"}`
	for _, kind := range []answerKind{toolAnswer, promptAnswer, resourceAnswer} {
		m, err := readMCPAnswer(kind, []byte(body), "acme://a", true)
		if err != nil {
			t.Fatal(err)
		}
		if p, ok := m.requests["who"].(*mcp.ElicitParams); !ok || p.Message != "Who?" || m.state != "mine" || len(m.requests) != 2 {
			t.Errorf("%+v", m)
		}
	}
}

func TestMCPAnswersOfPromptsAndResources(t *testing.T) {
	t.Parallel()
	prompt, err := functionAnswer{media: "application/json", body: []byte(`{"description":"d","messages":[{"role":"user","content":{"type":"text","text":"hi"}},{"role":"assistant","content":{"type":"image","mimeType":"image/png","data":"` + pixel + `"}}]}`)}.prompt(false)
	if err != nil || len(prompt.messages) != 2 || prompt.description != "d" || prompt.messages[1].Role != "assistant" {
		t.Fatalf("%+v %v", prompt, err)
	}
	for media, body := range map[string]string{"text/plain": "hi", "image/png": "x", "audio/wav": "y"} {
		if m, err := (functionAnswer{media: media, body: []byte(body)}).prompt(false); err != nil || len(m.messages) != 1 || m.messages[0].Role != "user" {
			t.Errorf("%s: %+v %v", media, m, err)
		}
	}
	for _, bad := range []functionAnswer{
		{media: "application/json", body: []byte(`{"messages":[{"role":"system","content":{"type":"text","text":"hi"}}]}`)}, {media: "application/json", body: []byte(`{"messages":[{"role":"user"}]}`)},
		{media: "application/json", body: []byte(`{"content":[]}`)}, {media: "application/pdf"}, {media: ""}, {media: mediaEvents},
	} {
		if _, err := bad.prompt(false); !errors.Is(err, errShape) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	resource, err := functionAnswer{media: mediaResult, body: []byte(`{"contents":[{"text":"a"},{"uri":"acme://b","blob":"` + pixel + `","mimeType":"image/png"}]}`)}.resource("acme://a", false)
	if err != nil || resource.contents[0].URI != "acme://a" || resource.contents[1].URI != "acme://b" || len(resource.contents[1].Blob) != 8 {
		t.Fatalf("%+v %v", resource, err)
	}
	text, err := functionAnswer{media: "image/svg+xml", body: []byte("<svg/>")}.resource("acme://a", false)
	if err != nil || text.contents[0].Text != "<svg/>" || text.contents[0].Blob != nil {
		t.Errorf("%+v %v", text, err)
	}
	blob, err := functionAnswer{media: "text/plain", body: []byte{0xFF}}.resource("acme://a", false)
	if err != nil || len(blob.contents[0].Blob) != 1 || blob.contents[0].Text != "" {
		t.Errorf("%+v %v", blob, err)
	}
}

func FuzzMCPAnswer(f *testing.F) {
	for _, seed := range []string{
		`{"content":[{"type":"text","text":"a"}]}`, `{"contents":[{"uri":"a:b","text":""}]}`, `{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}]}`,
		`{"inputRequests":{"a":{"method":"elicitation/create","params":{"message":"m","requestedSchema":{}}}},"requestState":"s"}`, `{"structuredContent":[1],"_meta":{"mcp/x":1,"a":2}}`,
		`{"content":[{"type":"resource","resource":{"uri":"a:b","blob":"aGk="},"annotations":{"audience":["user"]}}],"isError":true}`,
	} {
		for kind := range 3 {
			f.Add(seed, kind)
		}
	}
	f.Fuzz(func(t *testing.T, body string, kind int) {
		for _, asks := range []bool{false, true} {
			m, err := readMCPAnswer(answerKind(((kind%3)+3)%3), []byte(body), "acme://a", asks)
			if err != nil {
				continue
			}
			if m.requests != nil && (m.content != nil || m.messages != nil || m.contents != nil || !asks) {
				t.Fatalf("asks and answers: %s", body)
			}
			for _, block := range m.content {
				if _, err := json.Marshal(block); err != nil {
					t.Fatalf("%s: %v", body, err)
				}
			}
			if m.structured != nil && !json.Valid(m.structured) {
				t.Fatalf("structured %s", m.structured)
			}
		}
	})
}
