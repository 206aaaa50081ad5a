package mcp

import (
	"encoding/json"
	"strings"
	"testing"
)

// FuzzAuthorizerAnswer: only an array of as many objects as were asked, each
// with allowed true, allows; and nothing of an answer can break a result.
func FuzzAuthorizerAnswer(f *testing.F) {
	for _, seed := range []string{
		`[{"allowed":true}]`, `[{"allowed":false,"reason":"x","code":"A.b-1"}]`, `[]`, `null`, ``, `[{"allowed":"true"}]`, `[{"allowed":true},{"allowed":true}]`,
		`[{"allowed":true,"allowed":false}]`, `[{"ALLOWED":true}]`, ` [ { "allowed" : true } ] `, `[[{"allowed":true}]]`, `[{"allowed":true}`, `{"0":{"allowed":true}}`,
		`[{"allowed":false,"reason":"\u0000\ud800\u202e"}]`, `[{"allowed":true,"reason":1}]`, `[{"allowed":tru}]`, `[{"a\u006clowed":true}]`,
	} {
		f.Add([]byte(seed), 1)
	}
	spec := testTool("docs")
	docs := toolCapability(&spec)
	f.Fuzz(func(t *testing.T, body []byte, n int) {
		if n < 1 || n > 50 {
			return
		}
		answers, err := readAuthorizer(body, n)
		if err != nil {
			if answers != nil {
				t.Fatalf("an error with answers: %v", answers)
			}
			return
		}
		var plain []map[string]any
		if json.Unmarshal(body, &plain) != nil || len(plain) != n || len(answers) != n {
			t.Fatalf("%d answers of %q", len(answers), body)
		}
		for i, a := range answers {
			if a.allowed != (plain[i]["allowed"] == true) {
				t.Fatalf("answer %d of %q is %v", i, body, a.allowed)
			}
			told := denial(&docs, a).result("id")
			if !told.IsError || strings.ContainsAny(a.code, "\n\"") && isCode(a.code) {
				t.Fatalf("told %+v", told)
			}
		}
	})
}

// TestOneAnswerThatCannotBeReadDeniesAll: who answers one check wrongly may
// have meant the others otherwise, too.
func TestOneAnswerThatCannotBeReadDeniesAll(t *testing.T) {
	t.Parallel()
	for _, second := range []string{`{"allowed":"true"}`, `{"allowed":1}`, `{"allowed":null}`, `{}`, `true`, `null`, `{"Allowed":true}`, `{"allowed":true,"code":7}`, `{"allowed":false,"reason":{}}`} {
		if answers, err := readAuthorizer([]byte(`[{"allowed":true},`+second+`]`), 2); err == nil || answers != nil {
			t.Errorf("%s: %v", second, answers)
		}
	}
	answers, err := readAuthorizer([]byte(`[{"allowed":true},{"allowed":false,"reason":null,"code":"X"}]`), 2)
	if err != nil || !answers[0].allowed || answers[1] != (grantAnswer{code: "X"}) {
		t.Errorf("%+v, %v", answers, err)
	}
}
